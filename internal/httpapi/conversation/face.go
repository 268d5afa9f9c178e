package conversation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/manage"
	"sluice/sessions"
)

// Opener opens sessions.
type Opener interface {
	// OpenSession finds the live session with a name, or creates it. The name must keep callers apart.
	OpenSession(ctx context.Context, name string, n manage.NewSession) (sessions.Record, error)
}

// Face finds and opens sessions for callers who speak another protocol. What a caller may not know of is not found.
type Face struct {
	Name    string // begins the names of its sessions
	Visible *view.Visibility
	Runs    RunRows
	Keeper  Opener
}

// Existing finds a session of an agent by its id or key.
func (f *Face) Existing(ctx context.Context, agent, name string) (sessions.Record, error) {
	record, err := f.Visible.Session(ctx, name)
	if err == nil && record.Agent != agent {
		err = wire.ErrNotFound
	}
	return record, err
}

// Open opens the session that belongs to something of the caller, which is of a kind. Its name has the caller's level: with
// another level, the same caller gets another session, so that it is never above who opens it.
func (f *Face) Open(ctx context.Context, agent string, n manage.NewSession, kind, of string) (sessions.Record, error) {
	who := auth.CallerOf(ctx)
	n.Agent, n.Clearance = agent, who.Level
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s %q %q", agent, who.Name, who.Level, kind, of))
	record, err := f.Keeper.OpenSession(ctx, f.Name+"-"+hex.EncodeToString(sum[:16]), n)
	if err != nil {
		return record, err
	}
	return f.Visible.UnlessHidden(ctx, record)
}

// Run finds a run and its agent.
func (f *Face) Run(ctx context.Context, id sessions.RunID) (run sessions.Run, agent string, err error) {
	run, err = f.Runs.Run(ctx, id)
	if err := f.Visible.Check(ctx, err, denials.Object{Kind: "run", ID: string(run.ID), Label: run.Label}, run.Session); err != nil {
		return run, "", err
	}
	record, err := f.Visible.Rows.Session(ctx, run.Session)
	return run, record.Agent, err
}
