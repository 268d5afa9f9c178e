// Package skills has the pins of skills: what the owner has said about their content.
package skills

import (
	"context"
	"fmt"

	"sluice/internal/skill"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	columns = `agent, name, digest, level, trust, source, pinned_by, at`
	list    = `SELECT ` + columns + ` FROM skill_pins WHERE agent = ? ORDER BY name`
	set     = `INSERT INTO skill_pins (` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, name) DO UPDATE SET digest = excluded.digest, level = excluded.level, trust = excluded.trust, source = excluded.source, pinned_by = excluded.pinned_by, at = excluded.at`
	forget = `DELETE FROM skill_pins WHERE agent = ? AND name = ?`
)

// Table has the pins.
type Table struct{ *engine.Conn }

var _ skill.Pins = Table{}

// SkillPins implements [skill.Pins].
func (db Table) SkillPins(ctx context.Context, agent string) ([]skill.Pin, error) {
	pins, err := engine.All(ctx, db.Conn, list, []any{agent}, func(row engine.Row) (p skill.Pin, err error) {
		var level, trust int
		var at int64
		err = row.Scan(&p.Agent, &p.Name, &p.Digest, &level, &trust, &p.Source, &p.By, &at)
		p.Label, p.At = engine.LabelFrom(level, trust), engine.FromMicros(at)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read pins of skills: %w", err)
	}
	return pins, nil
}

// PinSkill implements [skill.Pins].
func (db Table) PinSkill(ctx context.Context, p skill.Pin, audit sessions.AuditEntry) error {
	level, trust := engine.Label(p.Label)
	return db.change(ctx, audit, engine.Statement{SQL: set, Args: []any{
		p.Agent, p.Name, p.Digest, level, trust, engine.Indexed(p.Source), engine.Indexed(p.By), engine.Micros(p.At),
	}})
}

// UnpinSkill implements [skill.Pins].
func (db Table) UnpinSkill(ctx context.Context, agent, name string, audit sessions.AuditEntry) error {
	return db.change(ctx, audit, engine.Statement{SQL: forget, Args: []any{agent, name}})
}

func (db Table) change(ctx context.Context, audit sessions.AuditEntry, statement engine.Statement) error {
	var e engine.Encoding
	trail := e.Entries([]sessions.AuditEntry{audit})
	if e.Err != nil {
		return e.Err
	}
	if err := db.Apply(ctx, engine.Write{statement}, trail); err != nil {
		return fmt.Errorf("pin skill: %w", err)
	}
	return nil
}
