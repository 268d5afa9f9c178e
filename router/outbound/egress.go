package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// Outgoing is what the gate needs to know about an outgoing text. [Outgoing.Egress] is the only place that builds the
// gate's input.
type Outgoing struct {
	ID           string // of the delivery, or of the answer in it, see [AnswerID]
	Now          time.Time
	Kind         ledger.DeliveryKind
	Route        sessions.Route
	Label        flow.Label
	Parts        []string                // the whole text, divided as it is sent
	Record       sessions.Record         // of the sending session; zero without one
	Oldest       sessions.ConversationID // the conversation's first id; may be empty
	Override     sessions.SendPolicy     // set with /send
	UnknownPlace bool                    // see [policy.Egress]
	Answered     *sessions.Run           // the answered run, with the speaker of its batch; may be nil
}

// Egress is the gate's input; it makes the gate count nothing.
func (l Outgoing) Egress() policy.Egress {
	e := policy.Egress{
		ID: l.ID, Now: l.Now, Label: l.Label, Route: l.Route, Oldest: l.Oldest, Kind: string(l.Kind), Text: strings.Join(l.Parts, "\n"), Parts: l.Parts,
		Agent: l.Record.Agent, Key: l.Record.Key, Override: l.Override, UnknownPlace: l.UnknownPlace, Session: policy.SessionOf(l.Record),
	}
	if run := l.Answered; run != nil {
		e.Session.SpokenTo(run.Route, run.Speaker(), run.Input.Owner)
	}
	return e
}

// AnswerID names the answer to a run and to the runs that are worked with it. It is the same for every reader: the
// caller that waits for it, the followers of the session, and the conversation that receives it.
func AnswerID(run sessions.Run) string { return string(cmp.Or(run.Leader, run.ID)) }

// Egress is a delivery as the gate sees it, without effects.
func (c *Composer) Egress(ctx context.Context, d ledger.Delivery, record sessions.Record) (policy.Egress, error) {
	return c.egress(ctx, d, record, nil)
}

// egress is Egress with the runs that the delivery answers; nil: they are read.
func (c *Composer) egress(ctx context.Context, d ledger.Delivery, record sessions.Record, batch []sessions.Run) (policy.Egress, error) {
	if batch == nil && d.Run != "" {
		var err error
		if batch, err = c.Store.Batch(ctx, d.Run); err != nil {
			return policy.Egress{}, fmt.Errorf("read runs: %w", err)
		}
	}
	l := Outgoing{ID: string(d.ID), Now: c.Now(), Kind: d.Kind, Route: d.Route, Label: d.Label, Record: record}
	l.addSpeaker(d, batch)
	var err error
	if l.Override, err = c.sendOverride(ctx, d, record); err != nil {
		return policy.Egress{}, err
	}
	if l.Parts, err = c.Texts(ctx, d); err != nil {
		return policy.Egress{}, err
	}
	if l.Oldest, err = c.Places.OldestID(ctx, d.Route); err != nil {
		return policy.Egress{}, err
	}
	if err := c.addRecipient(ctx, d, &l); err != nil {
		return policy.Egress{}, err
	}
	return l.Egress(), nil
}

// answers reports whether a delivery is the answer to a message.
func answers(d ledger.Delivery) bool {
	return d.Kind == ledger.KindReply || d.Kind == ledger.KindCommand
}

// Texts are all texts of a delivery: its text, its buttons, and the names of its files.
func (c *Composer) Texts(ctx context.Context, d ledger.Delivery) ([]string, error) {
	texts := []string{d.Text}
	for _, b := range d.ShownButtons() {
		texts = append(texts, b.Label, b.Value)
	}
	for _, id := range d.Files {
		m, err := c.Store.MediaInfo(ctx, id)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read file: %w", err)
		}
		texts = append(texts, m.FileName())
	}
	return texts, nil
}

// addSpeaker adds the run that a delivery answers, with the speaker of all runs in its batch.
func (l *Outgoing) addSpeaker(d ledger.Delivery, batch []sessions.Run) {
	if len(batch) == 0 {
		return
	}
	run := batch[0]
	if answers(d) {
		l.ID = AnswerID(run)
	}
	queue.SetSpeaker(&run, batch)
	l.Answered = &run
}

// addRecipient adds the recipient, and for a proactive message whether anybody has spoken there before.
func (c *Composer) addRecipient(ctx context.Context, d ledger.Delivery, l *Outgoing) error {
	if d.Run != "" && d.Kind != ledger.KindMessage && d.Kind != ledger.KindAnnounce {
		return nil // it answers a message from there
	}
	noted, err := c.Store.PeerOf(ctx, d.Route.Channel, d.Route.Account, d.Route.Conversation)
	heard := err == nil
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return fmt.Errorf("read peer: %w", err)
	}
	if d.Route.ChatType == sessions.Direct && l.Route.Peer == "" && string(noted) != string(d.Route.Conversation) {
		l.Route.Peer = noted
	}
	if d.Kind != ledger.KindMessage || d.Route.Conversation == "" {
		return nil // without a conversation the question is about a whole channel
	}
	s := c.Settings()
	if d.Route.ChatType != sessions.Direct {
		l.UnknownPlace = !heard && (l.Record.ID == "" || s.Keyer.Global)
		return nil
	}
	l.UnknownPlace, err = c.stranger(ctx, s, l.Route, heard)
	return err
}

// stranger reports whether a direct chat is with a person who has no access.
func (c *Composer) stranger(ctx context.Context, s *place.Settings, route sessions.Route, heard bool) (bool, error) {
	in := place.Arrival{}
	in.Route, in.Sender.ID = route, route.Person()
	ch := s.Channels[route.Channel]
	how, err := c.Places.AccessDirect(ctx, ch, in, s.IsOwner(route.Channel, in.Sender.ID))
	switch {
	case err != nil || how != place.AdmitRun:
		return true, err
	case s.IsOwner(route.Channel, in.Sender.ID), slices.Contains(ch.AllowFrom, string(in.Sender.ID)):
		return false, nil
	}
	anybody := ch.DMPolicy == place.AccessOpen || slices.Contains(ch.AllowFrom, "*")
	return anybody && !heard, nil
}

// sendOverride is the /send setting for a delivery of a session. An answer goes to the session's own conversation;
// other deliveries may go to the conversation of another session, whose setting then applies as well.
func (c *Composer) sendOverride(ctx context.Context, d ledger.Delivery, from sessions.Record) (sessions.SendPolicy, error) {
	own, err := place.InheritedSend(ctx, c.Store, from)
	if err != nil || d.Kind != ledger.KindMessage && d.Kind != ledger.KindAnnounce || d.Route.Conversation == "" {
		return own, err
	}
	listens, err := c.SessionAt(ctx, "", d.Route)
	if err != nil || listens.Key == from.Key {
		return own, err
	}
	there, err := place.InheritedSend(ctx, c.Store, listens)
	return place.JoinedSend(own, there), err
}

// SessionAt is the session whose key and send-policy override apply to a conversation; without an id if the
// conversation has no session yet. An empty agent means the agent bound to it.
func (c *Composer) SessionAt(ctx context.Context, agent string, route sessions.Route) (sessions.Record, error) {
	peer := route.Person()
	if route.ChatType == sessions.Direct && route.Peer == "" {
		noted, err := c.Store.PeerOf(ctx, route.Channel, route.Account, route.Conversation)
		switch {
		case err == nil:
			peer = noted
		case !errors.Is(err, sessions.ErrNotFound):
			return sessions.Record{}, fmt.Errorf("read peer: %w", err)
		}
	}
	return c.Places.SessionAt(ctx, c.Settings(), agent, route, peer)
}
