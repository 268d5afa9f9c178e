package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Body is the body of a request: an object, and its members "messages" and "tools", which are already encoded.
type Body struct {
	Object   any // without "messages" and "tools", and not empty
	First    any // an element before the messages; may be nil
	Messages Messages
	Tools    []byte // a JSON array; may be nil
}

// Messages are the elements of the list "messages", each preceded by a comma. Its slices may be shared and are never
// changed.
type Messages struct {
	Text  []byte
	Close string // the text after the messages
}

// encode returns the slices of the body's text.
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

// messages returns the slices up to the end of the list of messages.
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

// outgoing is the text of a request. It is released when it is sent, because many requests wait for long.
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

// errSent means that nothing can be sent again: net/http asks for the text again only if nothing of it was written.
var errSent = errors.New("the request was sent already")

// again returns the text from its beginning. net/http asks for it if an idle connection turns out to be closed before
// anything was written.
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
	at   int // in the first remaining slice
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
	if r.of.size > writeBuffer { // a shorter text may still be in the connection's buffer, unsent
		r.of.pieces = nil
	}
	return n, io.EOF
}

func (*reader) Close() error { return nil }
