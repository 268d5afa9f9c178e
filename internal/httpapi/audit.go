package httpapi

import (
	"context"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
)

type auditRecord struct {
	ID      string      `json:"id" doc:"for after"`
	At      time.Time   `json:"at"`
	Actor   string      `json:"actor"`
	Action  string      `json:"action"`
	Object  string      `json:"object"`
	Session sessions.ID `json:"session,omitempty"`
	Label   string      `json:"label"`
	Detail  any         `json:"detail,omitempty"`
	Place   *auditPlace `json:"place,omitempty" doc:"where it stands in the trail; only who sees every level is told"`
}

// auditPlace is an entry of a chain of the trail.
type auditPlace struct {
	Chain int    `json:"chain"`
	Seq   int64  `json:"seq" doc:"1, 2, 3 … in its chain"`
	Hash  string `json:"hash" doc:"stands for all entries of the chain up to this one"`
}

func (s *Server) auditOf(r ledger.AuditRecord, who caller) auditRecord {
	out := auditRecord{
		ID: r.ID, At: r.At, Actor: r.Actor, Action: r.Action, Object: r.Object, Session: r.Session, Label: r.Label.String(), Detail: r.Detail,
	}
	if !who.seesAll() {
		out.ID = s.cursors.sealEntry(r.ID) // it is made of the entry's hash, and so of what others may not see
		return out
	}
	place := auditPlace(r.Place) // the numbers count what others may not see
	out.Place = &place
	return out
}

type auditList struct {
	Entries []auditRecord `json:"entries"`
}

func (s *Server) listAudit(ctx context.Context, in *struct {
	Action  string    `query:"action" maxLength:"512" doc:"only this action, for example delivery.block"`
	Actor   string    `query:"actor" maxLength:"512" doc:"only what this one did, for example operator, gateway, agent:main or telegram:1001"`
	Session string    `query:"session" maxLength:"512" doc:"a session's id or key"`
	Since   time.Time `query:"since" doc:"only from this time on"`
	Limit   int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After   string    `query:"after" maxLength:"512" doc:"go on after this id"`
},
) (*page[auditList], error) {
	who := callerOf(ctx)
	if !who.seesAll() && in.After != "" {
		in.After = s.cursors.openEntry(in.After)
	}
	q := ledger.AuditQuery{Action: in.Action, Actor: in.Actor, Since: in.Since, MaxLevel: who.Level, Limit: in.Limit, After: in.After, Bound: newBound()}
	if in.Session != "" {
		id, err := s.anySession(ctx, in.Session)
		if err != nil {
			return nil, err
		}
		q.Session = id
	}
	records, err := s.cfg.Store.ListAudit(ctx, q)
	if err != nil {
		return nil, s.problem(err)
	}
	out := auditList{Entries: make([]auditRecord, len(records))}
	for i, r := range records {
		out.Entries[i] = s.auditOf(r, who)
	}
	return &page[auditList]{next(ctx, q.Bound, lastOf(out.Entries, func(r auditRecord) string { return r.ID })), out}, nil
}

type auditFault struct {
	Chain int                   `json:"chain"`
	Seq   int64                 `json:"seq"`
	Kind  ledger.AuditFaultKind `json:"kind" enum:"changed,missing,order,head"`
	Text  string                `json:"text" doc:"what is wrong with this entry, for people"`
}

type auditReport struct {
	OK      bool         `json:"ok"`
	Entries int64        `json:"entries"`
	Heads   []string     `json:"heads" doc:"the newest entry of each whole chain as CHAIN:SEQ:HASH; keep them elsewhere, and give them to a later call"`
	Faults  []auditFault `json:"faults" doc:"the first entry of each chain that is not as it was written, and the given heads that do not fit"`
}

func (s *Server) verifyAudit(ctx context.Context, in *struct {
	Head []string `query:"head,explode" maxItems:"1000" doc:"a head kept before, as CHAIN:SEQ:HASH; may be repeated"`
},
) (*body[auditReport], error) {
	if !callerOf(ctx).seesAll() {
		return nil, forbidden("the audit trail is verified as a whole: use a token whose level is RESTRICTED")
	}
	kept := make([]ledger.AuditHead, len(in.Head))
	for i, text := range in.Head {
		head, err := ledger.ParseAuditHead(text)
		if err != nil {
			return nil, badRequest(err.Error())
		}
		kept[i] = head
	}
	report, err := s.cfg.Store.VerifyAudit(ctx, kept)
	if err != nil {
		return nil, s.problem(err)
	}
	out := auditReport{OK: len(report.Faults) == 0, Entries: report.Entries, Heads: make([]string, len(report.Heads)), Faults: make([]auditFault, len(report.Faults))}
	for i, h := range report.Heads {
		out.Heads[i] = h.String()
	}
	for i, f := range report.Faults {
		out.Faults[i] = auditFault(f)
	}
	return &body[auditReport]{out}, nil
}
