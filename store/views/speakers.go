package views

import (
	"context"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

// Speakers reads who has spoken in which session in the newest messages that a reader may see, at most limit messages, the
// latest speaker first. more says that there are older messages.
func (db Table) Speakers(ctx context.Context, most flow.Level, limit int) (all []ledger.Spoken, more bool, err error) {
	f := engine.Filter{}
	f.Within(most, "runs", "session_id")
	f.Add(`kind = ?`, string(sessions.KindMessage))
	type place struct {
		channel      string
		user         sessions.UserID
		session      sessions.ID
		account      string
		conversation sessions.ConversationID
	}
	at, n := map[place]int{}, 0
	err = db.Query(ctx, `SELECT session_id, input, route, accepted FROM runs`+f.Where()+` ORDER BY seq DESC`+engine.Limit(limit+1), f.Args, func(row engine.Row) error {
		var id, input, route string
		var accepted int64
		if err := row.Scan(&id, &input, &route, &accepted); err != nil {
			return err
		}
		if n++; n > limit {
			more = true
			return nil
		}
		var d engine.Decoding
		var said struct {
			Sender sessions.Peer `json:"sender"`
		}
		one := ledger.Spoken{Session: sessions.ID(id), Count: 1, Last: engine.FromMicros(accepted)}
		d.Into(input, &said)
		d.Into(route, &one.Route)
		one.Who = said.Sender
		p := place{one.Route.Channel, one.Who.ID, one.Session, one.Route.Account, one.Route.Conversation}
		if d.Err != nil || one.Who.ID == "" {
			return d.Err
		}
		if i, known := at[p]; known {
			all[i].Count++
			return nil
		}
		at[p] = len(all)
		all = append(all, one)
		return nil
	})
	return all, more, err
}
