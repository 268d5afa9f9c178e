package model_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/freeport"
	"sluice/internal/model"
	"sluice/internal/model/cooldown"
	"sluice/policy/flow"
	"sluice/sessions"
)

// The clients understand a server of both protocols that others wrote (aimock, from npm): texts, calls of tools, use and failures.
func TestAServerThatOthersWrote(t *testing.T) {
	t.Parallel()
	address := startAimock(t)
	for kind, url := range map[string]string{model.KindOpenAI: address + "/v1", model.KindAnthropic: address} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, err := model.New(map[string]model.ProviderConfig{
				"p": {Kind: kind, Keys: []string{"key"}, BaseURL: url, Classification: flow.Public},
			}, model.Options{Board: cooldown.New(cooldown.Config{Now: time.Now})})
			require.NoError(t, err)
			m, err := r.Model("p/m")
			require.NoError(t, err)
			ask := func(text string) (shown string, completion sessions.Completion, err error) {
				completion, err = m.Complete(t.Context(), sessions.Request{
					System: "You help.", Label: flow.Bottom(), Tools: []sessions.ToolSpec{{Name: "look", Description: "Looks.", Parameters: []byte(`{"type":"object"}`)}},
					Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}}},
				}, func(c sessions.Chunk) { shown += c.Text })
				return shown, completion, err
			}
			shown, completion, err := ask("Say hello.")
			require.NoError(t, err)
			require.Equal(t, "Hello from a server that others wrote.", shown)
			require.Equal(t, kind == model.KindOpenAI, completion.Usage.OutputTokens > 0, "with the other protocol it reports no use")
			_, completion, err = ask("What is the weather?")
			require.NoError(t, err)
			require.Len(t, completion.Parts, 1)
			require.Equal(t, "look", completion.Parts[0].Tool)
			require.JSONEq(t, `{"at":7}`, string(completion.Parts[0].Args))
			_, _, err = ask("Are you busy?")
			requireKind(t, err, sessions.ModelRateLimited)
			_, _, err = ask("Is my key right?")
			requireKind(t, err, sessions.ModelAuth)
		})
	}
}

// startAimock starts the server, which tools/testdeps installs, and waits until it answers.
func startAimock(t *testing.T) (address string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", ".bin", "aimock", "node_modules", "@copilotkit", "aimock", "dist", "cli.js"))
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("aimock is not installed: tools/testdeps installs it, if it can reach npm")
	}
	listen, err := freeport.Addr()
	require.NoError(t, err)
	host, port := listen[:len("127.0.0.1")], listen[len("127.0.0.1:"):]
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, "node", program, "--host", host, "--port", port, "--fixtures", filepath.Join("testdata", "aimock", "replies.json"), "--log-level", "silent")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		stop()
		_ = server.Wait() // it was killed
	})
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/health", nil)
		require.NoError(t, err)
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
			require.NoError(t, resp.Body.Close())
			return "http://" + listen
		}
		select {
		case <-t.Context().Done():
			require.Fail(t, "the server does not start")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
