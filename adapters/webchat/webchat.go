// Package webchat is the chat on the gateway's own page as a channel.
//
// What is said on the page comes in over HTTP. What goes out is shown by the
// page from the session itself: a run's answer is in the session's events and
// history, so there is nothing to send; a notice or a proactive message is
// shown live by an event, and after a reload from the list of deliveries. So
// nothing is lost when no page is open.
package webchat

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// The names of the channel's only account, conversation and person.
const (
	Channel      = "webchat"
	Account      = "default"
	Conversation = "local"
	Person       = "local"
)

// Route is where the page is.
func Route() sessions.Route {
	return sessions.Route{Channel: Channel, Account: Account, ChatType: sessions.Direct, Conversation: Conversation}
}

// Adapter is the page.
type Adapter struct {
	emit func(sessions.Event)
	now  func() time.Time
}

var (
	_ adapters.Adapter  = (*Adapter)(nil)
	_ adapters.Buttoner = (*Adapter)(nil)
	_ adapters.Retirer  = (*Adapter)(nil)
	_ adapters.Stater   = (*Adapter)(nil)
)

// New makes the adapter; emit publishes a live event.
func New(emit func(sessions.Event), now func() time.Time) *Adapter {
	return &Adapter{emit: emit, now: now}
}

// Channel is "webchat".
func (*Adapter) Channel() string { return Channel }

// Account is "default".
func (*Adapter) Account() string { return Account }

// Run waits for the end: the page's messages come over HTTP.
func (*Adapter) Run(ctx context.Context, _ adapters.Acceptor) error {
	<-ctx.Done()
	return nil
}

// Send shows what the session's own events do not.
func (a *Adapter) Send(_ context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	now := a.now()
	if !out.Reply && out.Session != "" {
		a.emit(sessions.Event{Session: out.Session, Type: sessions.EventNotice, Text: out.Text, Buttons: out.Buttons, Delivery: out.DeliveryID, At: now, Label: out.Label})
	}
	return adapters.Receipt{MessageID: sessions.PlatformMessageID(out.DeliveryID), At: now}, nil
}

// Retire tells the page that the question of a notice is decided.
func (a *Adapter) Retire(_ context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	if out.Session != "" {
		a.emit(sessions.Event{Session: out.Session, Type: sessions.EventDecided, Text: out.Text, Delivery: string(id), At: a.now(), Label: out.Label})
	}
	return nil
}

// MaxButtons is as many as a message may have anywhere.
func (*Adapter) MaxButtons() int { return 5 }

// State is always connected.
func (*Adapter) State() adapters.State { return adapters.State{Status: adapters.Connected} }
