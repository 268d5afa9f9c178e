package httpapi

import (
	"context"
	"encoding/json"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
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
	Owner   bool       // the gateway's own token asks
	Speaker string     // who asks, as a principal; empty for the gateway's own token
	Reader  flow.Level // the most that who asks may be told: what is above it is not there, whatever the session may know
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
	who := callerOf(ctx)
	record.Taint = record.Taint.Join(who.words()) // as if the call came of what the caller says
	got, err := s.cfg.Simulate(ctx, Simulated{
		Session: record, Tool: in.Body.Tool, Args: args, Owner: who.Name == "", Speaker: s.principal(who), Reader: who.Level,
	})
	if err != nil {
		return nil, s.problem(err)
	}
	return &body[policy.Simulation]{got}, nil
}

// principal is who speaks with a named token, as rules name them; empty for the gateway's own.
func (s *Server) principal(who caller) string {
	if who.Name == "" {
		return ""
	}
	return sessions.Principal(s.cfg.PageRoute.Channel, router.TokenUser(who.Name))
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
