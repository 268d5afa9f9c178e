package httpapi

import (
	"context"
	"encoding/json"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// simulatedCall asks about a call of a tool.
type simulatedCall struct {
	Tool    string                     `json:"tool_name" minLength:"1"`
	Args    map[string]json.RawMessage `json:"args,omitempty" doc:"the call's arguments"`
	Session string                     `json:"session,omitempty" doc:"key or id of the session that would make it; default: the default agent's main session"`
}

// Simulated is a call that is only thought of.
type Simulated struct {
	Session sessions.Record
	Tool    string
	Args    json.RawMessage
	Reader  flow.Level // who is told: what is above it is not there, whatever the session may know
}

func (s *Server) simulate(ctx context.Context, in *struct{ Body simulatedCall }) (*body[policy.Simulation], error) {
	record, err := s.cfg.Router.SessionOrMain(ctx, in.Body.Session)
	if err != nil {
		return nil, s.problem(err)
	}
	if record, err = s.unlessHidden(ctx, record); err != nil {
		return nil, err
	}
	if !s.channelSeen(ctx, record.Route.Channel, record.Route.Account) {
		record.Route = sessions.Route{} // as if it were spoken to nowhere
	}
	args, err := json.Marshal(in.Body.Args)
	if err != nil {
		return nil, s.problem(err)
	}
	s.noteSimulated(ctx, args)
	got, err := s.cfg.Simulate(ctx, Simulated{record, in.Body.Tool, args, callerOf(ctx).Level})
	if err != nil {
		return nil, s.problem(err)
	}
	return &body[policy.Simulation]{got}, nil
}

// noteSimulated tells the operator of a channel that a call names and its caller may not know of.
func (s *Server) noteSimulated(ctx context.Context, args json.RawMessage) {
	var to struct {
		Channel   string `json:"channel"`
		AccountID string `json:"accountId"`
	}
	if json.Unmarshal(args, &to) == nil && !s.channelSeen(ctx, to.Channel, to.AccountID) {
		s.denyChannel(ctx, "channel", "", to.Channel, to.AccountID)
	}
}
