package why

import (
	"cmp"
	"context"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/sessions"
)

type refusedRecord struct {
	ID       string                  `json:"id"`
	Channel  string                  `json:"channel"`
	Account  string                  `json:"account"`
	ChatType sessions.ChatType       `json:"chat_type"`
	Chat     sessions.ConversationID `json:"conversation"`
	Title    string                  `json:"title,omitempty"`
	User     sessions.Peer           `json:"user"`
	Reason   string                  `json:"reason"`
	Count    int                     `json:"count"`
	First    time.Time               `json:"first"`
	Last     time.Time               `json:"last"`
}

type refusedList struct {
	Refused []refusedRecord `json:"refused"`
}

// Refused lists who wrote and was not heard, the latest first. Operators see them, as they see who has asked for access.
func (a *API) Refused(ctx context.Context, in *struct {
	Limit  int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Before time.Time `query:"before" doc:"only those that were last refused before this time"`
},
) (*wire.Body[refusedList], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	rows, err := a.Rows.ListRefusals(ctx, auth.CallerOf(ctx).Level, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := refusedList{Refused: []refusedRecord{}}
	for _, r := range rows {
		if a.Visible.ChannelSeen(ctx, r.Channel, cmp.Or(r.Account, "default")) {
			out.Refused = append(out.Refused, refusedRecord{r.ID, r.Channel, r.Account, r.ChatType, r.Chat, r.Title, r.User, r.Reason, r.Count, r.First, r.Last})
		}
	}
	return wire.NewBody(out), nil
}
