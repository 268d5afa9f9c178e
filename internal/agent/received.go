package agent

import (
	"context"
	"slices"

	"sluice/sessions"
)

// keeper saves the files that people send to an agent that works with files.
type keeper struct {
	read func(ctx context.Context, id sessions.MediaID) ([]byte, error)
	keep func(ctx context.Context, caller sessions.Caller, a *sessions.Attachment, content []byte) (path string, err error)
}

// receive saves the files that came with the run's message to the session's own folder, and notes in the message where they are. A
// file that can't be saved has a note that says so, and the message is answered all the same.
func (w *work) receive(ctx context.Context) error {
	if len(w.run.Input.Attachments) == 0 || w.keeper.read == nil {
		return nil
	}
	record := w.session.Record()
	d, _ := w.roster.Definition(record.Agent)
	caller := sessions.Caller{Session: record.ID, Agent: record.Agent, Taint: record.Taint, Sandbox: w.session.Sandbox()}
	if caller.Sandbox.Workspace == "" || !d.Tools.Has("read", d.Sandbox) {
		return nil
	}
	for _, m := range slices.Backward(w.session.Messages()) {
		if m.Run != w.run.ID || m.Role != sessions.RoleUser {
			continue
		}
		changed := false
		m.Parts = slices.Clone(m.Parts)
		for i, p := range m.Parts {
			if p.Attachment == nil || p.Attachment.Media == "" || p.Attachment.Path != "" {
				continue
			}
			kept := *p.Attachment
			if err := w.saved(ctx, caller, &kept); err != nil {
				return err
			}
			m.Parts[i].Attachment, changed = &kept, true
		}
		if !changed {
			return nil
		}
		return w.session.SetMessage(m.ID, m)
	}
	return nil
}

// saved saves one file. Only the end of ctx is an error.
func (w *work) saved(ctx context.Context, caller sessions.Caller, a *sessions.Attachment) error {
	content, err := w.keeper.read(ctx, a.Media)
	if err == nil {
		a.Path, err = w.keeper.keep(ctx, caller, a, content)
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	a.Note += "; it could not be saved in the workspace"
	w.log.Warn("received file not saved", "run", string(w.run.ID), "media", string(a.Media), "err", err)
	return nil
}
