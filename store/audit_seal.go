package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/engine"
)

// SealMigration is the number of the migration that runs SealAudit.
const SealMigration = 51

// sealPage is how many entries are in memory at once.
const sealPage = 1000

// SealAudit moves the entries that were written before the trail was a chain into its first chain, in order. Changes
// made to them before this migration can't be detected, so an extra entry states how many there are. tx is the
// migration's transaction, and spell translates a statement for the database.
func SealAudit(ctx context.Context, tx *sql.Tx, spell func(string) string, now time.Time) error {
	s := sealer{tx, spell}
	sealed := 0
	for from := int64(0); ; {
		trail, last, err := s.page(ctx, from)
		if err != nil {
			return fmt.Errorf("read old audit entries: %w", err)
		}
		if len(trail) == 0 {
			break
		}
		if err := s.add(ctx, trail); err != nil {
			return err
		}
		from, sealed = last, sealed+len(trail)
	}
	if sealed > 0 {
		if err := s.begin(ctx, sealed, now); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `DROP TABLE audit_before`); err != nil {
		return fmt.Errorf("drop old audit table: %w", err)
	}
	return nil
}

type sealer struct {
	tx    *sql.Tx
	spell func(string) string
}

// page reads the next old entries. from is the number of the last one on the previous page; last is that of this page.
func (s sealer) page(ctx context.Context, from int64) (trail engine.Trail, last int64, err error) {
	rows, err := s.tx.QueryContext(ctx, s.spell(`SELECT seq, at, actor, action, object, session_id, level, trust, detail FROM audit_before
		WHERE seq > ? ORDER BY seq`+engine.Limit(sealPage)), from)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e engine.Entry
		if err := rows.Scan(&last, &e.At, &e.Actor, &e.Action, &e.Object, &e.Session, &e.Level, &e.Trust, &e.Detail); err != nil {
			return nil, 0, err
		}
		trail = append(trail, e)
	}
	return trail, last, rows.Err()
}

// begin adds the entry that says how many entries are older than the chain.
func (s sealer) begin(ctx context.Context, sealed int, now time.Time) error {
	var e engine.Encoding
	trail := e.Entries([]sessions.AuditEntry{{
		At: now, Actor: "gateway", Action: "audit.begin", Label: flow.NewLabel(flow.Restricted, flow.Trusted),
		Detail: map[string]any{"before": sealed, "reason": "the entries before this one were not chained when they were written"},
	}})
	if e.Err != nil {
		return e.Err
	}
	return s.add(ctx, trail)
}

func (s sealer) add(ctx context.Context, trail engine.Trail) error {
	var head engine.Head
	if err := head.Scan(s.tx.QueryRowContext(ctx, s.spell(engine.FreeHead))); err != nil {
		return fmt.Errorf("read head of audit trail: %w", err)
	}
	links, _ := trail.Link(head)
	for _, link := range links {
		if _, err := s.tx.ExecContext(ctx, s.spell(link.SQL), link.Args...); err != nil {
			return fmt.Errorf("seal audit trail: %w", err)
		}
	}
	return nil
}
