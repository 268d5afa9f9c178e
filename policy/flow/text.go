package flow

import "fmt"

// Text is a text with the label of whoever wrote it. It does not print itself: who shows it must look at the label
// first (policy.Quotation does), and a log or an error gets the label alone. Its zero value is a text that nobody has written.
type Text struct {
	text  string
	label Label
}

// NewText makes a text. With an invalid label it is labelled [Top]. No text that tells nothing is the zero Text.
func NewText(text string, label Label) Text {
	switch {
	case !label.Valid():
		label = Top()
	case text == "" && label == Bottom():
		return Text{}
	}
	return Text{text, label}
}

// Label is the label of the text, an empty one's too: that somebody has emptied it says something of what they know.
func (t Text) Label() Label {
	if t == (Text{}) {
		return Bottom()
	}
	return t.label
}

// Raw is the text itself, to work with. What is made of it has its label.
func (t Text) Raw() string { return t.text }

// Empty reports whether there is no text.
func (t Text) Empty() bool { return t.text == "" }

// String is the label, in place of the text.
func (t Text) String() string { return fmt.Sprintf("<%s text>", t.Label()) }

// GoString is the same as String, so that no format shows the text.
func (t Text) GoString() string { return t.String() }

// MarshalText writes the label, in place of the text.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
