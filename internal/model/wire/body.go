package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Body is what a request says: an object, and its members "messages" and "tools", which are encoded already.
type Body struct {
	Object   any // without "messages" and "tools", and not empty
	First    any // an element before the messages; nil for none
	Messages Messages
	Tools    []byte // a JSON array; nil for none
}

// Messages are the elements of the list "messages", each behind a comma. Pieces of it may be shared: it is never changed.
type Messages struct {
	Text  []byte
	Close string // stands behind the text
}

// encode gives the pieces of the body's text.
func (b *Body) encode() ([][]byte, error) {
	object, err := json.Marshal(b.Object)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	listed := b.First != nil || len(b.Messages.Text) > 0
	if !listed && b.Tools == nil {
		return [][]byte{object}, nil
	}
	head := object[:len(object)-1]
	pieces := [][]byte{head}
	if listed {
		if pieces, err = b.messages(head); err != nil {
			return nil, err
		}
	}
	if b.Tools != nil {
		pieces = append(pieces, []byte(`,"tools":`), b.Tools)
	}
	return append(pieces, []byte("}")), nil
}

// messages are the pieces up to the end of the list of messages.
func (b *Body) messages(head []byte) ([][]byte, error) {
	head = append(head, `,"messages":[`...)
	text := b.Messages.Text
	if b.First == nil {
		text = text[1:] // the first comma
	}
	if b.First != nil {
		first, err := json.Marshal(b.First)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		head = append(head, first...)
	}
	return [][]byte{head, text, []byte(b.Messages.Close + "]")}, nil
}

// outgoing is the text of a request. It is let go of as soon as it is sent, because many requests wait long.
type outgoing struct {
	pieces [][]byte
	size   int64
}

func newOutgoing(pieces [][]byte) *outgoing {
	o := &outgoing{pieces: pieces}
	for _, piece := range pieces {
		o.size += int64(len(piece))
	}
	return o
}

// errSent: net/http asks for the text again only if nothing of it was written.
var errSent = errors.New("the request was sent already")

// again gives the text from its beginning. net/http asks for it if an idle connection turns out to be closed before anything was written.
func (o *outgoing) again() (io.ReadCloser, error) {
	if o.pieces == nil {
		return nil, errSent
	}
	return &reader{of: o, left: o.pieces}, nil
}

// reader reads an outgoing text once.
type reader struct {
	of   *outgoing
	left [][]byte
	at   int // in the first one that is left
}

func (r *reader) Read(p []byte) (n int, err error) {
	for len(r.left) > 0 && n < len(p) {
		copied := copy(p[n:], r.left[0][r.at:])
		n += copied
		if r.at += copied; r.at == len(r.left[0]) {
			r.left, r.at = r.left[1:], 0
		}
	}
	if len(r.left) > 0 {
		return n, nil
	}
	r.left = nil
	if r.of.size > writeBuffer { // else it may stand in the connection's buffer, of which nothing was written
		r.of.pieces = nil
	}
	return n, io.EOF
}

func (*reader) Close() error { return nil }
