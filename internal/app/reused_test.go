package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A key belongs to one request: another text with the same key is refused, and nothing is done.
func TestAKeyNamesOneRequest(t *testing.T) {
	t.Parallel()
	g := start(t, "targets: { ops: { channel: webchat, to: local }, lab: { channel: webchat, to: lab } }\n")
	type answer struct {
		Status int
		Body   string
	}
	ask := func(path, body, key string) answer {
		resp := g.call(http.MethodPost, path, body, "Authorization", "Bearer "+g.Token(), "Content-Type", "application/json", "Accept", "application/json", "Idempotency-Key", key)
		defer resp.Body.Close() //nolint:errcheck // only read from
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return answer{resp.StatusCode, string(text)}
	}
	made := ask("/v1/sessions", `{}`, "")
	require.Equal(t, http.StatusCreated, made.Status, made.Body)
	var session struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(made.Body), &session))
	for key, c := range map[string]struct{ path, first, other string }{
		"turn":    {"/v1/sessions/main/messages", `{"message":"one"}`, `{"message":"two"}`},
		"command": {"/v1/sessions/main/messages", `{"message":"/whoami"}`, `{"message":"two"}`},
		"wake":    {"/v1/wake", `{"text":"one"}`, `{"text":"two"}`},
		"task":    {"/v1/sessions/main/tasks", `{"task":"one"}`, `{"task":"two"}`},
		"send":    {"/v1/messages", `{"channel":"webchat","to":"local","text":"one"}`, `{"channel":"webchat","to":"local","text":"two"}`},
		"note":    {"/notify/ops", `{"message":"one"}`, `{"message":"two"}`},
	} {
		first := ask(c.path, c.first, key)
		require.Less(t, first.Status, 300, "%s: %s", key, first.Body)
		again := ask(c.path, c.first, key)
		require.Equal(t, first.Status, again.Status, "%s: %s", key, again.Body)
		other := ask(c.path, c.other, key)
		require.Equal(t, http.StatusConflict, other.Status, "%s: %s", key, other.Body)
		require.Contains(t, other.Body, `"key_reused"`, key)
		require.Contains(t, other.Body, "use a new key for this request", key)
		if key == "task" {
			there := ask("/v1/sessions/"+session.ID+"/tasks", c.first, key)
			require.Equal(t, http.StatusConflict, there.Status, "in another session: %s", there.Body)
		}
	}
	for _, command := range []string{"/status", "/new good morning", `/new good evening \n`, "/reset"} {
		first, again := ask("/v1/sessions/main/messages", `{"message":"`+command+`"}`, command), ask("/v1/sessions/main/messages", `{"message":"`+command+`"}`, command)
		require.Equal(t, []int{200, 200}, []int{first.Status, again.Status}, "%s: %s %s", command, first.Body, again.Body)
	}
}
