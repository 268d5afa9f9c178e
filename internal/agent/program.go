package agent

import (
	"context"
	"errors"
	"time"

	"sluice/internal/program"
	"sluice/policy/flow"
	"sluice/sessions"
)

// absentMax is how long a run waits for a program of which no instance is there, or none answers.
const absentMax = time.Minute

// entrust lets a program work the run. end returns the session as it was.
func (w *work) entrust(ctx context.Context, p *program.Program, folder string) (limited context.Context, end func()) {
	w.program, w.budget = p, min(w.budget, absentMax)
	cancel := context.CancelFunc(func() {})
	if p.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
	}
	if p.Untrusted {
		w.session.Raise(flow.NewLabel(flow.Public, flow.Untrusted))
	}
	model, done := p.Work(w.run, w.session.Taint, folder)
	w.session.SetModel(model)
	return ctx, func() {
		done()
		w.session.SetModel(p)
		cancel()
	}
}

// programFolder is the folder in which a program with a process of its own works; empty if its agent has no files.
func (l *Loop) programFolder(s *sessions.Session, p *program.Program) string {
	if !p.OwnProcess {
		return ""
	}
	folder, err := l.roster.Folder(s.Record())
	if err != nil {
		l.log.Warn("a program runs in a temporary folder", "agent", p.Agent, "err", err)
	}
	return folder
}

// programFailed describes the failure of a program.
func programFailed(err *sessions.ModelError) *sessions.WorkError {
	switch {
	case errors.Is(err, program.ErrAbsent):
		return failed(err, "The program that answers here is not running. Please try again later.")
	case err.Kind == sessions.ModelUnavailable:
		return failed(err, "The program that answers here does not respond. Please try again later.")
	}
	return failed(err, "The program that answers here failed. My owner can see why with `sluice runs list --status failed`.")
}
