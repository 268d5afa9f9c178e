package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/httpapi"
	"sluice/policy/flow"
	"sluice/router/steps"
	"sluice/sessions"
)

// bus gives what a test publishes.
type bus struct {
	messages chan []byte
	err      error
}

func (b *bus) TailSteps(context.Context) (<-chan []byte, error) { return b.messages, b.err }

func (b *bus) publish(t *testing.T, run sessions.RunID, from, to sessions.ID, level flow.Level) {
	t.Helper()
	text, err := json.Marshal(steps.Message{
		SpecVersion: "1.0", ID: string(run), Type: steps.TypeAsk, Subject: string(to),
		Data: steps.StepData{Exchange: "xch_1", Run: run, From: announce.Party{Session: from}, To: announce.Party{Session: to}, Label: flow.NewLabel(level, flow.Trusted)},
	})
	require.NoError(t, err)
	b.messages <- text
}

func TestStepsAreFollowed(t *testing.T) {
	t.Parallel()
	g, b := withMain(), &bus{messages: make(chan []byte, 16)}
	secret := g.add(sessions.Record{ID: "sess_000000000009", Key: "agent:main:secret"})
	secret.Taint = flow.NewLabel(flow.Restricted, flow.Trusted)
	g.records[string(secret.ID)] = secret
	_, w := started(t, g, func(c *httpapi.Config) {
		c.Gateway.Steps = b
		c.Access.Tokens[0].Level = flow.Internal
	})
	b.publish(t, "run_1", "", mainID, flow.Confidential)        // above the caller
	b.publish(t, "run_2", secret.ID, mainID, flow.Public)       // of a session above the caller
	b.publish(t, "run_3", mainID, secret.ID, flow.Public)       // to one
	b.publish(t, "run_4", "", "sess_000000000404", flow.Public) // to one that has ended
	b.messages <- []byte("garbage")
	b.publish(t, "run_5", mainID, mainID, flow.Internal)
	close(b.messages) // the reader is too slow
	resp := answer(t, w.dial(t, "GET", "/v1/bus/steps", ""))
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	var lines []string
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		if s.Text() != "" {
			lines = append(lines, s.Text())
		}
	}
	require.Equal(t, []string{"retry: 1000", "id: run_5", "event: sluice.exchange.ask"}, lines[:3])
	require.Len(t, lines, 4)
	require.Contains(t, lines[3], `"exchange":"xch_1"`)
}

func TestStepsAreNotAvailable(t *testing.T) {
	t.Parallel()
	g := withMain()
	h := newServer(t, g, func(c *httpapi.Config) { c.Gateway.Steps = &bus{err: errors.New("no server")} }).Handler()
	w := call(h, "GET", "/v1/bus/steps", "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "the steps are not available at the moment; try again")
}
