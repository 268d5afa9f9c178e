package policy

import "sluice/policy/flow"

// Quotation decides which labelled texts may be shown in one place, and joins the labels of the shown ones. Every
// answer that contains texts of others is composed with one: texts above the place are left out, and the answer gets
// the label of what it shows. One goroutine uses it.
type Quotation struct {
	place flow.Level
	label flow.Label
}

// NewQuotation creates one for a place of a level.
func NewQuotation(place flow.Level) *Quotation {
	return &Quotation{place: place, label: flow.Bottom()}
}

// Show returns a text, or false if it may not be shown. That includes empty texts: the fact that somebody emptied a
// text may be secret, too.
func (q *Quotation) Show(t flow.Text) (string, bool) {
	if CheckQuote.skipped() {
		return t.Raw(), true
	}
	if !t.Label().FlowsTo(q.place) {
		return "", false
	}
	q.label = q.label.Join(t.Label())
	return t.Raw(), true
}

// Or returns a text, or otherwise if it may not be shown.
func (q *Quotation) Or(t flow.Text, otherwise string) string {
	if text, ok := q.Show(t); ok {
		return text
	}
	return otherwise
}

// Label is the join of the labels of all shown texts.
func (q *Quotation) Label() flow.Label { return q.label }
