package views

import (
	"context"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

// Speakers reads who has spoken in which session in the newest messages that a reader may see, at most limit messages and about as
// many bytes as the bound says, the latest speaker first. The bound says whether there are older messages.
func (db Table) Speakers(ctx context.Context, most flow.Level, limit int, b *ledger.Bound) ([]ledger.Spoken, error) {
	f := engine.Filter{}
	f.Within(most, "runs", "session_id")
	f.Add(`kind = ?`, string(sessions.KindMessage))
	messages, err := engine.Listed(ctx, db.Conn, b, limit, `SELECT session_id, input, route, accepted FROM runs`+f.Where()+` ORDER BY seq DESC`, f.Args, scanSpoken)
	type place struct {
		channel      string
		user         sessions.UserID
		session      sessions.ID
		account      string
		conversation sessions.ConversationID
	}
	at := map[place]int{}
	var all []ledger.Spoken
	for _, one := range messages {
		p := place{one.Route.Channel, one.Who.ID, one.Session, one.Route.Account, one.Route.Conversation}
		if i, known := at[p]; known {
			all[i].Count++
		} else if one.Who.ID != "" {
			at[p] = len(all)
			all = append(all, one)
		}
	}
	return all, err
}

func scanSpoken(row engine.Row) (ledger.Spoken, error) {
	var id, input, route string
	var accepted int64
	if err := row.Scan(&id, &input, &route, &accepted); err != nil {
		return ledger.Spoken{}, err
	}
	var d engine.Decoding
	var said struct {
		Sender sessions.Peer `json:"sender"`
	}
	one := ledger.Spoken{Session: sessions.ID(id), Count: 1, Last: engine.FromMicros(accepted)}
	d.Into(input, &said)
	d.Into(route, &one.Route)
	one.Who = said.Sender
	return one, d.Err
}
