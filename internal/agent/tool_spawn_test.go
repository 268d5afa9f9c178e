package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/request"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

func TestSpawnArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, says string }{
		"no task":             {`{}`, "task: is required"},
		"blank task":          {`{"task":" \n"}`, "task: is required"},
		"oversized task":      {`{"task":"` + strings.Repeat("x", 64<<10+1) + `"}`, "task: is 65537 bytes long, the maximum is 65536"},
		"task is a number":    {`{"task":7}`, "task: want a string, got a JSON number"},
		"oversized label":     {`{"task":"x","label":"` + strings.Repeat("x", 513) + `"}`, "label: has 513 characters, the maximum is 512"},
		"label of many bytes": {`{"task":"x","label":"` + strings.Repeat("é", 257) + `"}`, "label: is 514 bytes long, the maximum is 512"},
		"negative time-out":   {`{"task":"x","runTimeoutSeconds":-1}`, "runTimeoutSeconds: -1 is less than 0"},
		"endless time-out":    {`{"task":"x","runTimeoutSeconds":86401}`, "runTimeoutSeconds: 86401, want 0 to 86400"},
		"time-out is a text":  {`{"task":"x","runTimeoutSeconds":"60"}`, "runTimeoutSeconds: want a whole number"},
		"strange cleanup":     {`{"task":"x","cleanup":"burn"}`, `cleanup: "burn" is not keep or delete`},
		"no such model":       {`{"task":"x","model":"test/none"}`, `model: no such model`},
		"no such agent":       {`{"task":"x","agentId":"ghost"}`, `agentId: you may not start "ghost": agents_list shows the agents that you may start`},
		"an agent not to use": {`{"task":"x","agentId":"other"}`, `agentId: you may not start "other"`},
		"where to announce":   {`{"task":"x","to":"42"}`, "to: unknown parameter"},
		"who it is":           {`{"task":"x","sessionKey":"agent:main:subagent:mine"}`, "sessionKey: unknown parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.configure(func(*roster.Settings) {})
			result := b.tool(t, "sessions_spawn", c.args)
			require.True(t, result.Error, result.Text)
			require.Contains(t, result.Text, c.says)
			require.Empty(t, b.asked)
		})
	}
}

func TestSpawnReturnsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Agents[0].AllowAgents = []string{"other"} })
	result := b.tool(t, "sessions_spawn", `{"task":"look","label":"prices","agentId":"other","model":"test/scripted","runTimeoutSeconds":90,"cleanup":"delete"}`)
	require.False(t, result.Error, result.Text)
	require.Empty(t, b.waited)
	ask := b.asked[0]
	require.JSONEq(t, `{"status":"accepted","runId":"run_asked","childSessionKey":"`+string(ask.Target.Key)+`"}`, result.Text)
	require.True(t, ask.Target.Key.SubAgent())
	require.Equal(t, announce.Spawn, ask.Kind)
	require.Equal(t, "look", ask.Text)
	require.True(t, ask.Create)
	require.Equal(t, exchange.Task{Name: "prices", Timeout: 90 * time.Second, Discard: true}, ask.Task)
	require.Equal(t, "other", ask.Target.Agent)
	require.Equal(t, "test/scripted", ask.Target.Model.Raw())
	require.Equal(t, b.run.Session, ask.Target.SpawnedBy)
	require.Equal(t, b.run.Route, ask.Caller.Route, "it is reported where the request came from")

	require.False(t, b.tool(t, "sessions_spawn", `{"task":"look"}`).Error)
	require.Equal(t, "main", b.asked[1].Target.Agent)
	require.Zero(t, b.asked[1].Task)
	b.configure(func(s *roster.Settings) { s.RunTimeout = 10 * time.Minute })
	for _, args := range []string{`{"task":"look"}`, `{"task":"look","runTimeoutSeconds":0}`} {
		require.Contains(t, b.tool(t, "sessions_spawn", args).Text, `"note":"session.runTimeout ends the work after 10m0s"`)
	}
	require.NotContains(t, b.tool(t, "sessions_spawn", `{"task":"look","runTimeoutSeconds":5}`).Text, "runTimeout")
}

// The call names the task for ever: repeated after a crash, it is the same request for the same session.
func TestSpawnAfterACrash(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tool(t, "sessions_spawn", `{"task":"look"}`)
	thread := b.session.Messages()
	call := thread[len(thread)-3]
	require.Len(t, call.ToolCalls(), 1)
	record, err := b.store.Session(t.Context(), b.run.Session)
	require.NoError(t, err)
	record.Head = call.ID
	require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Save: []sessions.Record{record}}))
	b.reopen(t)
	require.Len(t, b.session.PendingToolCalls(), 1)
	b.model.Answers = append(b.model.Answers, sessiontest.Says("ok"))
	_, err = b.work(t.Context())
	require.NoError(t, err)
	require.Len(t, b.asked, 2)
	require.Equal(t, b.asked[0].Key, b.asked[1].Key)
	require.NotEmpty(t, b.asked[0].Key)
	require.Equal(t, b.asked[0].Target.ID, b.asked[1].Target.ID)
}

// What an answer's earlier calls have taught the session is known to the sub-agents of its later calls.
func TestSpawnBehindAnotherCall(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.remote = []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "secrets", Description: "Reads secrets.", Parameters: []byte(`{"type":"object"}`)},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Remote: &sessions.RemoteTool{Server: "s", Name: "secrets"},
		Run: func(context.Context, sessions.Caller, json.RawMessage) (sessions.ToolResult, error) {
			return sessions.ToolResult{Text: "secret", Label: confidential}, nil
		},
	}}
	b.model.Answers = []sessiontest.Answer{func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
		var c sessions.Completion
		for i, tool := range []string{"sessions_spawn", "secrets", "sessions_spawn", "todo_list", "sessions_spawn"} {
			args := json.RawMessage(`{}`)
			if tool == "sessions_spawn" {
				args = json.RawMessage(`{"task":"look"}`)
			}
			c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: strconv.Itoa(i), Tool: tool, Args: args})
		}
		return c, nil
	}, sessiontest.Says("ok")}
	_, err := b.ask(t.Context(), "do it")
	require.NoError(t, err)
	require.Len(t, b.asked, 3)
	for i, level := range []flow.Level{flow.Public, flow.Confidential, flow.Confidential} {
		require.Equal(t, level, b.asked[i].Target.Taint.Level())
		require.Equal(t, level, b.asked[i].Label.Level())
	}
	var called, done []string
	for _, e := range b.events {
		switch e.Type {
		case sessions.EventToolCall:
			called = append(called, e.CallID)
		case sessions.EventToolDone:
			done = append(done, e.CallID)
			require.Contains(t, called, e.CallID)
			require.False(t, e.Failed)
		}
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, called, "each call is announced once")
	require.Equal(t, called, done)
}

// The child knows what its task says: it begins at the label of the session that gave it.
func TestSpawnCarriesTheLabel(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.as(t, b.record("agent:main:http:h", confidential), true)
	require.False(t, b.tool(t, "sessions_spawn", `{"task":"look"}`).Error)
	require.Equal(t, confidential.Level(), b.asked[0].Target.Taint.Level())
	require.Equal(t, confidential.Level(), b.asked[0].Label.Level())
}

// A run without a route, for example a program's, is reported where its session was last spoken to.
func TestSpawnFindsItsRoute(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	route := b.run.Route
	b.run.Route = sessions.Route{}
	b.as(t, b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:direct:eve", Agent: "main", Taint: public, Route: route}), true)
	require.False(t, b.tool(t, "sessions_spawn", `{"task":"look"}`).Error)
	require.Equal(t, route, b.asked[0].Caller.Route)
}

func TestSpawnIsRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.refuse = &request.Error{Text: "5 sub-agents of this session are at work"}
	require.Equal(t, "5 sub-agents of this session are at work", b.tool(t, "sessions_spawn", `{"task":"x"}`).Text)
	b.refuse = errors.New("password of the database is 123")
	require.NotContains(t, b.tool(t, "sessions_spawn", `{"task":"x"}`).Text, "123")
}

// names are the tools that the model is offered.
func (b *bundle) names(t *testing.T) (names []string) {
	t.Helper()
	b.tool(t, "todo_list", `{}`)
	for _, spec := range b.model.Asked()[0].Tools {
		names = append(names, spec.Name)
	}
	return names
}

// A sub-agent has every tool but those of sessions, as configured; it never starts others, even if it is allowed to.
func TestSubAgentTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter     roster.ToolFilter
		has, lacks []string
	}{
		"by itself": {roster.ToolFilter{}, []string{"summarize", "todo_add"}, []string{"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status", "agents_list", "message", "cron_add", "cron_history", "alert_fire", "alert_list"}},
		"allowed":   {roster.ToolFilter{Allow: []string{"sessions_send", "sessions_spawn"}}, []string{"sessions_send", "summarize"}, []string{"sessions_spawn", "sessions_list"}},
		"denied":    {roster.ToolFilter{Allow: []string{"sessions_send"}, Deny: []string{"summarize", "sessions_send"}}, []string{"todo_add"}, []string{"summarize", "sessions_send"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.configure(func(s *roster.Settings) { s.SubagentTools = c.filter })
			b.as(t, b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:c", Agent: "main", Taint: public, SpawnedBy: b.run.Session}), true)
			names := b.names(t)
			require.Subset(t, names, c.has)
			for _, tool := range c.lacks {
				require.NotContains(t, names, tool)
			}
			require.True(t, b.tool(t, "sessions_spawn", `{"task":"x"}`).Error)
			require.Empty(t, b.asked)
			b.as(t, b.record("agent:main:subagent:reset", public), true)
			require.True(t, b.tool(t, "sessions_spawn", `{"task":"x"}`).Error, "nor does what comes after it by a reset")
		})
	}
}

func TestAgentsList(t *testing.T) {
	t.Parallel()
	type list struct {
		Requester string
		AllowAny  bool
		Agents    []struct {
			ID, Name   string
			Configured bool
		}
	}
	b := newBundle(t)
	get := func(allow ...string) (ids []string, got list) {
		b.configure(func(s *roster.Settings) { s.Agents[1].AllowAgents = allow })
		require.NoError(t, json.Unmarshal([]byte(b.tool(t, "agents_list", `{}`).Text), &got))
		for _, a := range got.Agents {
			require.True(t, a.Configured)
			ids = append(ids, a.ID)
		}
		return ids, got
	}
	b.configure(func(*roster.Settings) {})
	b.as(t, b.record("agent:other:main", public), true)
	ids, got := get()
	require.Equal(t, []string{"other"}, ids)
	require.Equal(t, "other", got.Requester)
	require.Equal(t, "Other", got.Agents[0].Name)
	require.False(t, got.AllowAny)
	ids, _ = get("main", "ghost")
	require.Equal(t, []string{"other", "main"}, ids, "itself first, and none that is not configured")
	ids, got = get("*")
	require.Equal(t, []string{"other", "main"}, ids)
	require.True(t, got.AllowAny)
	result := b.tool(t, "agents_list", `{"all":true}`)
	require.True(t, result.Error)
	require.Equal(t, "all: unknown parameter", result.Text)
}
