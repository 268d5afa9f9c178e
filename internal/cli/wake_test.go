package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

func TestWake(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"wake --text 'look at the log'": {
			asks: `POST /v1/wake {"text":"look at the log"}`, answer: `{"session":"sess_1","id":"w1","mode":"now","run_id":"run_1"}`,
			out: "run_1: accepted in sess_1; sluice runs show run_1 shows what comes of it\n",
		},
		"wake --text look --mode next-heartbeat": {
			asks: `POST /v1/wake {"mode":"next-heartbeat","text":"look"}`, answer: `{"session":"sess_1","id":"w1","mode":"next-heartbeat","job":"heartbeat:main","next":"2026-04-26T18:30:00Z"}`,
			out: "heartbeat:main gets the text at 2026-04-26T18:30:00Z, or at its first later time at which it can run\n",
		},
		"wake --text look --mode next-heartbeat --idempotency-key w1": {
			asks: `POST /v1/wake {"id":"w1","mode":"next-heartbeat","text":"look"}`, answer: `{"session":"sess_1","id":"w1","mode":"next-heartbeat","job":"heartbeat:main"}`,
			out: "heartbeat:main has this text already; sluice cron history heartbeat:main shows what came of it\n",
		},
		"wake --session node-1 --text /status --mode now --label INTERNAL --idempotency-key w1": {
			asks: `POST /v1/wake {"id":"w1","label":"INTERNAL","mode":"now","session":"node-1","text":"/status"}`, answer: `{"session":"sess_1","id":"w1","mode":"now","reply":"All\u001b well."}`,
			out: `All\u001b well.` + "\n",
		},
	})
}

// Without --text, or with --text -, the text comes from standard input.
func TestWakeReadsItsText(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"wake"}, {"wake", "--text", "-"}} {
		for typed, want := range map[string]string{
			"disk:\nfull\n":              `{"text":"disk:\nfull\n"}`,
			"\n":                         "standard input is empty",
			strings.Repeat("x", 1<<20+1): "the text is larger than 1 MiB",
		} {
			g := newGateway(t, 202, "", `{"run_id":"run_1"}`)
			d, stderr := deps(t, g.env(), args...)
			d.Stdin = strings.NewReader(typed)
			var out strings.Builder
			d.Stdout = &out
			code := cli.Execute(t.Context(), d)
			if strings.HasPrefix(want, "{") {
				require.Zero(t, code, stderr)
				require.Equal(t, []string{"POST /v1/wake " + want}, g.asked)
				continue
			}
			require.NotZero(t, code)
			require.Contains(t, stderr.String(), want)
			require.Empty(t, g.asked)
		}
	}
	g := newGateway(t, 202, "", `{}`)
	d, stderr := deps(t, g.env(), "wake")
	d.Terminal = true
	require.Equal(t, cli.ExitUsage, cli.Execute(t.Context(), d))
	require.Contains(t, stderr.String(), "nothing to say: add --text TEXT")
	require.Empty(t, g.asked)
}
