package discordtest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters/discord/discordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call makes a request with the bot's token, and gives the status and the answer.
func call(t *testing.T, s *discordtest.Server, method, path, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bot "+s.Token())
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var answer map[string]any
	_ = json.Unmarshal(raw, &answer) // a list, or nothing
	return resp.StatusCode, answer
}

func TestPublishedLimits(t *testing.T) {
	t.Parallel()
	const messages = "/channels/" + discordtest.General + "/messages"
	for name, c := range map[string]struct{ body, violation string }{
		"good":             {`{"content": "x", "allowed_mentions": {"parse": []}}`, ""},
		"mentions":         {`{"content": "x"}`, "notify people"},
		"everyone":         {`{"content": "x", "allowed_mentions": {"parse": ["everyone"]}}`, "notify people"},
		"long":             {`{"content": "` + strings.Repeat("é", 2001) + `", "allowed_mentions": {"parse": []}}`, "2001 characters"},
		"long nonce":       {`{"content": "x", "nonce": "` + strings.Repeat("n", 26) + `", "allowed_mentions": {"parse": []}}`, "nonce of 26"},
		"same button":      {`{"content": "x", "allowed_mentions": {"parse": []}, "components": [{"type": 1, "components": [{"type": 2, "style": 1, "label": "a", "custom_id": "v"}, {"type": 2, "style": 1, "label": "b", "custom_id": "v"}]}]}`, "there twice"},
		"button in no row": {`{"content": "x", "allowed_mentions": {"parse": []}, "components": [{"type": 2, "style": 1, "label": "a", "custom_id": "v"}]}`, "a row of type 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := discordtest.Start(t, discordtest.Options{})
			call(t, s, "POST", messages, c.body)
			found := strings.Join(s.Violations(), "\n")
			require.Equal(t, c.violation == "", found == "", found)
			require.Contains(t, found, c.violation)
		})
	}
}

func TestPublishedDescription(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLUICE_API_SPECS") == "" {
		t.Skip("no published description: SLUICE_API_SPECS is not set")
	}
	for name, c := range map[string]struct{ method, path, body string }{
		"wrong type":    {"POST", "/channels/6000/messages", `{"content": 5, "allowed_mentions": {"parse": []}}`},
		"missing field": {"PUT", "/applications/1000001/commands", `[{"description": "no name"}]`},
		"no such query": {"GET", "/channels/6000/messages?since=5", ""},
		"no such body":  {"POST", "/channels/6000/typing", `{"now": true}`},
		"no such call":  {"GET", "/channels/6000/secrets", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := discordtest.Start(t, discordtest.Options{})
			call(t, s, c.method, c.path, c.body)
			require.NotEmpty(t, s.Violations())
		})
	}
}

func TestNonceIsEnforced(t *testing.T) {
	t.Parallel()
	s := discordtest.Start(t, discordtest.Options{})
	const path = "/channels/" + discordtest.General + "/messages"
	const enforced = `{"content": "x", "nonce": "n", "enforce_nonce": true, "allowed_mentions": {"parse": []}}`
	_, first := call(t, s, "POST", path, enforced)
	_, second := call(t, s, "POST", path, enforced)
	require.Equal(t, first["id"], second["id"])
	call(t, s, "POST", path, strings.Replace(enforced, "true", "false", 1))
	require.Len(t, s.Shown(discordtest.General), 2)
}

func TestHistoryIsTheOldestAfterFirstNewestFirst(t *testing.T) {
	t.Parallel()
	s := discordtest.Start(t, discordtest.Options{})
	var ids []string
	for range 5 {
		ids = append(ids, s.Say(discordtest.General, 1001, "x"))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/channels/"+discordtest.General+"/messages?limit=2&after="+ids[1], http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bot "+s.Token())
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var page []struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&page))
	require.Len(t, page, 2)
	require.Equal(t, []string{ids[3], ids[2]}, []string{page[0].ID, page[1].ID})
}

func TestWrongToken(t *testing.T) {
	t.Parallel()
	s := discordtest.Start(t, discordtest.Options{})
	s.Revoke()
	status, _ := call(t, s, "GET", "/users/@me", "")
	require.Equal(t, http.StatusUnauthorized, status)
}

// gateway is a connection as a client has it.
type gateway struct{ *websocket.Conn }

type frame struct {
	Op   int             `json:"op"`
	Type string          `json:"t"`
	Seq  int64           `json:"s"`
	Data json.RawMessage `json:"d"`
}

func dial(t *testing.T, address string) gateway {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ws, _, err := websocket.DefaultDialer.DialContext(ctx, address+"?v=10&encoding=json", nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	g := gateway{ws}
	require.Equal(t, 10, g.next(t).Op, "hello")
	return g
}

func (g gateway) next(t *testing.T) frame {
	t.Helper()
	require.NoError(t, g.SetReadDeadline(time.Now().Add(10*time.Second)))
	var f frame
	require.NoError(t, g.ReadJSON(&f))
	return f
}

func (g gateway) say(t *testing.T, op int, data any) {
	t.Helper()
	require.NoError(t, g.WriteJSON(map[string]any{"op": op, "d": data}))
}

func TestSessionOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	s := discordtest.Start(t, discordtest.Options{})
	g := dial(t, s.GatewayURL())
	g.say(t, 2, map[string]any{"token": s.Token(), "intents": 1, "properties": map[string]string{"os": "x"}})
	first := g.next(t)
	require.Equal(t, "READY", first.Type)
	var ready struct {
		SessionID string `json:"session_id"`
		ResumeURL string `json:"resume_gateway_url"`
	}
	require.NoError(t, json.Unmarshal(first.Data, &ready))
	require.Equal(t, "GUILD_CREATE", g.next(t).Type)
	s.DropConnections()
	s.Say(discordtest.General, 1001, "meanwhile")

	g = dial(t, ready.ResumeURL)
	g.say(t, 6, map[string]any{"token": s.Token(), "session_id": ready.SessionID, "seq": 2})
	again := g.next(t)
	require.Equal(t, "MESSAGE_CREATE", again.Type)
	require.EqualValues(t, 3, again.Seq)
	require.Equal(t, "RESUMED", g.next(t).Type)

	s.ForgetSessions()
	require.Equal(t, 9, g.next(t).Op)
}
