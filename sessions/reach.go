package sessions

import (
	"context"
	"fmt"

	"sluice/sessions/message"
)

// openCall names a call of an answer: its id is unique in that answer alone.
type openCall struct {
	answer MessageID
	id     string
}

// lookUp finds out what the given calls reach, without the session's lock: the monitor may wait for the store. Calls of tools that never
// reach beyond their conversation need no look-up. The error is that ctx ended.
//
// The verdict follows under the lock, so what the session has learnt and what becomes of the call are one step. Only the addressee's
// conversation may change between the look-up and the effect, as it always could between the verdict and the effect. That leaks
// nothing: no level depends on the look-up. The tool checks the levels of its addressee again when it runs, and
// the gate judges each text when it is delivered, by the route that it has then.
func (s calls) lookUp(ctx context.Context, calls []Part) (map[openCall]Reach, error) {
	var found map[openCall]Reach
	for _, call := range calls {
		c, monitor, ok := s.toLookUp(call)
		if !ok {
			continue
		}
		reach := monitor.Reach(ctx, c)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("look up where a call of %s goes: %w", call.Tool, context.Cause(ctx))
		}
		if found == nil {
			found = map[openCall]Reach{}
		}
		found[openCall{c.Message, c.CallID}] = reach
	}
	return found, nil
}

// toLookUp is a call as the monitor sees it, if its tool may reach beyond its conversation.
func (s calls) toLookUp(call Part) (c MonitoredCall, m Monitor, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool, known := s.tool(call.Tool)
	if !known || tool.Beyond == nil {
		return c, nil, false
	}
	args, err := call.Arguments()
	if err != nil {
		return c, nil, false // it is refused
	}
	return MonitoredCall{Record: s.record, Message: s.asks(), CallID: call.CallID, Tool: tool, Args: tool.Arguments(args)}, s.monitored(), true
}

// lookUpNew is lookUp of the open calls that the last [Session.CallsToConfirm] did not look up. What it has found must hold until
// the calls are decided about: else a call about which no question was put could count as approved.
func (s calls) lookUpNew(ctx context.Context) (map[openCall]Reach, error) {
	s.mu.Lock()
	var calls []Part
	found, answer := s.reached, s.asks()
	for _, call := range message.OpenCalls(s.messages) {
		if _, ok := found[openCall{answer, call.CallID}]; !ok {
			calls = append(calls, call)
		}
	}
	s.mu.Unlock()
	more, err := s.lookUp(ctx, calls)
	if err != nil {
		return nil, err
	}
	for call, reach := range found { // the map itself may be replaced in the meantime, and is never changed
		if more == nil {
			more = map[openCall]Reach{}
		}
		more[call] = reach
	}
	return more, nil
}

// refreshReach looks up what a call reaches that is about to run: those before it may have changed it.
func (s calls) refreshReach(ctx context.Context, d *decision) error {
	if !d.known || !d.approved {
		return nil
	}
	found, err := s.lookUp(ctx, []Part{d.call})
	d.reach = found[openCall{s.asking(), d.call.CallID}]
	return err
}
