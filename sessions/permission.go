package sessions

import (
	"context"

	"sluice/sessions/message"
)

// refusedByMode is what a model reads of a call that the mode does not let run.
const refusedByMode = "refused: the session's permission mode is deny, only tools that read may be used"

// Permission is the session's mode.
func (s *Session) Permission() PermissionMode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.permission
}

// SetPermission changes the session's mode. It is not stored: who opens the session says it.
func (s *Session) SetPermission(mode PermissionMode) error {
	mode, err := ParsePermissionMode(string(mode))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permission = mode
	return nil
}

// CallToConfirm is an open call that somebody has to decide about.
type CallToConfirm struct {
	Part
	Why   string // it has to be decided about, for the person who decides; empty: the permission mode says so
	Terms Terms
}

// CallsToConfirm are the open tool calls that somebody has to decide about before
// [Session.ConfirmAndExecuteTools] runs any, in their order. It may look up where they go, with ctx; the error is that ctx ended.
func (s *Session) CallsToConfirm(ctx context.Context) ([]CallToConfirm, error) {
	reached, err := s.calls.lookUp(ctx, s.PendingToolCalls())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = reached
	var asked []CallToConfirm
	for _, call := range message.OpenCalls(s.messages) {
		if v := s.calls.ruling(call, reached[openCall{s.asks(), call.CallID}]); v.Ruling == RulingAsk {
			asked = append(asked, CallToConfirm{call, v.Reason, v.Terms})
		}
	}
	return asked, nil
}

// ruling judges a call that nobody has decided about, by the mode and by the monitor: the
// stricter counts. One of a tool that is not there has no effect but its error.
func (s calls) ruling(call Part, reach Reach) CallVerdict {
	tool, known := s.tool(call.Tool)
	if !known {
		return CallVerdict{}
	}
	mode := s.permission.Ruling(tool)
	if mode == RulingRefuse {
		return CallVerdict{Ruling: RulingRefuse, Reason: refusedByMode}
	}
	v := s.verdict(&decision{call: call, tool: tool, reach: reach}, false, false)
	v.Ruling = max(v.Ruling, mode)
	return v
}
