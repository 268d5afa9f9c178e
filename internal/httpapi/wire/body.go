package wire

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// BodyTimeout is how long a request's body may take to arrive; each 16 KiB that arrive add a second.
const BodyTimeout = time.Minute

// timedBody is a body with a read deadline, which ends with the body. After the body the server keeps reading to notice
// that the caller has gone; it would take a deadline that passes for that, and end the request's context in the middle
// of a stream.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	begun   time.Time
	arrived int64
}

// LimitBody bounds the size of a request's body and the time it may take to arrive.
func LimitBody(w http.ResponseWriter, r *http.Request, maxBytes int64) io.ReadCloser {
	b := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w), begun: time.Now()}
	if r.Body != http.NoBody {
		b.deadline(b.ends())
	}
	return http.MaxBytesReader(w, b, maxBytes)
}

// Read implements [io.Reader].
func (b *timedBody) Read(p []byte) (int, error) {
	if b.arrived > 0 {
		b.deadline(b.ends())
	}
	n, err := b.ReadCloser.Read(p)
	b.arrived += int64(n)
	if errors.Is(err, io.EOF) {
		b.deadline(time.Time{})
	}
	return n, err
}

// ends is when the next bytes must have arrived: a large file takes long on a slow line, but no pause is longer than BodyTimeout.
func (b *timedBody) ends() time.Time {
	all, next := b.begun.Add(BodyTimeout+time.Duration(b.arrived)*time.Second/paceMin), time.Now().Add(BodyTimeout)
	if next.Before(all) {
		return next
	}
	return all
}

func (b *timedBody) deadline(at time.Time) { _ = b.control.SetReadDeadline(at) } // not every writer has one
