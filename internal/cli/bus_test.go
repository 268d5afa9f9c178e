package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

// answering is a gateway with an answer for each path.
func answering(t *testing.T, answers map[string]string) map[string]string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.RequestURI()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"error":"not_found","message":"not here: ` + r.URL.RequestURI() + `"}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return map[string]string{cli.EnvURL: s.URL, cli.EnvToken: fakeToken}
}

const stepAnswer = `{"specversion":"1.0","id":"run_7","type":"sluice.exchange.reply","time":"2026-04-26T17:03:16Z","data":{"exchange":"xch_1","turn":2,` +
	`"from":{"session":"sess_1","key":"agent:main:main"},"to":{"session":"sess_2","key":"agent:ops:\u001bmain"},"run":"run_7","label":"PUBLIC/trusted"}}`

// Steps are printed as they come, and the end of the stream is not taken for the end of the command.
func TestBusTail(t *testing.T) {
	t.Parallel()
	person := strings.Replace(stepAnswer, `"from":{"session":"sess_1","key":"agent:main:main"},`, "", 1)
	env := answering(t, map[string]string{"/v1/bus/steps": "retry: 1000\n\n: still here\n\nid: run_7\nevent: sluice.exchange.reply\ndata: " + stepAnswer + "\n\ndata: " + person + "\n\n"})
	got := execute(t, env, "bus", "tail")
	require.Equal(t, cli.ExitFailed, got.code)
	lines := strings.Split(got.out, "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], `  reply     agent:main:main → agent:ops:\u001bmain  PUBLIC/trusted  xch_1  run_7`)
	require.Contains(t, lines[1], "  reply     a person → agent:ops:")
	require.Equal(t, "sluice: the gateway has ended the stream: it stops, or this command was too slow; run the command again\n", got.err)

	got = execute(t, env, "bus", "tail", "--json")
	require.JSONEq(t, stepAnswer, strings.Split(got.out, "\n")[0])

	got = execute(t, answering(t, nil), "bus", "tail")
	require.Equal(t, result{cli.ExitFailed, "", "sluice: not here: /v1/bus/steps\n"}, got)
	got = execute(t, answering(t, map[string]string{"/v1/bus/steps": "data: {\n\n"}), "bus", "tail")
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.err, "sluice: read step: ")
}

// An interrupt is how people end the command: it is not a failure.
func TestBusTailIsInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	d, stderr := deps(t, map[string]string{cli.EnvURL: s.URL, cli.EnvToken: fakeToken}, "bus", "tail")
	signals := make(chan os.Signal, 1)
	d.Signals, d.Stdout = signals, &strings.Builder{}
	go func() {
		<-asked
		signals <- os.Interrupt
	}()
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), d))
	require.Empty(t, stderr.String())
}

// An exchange is shown with its steps, the first one first.
func TestExchangesShow(t *testing.T) {
	t.Parallel()
	env := answering(t, map[string]string{
		"/v1/exchanges/xch_1": `{"id":"xch_1","kind":"send","phase":"ended","outcome":"announced","requester":{"session":"sess_1","key":"agent:main:main"},` +
			`"target":{"session":"sess_2","key":"agent:ops:main"},"request":"how many?","started":"2026-04-26T17:03:16Z"}`,
		"/v1/runs?exchange=xch_1&limit=200": `{"runs":[{"id":"run_2","session":"sess_3","kind":"announce","status":"running","accepted":"2026-04-26T17:03:18Z"},` +
			`{"id":"run_1","session":"sess_2","kind":"ask","status":"done","reply":"Seven.","accepted":"2026-04-26T17:03:16Z","finished":"2026-04-26T17:03:17.5Z"}]}`,
		"/v1/exchanges/xch_2": `{"id":"xch_2"}`,
	})
	got := execute(t, env, "sessions", "exchanges", "show", "xch_1")
	require.Equal(t, result{cli.ExitDone, `id       xch_1
kind     send
state    announced
from     agent:main:main
to       agent:ops:main
request  how many?
started  1h ago

STEP      BY              STATUS   TOOK  SAID    RUN
ask       agent:ops:main  done     1.5s  Seven.  run_1
announce  sess_3          running  -     -       run_2
`, ""}, got)
	got = execute(t, env, "sessions", "exchanges", "show", "xch_1", "--json")
	require.Contains(t, got.out, `"exchange"`)
	require.Contains(t, got.out, `"Seven."`)
	require.Contains(t, execute(t, env, "sessions", "exchanges", "show", "xch_2").err, "not here: /v1/runs?exchange=xch_2")
	require.Contains(t, execute(t, env, "sessions", "exchanges", "show", "xch_3").err, "not here: /v1/exchanges/xch_3")
	require.Equal(t, cli.ExitUsage, execute(t, env, "sessions", "exchanges", "show").code)
}
