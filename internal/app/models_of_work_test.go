package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// A job, a heartbeat and the summary of a long conversation are asked of the models that their own settings name.
func TestModelsOfJobsHeartbeatsAndSummaries(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	asked := make(chan string, 20)
	models.Always(func(q modeltest.Request) modeltest.Reply {
		select {
		case asked <- q.Model:
		default:
		}
		return modeltest.Say("NO_REPLY")
	})
	g := start(t, `owners: ["webchat:local"]
models: { default: p/usual, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
agents:
  list: [{ id: main, default: true, heartbeat: { every: 1h, model: p/beat, target: none }, compaction: { model: p/short } }]
cron: { jobs: [{ id: brief, every: 100h, prompt: Say nothing., model: [p/job, p/usual], deliver: { to: [none] } }] }
`)
	require.NoError(t, os.MkdirAll(filepath.Join(g.state, "workspaces", "main"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(g.state, "workspaces", "main", "HEARTBEAT.md"), []byte("Look."), 0o600))
	for job, want := range map[string]string{"brief": "job", "heartbeat:main": "beat"} {
		read(t, g.call(http.MethodPost, "/v1/cron/"+job+"/run", "{}"), http.StatusAccepted, nil)
		require.Equal(t, want, <-asked)
	}
	for range 3 {
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"`+strings.Repeat("a long story ", 400)+`"}`), http.StatusOK, nil)
		require.Equal(t, "usual", <-asked)
	}
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"/compact"}`), http.StatusOK, nil)
	require.True(t, slices.ContainsFunc(models.Requests(), func(q modeltest.Request) bool { return q.Model == "short" }), "the summary")
}
