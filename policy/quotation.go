package policy

import "sluice/policy/flow"

// Quotation decides which labelled texts may be shown in one place, and joins the labels of those that are. Every answer
// that is put together from what others have set is made with one: what is above the place is left out of it, and the
// answer is as secret as what it shows. It is used by one goroutine.
type Quotation struct {
	place flow.Level
	label flow.Label
}

// NewQuotation makes one for a place that may be shown what is of a level.
func NewQuotation(place flow.Level) *Quotation {
	return &Quotation{place: place, label: flow.Bottom()}
}

// Show gives a text, or false where it may not be shown. That holds for an empty one too: that somebody who knows more has emptied it
// is not to be seen either.
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

// Or gives a text, or what stands in its place where it may not be shown.
func (q *Quotation) Or(t flow.Text, otherwise string) string {
	if text, ok := q.Show(t); ok {
		return text
	}
	return otherwise
}

// Label is the join of the labels of all that was shown.
func (q *Quotation) Label() flow.Label { return q.label }
