package manage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// ExpiryStore is what an Expirer reads and writes.
type ExpiryStore interface {
	ExpiredSessions(ctx context.Context, e ledger.Expiry, limit int) ([]sessions.ID, error)
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	Commit(ctx context.Context, c ledger.Change) error
}

// Expirer ends expired sessions. All exported fields are required. Only one goroutine at a time uses it.
type Expirer struct {
	Store    ExpiryStore
	Places   *place.Places
	Settings func() *place.Settings
	End      func(ctx context.Context, id sessions.ID, entry sessions.AuditEntry) error // ends a session with its work, see [Sessions.End]
	Now      func() time.Time
	Log      *slog.Logger

	kept map[sessions.ID]bool // expired sessions that a rule kept in the last sweep
}

const (
	// idleLife is how long a session created over HTTP that is not persistent lives after its last response.
	// One that never had a run lives until its TTL.
	idleLife = 5 * time.Minute
	// expireBatch is the maximum number of sessions that one sweep ends.
	expireBatch = 500
)

// over says why a session has expired; empty if it has not.
func over(e ledger.Expiry, r sessions.Record) (why string) {
	switch {
	case pastTTL(e, r):
		return "its ttl was over"
	case !r.Persistent && r.LastActivity.Before(e.IdleSince) && (r.Head != "" || r.TTL == 0):
		return "it had expired"
	case r.Persistent && r.LastActivity.Before(e.KeptSince):
		return "it was inactive for longer than retention.sessions"
	}
	return ""
}

// pastTTL reports whether a session has reached the hard limit of its life, which ends it even while it works. A sub-agent is archived
// at that time, after its work.
func pastTTL(e ledger.Expiry, r sessions.Record) bool {
	return r.TTL > 0 && !r.Created.Add(r.TTL).After(e.Now)
}

// expiry says which sessions have expired at a time.
func expiry(keep place.Retention, now time.Time) ledger.Expiry {
	e := ledger.Expiry{Now: now, IdleSince: now.Add(-idleLife)}
	if keep.Sessions > 0 {
		e.KeptSince = now.Add(-keep.Sessions)
	}
	return e
}

// Sweep ends expired sessions. It asks the rules again about the sessions that they kept in the last sweep.
func (x *Expirer) Sweep(ctx context.Context) {
	e := expiry(x.Settings().Retention, x.Now())
	expired, err := x.Store.ExpiredSessions(ctx, e, expireBatch+len(x.kept)) // sessions that a rule keeps leave room for others
	if err != nil {
		if ctx.Err() == nil {
			x.Log.Error("expired sessions not read", "err", err)
		}
		return
	}
	kept := map[sessions.ID]bool{}
	for _, id := range expired {
		keeps, err := x.expire(ctx, id, e)
		changed := errors.Is(err, sessions.ErrNotFound) || errors.Is(err, sessions.ErrConflict) // by another replica, or by a message
		if err != nil && !changed && ctx.Err() == nil {
			x.Log.Error("expired session not ended", "session", string(id), "err", err)
		}
		if keeps {
			kept[id] = true
		}
	}
	x.kept = kept
}

// expire ends an expired session, or reports that a rule keeps it; the audit trail records that once.
func (x *Expirer) expire(ctx context.Context, id sessions.ID, e ledger.Expiry) (keeps bool, err error) {
	record, err := x.Store.Session(ctx, id)
	if err != nil {
		return false, fmt.Errorf("read session: %w", err)
	}
	why := over(e, record)
	if why == "" || !record.Ended.IsZero() {
		return false, nil // there was activity since it was found
	}
	entry, kept := x.Places.MayEnd(record, "gateway", false)
	entry.Detail = map[string]any{"reason": why, "decision": entry.Detail}
	if record.Key.SubAgent() && kept == "" {
		entry.Action = "session.archive"
	}
	var change ledger.Change
	switch {
	case kept == "" && pastTTL(e, record) && !record.Key.SubAgent():
		return false, x.End(ctx, id, entry)
	case kept == "":
		change = x.ending(record)
	case x.kept[id]:
		return true, nil
	}
	change.Audit = []sessions.AuditEntry{entry}
	err = x.Store.Commit(ctx, change)
	return kept != "" && err == nil, err
}

// ending ends an expired session, unless there is activity in the meantime. If people changed settings for the
// conversation, an empty session with these settings replaces it, as after /new: silence must not switch the gateway
// on again in a place where somebody switched it off.
func (x *Expirer) ending(record sessions.Record) (change ledger.Change) {
	if adjusted(record) {
		change, _ = x.Places.Reset(record, flow.Level{})
	} else {
		change.End = []sessions.End{{ID: record.ID, At: x.Now(), Archive: record.Key.SubAgent()}}
	}
	change.Idle, change.Save = []sessions.ID{record.ID}, []sessions.Record{record}
	return change
}

// adjusted reports whether a conversation has settings that outlive its session. Nobody returns to the session of a
// sub-agent, or to one that a program has created.
func adjusted(r sessions.Record) bool {
	if r.Key.SubAgent() || strings.HasPrefix(r.Key.Bare(), "http:") {
		return false
	}
	return r.SendPolicy != "" || r.Activation != "" || r.QueueMode != "" || r.ThinkingLevel != "" || r.VerboseLevel != "" ||
		r.Temperature != "" || r.MaxTokens != 0 || r.Voice || r.Label.Raw() != ""
}
