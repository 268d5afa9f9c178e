package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// waitsFor has the main session call a tool, and gives the question that waits.
func (g *gateway) waitsFor(models *modeltest.Server, args string) (id string) {
	g.t.Helper()
	models.Enqueue(modeltest.Call("memory_save", args), modeltest.Say("It is kept."))
	read(g.t, g.call(http.MethodPost, "/v1/wake", `{"session":"main","text":"keep it"}`), http.StatusAccepted, nil)
	return g.waiting(1)[0]
}

// waiting waits until at least n questions wait for a decision, and gives their ids.
func (g *gateway) waiting(n int) (ids []string) {
	g.t.Helper()
	g.soon(func() bool {
		var waiting struct{ Approvals []struct{ ID string } }
		read(g.t, g.call(http.MethodGet, "/v1/approvals", ""), http.StatusOK, &waiting)
		ids = nil
		for _, a := range waiting.Approvals {
			ids = append(ids, a.ID)
		}
		return len(ids) >= n
	})
	return ids
}

// delivered waits until no message is on its way.
func (g *gateway) delivered() {
	g.t.Helper()
	g.soon(func() bool {
		var queued, sending struct{ Deliveries []struct{ ID string } }
		read(g.t, g.call(http.MethodGet, "/v1/deliveries?status=queued", ""), http.StatusOK, &queued)
		read(g.t, g.call(http.MethodGet, "/v1/deliveries?status=sending", ""), http.StatusOK, &sending)
		return len(queued.Deliveries)+len(sending.Deliveries) == 0
	})
}

// saves has the main session call a tool, and waits for the end of the run: nobody is asked.
func (g *gateway) saves(models *modeltest.Server, args string) {
	g.t.Helper()
	models.Enqueue(modeltest.Call("memory_save", args), modeltest.Say("It is kept."))
	read(g.t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"keep it"}`), http.StatusOK, nil)
}

type allowRule struct{ ID, Tool, YAML, By, Level string }

func TestAlwaysAllow(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	op := g.tokenOf("operator", "RESTRICTED")
	id := g.waitsFor(models, `{"key":"plan","content":"1 * 2"}`)
	path := "/v1/approvals/" + id + "/always"
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }

	var got struct {
		Rule  allowRule
		Saved bool
	}
	read(t, g.call(http.MethodPost, path, `{"preview":true}`), http.StatusOK, &got)
	require.False(t, got.Saved)
	require.Equal(t, "alwaysAllow:\n  agent: main\n  tool: memory_save\n  args:\n    content: 1 \\* 2\n    key: plan\n  upTo: PUBLIC/trusted\n", got.Rule.YAML)
	var rules struct{ Rules []allowRule }
	read(t, g.call(http.MethodGet, "/v1/policy/allow-rules", ""), http.StatusOK, &rules)
	require.Empty(t, rules.Rules, "a preview stores nothing")

	read(t, g.call(http.MethodPost, path, `{"args":{"key":"other"}}`), http.StatusBadRequest, nil)
	read(t, g.call(http.MethodPost, path, "{}", as(op)...), http.StatusForbidden, nil)
	read(t, g.call(http.MethodPost, path, `{"preview":true}`, as(op)...), http.StatusForbidden, nil)
	read(t, g.call(http.MethodPost, path, `{"args":{"key":"plan","content":"*"}}`), http.StatusOK, &got)
	require.True(t, got.Saved)
	g.soon(func() bool { return g.ended(1) })
	read(t, g.call(http.MethodPost, path, "{}"), http.StatusBadRequest, nil) // it is decided

	g.saves(models, `{"key":"plan","content":"another"}`) // nobody is asked
	read(t, g.call(http.MethodGet, "/v1/policy/allow-rules", ""), http.StatusOK, &rules)
	require.Len(t, rules.Rules, 1)
	require.Equal(t, "operator", rules.Rules[0].By)
	var all struct{ Approvals []struct{ By, Status string } }
	read(t, g.call(http.MethodGet, "/v1/approvals?status=all", ""), http.StatusOK, &all)
	require.Equal(t, "rule:"+rules.Rules[0].ID, all.Approvals[0].By)
	require.Equal(t, "used", all.Approvals[0].Status)

	other := g.waitsFor(models, `{"key":"password","content":"another"}`) // another argument
	read(t, g.call(http.MethodPost, "/v1/approvals/"+other+"/deny", ""), http.StatusOK, nil)
	g.soon(func() bool { return g.ended(3) })

	rule := "/v1/policy/allow-rules/" + rules.Rules[0].ID
	read(t, g.call(http.MethodDelete, rule, "", as(op)...), http.StatusForbidden, nil)
	g.end() // it is stored
	g.begin()
	g.saves(models, `{"key":"plan","content":"once more"}`)
	read(t, g.call(http.MethodDelete, rule, ""), http.StatusNoContent, nil)
	read(t, g.call(http.MethodDelete, rule, ""), http.StatusNotFound, nil)
	again := g.waitsFor(models, `{"key":"plan","content":"another"}`)
	read(t, g.call(http.MethodPost, "/v1/approvals/"+again+"/deny", ""), http.StatusOK, nil)

	for _, action := range []string{"allow_rule.add", "allow_rule.remove", "approval.allowed"} {
		var audit struct {
			Entries []struct{ Actor, Object string }
		}
		read(t, g.call(http.MethodGet, "/v1/audit?action="+action, ""), http.StatusOK, &audit)
		require.NotEmpty(t, audit.Entries, action)
	}
}

// A rule does not apply in conversations of a higher level, and is hidden from callers who may not see its arguments.
func TestAlwaysAllowRaisesNothing(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models)+"channels: { webchat: { classification: RESTRICTED } }\n")
	low := g.tokenOf("operator", "PUBLIC")
	id := g.waitsFor(models, `{"key":"plan","content":"1"}`)
	read(t, g.call(http.MethodPost, "/v1/approvals/"+id+"/always", ""), http.StatusOK, nil)
	g.soon(func() bool { return g.ended(1) })
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"/raise CONFIDENTIAL"}`), http.StatusOK, nil)
	id = g.waitsFor(models, `{"key":"plan","content":"1"}`) // it is asked again
	var got struct{ Rule allowRule }
	read(t, g.call(http.MethodPost, "/v1/approvals/"+id+"/always", ""), http.StatusOK, &got)
	require.Equal(t, "CONFIDENTIAL/trusted", got.Rule.Level)

	answer := func(method, path string) (int, string) {
		resp := g.call(method, path, "", "Authorization", "Bearer "+low)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	status, hidden := answer(http.MethodDelete, "/v1/policy/allow-rules/"+got.Rule.ID)
	missing, absent := answer(http.MethodDelete, "/v1/policy/allow-rules/alw_000000000000")
	require.Equal(t, missing, status)
	require.Equal(t, absent, hidden)
	_, text := answer(http.MethodGet, "/v1/policy/allow-rules")
	var seen struct{ Rules []allowRule }
	require.NoError(t, json.Unmarshal([]byte(text), &seen))
	require.Len(t, seen.Rules, 1)
	require.NotContains(t, text, "CONFIDENTIAL")
}

// ended reports whether at least n runs have ended.
func (g *gateway) ended(n int) bool {
	g.t.Helper()
	var done struct{ Runs []struct{ Status string } }
	read(g.t, g.call(http.MethodGet, "/v1/runs?status=done", ""), http.StatusOK, &done)
	return len(done.Runs) >= n
}

// soon waits until something holds after a change that was stored.
func (g *gateway) soon(holds func() bool) {
	g.t.Helper()
	for deadline := time.After(patience); !holds(); {
		select {
		case <-g.committed:
		case <-deadline:
			g.t.Fatal("no stored change made it true")
		}
	}
}

// tokenOf makes a token of a role and a level.
func (g *gateway) tokenOf(role, level string) string {
	g.t.Helper()
	var made struct{ Token string }
	read(g.t, g.call(http.MethodPost, "/v1/tokens", `{"name":"`+strings.ToLower(role+"-"+level)+`","role":"`+role+`","level":"`+level+`"}`), http.StatusCreated, &made)
	return made.Token
}
