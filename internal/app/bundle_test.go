package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/app"
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/model/modeltest"
	"sluice/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == document.Command { // in the sandbox, as the gateway's program does
		os.Exit(document.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(browsing{m},
		// The NATS server leaves a few behind that end by themselves a little later.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*Server).startGoRoutine.func1"),
	)
}

// patience is how long a wait may take before it is a failure.
const patience = 30 * time.Second

// output collects what is written and tells those who wait for a text in it.
type output struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{} // closed and replaced at each write
}

func newOutput() *output { return &output{written: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.written)
	o.written = make(chan struct{})
	return o.text.Write(p)
}

// running serves a configuration with [app.Run] until stop, which requires that it ends without an error.
func running(t *testing.T, path string, private bool) (out, logged *output, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, logged = newOutput(), newOutput()
	ended := make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Options{ConfigPath: path, Version: "test", Stdout: out, Private: private, Stderr: logged})
	}()
	return out, logged, func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(patience):
			t.Fatal("it does not end")
		}
	}
}

// await waits until a text was written.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		o.mu.Lock()
		has, written := strings.Contains(o.text.String(), text), o.written
		o.mu.Unlock()
		if has {
			return
		}
		select {
		case <-written:
		case <-deadline:
			t.Fatalf("%q was not written", text)
		}
	}
}

// gateway is a whole gateway in this process.
type gateway struct {
	*app.App
	t     *testing.T
	state string
	cfg   *config.Config
	log   *output

	committed chan struct{} // gets one after changes that the router has stored
}

// load reads a configuration that a test writes. It always has a state folder and a free port of its own.
func load(t *testing.T, state, text string) *config.Config {
	t.Helper()
	return loadText(t, "gateway: { listen: 127.0.0.1:0, token: test-token }\nstate: "+state+"\n"+text)
}

// loadText reads a whole configuration.
func loadText(t *testing.T, text string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	cfg, err := config.System().Load(path)
	require.NoError(t, err)
	return cfg
}

func start(t *testing.T, text string) *gateway {
	t.Helper()
	g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	g.cfg = load(t, g.state, text)
	g.begin()
	t.Cleanup(g.end)
	return g
}

func (g *gateway) begin() {
	g.t.Helper()
	g.App = app.New(g.cfg, "test", slog.New(slog.NewTextHandler(g.log, nil)))
	g.committed = g.Committed()
	require.NoError(g.t, g.Start(g.t.Context()))
}

func (g *gateway) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	g.Stop(ctx)
}

func (g *gateway) url(path string) string { return "http://" + g.Addr().String() + path }

// call makes a request to the API with its token.
func (g *gateway) call(method, path, body string, headers ...string) *http.Response {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.url(path), strings.NewReader(body))
	require.NoError(g.t, err)
	req.Header.Set("Authorization", "Bearer "+g.Token())
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// platforms are Telegram and a provider of models, on the wire.
func platforms(t *testing.T) (*telegramtest.Server, *modeltest.Server) {
	t.Helper()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	return telegramtest.Start(t, telegramtest.Options{}), models
}

// withModels is the configuration of the models.
func withModels(models *modeltest.Server) string {
	return `models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "` + models.OpenAIURL() + `" } } }
`
}
