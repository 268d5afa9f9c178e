package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

func TestSessionsAreFiltered(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	secret := flow.NewLabel(flow.Confidential, flow.Trusted)
	record := func(id, key, channel string, level flow.Level, title flow.Text) sessions.Record {
		return sessions.Record{
			ID: sessions.ID(id), Key: sessions.Key(key), Agent: "main", Route: sessions.Route{Channel: channel}, Taint: flow.NewLabel(level, flow.Trusted), Clearance: flow.Restricted,
			Title: title, Created: clock, LastActivity: clock, Persistent: true,
		}
	}
	child := record("sess_000000000004", "agent:main:subagent:x", "", flow.Public, flow.Text{})
	child.SpawnedBy = "sess_000000000003"
	require.NoError(t, db.CommitSession(t.Context(), sessions.Change{Create: []sessions.Record{
		record("sess_000000000001", "agent:main:main", "webchat", flow.Public, flow.NewText("Plan of 100%", flow.Bottom())),
		record("sess_000000000002", "agent:main:telegram:group:-5", "telegram", flow.Internal, flow.NewText("The secret plan", secret)),
		record("sess_000000000003", "agent:main:telegram:direct:7", "telegram", flow.Confidential, flow.Text{}), child,
	}}))
	s := newServer(t, newGateway(), func(c *httpapi.Config) { useRows(c, db) }, withTokens(auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleViewer}))
	t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())); require.NoError(t, db.Close()) })
	list := func(query string, headers ...string) (ids string) {
		w := call(s.Handler(), "GET", "/v1/sessions?"+query, "", headers...)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var got []struct{ ID string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		for _, r := range got {
			ids = r.ID[len(r.ID)-1:] + ids
		}
		return ids
	}
	low := "Authorization: Bearer low"
	require.Equal(t, "23", list("channel=telegram"))
	require.Equal(t, "2", list("channel=telegram", low))
	require.Equal(t, "1", list("kind=main"))
	require.Equal(t, "2", list("kind=group"))
	require.Equal(t, "4", list("kind=subagent"))
	require.Equal(t, "3", list("level=CONFIDENTIAL"))
	require.Empty(t, list("level=CONFIDENTIAL", low))
	require.Equal(t, "12", list("q=PLAN"))
	require.Equal(t, "1", list("q=0%25"))
	require.Empty(t, list("q=secret", low), "the title is above the token's level")
	require.Equal(t, "2", list("q=group", low))
	require.Empty(t, list("busy=true"))
	require.Empty(t, list("archived=true"))
}

// Pages of a transcript that are read backwards leave nothing out and repeat nothing.
func TestAHistoryIsReadBackwards(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main", Persistent: true})
	for i := range 5 {
		g.thread = append(g.thread, sessions.Message{
			ID: sessions.MessageID("msg_" + string(rune('a'+i))), Role: sessions.RoleUser, Parts: []sessions.Part{{Type: sessions.PartText, Text: "x", Label: flow.Bottom()}}, Label: flow.Bottom(), Created: clock,
		})
	}
	h := serve(t, g)
	before, read := "", ""
	for range 3 {
		w := call(h, "GET", "/v1/sessions/main/history?limit=2&before="+before, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var got struct {
			Messages  []struct{ ID string }
			Truncated bool
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		page := ""
		for _, m := range got.Messages {
			page += m.ID[4:]
		}
		read, before = page+read, got.Messages[0].ID
		require.Equal(t, read != "abcde", got.Truncated)
	}
	require.Equal(t, "abcde", read)
	require.Equal(t, http.StatusBadRequest, call(h, "GET", "/v1/sessions/main/history?before=msg_z", "").Code)
}

// The messages of a run are found however many came after them.
func TestAHistoryOfARun(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main", Persistent: true})
	for i, run := range []sessions.RunID{"run_1", "run_1", "run_2", "run_2", "run_2"} {
		g.thread = append(g.thread, sessions.Message{
			ID: sessions.MessageID("msg_" + string(rune('a'+i))), Role: sessions.RoleUser, Run: run,
			Parts: []sessions.Part{{Type: sessions.PartText, Text: "x", Label: flow.Bottom()}}, Label: flow.Bottom(), Created: clock,
		})
	}
	h := serve(t, g)
	for run, want := range map[string]string{"run_1": "msg_a msg_b", "run_2": "msg_d msg_e", "run_3": ""} {
		w := call(h, "GET", "/v1/sessions/main/history?limit=2&run="+run, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var got struct{ Messages []struct{ ID string } }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		ids := make([]string, len(got.Messages))
		for i, m := range got.Messages {
			ids[i] = m.ID
		}
		require.Equal(t, want, strings.Join(ids, " "), run)
	}
}
