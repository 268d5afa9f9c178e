package flow

import "fmt"

// Text is a text with the label of its writer. It does not print itself: code that shows it must check the label
// first (policy.Quotation does), and logs and errors get only the label. The zero value is a text that nobody wrote.
type Text struct {
	text  string
	label Label
}

// NewText creates a text. An invalid label becomes [Top]. An empty text with the bottom label is the zero Text.
func NewText(text string, label Label) Text {
	switch {
	case !label.Valid():
		label = Top()
	case text == "" && label == Bottom():
		return Text{}
	}
	return Text{text, label}
}

// Label is the label of the text, even if it is empty: the fact that somebody emptied it may be secret.
func (t Text) Label() Label {
	if t == (Text{}) {
		return Bottom()
	}
	return t.label
}

// Raw is the text itself, for processing. Anything derived from it has its label.
func (t Text) Raw() string { return t.text }

// Empty reports whether there is no text.
func (t Text) Empty() bool { return t.text == "" }

// String returns the label instead of the text.
func (t Text) String() string { return fmt.Sprintf("<%s text>", t.Label()) }

// GoString is the same as String, so that no format shows the text.
func (t Text) GoString() string { return t.String() }

// MarshalText writes the label instead of the text.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
