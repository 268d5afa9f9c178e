package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	unknownMax     = 16 << 20
	unknownShare   = unknownMax / 4
	unknownTimeout = 10 * time.Second
	unknownStep    = 32 << 10
)

// Unknown reads bodies of requests whose sender is known only from the body, and bounds the memory of those that are read or
// used at the moment: all together, and from one address. It is made by NewUnknown and safe for concurrent use.
type Unknown struct {
	mu    sync.Mutex
	total int
	by    map[string]int
}

// NewUnknown makes an Unknown.
func NewUnknown() *Unknown { return &Unknown{by: map[string]int{}} }

// take reserves bytes; false if there is no space.
func (u *Unknown) take(from string, n int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.total+n > unknownMax || u.by[from]+n > unknownShare {
		return false
	}
	u.total += n
	u.by[from] += n
	return true
}

func (u *Unknown) release(from string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.total -= n
	if u.by[from] -= n; u.by[from] <= 0 {
		delete(u.by, from)
	}
}

// Read reads a body of at most a number of bytes. The caller calls done when it no longer needs the body.
func (u *Unknown) Read(w http.ResponseWriter, r *http.Request, most int) (body []byte, done func(), err error) {
	if r.ContentLength > int64(most) {
		return nil, func() {}, tooLarge(most)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unknownTimeout)) // not every writer has one
	from, held := Address(r), 0
	done = func() { u.release(from, held) }
	for len(body) <= most {
		if len(body) == cap(body) {
			more := max(unknownStep, cap(body))
			if !u.take(from, more) {
				w.Header().Set("Retry-After", "1")
				return nil, done, NewError(http.StatusServiceUnavailable, "busy", "the gateway reads too many requests at once; try again in a moment")
			}
			held += more
			grown := make([]byte, len(body), cap(body)+more)
			copy(grown, body)
			body = grown
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			if len(body) > most {
				return nil, done, tooLarge(most)
			}
			return body, done, nil
		case err != nil:
			return nil, done, unreadable(err, most)
		}
	}
	return nil, done, tooLarge(most)
}

func tooLarge(most int) error {
	if most%(1<<20) == 0 {
		return TooLarge(fmt.Sprintf("the body is larger than %d MiB", most>>20))
	}
	return TooLarge(fmt.Sprintf("the body is larger than %d KiB", most>>10))
}

func unreadable(err error, most int) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(most)
	}
	return ErrCutBody
}

// Address is where a request comes from; for IPv6 the network of one customer.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		const network = 64
		prefix, _ := ip.Prefix(network) // never fails: IPv6 has 128 bits
		return prefix.String()
	}
	return ip.String()
}
