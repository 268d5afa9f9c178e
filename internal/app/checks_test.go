package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
)

type seenCheck struct {
	Name, Source, Value, Before, Error, Label string
	Holds                                     bool
	Fails                                     int
}

func (g *gateway) checks(l flow.Level) (all []seenCheck) {
	g.t.Helper()
	var got struct{ Checks []seenCheck }
	require.NoError(g.t, json.Unmarshal([]byte(g.ask(l, "GET", "/v1/checks", "").Body), &got))
	return got.Checks
}

func TestChecksAreShownUpToTheirLevel(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("checks:\n")
	for i, l := range flow.Levels() {
		fmt.Fprintf(&text, "  c%d: { gateway: deadLetters, classification: %s }\n", i, l)
	}
	g := withLevels(t, flow.Public, text.String())
	for i, l := range flow.Levels() {
		require.Len(t, g.checks(l), i+1)
		for j := range flow.Levels() {
			path := fmt.Sprintf("/v1/checks/c%d/run", j)
			if j <= i {
				require.Equal(t, 200, g.ask(l, "POST", path, "").Status)
			} else {
				hidden, absent := g.ask(l, "POST", path, ""), g.ask(l, "POST", "/v1/checks/gone/run", "")
				require.Equal(t, 404, hidden.Status)
				require.Equal(t, absent.Body, hidden.Body)
			}
		}
	}
}

// A check of this machine is read as the configuration says, stored, and compared with the last value.
func TestCheckOfAnAddress(t *testing.T) {
	t.Parallel()
	var state atomic.Value
	state.Store(`{"status":"green"}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, state.Load())
	}))
	t.Cleanup(server.Close)
	g := withLevels(t, flow.Confidential, `owners: ["webchat:local"]
checks:
  ci: { http: "`+server.URL+`/last?token=hidden", private: true, headers: { Authorization: Bearer x }, value: body.status, when: value == "red" }
  public: { http: "`+server.URL+`/last" }
  dead: { gateway: deadLetters }
`)
	run := func(name string) (c seenCheck) {
		t.Helper()
		answer := g.ask(flow.Restricted, "POST", "/v1/checks/"+name+"/run", "")
		require.Equal(t, 200, answer.Status, answer.Body)
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &c))
		return c
	}
	require.Equal(t, seenCheck{Name: "ci", Source: server.URL, Value: `"green"`, Label: "INTERNAL/untrusted"}, run("ci"))
	state.Store(`{"status":"red"}`)
	red := seenCheck{Name: "ci", Source: server.URL, Value: `"red"`, Before: `"green"`, Label: "INTERNAL/untrusted", Holds: true}
	require.Equal(t, red, run("ci"))
	state.Store(`[]`)
	failing := run("ci")
	require.Equal(t, `"red"`, failing.Value, "a failure keeps the value")
	require.Contains(t, failing.Error, "value:")
	require.Equal(t, 2, run("ci").Fails)
	state.Store(`{"status":"red"}`)
	require.Equal(t, red, run("ci"))
	require.Contains(t, run("public").Error, "is not an address of the public web")
	require.Equal(t, "0", run("dead").Value)

	told, err := g.Store().ListDeliveries(context.Background(), ledger.Query{MaxLevel: flow.Restricted, Limit: 20})
	require.NoError(t, err)
	var texts []string
	for _, d := range told {
		texts = append(texts, strings.SplitN(d.Text, ".", 2)[0])
	}
	require.Len(t, texts, 3)
	require.Equal(t, "The check `public` fails", texts[0])
	require.Contains(t, texts[1], "The check `ci` works again")
	require.Equal(t, "The check `ci` fails", texts[2])
}
