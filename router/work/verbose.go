package work

import (
	"errors"

	"sluice/internal/visible"
	"sluice/router/ledger"
	"sluice/sessions"
)

// toolSign is the mark before tool names in verbose messages.
const toolSign = "🔧 "

// tell shows a conversation which tools a run uses, if the session's verbose level says so. The gate checks it as a
// part of the answer. A message that can't be stored is skipped: only the answer matters.
func (s *show) tell(e sessions.Event) {
	text := verboseText(s.verbose, e)
	if text == "" || s.adapter == nil || s.run.Route.Handle != "" {
		return
	}
	leaving := s.egress()
	if leaving.Text = text; !s.lets(leaving) {
		return
	}
	d := s.by.composer.Delivery(ledger.KindReply, s.run.Route, text, s.taint())
	d.Session, d.Run = s.run.Session, s.run.ID
	d.Idempotency = "tool/" + string(s.run.ID) + "/" + e.CallID + "/" + string(e.Type) // a resumed run repeats no message
	change := ledger.Change{Deliver: []ledger.Delivery{d}}
	err := s.by.store.Commit(s.ctx, change)
	if err == nil {
		s.by.lanes.WakeFor(change)
	} else if !errors.Is(err, sessions.ErrDuplicate) && s.ctx.Err() == nil {
		s.by.log.Warn("tool call not shown", "run", string(s.run.ID), "tool", e.Tool, "err", err)
	}
}

// verboseText is what a verbose level shows of an event; may be empty.
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
