package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

const logAnswer = `{"lines":[{"id":"b-2","at":"2026-04-26T17:03:16Z","level":"warn","part":"telegram/default","text":"cannot\nsend","fields":[{"name":"err","value":"time-out"}]},` +
	`{"id":"b-1","at":"2026-04-26T17:03:10Z","level":"info","text":"begun","fields":[]}]}`

func TestLogs(t *testing.T) {
	t.Parallel()
	env := answering(t, map[string]string{"/v1/logs?level=info&limit=2&part=telegram%2Fdefault&q=time": logAnswer, "/v1/logs?limit=50": `{"lines":[]}`})
	got := execute(t, env, "logs", "--level", "info", "--part", "telegram/default", "-q", "time", "--limit", "2")
	require.Equal(t, cli.ExitDone, got.code, got.err)
	require.Regexp(t, `(?m)^2026-04-2. ..:03:10  INFO  begun$`, got.out)
	require.Regexp(t, `(?m)^2026-04-2. ..:03:16  WARN  cannot send  err=time-out$`, got.out)
	require.Equal(t, result{cli.ExitDone, "No log lines match.\n", ""}, execute(t, env, "logs"))
	require.JSONEq(t, `{"lines":[]}`, execute(t, env, "logs", "--json").out)
	require.Equal(t, cli.ExitUsage, execute(t, env, "logs", "--limit", "0").code)
}

// New lines are printed once each, whatever was printed before, until the command is interrupted; also if the gateway was away meanwhile.
func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	const line = `{"id":"b-%d","at":"2026-04-26T17:03:16Z","level":"info","text":"line %d","fields":[]}`
	signals := make(chan os.Signal, 1)
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		if n == 2 || n == 3 { // the client itself repeats the first of them
			panic(http.ErrAbortHandler)
		}
		var lines []string
		for i := min(2*n, 4); i > 0; i-- { // two more after a while
			lines = append(lines, fmt.Sprintf(line, i, i))
		}
		if n == 4 {
			defer func() { signals <- os.Interrupt }()
		}
		fmt.Fprintf(w, `{"lines":[%s]}`, strings.Join(lines, ","))
	}))
	t.Cleanup(s.Close)
	d, stderr := deps(t, map[string]string{cli.EnvURL: s.URL, cli.EnvToken: fakeToken}, "logs", "--follow")
	var out strings.Builder
	d.Signals, d.Stdout = signals, &out
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), d), stderr.String())
	require.Equal(t, 1, strings.Count(out.String(), "(trying again until it answers)"), out.String())
	require.Subset(t, []string{"line 1 line 2 line 3 line 4", "line 1 line 2"}, []string{strings.Join(texts(out.String()), " ")})
}

// texts are the ends of lines.
func texts(out string) (all []string) {
	for line := range strings.Lines(out) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), "INFO  "); ok {
			all = append(all, text)
		}
	}
	return all
}
