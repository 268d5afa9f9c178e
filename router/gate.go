package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// egress is a delivery as the gate sees it, without effects.
func (r *Router) egress(ctx context.Context, d ledger.Delivery, record sessions.Record) (e policy.Egress, err error) {
	e = policy.Egress{
		ID: string(d.ID), Now: r.now(), Label: d.Label, Route: d.Route, Kind: string(d.Kind),
		Agent: record.Agent, Key: record.Key, Session: policy.SessionOf(record),
	}
	if e.Override, err = sendOverride(ctx, r.store, r.listens, d, record); err != nil {
		return e, err
	}
	if e.Pieces, err = r.texts(ctx, d); err != nil {
		return e, err
	}
	e.Text = strings.Join(e.Pieces, "\n")
	if e.Oldest, err = r.places.OldestID(ctx, d.Route); err != nil {
		return e, err
	}
	if err := r.speaker(ctx, d, &e); err != nil {
		return e, err
	}
	return e, r.recipient(ctx, d, record, &e)
}

// texts are all that a delivery says.
func (r *Router) texts(ctx context.Context, d ledger.Delivery) ([]string, error) {
	texts := []string{d.Text}
	for _, b := range d.ShownButtons() {
		texts = append(texts, b.Label, b.Value)
	}
	for _, id := range d.Files {
		m, err := r.store.MediaInfo(ctx, id)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read file: %w", err)
		}
		texts = append(texts, m.FileName())
	}
	return texts, nil
}

// speaker adds whom a delivery answers: all those whose messages its run has worked together.
func (r *Router) speaker(ctx context.Context, d ledger.Delivery, e *policy.Egress) error {
	if d.Run == "" {
		return nil
	}
	batch, err := r.store.Batch(ctx, d.Run)
	if err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	if len(batch) > 0 {
		run := batch[0]
		if d.Kind == ledger.KindReply || d.Kind == ledger.KindCommand {
			e.ID = answerTo(run)
		}
		speakFor(&run, batch)
		e.Session.SpokenTo(run.Route, run.Speaker(), run.Input.Owner)
	}
	return nil
}

// answerTo names the answer to a run and to those that are worked with it. It is one, wherever it is told: to who waits
// for it, to who follows the session, and by its delivery.
func answerTo(run sessions.Run) string { return string(cmp.Or(run.Leader, run.ID)) }

// recipient adds who is spoken to, and for a proactive message whether anybody has been heard there.
func (r *Router) recipient(ctx context.Context, d ledger.Delivery, record sessions.Record, e *policy.Egress) error {
	if d.Run != "" && d.Kind != ledger.KindMessage && d.Kind != ledger.KindAnnounce {
		return nil // it answers where it was heard
	}
	noted, err := r.store.PeerOf(ctx, d.Route.Channel, d.Route.Account, d.Route.Conversation)
	heard := err == nil
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return fmt.Errorf("read peer: %w", err)
	}
	if d.Route.ChatType == sessions.Direct && e.Route.Peer == "" && string(noted) != string(d.Route.Conversation) {
		e.Route.Peer = noted
	}
	if d.Kind != ledger.KindMessage || d.Route.Conversation == "" {
		return nil // the latter only asks about a channel
	}
	s := r.settings.Load()
	if d.Route.ChatType != sessions.Direct {
		e.Unheard = !heard && (record.ID == "" || s.Keyer.Global)
		return nil
	}
	e.Unheard, err = r.stranger(ctx, s, e.Route, heard)
	return err
}

// stranger reports whether the person of a direct chat is nobody that the gateway talks to.
func (r *Router) stranger(ctx context.Context, s *place.Settings, route sessions.Route, heard bool) (bool, error) {
	in := place.Arrival{}
	in.Route, in.Sender.ID = route, route.Person()
	ch := s.Channels[route.Channel]
	how, err := r.places.AccessDirect(ctx, ch, in, s.IsOwner(route.Channel, in.Sender.ID))
	switch {
	case err != nil || how != place.AdmitRun:
		return true, err
	case s.IsOwner(route.Channel, in.Sender.ID), slices.Contains(ch.AllowFrom, string(in.Sender.ID)):
		return false, nil
	}
	anybody := ch.DMPolicy == place.AccessOpen || slices.Contains(ch.AllowFrom, "*")
	return anybody && !heard, nil
}

// judge asks the gate about a delivery that is about to be sent, and takes out of it what may not leave. The
// entry of the audit trail is for the commit that follows; there is none if the same was decided before.
func (w *outboxWorker) judge(ctx context.Context, d *ledger.Delivery) ([]sessions.AuditEntry, error) {
	record, err := w.sessionOf(ctx, *d)
	if err != nil {
		return nil, err
	}
	leaving, err := w.egress(ctx, *d, record)
	if err != nil {
		return nil, err
	}
	leaving.Effects = true
	decision := w.gate.Decide(leaving)
	if decision.Action == policy.Hold {
		if err := w.allowedBefore(ctx, *d, &decision); err != nil {
			return nil, err
		}
	}
	before := d.Decision
	decision.Still(before)
	if decision.Action != policy.Block {
		w.redact(d, &decision)
	}
	d.Decision = &decision
	if decision.Same(before) {
		return nil, nil
	}
	entry := w.audit(*d, "delivery."+string(decision.Action), "")
	entry.Detail = decision
	return []sessions.AuditEntry{entry}, nil
}

// redact takes out of a delivery's texts what may not leave. What is sent in part can't be changed any more.
func (w *outboxWorker) redact(d *ledger.Delivery, decision *policy.Decision) {
	if !decision.Redacts() {
		return
	}
	text := decision.Redacted(d.Text)
	changed := text != d.Text
	for _, chunk := range d.Chunks {
		changed = changed || decision.Redacted(chunk) != chunk
	}
	if changed && len(d.Receipts) > 0 {
		decision.Action, decision.Reason = policy.Block, "a rule takes something out of it that did not when it was begun: what is left of it stays unsent"
		return
	}
	if changed {
		d.Text, d.Chunks = text, nil
	}
	buttons := slices.Clone(d.Buttons)
	for i := range buttons {
		b := &buttons[i]
		b.Label, b.Value = decision.Redacted(b.Label), decision.Redacted(b.Value)
	}
	decision.Taken = decision.Taken || changed || !slices.Equal(buttons, d.Buttons)
	d.Buttons = buttons
}
