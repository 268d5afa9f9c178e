package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/freeport"
	"sluice/internal/model/modeltest"
)

// The official client for Node.js runs its function for the agent. The gateway restarts while the function works.
func TestTheOfficialClientRunsItsFunction(t *testing.T) {
	t.Parallel()
	packages := npmPackages(t, "openai")
	g, models := published(t, "")
	g.end()
	listen, err := freeport.Addr()
	require.NoError(t, err)
	g.cfg.Gateway.Listen = listen
	g.begin()
	models.Enqueue(modeltest.Reply{Text: "Let me look. ", Calls: []modeltest.ToolCall{{Name: "get_weather", Args: `{"city":"Paris"}`}}}, modeltest.Say("It is 21 degrees in Paris."))
	asked, restarted := make(chan struct{}), make(chan struct{})
	weather := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		<-restarted
		_, _ = fmt.Fprintf(w, "21 degrees in %s", r.URL.Query().Get("city"))
	}))
	defer weather.Close()

	dir := t.TempDir()
	require.NoError(t, os.Symlink(packages, filepath.Join(dir, "node_modules")))
	source, err := os.ReadFile(filepath.Join("..", "..", "examples", "openai", "functions.mjs"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "functions.mjs"), source, 0o600))
	program := exec.CommandContext(t.Context(), "node", "functions.mjs", "What is the weather in Paris?")
	program.Dir, program.Env = dir, append(os.Environ(), "SLUICE_URL=http://"+listen+"/v1", "SLUICE_TOKEN="+g.Token(), "WEATHER_URL="+weather.URL+"/?city=")
	var out bytes.Buffer
	program.Stdout, program.Stderr = &out, &out
	require.NoError(t, program.Start())
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	select {
	case <-asked:
	case err := <-ended:
		close(restarted)
		require.Fail(t, "the program ended without its function", "%v\n%s", err, out.String())
	}
	g.end()
	g.begin()
	close(restarted)
	require.NoError(t, <-ended, "%s", out.String())
	require.Equal(t, "Let me look. It is 21 degrees in Paris.\n", out.String())
	require.Len(t, models.Requests(), 2)
	require.Contains(t, string(models.Requests()[1].Raw), `\n\u003e 21 degrees in Paris`)
}
