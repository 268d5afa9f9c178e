package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// By what right a person may write in private depends on no account that the caller may not know of.
func TestTheRightInPrivateTellsNothingOfAHiddenAccount(t *testing.T) {
	t.Parallel()
	for _, who := range []struct{ token, want string }{{"guest", "ask"}, {"all", "paired"}} {
		db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t), Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		session := sessions.Record{ID: "sess_000000000001", Key: "agent:main:test:group:1", Agent: "main", Taint: flow.Bottom(), Clearance: flow.Public, Created: clock, LastActivity: clock}
		run := sessions.Run{ID: "run_1", Session: session.ID, Kind: sessions.KindMessage, Status: sessions.RunDone, Label: flow.Bottom(), Accepted: clock, Started: clock, Finished: clock}
		run.Input.Sender = sessions.Peer{ID: "ann", Name: "Ann"}
		run.Route = sessions.Route{Channel: "test", Account: "guest", ChatType: sessions.Group, Conversation: "1"}
		require.NoError(t, db.Commit(t.Context(), ledger.Change{
			Change:   sessions.Change{Create: []sessions.Record{session}, Enqueue: []sessions.Run{run}},
			Pairings: []ledger.Pairing{{Channel: "test", Account: "default", User: sessions.Peer{ID: "ann"}, Status: ledger.PairingApproved, Created: clock, Expires: clock}},
		}))
		settings := &place.Settings{Channels: map[string]place.ChannelSettings{"test": {DMPolicy: place.AccessPairing, GroupPolicy: place.AccessOpen}}}
		h := newServer(t, newGateway(), func(c *httpapi.Config) {
			c.Rows.People, c.Gateway.PlaceSettings = db, func() *place.Settings { return settings }
			c.Gateway.Places = rights{db}
			c.Access.Tokens = append(c.Access.Tokens,
				auth.Credential{Name: "guest", Token: "guest", Level: flow.Public, Role: auth.RoleOperator}, auth.Credential{Name: "all", Token: "all", Level: flow.Restricted, Role: auth.RoleOperator})
			c.SinkLevel = func(r sessions.Route) flow.Level {
				if r.Account == "guest" {
					return flow.Public
				}
				return flow.Confidential
			}
		}).Handler()
		w := call(h, "GET", "/v1/people", "", "Authorization: Bearer "+who.token)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		var got struct {
			People []struct{ Person, Account, Direct string }
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		require.Len(t, got.People, 1, who.token)
		require.Equal(t, []string{"test:ann", who.want}, []string{got.People[0].Person, got.People[0].Direct}, who.token)
	}
}

// rights are those of a channel that asks for pairing, account by account.
type rights struct {
	rows interface {
		PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error)
	}
}

func (r rights) RightOf(ctx context.Context, route sessions.Route, who sessions.Peer) (place.Right, error) {
	p, err := r.rows.PairingOf(ctx, route.Channel, route.Account, who.ID)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return place.RightAsk, nil
	case err != nil:
		return place.RightNone, err
	case p.Status != ledger.PairingApproved:
		return place.RightAsk, nil
	}
	return place.RightPaired, nil
}
