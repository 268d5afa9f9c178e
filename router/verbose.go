package router

import (
	"errors"

	"sluice/internal/visible"
	"sluice/router/ledger"
	"sluice/sessions"
)

// toolSign stands before what people are shown of the tools that a run uses.
const toolSign = "🔧 "

// tell lets the people of a conversation see which tools a run uses, where the session's verbose level
// says so. It is a part of the answer for the gate. What can't be stored is left out: the answer counts.
func (s *show) tell(e sessions.Event) {
	text := verboseText(s.verbose, e)
	if text == "" || s.adapter == nil || s.run.Route.Handle != "" {
		return
	}
	leaving := s.egress()
	if leaving.Text = text; !s.lets(leaving) {
		return
	}
	d := s.r.compose.Delivery(ledger.KindReply, s.run.Route, text, s.taint())
	d.Session, d.Run = s.run.Session, s.run.ID
	d.Idempotency = "tool/" + string(s.run.ID) + "/" + e.CallID + "/" + string(e.Type) // a run that is gone on with tells nothing twice
	change := ledger.Change{Deliver: []ledger.Delivery{d}}
	err := s.r.store.Commit(s.ctx, change)
	if err == nil {
		s.r.lanes.WakeFor(change)
	} else if !errors.Is(err, sessions.ErrDuplicate) && s.ctx.Err() == nil {
		s.r.log.Warn("tool call not shown", "run", string(s.run.ID), "tool", e.Tool, "err", err)
	}
}

// verboseText is what a level shows of an event; empty for nothing.
func verboseText(level sessions.VerboseLevel, e sessions.Event) string {
	if level != sessions.VerboseOn && level != sessions.VerboseFull {
		return ""
	}
	switch {
	case e.Type == sessions.EventToolCall:
		return toolSign + visible.CodeSpan(e.Tool)
	case e.Type == sessions.EventToolDone && level == sessions.VerboseFull && e.Failed:
		return toolSign + visible.CodeSpan(e.Tool) + " failed"
	case e.Type == sessions.EventToolDone && level == sessions.VerboseFull:
		return toolSign + visible.CodeSpan(e.Tool) + " done"
	}
	return ""
}
