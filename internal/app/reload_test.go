package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A new configuration holds for the next message; sessions go on.
func TestReloadAppliesWithoutARestart(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	var got turnReply
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"repeat me"}`), http.StatusOK, &got)
	require.Equal(t, "echo: repeat me", got.Reply)

	reload := func(text string) (waiting []string) {
		next := load(t, g.state, text)
		next.Gateway = g.cfg.Gateway
		waiting, err := g.Reload(next)
		require.NoError(t, err)
		return waiting
	}
	waiting := reload("models: { default: offline/guide }\nlimits: { partitions: 8 }\nowners: [\"webchat:owner\"]\nalerts: { route: { receiver: us }, receivers: [{ name: us, targets: [owner] }] }\n")
	require.Equal(t, []string{"limits.partitions", "alerts.route.receiver"}, waiting, "what waits for a restart is named")
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"repeat me"}`), http.StatusOK, &got)
	require.Equal(t, "me", got.Reply, "the new model answers")

	reload("models: { default: offline/guide }\nsession: { sendPolicy: { default: deny } }\n")
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"repeat me"}`), http.StatusOK, &got)
	require.Contains(t, got.Reply, "sending is turned off in this conversation", "the new send policy withholds the answer")
	var decision struct{ Action string }
	read(t, g.call(http.MethodGet, "/v1/policy/check?channel=webchat", ""), http.StatusOK, &decision)
	require.Equal(t, "block", decision.Action)
}

// A reload counts on where a rule has been counting.
func TestReloadForgetsNoRate(t *testing.T) {
	t.Parallel()
	const once = "models: { default: offline/echo }\npolicy: { rules: [{ name: once, hook: PRE_CONTEXT_INJECTION, action: block, rate: { limit: 1, per: 1h } }] }\n"
	g := start(t, once)
	said := func() (got turnReply) {
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"repeat me"}`), http.StatusOK, &got)
		return got
	}
	require.Equal(t, "ok", said().Status)
	next := load(t, g.state, once)
	next.Gateway = g.cfg.Gateway
	_, err := g.Reload(next)
	require.NoError(t, err)
	require.Equal(t, "error", said().Status)
}

// Run watches its file: a bad edit is named with its place and changes nothing, a good one is applied.
func TestRunWatchesItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	write := func(text string) {
		text = "gateway: { listen: 127.0.0.1:0 }\nstate: " + filepath.Dir(path) + "/state\n" + text
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("models: { default: offline/echo }\n")
	out, logged, stop := running(t, path, false)
	out.await(t, "is ready")
	write("models: { default: nowhere/model, colour: blue }\n")
	logged.await(t, "the last valid one stays in effect")
	logged.await(t, "sluice.yaml:3:") // the fault's place is told
	write("agents: { list: [{ id: main, systemPrompt: '{{.Nobody}}' }] }\n")
	logged.await(t, "sluice.yaml:3:44: agents.list[0].systemPrompt: ")
	logged.await(t, "Nobody")
	write("models: { default: offline/guide }\nlimits: { historyKeep: 3 }\n")
	logged.await(t, "configuration applied")
	stop()
}
