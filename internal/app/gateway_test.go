package app_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/app"
	"sluice/internal/model/modeltest"
)

func read(t *testing.T, resp *http.Response, status int, into any) {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, status, resp.StatusCode, "%s", raw)
	if into != nil {
		require.NoError(t, json.Unmarshal(raw, into), "%s", raw)
	}
}

type turnReply struct {
	Run    string `json:"run_id"`
	Status string
	Reply  string
}

func TestSessionOverHTTP(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	var session struct{ ID, Key, Model string }
	read(t, g.call(http.MethodPost, "/v1/sessions", `{"metadata":{"for":"test"}}`), http.StatusCreated, &session)
	require.Equal(t, "offline/echo", session.Model)

	var first, again turnReply
	path := "/v1/sessions/" + session.ID
	read(t, g.call(http.MethodPost, path+"/messages", `{"message":"hi"}`, "Idempotency-Key", "one"), http.StatusOK, &first)
	require.Equal(t, "echo: hi", first.Reply)
	read(t, g.call(http.MethodPost, path+"/messages", `{"message":"hi"}`, "Idempotency-Key", "one"), http.StatusOK, &again)
	require.Equal(t, first, again, "the same key is the same message")

	var history struct{ Messages []struct{ Role, Text string } }
	read(t, g.call(http.MethodGet, path+"/history", ""), http.StatusOK, &history)
	require.Len(t, history.Messages, 2)
	var run struct{ Status, Reply string }
	read(t, g.call(http.MethodGet, "/v1/runs/"+first.Run+"?wait=5s", ""), http.StatusOK, &run)
	require.Equal(t, "done", run.Status)

	read(t, g.call(http.MethodDelete, path, ""), http.StatusNoContent, nil)
	read(t, g.call(http.MethodGet, path, ""), http.StatusNotFound, nil)
	read(t, g.call(http.MethodDelete, path, ""), http.StatusNotFound, nil)
}

func TestBusySessionIsToldSo(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/slow-1h }\n")
	var session struct{ ID string }
	read(t, g.call(http.MethodPost, "/v1/sessions", `{}`), http.StatusCreated, &session)
	path := "/v1/sessions/" + session.ID
	working := g.call(http.MethodPost, path+"/messages", `{"message":"think"}`, "Accept", "text/event-stream")
	require.Equal(t, http.StatusOK, working.StatusCode)
	read(t, g.call(http.MethodPost, path+"/messages", `{"message":"and this"}`), http.StatusConflict, nil)
	read(t, g.call(http.MethodPost, path+"/runs/"+working.Header.Get("X-Run-Id")+"/cancel", ""), http.StatusAccepted, nil)
	events, err := io.ReadAll(working.Body)
	require.NoError(t, err)
	require.Contains(t, string(events), "event: run.aborted")
}

// What a person said on Telegram before the gateway ended is known to the next one, and repeated updates are not answered again.
func TestTelegramThroughARestart(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	g := start(t, `owners: ["telegram:1001"]
models: { default: offline/echo }
channels:
  telegram:
    accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } }
`)
	owner, guest := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.User{ID: 1002, FirstName: "Bob"}
	said := bots.Say(telegramtest.Private(1001), owner, "hello")
	sent, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	require.Equal(t, "echo: hello", sent[0].Text)

	bots.Say(telegramtest.Private(1002), guest, "let me in")
	sent, err = bots.WaitSent(t.Context(), 1002, 1)
	require.NoError(t, err)
	code := regexp.MustCompile(`approve ([2-9A-Z]{8})`).FindStringSubmatch(sent[0].Text)
	require.Len(t, code, 2, "%s", sent[0].Text)
	asked, err := bots.WaitSent(t.Context(), 1001, 2)
	require.NoError(t, err)
	require.Contains(t, asked[1].Text, code[1], "the owner is asked")
	var admitted struct{ Note string }
	read(t, g.call(http.MethodPost, "/v1/pairings/"+code[1]+"/approve", ""), http.StatusOK, &admitted)
	require.Contains(t, admitted.Note, "session.dmScope: per-account-channel-peer")
	bots.Say(telegramtest.Private(1002), guest, "thanks")
	sent, err = bots.WaitSent(t.Context(), 1002, 3)
	require.NoError(t, err)
	require.Equal(t, "echo: thanks", sent[2].Text)

	g.end()
	bots.Redeliver(said.UpdateID)
	bots.Say(telegramtest.Private(1001), owner, "still there?")
	g.begin()
	g.log.await(t, "people admitted with a code: 1")
	_, err = bots.WaitSent(t.Context(), 1001, 3)
	require.NoError(t, err)
	require.NoError(t, bots.WaitConfirmed(t.Context()))
	sent = bots.Sent(1001)
	require.Len(t, sent, 3, "the repeated update is not answered again")
	require.Equal(t, "echo: still there?", sent[2].Text)
	require.Empty(t, bots.Violations())
}

func TestReadinessNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	bots.Revoke(true)
	g := start(t, `channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	g.log.await(t, "account is stopped until")
	var ready struct {
		Ready bool
		Parts []struct {
			Name   string
			OK     bool
			Detail string
		}
	}
	read(t, g.call(http.MethodGet, "/readyz", ""), http.StatusServiceUnavailable, &ready)
	require.False(t, ready.Ready)
	for _, part := range ready.Parts {
		require.Equal(t, part.Name != "telegram/default", part.OK, part.Name)
		if !part.OK {
			require.Contains(t, part.Detail, "token")
		}
	}
}

func TestSecondGatewayOnTheSameStateIsRefused(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	second := app.New(load(t, g.state, ""), "test", slog.New(slog.DiscardHandler))
	require.ErrorContains(t, second.Start(t.Context()), "another sluice uses the state folder")
	taken := load(t, t.TempDir(), "")
	taken.Gateway.Listen = g.Addr().String()
	require.ErrorContains(t, app.New(taken, "test", slog.New(slog.DiscardHandler)).Start(t.Context()), "--listen")
}

func TestTokenIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	cfg := load(t, t.TempDir(), "")
	cfg.Gateway.Token = ""
	g := &gateway{t: t, cfg: cfg, log: newOutput()}
	g.begin()
	token := g.Token()
	g.end()
	g.begin()
	defer g.end()
	require.Equal(t, token, g.Token())
	require.Len(t, token, 43)
	info, err := os.Stat(cfg.State + "/token")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// Both kinds of providers on the wire: a limit that passes, a tool, an answer.
func TestProvidersThroughTheGateway(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"openai", "anthropic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			models, err := modeltest.Start()
			require.NoError(t, err)
			t.Cleanup(models.Close)
			url := map[string]string{"openai": models.OpenAIURL(), "anthropic": models.AnthropicURL()}[kind]
			g := start(t, "models: { default: p/m, providers: { p: { kind: "+kind+", apiKey: key, baseURL: \""+url+"\" } } }\n")
			models.Enqueue(modeltest.RateLimited(0), modeltest.Call("session_status", `{}`), modeltest.Say("All is well."))
			var got turnReply
			read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"how are you?"}`), http.StatusOK, &got)
			require.Equal(t, "All is well.", got.Reply)
			require.Len(t, models.Requests(), 3)
			require.Empty(t, models.Violations())
		})
	}
}

// What the agent and the session say of temperature and length reaches both kinds of providers. A session's own words
// go before its agent's. Anthropic takes no temperature above 1.
func TestTemperatureAndLengthReachTheProvider(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"openai", "anthropic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			models, err := modeltest.Start()
			require.NoError(t, err)
			t.Cleanup(models.Close)
			url := map[string]string{"openai": models.OpenAIURL(), "anthropic": models.AnthropicURL()}[kind]
			g := start(t, "models: { default: p/m, providers: { p: { kind: "+kind+", apiKey: key, baseURL: \""+url+"\" } } }\n"+
				"agents: { defaults: { temperature: 0.25, maxOutputTokens: 77 } }\n")
			asked := func(temperature float64, tokens int) {
				t.Helper()
				models.Enqueue(modeltest.Say("All is well."))
				read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"how are you?"}`), http.StatusOK, nil)
				last := models.Requests()[len(models.Requests())-1]
				require.NotNil(t, last.Temperature)
				require.InDelta(t, temperature, *last.Temperature, 1e-9)
				require.Equal(t, tokens, last.MaxTokens)
			}
			asked(0.25, 77)
			read(t, g.call(http.MethodPatch, "/v1/sessions/main", `{"temperature":0.5,"max_output_tokens":12}`), http.StatusOK, nil)
			asked(0.5, 12)
			read(t, g.call(http.MethodPatch, "/v1/sessions/main", `{"temperature":1.5}`), map[string]int{"openai": http.StatusOK, "anthropic": http.StatusUnprocessableEntity}[kind], nil)
			asked(map[string]float64{"openai": 1.5, "anthropic": 0.5}[kind], 12)
			read(t, g.call(http.MethodPatch, "/v1/sessions/main", `{"temperature":null,"max_output_tokens":null}`), http.StatusOK, nil)
			asked(0.25, 77)
			require.Empty(t, models.Violations())
		})
	}
}

// A session's overrides are set and taken back over HTTP.
func TestPatchOfOverrides(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"hi"}`), http.StatusOK, nil)
	patch := func(body string, status int) (got struct {
		SendPolicy string `json:"send_policy"`
		Activation string `json:"group_activation"`
	},
	) {
		read(t, g.call(http.MethodPatch, "/v1/sessions/main", body), status, &got)
		return got
	}
	require.Equal(t, "always", patch(`{"group_activation":"always"}`, http.StatusOK).Activation)
	require.Equal(t, "always", patch(`{"send_policy":"deny"}`, http.StatusOK).Activation)
	require.Empty(t, patch(`{"group_activation":"inherit"}`, http.StatusOK).Activation)
	patch(`{"group_activation":"never"}`, http.StatusUnprocessableEntity)
	require.Equal(t, "allow", patch(`{"sendPolicy":"allow","queue_mode":"steer","model":"offline/guide"}`, http.StatusOK).SendPolicy)
	patch(`{"model":"nobody/knows"}`, http.StatusUnprocessableEntity)
	require.Empty(t, patch(`{"sendPolicy":null,"queue_mode":null,"model":null}`, http.StatusOK).SendPolicy)
}

// The first message to the main session of an agent creates the session.
func TestTheMainSessionOfEachAgentIsStarted(t *testing.T) {
	t.Parallel()
	g := start(t, "agents: { list: [{ id: main }, { id: two }] }\nsession: { mainKey: home }\n")
	for _, method := range []string{http.MethodGet, http.MethodDelete} { // reading and deleting create nothing
		read(t, g.call(method, "/v1/sessions/agent:two:main", ""), http.StatusNotFound, nil)
	}
	for name, key := range map[string]string{
		"main": "agent:main:home", "agent:two:main": "agent:two:home", "agent:two:home": "agent:two:home",
	} {
		read(t, g.call(http.MethodPost, "/v1/sessions/"+name+"/messages", `{"message":"hi"}`), http.StatusOK, nil)
		var got struct{ Key, Agent string }
		read(t, g.call(http.MethodGet, "/v1/sessions/"+name, ""), http.StatusOK, &got)
		require.Equal(t, key, got.Key)
	}
	for _, name := range []string{"agent:three:main", "agent:two:desk", "agent:two"} {
		read(t, g.call(http.MethodPost, "/v1/sessions/"+name+"/messages", `{"message":"hi"}`), http.StatusNotFound, nil)
	}
}
