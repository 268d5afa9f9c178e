package wire

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// BodyTimeout is how long a request's body may take to arrive.
const BodyTimeout = time.Minute

// timedBody is a body with a read deadline, which ends with the body. After the body the server keeps reading to notice
// that the caller has gone; it would take a deadline that passes for that, and end the request's context in the middle
// of a stream.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// LimitBody bounds the size of a request's body and the time it may take to arrive.
func LimitBody(w http.ResponseWriter, r *http.Request, maxBytes int64) io.ReadCloser {
	b := &timedBody{r.Body, http.NewResponseController(w)}
	if r.Body != http.NoBody {
		b.deadline(time.Now().Add(BodyTimeout))
	}
	return http.MaxBytesReader(w, b, maxBytes)
}

// Read implements [io.Reader].
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.deadline(time.Time{})
	}
	return n, err
}

func (b *timedBody) deadline(at time.Time) { _ = b.control.SetReadDeadline(at) } // not every writer has one
