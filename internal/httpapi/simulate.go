package httpapi

import (
	"context"
	"encoding/json"

	"sluice/policy"
)

// simulatedCall asks about a call of a tool.
type simulatedCall struct {
	Tool    string                     `json:"tool_name" minLength:"1"`
	Args    map[string]json.RawMessage `json:"args,omitempty" doc:"the call's arguments"`
	Session string                     `json:"session,omitempty" doc:"key or id of the session that would make it; default: the default agent's main session"`
}

func (s *Server) simulate(ctx context.Context, in *struct{ Body simulatedCall }) (*body[policy.Simulation], error) {
	record, err := s.cfg.Router.SessionOrMain(ctx, in.Body.Session)
	if err != nil {
		return nil, s.problem(err)
	}
	if record, err = s.unlessHidden(ctx, record); err != nil {
		return nil, err
	}
	args, err := json.Marshal(in.Body.Args)
	if err != nil {
		return nil, s.problem(err)
	}
	got, err := s.cfg.Simulate(ctx, record, in.Body.Tool, args)
	if err != nil {
		return nil, s.problem(err)
	}
	return &body[policy.Simulation]{got}, nil
}
