package port

import (
	"slices"
	"sync"

	"sluice/sessions/message"
)

// Form is how one kind of provider reads the messages of a thread: as a text that grows with each message.
// Forms are comparable; two that are equal write the same.
type Form interface {
	// Append adds a message to the text of those before it. open is what the call for the message before has given, and
	// empty for the first one: what of the text is still to be closed. The text before is never changed.
	Append(text []byte, open string, m message.Message) (longer []byte, stillOpen string, err error)
	// Close ends a text.
	Close(open string) string
}

// Encoded caches the text of a thread as it was last sent to a model, so that a request does not encode a long conversation
// from its beginning. It compares each message with the encoded one. From the first message that was edited or is on
// another branch, it encodes all messages again. It is safe for concurrent use.
type Encoded struct {
	mu   sync.Mutex
	form Form
	text []byte
	done []encoded
}

// encoded is one message whose text is kept.
type encoded struct {
	id    string
	parts *message.Part // the first one; messages never change their parts, they get others
	count int
	end   int    // of its text
	open  string // behind it
}

// Text is the text of a thread without its end. It must not be changed. Where e is nil, nothing is kept.
func (e *Encoded) Text(form Form, thread []message.Message) (text []byte, closed string, err error) {
	if e == nil {
		text, open, err := appendAll(form, nil, "", thread)
		return text, form.Close(open), err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.form != form {
		e.form, e.text, e.done = form, nil, nil
	}
	e.cut(thread)
	for _, m := range thread[len(e.done):] {
		if !lasting(m) {
			break
		}
		longer, open, err := form.Append(e.text, e.open(), m)
		if err != nil {
			return nil, "", err
		}
		e.text = longer
		e.done = append(e.done, encoded{string(m.ID), first(m), len(m.Parts), len(e.text), open})
	}
	text, open, err := appendAll(form, e.text[:len(e.text):len(e.text)], e.open(), thread[len(e.done):])
	return text, form.Close(open), err
}

func appendAll(form Form, text []byte, open string, thread []message.Message) ([]byte, string, error) {
	for _, m := range thread {
		var err error
		if text, open, err = form.Append(text, open, m); err != nil {
			return nil, "", err
		}
	}
	return text, open, nil
}

// cut drops the text from the first message that has changed. A request in progress may still read the text.
func (e *Encoded) cut(thread []message.Message) {
	same := 0
	for same < len(e.done) && same < len(thread) && e.done[same].is(&thread[same]) {
		same++
	}
	if same == len(e.done) {
		return
	}
	e.done = e.done[:same]
	end := 0
	if same > 0 {
		end = e.done[same-1].end
	}
	e.text = slices.Clip(e.text[:end])
}

func (e *Encoded) open() string {
	if len(e.done) == 0 {
		return ""
	}
	return e.done[len(e.done)-1].open
}

func (d *encoded) is(m *message.Message) bool {
	return d.id == string(m.ID) && d.count == len(m.Parts) && d.parts == first(*m)
}

func first(m message.Message) *message.Part {
	if len(m.Parts) == 0 {
		return nil
	}
	return &m.Parts[0]
}

// lasting reports whether a message is known again by its parts, and its text is worth keeping: the content of a file is put
// into it for one request only.
func lasting(m message.Message) bool {
	if len(m.Parts) == 0 {
		return m.Role == message.RoleAssistant // nothing of it but that it is empty is told
	}
	return !slices.ContainsFunc(m.Parts, func(p message.Part) bool { return p.Content != nil })
}

// Size is how many bytes are kept.
func (e *Encoded) Size() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	const each = 64 // bytes of an entry of done
	return cap(e.text) + each*cap(e.done)
}
