package message

import (
	"slices"

	"sluice/sessions/address"
)

// Quotation is what a message carries of other people's words: what it answers, passes on or links to. The sender of the
// message has not said it: it is untrusted, and no command.
type Quotation struct {
	Kind QuotationKind `json:"kind"`
	// From is who wrote the words, as far as the platform says; it may have a name and no id, or be empty.
	From address.Peer `json:"from,omitzero"`
	Text string       `json:"text,omitempty"` // plain text
	// Files are the names or kinds of those of the message's attachments that belong to the quotation.
	Files []string `json:"files,omitempty"`
}

// QuotationKind says how a quotation has come into a message.
type QuotationKind string

// The kinds of quotation.
const (
	QuoteReply   QuotationKind = "reply"   // the message that this one answers, or the part of it that its sender marked
	QuoteForward QuotationKind = "forward" // a message that this one passes on: forwarded, shared, or chosen from another bot's offers
	QuoteThread  QuotationKind = "thread"  // what was said in the thread before
	QuoteLink    QuotationKind = "link"    // what the platform shows of something that the message links to
	QuoteCheck   QuotationKind = "check"   // what a check of the configuration found
	QuoteWake    QuotationKind = "wake"    // what somebody has left for the agent's next heartbeat
	QuoteResult  QuotationKind = "result"  // what a function of a client has returned
)

// PassedOn reports whether the message passes the quotation on: it was forwarded, or is a result. Other kinds only accompany the
// sender's own text.
func (q Quotation) PassedOn() bool { return q.Kind == QuoteForward || q.Kind == QuoteResult }

// Same reports whether two quotations say the same.
func (q Quotation) Same(other Quotation) bool {
	return q.Kind == other.Kind && q.From == other.From && q.Text == other.Text && slices.Equal(q.Files, other.Files)
}
