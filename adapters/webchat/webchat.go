// Package webchat is the channel of the gateway's own page.
//
// Messages from the page come in over HTTP. The page shows outgoing messages from the session itself: a run's answer
// is in the session's events and history, so there is nothing to send; a notice or a proactive message is shown live
// by an event, and after a reload from the list of deliveries. So nothing is lost when no page is open.
package webchat

import (
	"context"
	"fmt"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// The names of the channel's only account, conversation and person.
const (
	Channel      = adapters.Page
	Account      = "default"
	Conversation = "local"
	Person       = "local"
)

// Route returns the route of the page.
func Route() sessions.Route {
	return sessions.Route{Channel: Channel, Account: Account, ChatType: sessions.Direct, Conversation: Conversation}
}

// Adapter is the adapter of the page.
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

// New creates the adapter; emit publishes a live event.
func New(emit func(sessions.Event), now func() time.Time) *Adapter {
	return &Adapter{emit: emit, now: now}
}

// Channel is "webchat".
func (*Adapter) Channel() string { return Channel }

// Account is "default".
func (*Adapter) Account() string { return Account }

// Run waits until ctx ends: the page's messages come over HTTP.
func (*Adapter) Run(ctx context.Context, _ adapters.Acceptor) error {
	<-ctx.Done()
	return nil
}

// Send shows messages that the session's own events do not show.
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

// MaxButtons is the maximum of all channels.
func (*Adapter) MaxButtons() int { return 5 }

// State always returns connected.
func (*Adapter) State() adapters.State { return adapters.State{Status: adapters.Connected} }

var _ adapters.FileSender = (*Adapter)(nil)

// MaxFile is the largest file in bytes, which is the maximum of limits.maxMediaBytes.
const MaxFile = 256 << 20

// SendFile tells the page that a delivery has a file. The page reads the list of files from the delivery, and their
// content from the gateway when a person opens them, so no file is read here.
func (a *Adapter) SendFile(_ context.Context, out adapters.Outbound, f adapters.File) (adapters.Receipt, error) {
	if f.Size > MaxFile {
		return adapters.Receipt{}, &adapters.Failure{
			Kind: adapters.TooLarge, Certain: true, Err: fmt.Errorf("%q has %d bytes; the page accepts at most %d", f.Name, f.Size, MaxFile),
		}
	}
	now := a.now()
	if out.Session != "" {
		a.emit(sessions.Event{Session: out.Session, Type: sessions.EventNotice, Text: out.Text, File: f.Name, Delivery: out.DeliveryID, At: now, Label: out.Label})
	}
	return adapters.Receipt{MessageID: sessions.PlatformMessageID(out.DeliveryID), At: now}, nil
}
