package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/build"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/visible"
)

// now is the time of all commands.
var now = time.Date(2026, 4, 26, 18, 3, 16, 0, time.UTC)

// gateway answers every request in the same way, and keeps what it was asked.
type gateway struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // method, path, query and body
}

func newGateway(t *testing.T, status int, next, answer string) *gateway {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		g.mu.Lock()
		g.asked = append(g.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		g.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+fakeToken {
			status, answer = http.StatusUnauthorized, "{}"
		}
		if next != "" {
			w.Header().Set("Link", "<"+r.URL.Path+"?after="+next+`>; rel="next"`)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(g.Close)
	return g
}

// newGatewayThat does something before it answers.
func newGatewayThat(t *testing.T, first func()) *gateway {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		first()
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(g.Close)
	return g
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// execute runs a command line in this process.
func execute(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	var out bytes.Buffer
	d, stderr := deps(t, env, args...)
	d.Stdout = &out
	code := cli.Execute(t.Context(), d)
	return result{code, out.String(), stderr.String()}
}

// deps are what a command line is given, without an output.
func deps(t *testing.T, env map[string]string, args ...string) (d cli.Deps, stderr *bytes.Buffer) {
	t.Helper()
	stderr = &bytes.Buffer{}
	return cli.Deps{
		Args: args, Version: "v1", Build: build.Read("v1", "", ""), Stdin: strings.NewReader(""), Stderr: stderr, Now: func() time.Time { return now },
		Loader: config.Loader{Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Home: t.TempDir(), Dir: t.TempDir()},
	}, stderr
}

func (g *gateway) env() map[string]string {
	return map[string]string{cli.EnvURL: g.URL, cli.EnvToken: fakeToken}
}

// command is one request of the command line and all that a person sees of it.
type command struct {
	args   []string
	asks   string // method, path, query and body
	answer string
	next   string // what the next page comes after
	out    string
	err    string
	code   int
}

// words splits a command line at spaces; 'a b' is one word.
func words(line string) []string {
	var found []string
	for i, piece := range strings.Split(line, "'") {
		if i%2 == 1 {
			found = append(found, piece)
		} else {
			found = append(found, strings.Fields(piece)...)
		}
	}
	return found
}

// check runs commands against a gateway that answers them, then again with --json, and then with gateways that fail.
func check(t *testing.T, commands map[string]command) {
	t.Helper()
	for _, line := range slices.Sorted(maps.Keys(commands)) {
		c := commands[line]
		c.args = words(line)
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, http.StatusOK, c.next, c.answer)
			require.Equal(t, result{c.code, c.out, c.err}, execute(t, g.env(), c.args...))
			require.Equal(t, []string{c.asks}, g.asked)
			require.NotContains(t, c.out+c.err, "\x1b", "nothing steers or colors the terminal")
			checkJSON(t, c)
			checkFailures(t, c)
			checkOutput(t, c)
		})
	}
}

// checkJSON runs a command with --json: the output is the gateway's answer.
func checkJSON(t *testing.T, c command) {
	t.Helper()
	g := newGateway(t, http.StatusOK, c.next, c.answer)
	got := execute(t, g.env(), append(slices.Clone(c.args), "--json")...)
	require.Equal(t, c.code, got.code)
	require.JSONEq(t, cmp.Or(visible.JSON(c.answer), "{}"), got.out)
	require.Equal(t, visible.Text(got.out), got.out, "nothing is hidden in it")
	require.Equal(t, []string{c.asks}, g.asked)
}

// checkFailures runs a command where the gateway refuses it, breaks or does not run.
func checkFailures(t *testing.T, c command) {
	t.Helper()
	refused := newGateway(t, http.StatusConflict, "", `{"error":"conflict","message":"not\u001b now"}`)
	require.Equal(t, result{cli.ExitFailed, "", `sluice: not\u001b now` + "\n"}, execute(t, refused.env(), c.args...))

	invalid := newGateway(t, http.StatusUnprocessableEntity, "", `{"error":"invalid","message":"no such level"}`)
	got := execute(t, invalid.env(), c.args...)
	require.Equal(t, cli.ExitUsage, got.code)
	require.True(t, strings.HasPrefix(got.err, "sluice: no such level\nUsage: sluice "+c.args[0]), got.err)

	stranger := invalid.env()
	stranger[cli.EnvToken] = "wrong"
	got = execute(t, stranger, c.args...)
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.err, "sluice: the gateway rejected the access token")

	stranger[cli.EnvURL] = "http://127.0.0.1:1"
	got = execute(t, stranger, c.args...)
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.err, "sluice: no gateway is running at http://127.0.0.1:1")

	if json.Valid([]byte(c.answer)) {
		broken := newGateway(t, http.StatusOK, "", "<html>")
		got = execute(t, broken.env(), c.args...)
		require.Equal(t, cli.ExitFailed, got.code)
		require.Contains(t, got.err, "does not answer like a Sluice gateway")
		require.Empty(t, got.out)
	}
}

// checkOutput runs a command whose output ends before each line that it prints: every time it stops there, and says why.
func checkOutput(t *testing.T, c command) {
	t.Helper()
	g := newGateway(t, http.StatusOK, c.next, c.answer)
	d, stderr := deps(t, g.env(), c.args...)
	for room := range len(c.out) {
		if room > 0 && c.out[room-1] != '\n' {
			continue
		}
		out := &narrow{room: room}
		d.Stdout = out
		stderr.Reset()
		require.Equal(t, cli.ExitFailed, cli.Execute(t.Context(), d), "after %d bytes", room)
		require.Equal(t, "sluice: broken pipe\n", stderr.String(), "after %d bytes", room)
		require.True(t, strings.HasPrefix(c.out, out.text.String()), "nothing is written after a write that failed")
	}
}

// narrow is an output that takes some bytes and then breaks.
type narrow struct {
	room int
	text strings.Builder
}

func (n *narrow) Write(p []byte) (int, error) {
	if n.room -= len(p); n.room < 0 {
		return 0, errors.New("broken pipe")
	}
	return n.text.Write(p)
}

// misuse runs commands that are used wrongly: they end with code 2 and ask the gateway nothing.
func misuse(t *testing.T, commands map[string]string) {
	t.Helper()
	for line, want := range commands {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, http.StatusOK, "", "{}")
			got := execute(t, g.env(), words(line)...)
			require.Equal(t, cli.ExitUsage, got.code, got.err)
			require.Contains(t, got.err, "sluice: "+want+"\n")
			require.Contains(t, got.err, "\nHelp: sluice")
			require.Empty(t, got.out)
			require.Empty(t, g.asked)
		})
	}
}
