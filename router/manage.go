package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// ResolveSession finds a live session by its key, its id, or "main".
func (r *Router) ResolveSession(ctx context.Context, keyOrID string) (sessions.Record, error) {
	s := r.settings.Load()
	if id, err := sessions.ParseID(keyOrID); err == nil {
		return r.places.LiveSession(ctx, id)
	}
	key, err := s.Keyer.Resolve(keyOrID, s.Agent)
	if err != nil {
		return sessions.Record{}, &request.Error{Field: "session", Text: err.Error()}
	}
	return r.store.SessionByKey(ctx, key)
}

// SessionOrMain finds a session by its key or id; without one, the default agent's main session, or the record that it would be made with.
func (r *Router) SessionOrMain(ctx context.Context, keyOrID string) (sessions.Record, error) {
	if keyOrID != "" {
		return r.ResolveSession(ctx, keyOrID)
	}
	agent := r.settings.Load().Agent
	record := r.places.NewAgentSession(agent)
	stored, err := r.store.SessionByKey(ctx, record.Key)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return record, nil
	case err != nil:
		return record, fmt.Errorf("read session: %w", err)
	}
	return stored, nil
}

// MainSession finds the default agent's main session, or makes it.
func (r *Router) MainSession(ctx context.Context) (sessions.Record, error) {
	s := r.settings.Load()
	key := s.Keyer.Main(s.Agent)
	for range admitTries {
		record, err := r.store.SessionByKey(ctx, key)
		if !errors.Is(err, sessions.ErrNotFound) {
			return record, err
		}
		record = r.places.NewRecord(key, s.Agent, sessions.Route{})
		err = r.store.CommitSession(ctx, sessions.Change{Create: []sessions.Record{record}})
		if !errors.Is(err, sessions.ErrConflict) {
			return record, err
		}
	}
	return sessions.Record{}, fmt.Errorf("make main session: %w", sessions.ErrConflict)
}

// CreateSession makes a session that is spoken to over HTTP.
func (r *Router) CreateSession(ctx context.Context, n NewSession) (sessions.Record, error) {
	if r.stopping.Load() {
		return sessions.Record{}, request.ErrStopping
	}
	agent := n.Agent
	if agent == "" {
		agent = r.settings.Load().Agent
	}
	if r.agent.ModelName(agent) == "" {
		return sessions.Record{}, &request.Error{Field: "agent", Text: fmt.Sprintf("no agent %q: see agents.list in the configuration", agent)}
	}
	if len(n.Metadata) > sessions.MetadataMost {
		return sessions.Record{}, &request.Error{Field: "metadata", Text: fmt.Sprintf("is %d bytes long, the most is %d", len(n.Metadata), sessions.MetadataMost)}
	}
	if size := pathBytes(n.FileAccess); size > sessions.MetadataMost {
		return sessions.Record{}, &request.Error{Field: "file_access", Text: fmt.Sprintf("has paths of %d bytes, the most is %d", size, sessions.MetadataMost)}
	}
	record := r.places.NewRecord("", agent, sessions.Route{})
	record.Key = sessions.Key("agent:" + agent + ":http:" + string(record.ID))
	record.Persistent, record.TTL, record.Metadata, record.Title = n.Persistent, n.TTL, n.Metadata, n.Title
	if n.FileAccess.Read != nil || n.FileAccess.Write != nil {
		record.FileAccess = n.FileAccess
	}
	if n.Clearance.Valid() {
		record.Clearance = n.Clearance
	}
	if err := r.store.CommitSession(ctx, sessions.Change{Create: []sessions.Record{record}}); err != nil {
		return sessions.Record{}, fmt.Errorf("create session: %w", err)
	}
	return record, nil
}

// pathBytes is how long the paths of a file access are together. What begins each counts too.
func pathBytes(a sessions.FileAccess) (size int) {
	for _, path := range slices.Concat(a.Read, a.Write) {
		size += len(path) + 3
	}
	return size
}

// PatchSession changes a session's settings.
func (r *Router) PatchSession(ctx context.Context, p sessions.Patch, actor string) (sessions.Record, error) {
	if err := p.Check(); err != nil {
		return sessions.Record{}, &request.Error{Text: err.Error()}
	}
	entry := sessions.AuditEntry{At: r.now(), Actor: actor, Action: "session.patch", Object: string(p.ID), Session: p.ID, Label: ledger.NoticeLabel()}
	if err := r.store.Commit(ctx, ledger.Change{Change: sessions.Change{Patch: []sessions.Patch{p}, Audit: []sessions.AuditEntry{entry}}}); err != nil {
		return sessions.Record{}, fmt.Errorf("patch session: %w", err)
	}
	return r.store.Session(ctx, p.ID)
}

// Learn has a session know that a label reaches it by another way than its runs, before that is there to be read: a
// crash between the two leaves a session that is too careful. A run that works meanwhile is gone on with from its
// last stored step, by what the session then has learnt.
func (r *Router) Learn(ctx context.Context, id sessions.ID, label flow.Label, actor string) error {
	for range admitTries {
		record, err := r.places.LiveSession(ctx, id)
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		taint := record.Taint.Join(label)
		if taint == record.Taint {
			return nil
		}
		if !taint.FlowsTo(record.Clearance) {
			return &request.Error{Field: "label", Text: place.AboveClearance(record, taint.Level())}
		}
		entry := sessions.AuditEntry{
			At: r.now(), Actor: actor, Action: "session.learn", Object: string(record.Key), Session: id, Label: taint,
			Detail: map[string]string{"from": record.Taint.String(), "to": taint.String()},
		}
		record.Taint = taint
		err = r.store.Commit(ctx, ledger.Change{Change: sessions.Change{Save: []sessions.Record{record}, Audit: []sessions.AuditEntry{entry}}})
		if !errors.Is(err, sessions.ErrConflict) { // else a run of it has stored a step since
			return err
		}
	}
	return fmt.Errorf("raise session: %w", sessions.ErrConflict)
}

// ResetSession begins a new session under the key of an old one, for who has asked for it with a token. What a rule keeps is a [request.Error].
func (r *Router) ResetSession(ctx context.Context, id sessions.ID, actor string) (sessions.Record, error) {
	old, err := r.store.Session(ctx, id)
	if err != nil {
		return old, err
	}
	entry, kept := r.places.OperatorMayEnd(old, actor)
	if kept != "" {
		return sessions.Record{}, r.keep(ctx, entry, kept)
	}
	change, fresh := r.places.Reset(old, flow.Level{})
	change.Audit = []sessions.AuditEntry{entry}
	if err := r.store.Commit(ctx, change); err != nil {
		return sessions.Record{}, fmt.Errorf("reset session: %w", err)
	}
	return fresh, nil
}

// DeleteSession ends a session and stops what works in it and for it, for who has asked for that with a token. What a rule keeps is a [request.Error].
func (r *Router) DeleteSession(ctx context.Context, id sessions.ID, actor string) error {
	record, err := r.store.Session(ctx, id)
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	entry, kept := r.places.OperatorMayEnd(record, actor)
	if kept != "" {
		return r.keep(ctx, entry, kept)
	}
	end := func(c *ledger.Change) {
		c.End = append(c.End, sessions.End{ID: id, At: r.now()})
		c.Audit = append(c.Audit, entry)
	}
	if err := r.commitStop(ctx, id, end); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// keep records why something was not done, and says it to who has asked for it.
func (r *Router) keep(ctx context.Context, entry sessions.AuditEntry, why string) error {
	if err := r.store.Commit(ctx, ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{entry}}}); err != nil {
		return fmt.Errorf("record refusal: %w", err)
	}
	return &request.Error{Text: why}
}

// AbortSession stops what works and what waits in a session, and its sub-agents.
func (r *Router) AbortSession(ctx context.Context, id sessions.ID, actor string) error {
	if err := r.commitStop(ctx, id, func(c *ledger.Change) { c.Audit = append(c.Audit, r.stopped(id, actor)) }); err != nil {
		return fmt.Errorf("abort session: %w", err)
	}
	return nil
}

// WaitRun waits until a run has ended, at most for d, and returns it as it then is.
func (r *Router) WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error) {
	run, err := r.store.Run(ctx, id)
	if err != nil || run.Status.Terminal() || d <= 0 {
		return run, err
	}
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	events, err := r.bus.Follow(waiting, run.Session, 0)
	if err != nil {
		return run, fmt.Errorf("follow session: %w", err)
	}
	// It may have ended before the subscription stood; the ticker makes good for an event that the bus lost.
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		run, err = r.store.Run(ctx, id)
		if err != nil || run.Status.Terminal() || waiting.Err() != nil {
			return run, err
		}
		r.awaitEnd(waiting, id, events, ticker.C)
	}
}

// awaitEnd returns when it is worth looking at the run again.
func (r *Router) awaitEnd(ctx context.Context, id sessions.RunID, events <-chan sessions.Event, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			return
		case e, ok := <-events:
			if !ok {
				events = nil // the ticker goes on
			} else if e.Run == id && e.Type.Terminal() {
				return
			}
		}
	}
}

// RetryDelivery sends a delivery again that ended without success, or sends a waiting one at once.
func (r *Router) RetryDelivery(ctx context.Context, id ledger.DeliveryID, actor string) (ledger.Delivery, error) {
	d, err := r.store.Delivery(ctx, id)
	if err != nil {
		return d, err
	}
	from := d.Status
	switch from {
	case ledger.DeliveryFailed, ledger.DeliveryUnknown, ledger.DeliveryBlocked, ledger.DeliveryExpired, ledger.DeliveryQueued:
	default:
		return d, &request.Error{Text: fmt.Sprintf("the delivery is %s: only failed, unknown, blocked, expired and queued ones can be sent again", from)}
	}
	now := r.now()
	expires := now.Add(outbound.LifeOf(r.settings.Load(), sessions.Route{}))
	if d.Route.Handle != "" { // it must not go to everybody instead
		if expires = d.Created.Add(outbound.HandleLife); !expires.After(now) {
			return d, &request.Error{Text: fmt.Sprintf("the delivery is an answer that only one person was to see, and the platform takes it no later than %s after the question: discard it", outbound.HandleLife)}
		}
	}
	d.Status, d.NextTry, d.Expires, d.Finished, d.LastError = ledger.DeliveryQueued, now, expires, time.Time{}, ""
	d.Epoch = 0
	return d, r.changeDelivery(ctx, from, d, "delivery.retry", actor)
}

// DiscardDelivery takes a delivery off the list of what a person must look at. One that is held is denied by that, so who discards it
// must be one who may decide about it; else it is a [NotApproverError].
func (r *Router) DiscardDelivery(ctx context.Context, id ledger.DeliveryID, by decider.Verdict) (ledger.Delivery, error) {
	d, err := r.store.Delivery(ctx, id)
	if err != nil {
		return d, err
	}
	from := d.Status
	if from == ledger.DeliverySent || from == ledger.DeliverySending || from == ledger.DeliveryPreview || from == ledger.DeliveryDiscarded {
		return d, &request.Error{Text: fmt.Sprintf("the delivery is %s: it can't be discarded", from)}
	}
	d.Status, d.Finished, d.Epoch = ledger.DeliveryDiscarded, r.now(), 0
	var unask []ledger.ApprovalMove
	if from == ledger.DeliveryHeld {
		p, err := r.approvalOf(ctx, d)
		if err != nil {
			return d, err
		}
		if p.Status == ledger.ApprovalPending { // nobody need decide any more
			if err := decider.Check(ctx, r.store, by, p); err != nil {
				return d, err
			}
			unask = append(unask, p.Move(ledger.ApprovalDenied, ledger.GatewaySays("the message was discarded"), by.Actor, r.now()))
		}
	}
	return d, r.changeDelivery(ctx, from, d, "delivery.discard", by.Actor, unask...)
}

func (r *Router) changeDelivery(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, action, actor string, unask ...ledger.ApprovalMove) error {
	err := r.lanes.Commit(ctx, ledger.Change{
		Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}}, Approvals: unask,
		Change: sessions.Change{Audit: []sessions.AuditEntry{{At: r.now(), Actor: actor, Action: action, Object: string(d.ID), Session: d.Session, Label: d.Label}}},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}
