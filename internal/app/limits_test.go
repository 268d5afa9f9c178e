package app_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A token above its limit gets 429 in the shape that its program knows, with the time to wait. The gateway's own token, owners'
// and other tokens are not affected. A change of the configuration applies at once.
func TestATokenIsLimited(t *testing.T) {
	t.Parallel()
	const own, bot, other = "the-token-of-the-owner-1", "the-token-of-a-robot-1", "the-token-of-another-1"
	g, _ := fromFile(t, `
gateway:
  listen: "127.0.0.1:0"
  token: `+own+`
  tokens:
    - { name: bot, token: `+bot+`, role: operator, classification: CONFIDENTIAL }
    - { name: other, token: `+other+`, role: operator, classification: INTERNAL }
models: { default: offline/echo }
channels: { webchat: { classification: PUBLIC } }
limits: { perToken: 3/1h }
`, nil)
	get := func(token, path string) *http.Response {
		return g.call(http.MethodGet, path, "", "Authorization", "Bearer "+token)
	}
	for range 3 {
		read(t, get(bot, "/v1/sessions"), http.StatusOK, new(any))
	}
	refused := get(bot, "/v1/sessions")
	wait, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.Greater(t, wait, 3000)
	var told struct{ Error, Message string }
	read(t, refused, http.StatusTooManyRequests, &told)
	require.Equal(t, "limit_reached", told.Error)
	require.Contains(t, told.Message, "this token made more than 3 requests in 1 hour; try again in ")
	clients := get(bot, "/v1/models")
	require.NotEmpty(t, clients.Header.Get("Retry-After"))
	text, err := io.ReadAll(clients.Body)
	require.NoError(t, err)
	require.NoError(t, clients.Body.Close())
	require.Contains(t, string(text), `"type":"rate_limit_error"`)

	for range 5 {
		read(t, get(own, "/v1/sessions"), http.StatusOK, new(any))
	}
	type list struct {
		Refused []struct {
			User   struct{ ID string }
			Reason string
			Count  int
		}
	}
	var all list
	g.StoreRefusals(t.Context())
	read(t, get(own, "/v1/refused"), http.StatusOK, &all)
	require.Len(t, all.Refused, 1)
	require.Equal(t, "token:bot", all.Refused[0].User.ID)
	require.Equal(t, "limits.perToken is reached: 3 in 1 hour", all.Refused[0].Reason)
	type status struct {
		Limited []struct {
			Person string
			Count  int
		}
	}
	var above, under status
	read(t, get(own, "/v1/status"), http.StatusOK, &above)
	require.Len(t, above.Limited, 1)
	require.Equal(t, "webchat:token:bot", above.Limited[0].Person)
	read(t, get(other, "/v1/status"), http.StatusOK, &under)
	require.Empty(t, under.Limited)
	var below list
	read(t, get(other, "/v1/refused"), http.StatusOK, &below)
	require.Empty(t, below.Refused, "a token of a lower level does not learn of it")

	g.put(own, `[{"path":"limits.perToken","value":"4/1h"}]`)
	read(t, get(bot, "/v1/sessions"), http.StatusOK, new(any))
	read(t, get(bot, "/v1/sessions"), http.StatusTooManyRequests, &told)
	g.put(own, `[{"path":"limits.perToken","remove":true}]`)
	read(t, get(bot, "/v1/sessions"), http.StatusOK, new(any))
}

// A tool of the gateway's MCP server is one request, although it asks the API. What it reads for each row counts, too.
func TestAToolIsOneRequest(t *testing.T) {
	t.Parallel()
	const bot = "the-token-of-a-robot-1"
	g, _ := fromFile(t, `
gateway:
  listen: "127.0.0.1:0"
  token: the-token-of-the-owner-1
  tokens: [{ name: bot, token: `+bot+`, role: operator, classification: CONFIDENTIAL }]
models: { default: offline/echo }
limits: { perToken: 3/1h }
`, nil)
	use := func(arguments string) (int, string) {
		resp := g.call(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sessions_list","arguments":`+arguments+`}}`,
			"Authorization", "Bearer "+bot, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode, string(text)
	}
	for range 3 {
		status, text := use(`{}`)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, `"sessions"`)
	}
	status, text := use(`{}`)
	require.Equal(t, http.StatusTooManyRequests, status, text)
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"hello"}`, "Authorization", "Bearer the-token-of-the-owner-1"), http.StatusOK, nil)
	g.put("the-token-of-the-owner-1", `[{"path":"limits.perToken","value":"5/1h"}]`)
	status, text = use(`{"messageLimit":1}`) // the fourth and fifth request
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, "hello")
	status, text = use(`{}`)
	require.Equal(t, http.StatusTooManyRequests, status, text)
}

// What operators of a higher level ask an agent changes nothing for those below: neither when they are limited, nor what they are
// told, nor any list.
func TestALimitTellsNothingOfHigherLevels(t *testing.T) {
	t.Parallel()
	const own, high, low = "the-token-of-the-owner-1", "the-token-of-the-high-1", "the-token-of-the-low-11"
	seen := func(above int) (all []string) {
		g, _ := fromFile(t, `
gateway:
  listen: "127.0.0.1:0"
  token: `+own+`
  tokens:
    - { name: high, token: `+high+`, role: operator, classification: CONFIDENTIAL }
    - { name: low, token: `+low+`, role: operator, classification: PUBLIC }
agents: { list: [{ id: main, publish: { openai: true } }] }
models: { default: offline/echo }
channels: { webchat: { classification: PUBLIC } }
limits: { perAgent: 3/1h, perToken: 20/1h }
`, nil)
		say := func(token, label string, i int) string {
			resp := g.call(http.MethodPost, "/v1/chat/completions", `{"model":"main","user":"u","messages":[{"role":"user","content":"hello"}]}`,
				"Authorization", "Bearer "+token, "Content-Type", "application/json", "Sluice-Label", label, "Idempotency-Key", strconv.Itoa(i))
			_, err := io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return fmt.Sprint(resp.StatusCode, resp.Header.Get("Retry-After") != "")
		}
		for i := range above {
			say(high, "CONFIDENTIAL", i)
		}
		for i := range 5 {
			all = append(all, say(low, "PUBLIC", i))
		}
		for _, path := range []string{"/v1/refused"} {
			resp := g.call(http.MethodGet, path, "", "Authorization", "Bearer "+low)
			all = append(all, fmt.Sprint(resp.StatusCode, resp.Header.Get("Content-Length")))
			require.NoError(t, resp.Body.Close())
		}
		return all
	}
	alone := seen(0)
	require.Equal(t, []string{"200 false", "200 false", "200 false", "429 true", "429 true"}, alone[:5])
	require.Equal(t, alone, seen(4))
}
