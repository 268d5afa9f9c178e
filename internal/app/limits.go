package app

import (
	"context"
	"errors"
	"time"

	"sluice/adapters"
	"sluice/adapters/webchat"
	"sluice/internal/httpapi/auth"
	"sluice/internal/sandbox"
	"sluice/internal/watermark"
	"sluice/internal/workspace"
	"sluice/router/ledger"
	"sluice/router/limits"
	"sluice/router/quota"
	"sluice/sessions"
)

// bounds returns the current limits for the files of sessions.
func (a *App) bounds() workspace.Bounds {
	l := a.limits.Load()
	return workspace.Bounds{Workspace: int64(l.WorkspaceBytes), Session: int64(l.SessionBytes), Reserve: int64(l.ReserveBytes)}
}

// diskSpace checks that the disk of the store has space for a file, beyond the reserve. It can't check the disk of a
// PostgreSQL server.
func (a *App) diskSpace(bytes int64) error {
	if a.cfg.Store.URL.Reveal() != "" {
		return nil
	}
	err := a.files.Quota.Reserve(a.cfg.State, bytes)
	if errors.Is(err, workspace.ErrNoSpace) {
		return &quota.FullError{Text: err.Error()}
	}
	return err
}

// newDisk watches the disk of the state.
func newDisk(a *App) *watermark.Disk {
	return &watermark.Disk{Folder: a.cfg.State, Space: a.space, Now: a.now, Log: a.log, Marks: func() watermark.Marks {
		l := a.limits.Load()
		return watermark.Marks{Warn: int64(l.DiskWarnBytes), Stop: int64(l.DiskStopBytes)}
	}}
}

// diskFull returns a function that says why new messages are refused at the moment. It is nil with PostgreSQL, where messages
// need no space on this disk.
func diskFull(a *App) func() error {
	if a.cfg.Store.URL.Reveal() != "" {
		return nil
	}
	return func() error {
		if err := a.disk.Full(); err != nil {
			return &quota.FullError{Text: err.Error()}
		}
		return nil
	}
}

// countTimeout is how long a request waits for its turn to be counted.
const countTimeout = 2 * time.Second

// requestsOf counts the requests with a token. Tokens at their limit are in the list of those who were refused. While the
// database is away, requests are not counted: some need no database, and those tell what is wrong.
func requestsOf(a *App) func(ctx context.Context, who auth.Caller) error {
	return func(ctx context.Context, who auth.Caller) error {
		within, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		err := a.router.Limits.Count(within, ledger.LimitCount{Kind: ledger.LimitToken, Name: who.Name, Level: who.Level, Rate: rate(a.limits.Load().PerToken)})
		if reached, ok := errors.AsType[*limits.Reached](err); ok {
			a.router.Refused.NoteAt(adapters.Inbound{Route: webchat.Route(), Sender: sessions.Peer{ID: sessions.UserID(who.Actor()), Name: who.Name}}, who.Level, reached.Reason())
		}
		if errors.Is(err, sessions.ErrUnavailable) || within.Err() != nil && ctx.Err() == nil && errors.Is(err, context.Cause(within)) {
			a.log.Debug("request not counted", "token", who.Name, "err", err)
			return nil
		}
		return err
	}
}

// commandLimits returns the current limits for commands of the tool exec.
func (a *App) commandLimits() sandbox.Limits {
	l := a.limits.Load()
	return sandbox.Limits{Memory: int64(l.CommandMemory), Processes: l.CommandProcesses}
}
