package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/quota"
	"sluice/router/request"
	"sluice/sessions"
)

// The words that a proactive message may use instead of a conversation's id.
const (
	ToOwner = "owner" // the first configured owner on the channel
	ToLast  = "last"  // where the naming session was last addressed
)

// SendStore is the part of the store that proactive messages need.
type SendStore interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
	// DeliveryByIdempotency reads the delivery of an idempotency key.
	DeliveryByIdempotency(ctx context.Context, key string) (ledger.Delivery, error)
}

// Sender queues proactive messages. All fields are required.
type Sender struct {
	Store    SendStore
	Composer *Composer
	Routes   *Routes
	Quota    *quota.Limiter
	Lanes    Committer
	Stopping *atomic.Bool // whether the gateway accepts no new messages
}

// Send queues a proactive message. The returned delivery shows the gate's current decision; the final decision is
// made when it is sent. A repeated idempotency key returns the first delivery.
func (o *Sender) Send(ctx context.Context, p Proactive) (ledger.Delivery, error) {
	if o.Stopping.Load() {
		return ledger.Delivery{}, request.ErrStopping
	}
	c := o.Composer.pinned()
	if err := p.check(c.Settings()); err != nil {
		return ledger.Delivery{}, err
	}
	route, err := o.Routes.Find(ctx, c.Settings(), p)
	if err != nil {
		return ledger.Delivery{}, err
	}
	target, err := c.SessionAt(ctx, p.Agent, route)
	if err != nil {
		return ledger.Delivery{}, err
	}
	if p.Label == (flow.Label{}) {
		p.Label = flow.Bottom() // the text of a program or person, unless they set a label
	}
	d := c.Delivery(ledger.KindMessage, route, strings.ToValidUTF8(p.Text, "\uFFFD"), p.Label)
	d.Idempotency, d.Session, d.Buttons = p.Idempotency, target.ID, p.Buttons
	fresh, err := o.attach(ctx, &d, p)
	if err != nil {
		return ledger.Delivery{}, err
	}
	known := target
	if hides(p.Reader, target) {
		known = sessions.Record{Key: target.Key, Agent: target.Agent}
	}
	decision, err := c.Decide(ctx, d, known)
	if err != nil {
		return ledger.Delivery{}, err
	}
	if full := o.Quota.Of("").AdmitAll(ctx, fresh); full != nil {
		return o.sentBeforeOr(ctx, p, d, decision, full)
	}
	err = o.Lanes.Commit(ctx, ledger.Change{Media: fresh, Deliver: []ledger.Delivery{d}, Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: d.Created, Actor: p.Actor, Action: "message.send", Object: string(d.ID), Session: p.Session, Label: d.Label,
		Detail: map[string]string{"channel": route.Channel, "conversation": string(route.Conversation)},
	}}}})
	switch {
	case errors.Is(err, sessions.ErrDuplicate) && p.Idempotency != "":
		return o.sentBefore(ctx, p, d, decision)
	case err != nil:
		return ledger.Delivery{}, fmt.Errorf("commit message: %w", err)
	}
	d.Decision, d.Session = &decision, known.ID
	return d, nil
}

// sentBeforeOr is the delivery of an earlier copy of the request, which needs no more room, or else the error.
func (o *Sender) sentBeforeOr(ctx context.Context, p Proactive, again ledger.Delivery, decision policy.Decision, otherwise error) (ledger.Delivery, error) {
	if p.Idempotency == "" {
		return ledger.Delivery{}, otherwise
	}
	d, err := o.sentBefore(ctx, p, again, decision)
	if errors.Is(err, sessions.ErrNotFound) {
		err = otherwise
	}
	return d, err
}

// sameMessage reports whether a request repeats the one that made the first delivery, as far as that is still known. A place that
// is not named by its id, such as owner, may have become another one since. The gateway's own messages have no reader: a key says
// what they are about, and the first one stands for all, whatever words and numbers the others have.
func sameMessage(first, again ledger.Delivery, p Proactive) bool {
	if !p.Reader.Valid() {
		return true
	}
	// The lane stays that of the request when the platform gives a conversation another id.
	if p.To == string(again.Route.Conversation) && first.Lane != again.Lane {
		return false
	}
	changed := first.Decision != nil && first.Decision.Removed || first.Text == "" && len(first.Files) == 0 // by a rule, or by retention
	stored := strings.ReplaceAll(again.Text, "\x00", "\uFFFD")                                              // as stores keep it
	return changed || first.Text == stored && len(first.Files) == len(again.Files)
}

// sentBefore is the delivery of an earlier copy of the request. If its session is above the reader, it is returned in
// its first state.
func (o *Sender) sentBefore(ctx context.Context, p Proactive, again ledger.Delivery, decision policy.Decision) (ledger.Delivery, error) {
	d, err := o.Store.DeliveryByIdempotency(ctx, p.Idempotency)
	if err == nil && !sameMessage(d, again, p) {
		return ledger.Delivery{}, request.ErrReused
	}
	if err != nil || d.Session == "" || !p.Reader.Valid() {
		return d, err
	}
	record, err := o.Store.Session(ctx, d.Session)
	if err != nil || !hides(p.Reader, record) {
		return d, err
	}
	return ledger.Delivery{
		ID: d.ID, Kind: d.Kind, Route: d.Route, Text: d.Text, Label: d.Label, Buttons: d.Buttons, Files: d.Files, Status: ledger.DeliveryQueued,
		Created: d.Created, NextTry: d.Created, Expires: d.Created.Add(LifeOf(o.Composer.Settings(), d.Route)), Decision: &decision,
	}, nil
}

// hides reports whether a session is above a reader's level.
func hides(reader flow.Level, record sessions.Record) bool {
	return reader.Valid() && record.ID != "" && !record.Taint.FlowsTo(reader)
}

// hidesChannel reports whether a channel is above the reader's level.
func (o *Sender) hidesChannel(c Check) bool {
	at := sessions.Route{Channel: c.Channel, Account: cmp.Or(c.Account, "default")}
	return c.Reader.Valid() && !flow.CanFlow(o.Composer.Gate.SinkLevel(at), c.Reader)
}

// NoChannel says that a channel is not configured.
func NoChannel(name string) *request.Error {
	return &request.Error{Field: "channel", Text: fmt.Sprintf("no channel %q: see channels in the configuration", name)}
}

// CheckPolicy returns the gate's decision, the same as for a delivery, without effects.
func (o *Sender) CheckPolicy(ctx context.Context, c Check) (policy.Decision, error) {
	compose := o.Composer.pinned()
	if _, ok := compose.Settings().Channels[c.Channel]; !ok || o.hidesChannel(c) {
		return policy.Decision{}, NoChannel(c.Channel)
	}
	if c.ChatType != "" && !c.ChatType.Valid() {
		return policy.Decision{}, &request.Error{Field: "chat_type", Text: fmt.Sprintf("%q is not direct, group or channel", c.ChatType)}
	}
	route, err := o.checkedRoute(ctx, compose.Settings(), c)
	if err != nil {
		return policy.Decision{}, err
	}
	record, err := checkedSession(ctx, compose, c, route)
	if err != nil {
		return policy.Decision{}, err
	}
	if hides(c.Reader, record) {
		if c.Session != "" {
			return policy.Decision{}, sessions.ErrNotFound
		}
		record = sessions.Record{Key: record.Key, Agent: record.Agent}
	}
	label := c.Label
	switch {
	case label.Valid():
	case record.Taint.Valid():
		label = record.Taint
	default:
		label = flow.Bottom()
	}
	d := ledger.Delivery{Kind: cmp.Or(c.Kind, ledger.KindReply), Route: route, Label: label, Text: c.Text}
	return compose.Decide(ctx, d, record)
}

// checkedRoute is the route of a message to c.To; names and missing chat types are looked up as in [Sender.Send].
func (o *Sender) checkedRoute(ctx context.Context, s *place.Settings, c Check) (sessions.Route, error) {
	if c.To != "" && (c.ChatType == "" || c.To == ToOwner || isName(c.To)) {
		return o.Routes.Find(ctx, s, Proactive{Channel: c.Channel, Account: c.Account, To: c.To, ChatType: c.ChatType, Thread: c.Thread})
	}
	return sessions.Route{
		Channel: c.Channel, Account: cmp.Or(c.Account, "default"), ChatType: cmp.Or(c.ChatType, sessions.Direct),
		Conversation: sessions.ConversationID(c.To), Thread: sessions.ThreadID(c.Thread),
	}, nil
}

func checkedSession(ctx context.Context, compose *Composer, c Check, route sessions.Route) (sessions.Record, error) {
	switch {
	case c.Session != "":
		return compose.Places.Resolve(ctx, c.Session)
	case c.To != "":
		return compose.SessionAt(ctx, "", route)
	}
	return sessions.Record{}, nil
}
