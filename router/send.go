package router

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// The words that a proactive message may use instead of a conversation's id.
const (
	toOwner = "owner" // the first configured owner on the channel
	toLast  = "last"  // where the naming session was last spoken to
)

// Send queues a proactive message. The delivery that it returns shows what the
// gate would decide now; the decision that counts is made when it is sent. A
// repeated idempotency key gives the first delivery.
func (r *Router) Send(ctx context.Context, p Proactive) (ledger.Delivery, error) {
	if r.stopping.Load() {
		return ledger.Delivery{}, request.ErrStopping
	}
	s := r.settings.Load()
	if err := p.check(s); err != nil {
		return ledger.Delivery{}, err
	}
	route, err := r.proactiveRoute(ctx, s, p)
	if err != nil {
		return ledger.Delivery{}, err
	}
	target, err := r.compose.SessionAt(ctx, p.Agent, route)
	if err != nil {
		return ledger.Delivery{}, err
	}
	if p.Label == (flow.Label{}) {
		p.Label = flow.Bottom() // a program's or person's own words, unless they say otherwise
	}
	d := r.compose.Delivery(ledger.KindMessage, route, strings.ToValidUTF8(p.Text, "\uFFFD"), p.Label)
	d.Idempotency, d.Session, d.Buttons = p.Idempotency, target.ID, p.Buttons
	fresh, err := r.attach(ctx, &d, p)
	if err != nil {
		return ledger.Delivery{}, err
	}
	known := target
	if hides(p.Reader, target) {
		known = sessions.Record{Key: target.Key, Agent: target.Agent}
	}
	leaving, err := r.compose.Egress(ctx, d, known)
	if err != nil {
		return ledger.Delivery{}, err
	}
	decision := r.gate.Decide(leaving)
	if full := r.roomOf("").admitAll(ctx, fresh); full != nil {
		return r.sentBeforeOr(ctx, p, decision, full)
	}
	err = r.lanes.Commit(ctx, ledger.Change{Media: fresh, Deliver: []ledger.Delivery{d}, Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: d.Created, Actor: p.Actor, Action: "message.send", Object: string(d.ID), Session: p.Session, Label: d.Label,
		Detail: map[string]string{"channel": route.Channel, "conversation": string(route.Conversation)},
	}}}})
	switch {
	case errors.Is(err, sessions.ErrDuplicate) && p.Idempotency != "":
		return r.sentBefore(ctx, p, decision)
	case err != nil:
		return ledger.Delivery{}, fmt.Errorf("commit message: %w", err)
	}
	d.Decision, d.Session = &decision, known.ID
	return d, nil
}

// sentBeforeOr is the delivery of a request that was made before, which needs no room any more, or else the error.
func (r *Router) sentBeforeOr(ctx context.Context, p Proactive, decision policy.Decision, otherwise error) (ledger.Delivery, error) {
	if p.Idempotency == "" {
		return ledger.Delivery{}, otherwise
	}
	d, err := r.sentBefore(ctx, p, decision)
	if errors.Is(err, sessions.ErrNotFound) {
		err = otherwise
	}
	return d, err
}

// sentBefore is the delivery that a repeated request gave. Where its session is above the reader, it is as it was then.
func (r *Router) sentBefore(ctx context.Context, p Proactive, decision policy.Decision) (ledger.Delivery, error) {
	d, err := r.store.DeliveryByIdempotency(ctx, p.Idempotency)
	if err != nil || d.Session == "" || !p.Reader.Valid() {
		return d, err
	}
	record, err := r.store.Session(ctx, d.Session)
	if err != nil || !hides(p.Reader, record) {
		return d, err
	}
	return ledger.Delivery{
		ID: d.ID, Kind: d.Kind, Route: d.Route, Text: d.Text, Label: d.Label, Buttons: d.Buttons, Files: d.Files, Status: ledger.DeliveryQueued,
		Created: d.Created, NextTry: d.Created, Expires: d.Created.Add(outbound.LifeOf(r.settings.Load(), d.Route)), Decision: &decision,
	}, nil
}

// hides reports whether a session is above what somebody may know of.
func hides(reader flow.Level, record sessions.Record) bool {
	return reader.Valid() && record.ID != "" && !record.Taint.FlowsTo(reader)
}

// hidesChannel reports whether a channel is above what somebody may know of.
func (r *Router) hidesChannel(c Check) bool {
	at := sessions.Route{Channel: c.Channel, Account: orDefault(c.Account, "default")}
	return c.Reader.Valid() && !flow.CanFlow(r.gate.SinkLevel(at), c.Reader)
}

// NoChannel says that a channel is not configured.
func NoChannel(name string) *request.Error {
	return &request.Error{Field: "channel", Text: fmt.Sprintf("no channel %q: see channels in the configuration", name)}
}

// CheckPolicy says what the gate would decide. It is the same decision as at a delivery, with no effect.
func (r *Router) CheckPolicy(ctx context.Context, c Check) (policy.Decision, error) {
	s := r.settings.Load()
	if _, ok := s.Channels[c.Channel]; !ok || r.hidesChannel(c) {
		return policy.Decision{}, NoChannel(c.Channel)
	}
	if c.ChatType != "" && !c.ChatType.Valid() {
		return policy.Decision{}, &request.Error{Field: "chat_type", Text: fmt.Sprintf("%q is not direct, group or channel", c.ChatType)}
	}
	route, err := r.checkedRoute(ctx, s, c)
	if err != nil {
		return policy.Decision{}, err
	}
	record, err := r.checkedSession(ctx, s, c, route)
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
	d := ledger.Delivery{Kind: orDefault(c.Kind, ledger.KindReply), Route: route, Label: label, Text: c.Text}
	leaving, err := r.compose.Egress(ctx, d, record)
	if err != nil {
		return policy.Decision{}, err
	}
	return r.gate.Decide(leaving), nil
}

// checkedRoute is where a message to c.To would go: what is only named, or of no kind, is looked up as [Router.Send] does.
func (r *Router) checkedRoute(ctx context.Context, s *place.Settings, c Check) (sessions.Route, error) {
	if c.To != "" && (c.ChatType == "" || c.To == toOwner || isName(c.To)) {
		return r.proactiveRoute(ctx, s, Proactive{Channel: c.Channel, Account: c.Account, To: c.To, ChatType: c.ChatType, Thread: c.Thread})
	}
	return sessions.Route{
		Channel: c.Channel, Account: orDefault(c.Account, "default"), ChatType: orDefault(c.ChatType, sessions.Direct),
		Conversation: sessions.ConversationID(c.To), Thread: sessions.ThreadID(c.Thread),
	}, nil
}

func (r *Router) checkedSession(ctx context.Context, s *place.Settings, c Check, route sessions.Route) (sessions.Record, error) {
	switch {
	case c.Session != "":
		return r.places.Resolve(ctx, c.Session)
	case c.To != "":
		return r.compose.SessionAt(ctx, "", route)
	}
	return sessions.Record{}, nil
}
