package httpapi

import (
	"context"
	"fmt"

	"sluice/sessions"
)

// directoryRecord is a conversation that was looked up.
type directoryRecord struct {
	Route   sessions.Route  `json:"route"`
	Members []sessions.Peer `json:"members,omitempty" doc:"at most 200; left out where the platform does not tell"`
}

func (s *Server) directory(ctx context.Context, in *struct {
	Channel string `query:"channel" required:"true"`
	Account string `query:"account"`
	To      string `query:"to" required:"true" doc:"a conversation's id, owner, #name or @name"`
},
) (*body[directoryRecord], error) {
	if err := needOperator(ctx); err != nil {
		return nil, err
	}
	if err := s.needChannel(ctx, in.Channel, in.Account); err != nil {
		return nil, err
	}
	route, members, err := s.cfg.Router.LookUp(ctx, in.Channel, in.Account, in.To)
	if err != nil {
		return nil, s.problem(fmt.Errorf("look up: %w", err))
	}
	return &body[directoryRecord]{directoryRecord{publicRoute(route), members}}, nil
}
