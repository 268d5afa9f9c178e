package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

const (
	streamMax = 32 << 20               // bytes of one response
	eventMax  = 8 << 20                // bytes of one event
	drainMax  = 4 << 10                // bytes after the end marker
	drainWait = 100 * time.Millisecond // to read them
)

// errTooLarge ends a response that would use too much memory.
var errTooLarge = errors.New("the response is too large")

// stream reads the events of a response. Its watch runs only while it waits for the provider, so a slow consumer is
// not a stall.
type stream struct {
	body  io.Reader
	watch *time.Timer
	idle  time.Duration
	begun bool
	read  int
}

// Read implements [io.Reader] over the body.
func (s *stream) Read(p []byte) (int, error) {
	if s.begun { // until then, the time-out of the first byte applies
		s.watch.Reset(s.idle)
	}
	n, err := s.body.Read(p)
	s.begun = true
	s.watch.Stop()
	if s.read += n; s.read > streamMax {
		return 0, errTooLarge
	}
	return n, err
}

// lines returns a reader after the first byte: a waiting request holds no buffer.
func (s *stream) lines() (*bufio.Reader, error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(s, first); err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(io.MultiReader(bytes.NewReader(first), s), 4<<10), nil
}

// events passes the events to an answer until the end marker. A last event without its empty line counts: several
// servers omit the line, and a truncated event is not valid JSON.
func (s *stream) events(a Answer) (end bool, err error) {
	lines, err := s.lines()
	if err != nil {
		return false, err
	}
	var e event
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if len(line) > 0 {
			if bad := e.add(line); bad != nil {
				return false, bad
			}
			if err == nil {
				continue
			}
		}
		if e.data != nil {
			if end, bad := a.Event(e.name, e.data); end || bad != nil {
				return end, bad
			}
		}
		if err != nil {
			return false, err
		}
		e = event{}
	}
}

// drain reads the rest of a finished response, so that its connection can be reused.
func (s *stream) drain() {
	s.watch.Reset(min(s.idle, drainWait))
	_, _ = io.CopyN(io.Discard, s.body, drainMax) // if that fails, the connection is closed
}

// event is a server-sent event whose lines are being read.
type event struct {
	name string
	data []byte // nil: no data yet
}

// add adds one line. It ignores comments and unused fields.
func (e *event) add(line []byte) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		if e.data == nil {
			e.data = make([]byte, 0, len(value))
		} else {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
	if len(e.data) > eventMax {
		return errTooLarge
	}
	return nil
}

// readLine reads one line without its end, up to eventMax bytes. At the end of the response it returns the rest of
// the last line with [io.EOF].
func readLine(r *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		if whole == nil && err == nil {
			return bytes.TrimRight(part, "\r\n"), nil // valid until the next read
		}
		if whole = append(whole, part...); len(whole) > eventMax {
			return nil, errTooLarge
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(whole, "\r\n"), err
		}
	}
}
