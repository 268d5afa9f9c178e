package operator

import (
	"context"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// AuditRows reads the audit trail.
type AuditRows interface {
	ListAudit(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditRecord, error)
	// VerifyAudit reads the whole trail and says whether it is as it was written and still has the given heads.
	VerifyAudit(ctx context.Context, kept []ledger.AuditHead) (ledger.AuditReport, error)
}

// AuditAPI serves the audit trail.
type AuditAPI struct {
	Visible *view.Visibility
	Rows    AuditRows
	Cursors wire.Cursors
}

type auditRecord struct {
	ID      string      `json:"id" doc:"pass it as after to get the entries that follow"`
	At      time.Time   `json:"at"`
	Actor   string      `json:"actor"`
	Action  string      `json:"action"`
	Object  string      `json:"object"`
	Session sessions.ID `json:"session,omitempty"`
	Label   string      `json:"label"`
	Detail  any         `json:"detail,omitempty"`
	Place   *auditPlace `json:"place,omitempty" doc:"its place in the trail; only for callers who see every level"`
}

// auditPlace is the place of an entry in its chain.
type auditPlace struct {
	Chain int    `json:"chain"`
	Seq   int64  `json:"seq" doc:"1, 2, 3 … in its chain"`
	Hash  string `json:"hash" doc:"covers all entries of the chain up to this one"`
}

func (a *AuditAPI) record(r ledger.AuditRecord, who auth.Caller) auditRecord {
	out := auditRecord{
		ID: r.ID, At: r.At, Actor: r.Actor, Action: r.Action, Object: r.Object, Session: r.Session, Label: r.Label.String(), Detail: r.Detail,
	}
	if !who.SeesAll() {
		out.ID = a.Cursors.SealEntry(r.ID) // the id contains the entry's hash, which depends on entries that the caller may not see
		return out
	}
	place := auditPlace(r.Place) // the numbers count entries that others may not see
	out.Place = &place
	return out
}

type auditList struct {
	Entries []auditRecord `json:"entries"`
}

// List lists entries of the audit trail.
func (a *AuditAPI) List(ctx context.Context, in *struct {
	Action  string    `query:"action" maxLength:"512" doc:"only this action, for example delivery.block"`
	Actor   string    `query:"actor" maxLength:"512" doc:"only this actor, for example operator, gateway, agent:main or telegram:1001"`
	Session string    `query:"session" maxLength:"512" doc:"a session's id or key"`
	Object  string    `query:"object" maxLength:"512" doc:"only entries about this, for example dlv_…"`
	Since   time.Time `query:"since" doc:"only entries from this time on"`
	Until   time.Time `query:"until" doc:"only entries before this time"`
	Level   string    `query:"level" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"only entries whose label has this level"`
	Limit   int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After   string    `query:"after" maxLength:"512" doc:"id of the last entry of the previous page"`
},
) (*view.Page[auditList], error) {
	who := auth.CallerOf(ctx)
	if !who.SeesAll() && in.After != "" {
		in.After = a.Cursors.OpenEntry(in.After)
	}
	q := ledger.AuditQuery{Action: in.Action, Actor: in.Actor, Object: in.Object, Since: in.Since, Until: in.Until, MaxLevel: who.Level, Limit: in.Limit, After: in.After, Bound: view.NewBound()}
	if in.Level != "" {
		q.Level, _ = flow.ParseLevel(in.Level) // one of the listed ones
	}
	if in.Session != "" {
		id, err := a.Visible.SessionID(ctx, in.Session)
		if err != nil {
			return nil, err
		}
		q.Session = id
	}
	records, err := a.Rows.ListAudit(ctx, q)
	if err != nil {
		return nil, err
	}
	out := auditList{Entries: make([]auditRecord, len(records))}
	for i, r := range records {
		out.Entries[i] = a.record(r, who)
	}
	return view.NewPage(view.NextLink(ctx, q.Bound, view.LastID(out.Entries, func(r auditRecord) string { return r.ID })), out), nil
}

type auditFault struct {
	Chain int                   `json:"chain"`
	Seq   int64                 `json:"seq"`
	Kind  ledger.AuditFaultKind `json:"kind" enum:"changed,missing,order,head"`
	Text  string                `json:"text" doc:"what is wrong with the entry, for people"`
}

type auditReport struct {
	OK      bool         `json:"ok"`
	Entries int64        `json:"entries"`
	Heads   []string     `json:"heads" doc:"the newest entry of each intact chain as CHAIN:SEQ:HASH; keep them elsewhere and pass them to a later call"`
	Faults  []auditFault `json:"faults" doc:"the first altered entry of each chain, and the given heads that do not fit"`
}

// Verify checks the whole trail.
func (a *AuditAPI) Verify(ctx context.Context, in *struct {
	Head []string `query:"head,explode" maxItems:"1000" doc:"a head kept from an earlier call, as CHAIN:SEQ:HASH; may be repeated"`
},
) (*wire.Body[auditReport], error) {
	if !auth.CallerOf(ctx).SeesAll() {
		return nil, wire.Forbidden("verifying reads the whole audit trail; use a token whose classification is RESTRICTED")
	}
	kept := make([]ledger.AuditHead, len(in.Head))
	for i, text := range in.Head {
		head, err := ledger.ParseAuditHead(text)
		if err != nil {
			return nil, wire.BadRequest(err.Error())
		}
		kept[i] = head
	}
	report, err := a.Rows.VerifyAudit(ctx, kept)
	if err != nil {
		return nil, err
	}
	out := auditReport{OK: len(report.Faults) == 0, Entries: report.Entries, Heads: make([]string, len(report.Heads)), Faults: make([]auditFault, len(report.Faults))}
	for i, h := range report.Heads {
		out.Heads[i] = h.String()
	}
	for i, f := range report.Faults {
		out.Faults[i] = auditFault(f)
	}
	return wire.NewBody(out), nil
}
