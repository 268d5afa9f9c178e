package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
	"sluice/policy/flow"
)

// peerOf connects the SDK's own client to a published agent.
func (g *gateway) peerOf(agent, token string) *a2aclient.Client {
	g.t.Helper()
	card, err := agentcard.NewResolver(http.DefaultClient).Resolve(g.t.Context(), g.url(""), agentcard.WithPath("/a2a/"+agent+"/.well-known/agent-card.json"))
	require.NoError(g.t, err)
	require.Equal(g.t, g.url("/a2a/"+agent), card.URL)
	c, err := a2aclient.NewFromCard(g.t.Context(), card, a2aclient.WithJSONRPCTransport(&http.Client{Transport: bearer{token}}))
	require.NoError(g.t, err)
	return c
}

func saying(text string) *a2a.MessageSendParams {
	return &a2a.MessageSendParams{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: text})}
}

// replyOf is the text of a task that is completed.
func replyOf(t *testing.T, r a2a.SendMessageResult) (string, *a2a.Task) {
	t.Helper()
	task, ok := r.(*a2a.Task)
	require.True(t, ok, "%#v", r)
	require.Equal(t, a2a.TaskStateCompleted, task.Status.State)
	require.Len(t, task.Artifacts, 1)
	return task.Artifacts[0].Parts[0].(a2a.TextPart).Text, task
}

// The SDK's own client talks to a published agent: whole, streamed, in a context, over a restart.
func TestTheGatewayIsAnA2AServer(t *testing.T) {
	t.Parallel()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	g := start(t, `models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
agents: { list: [{ id: main, default: true, name: Main, publish: { a2a: true } }, { id: secret }] }
`)
	ctx := t.Context()
	card, err := agentcard.DefaultResolver.Resolve(ctx, g.url(""))
	require.NoError(t, err)
	require.Equal(t, "Main", card.Name)
	require.True(t, card.Capabilities.Streaming)
	for _, path := range []string{"/a2a/secret/.well-known/agent-card.json", "/a2a/nobody/.well-known/agent-card.json"} {
		resp := g.call(http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}

	c := g.peerOf("main", g.Token())
	models.Enqueue(modeltest.Say("Hello!"), modeltest.Say("You said hello."), modeltest.Say("One two three."))
	first := saying("hello")
	result, err := c.SendMessage(ctx, first)
	require.NoError(t, err)
	text, task := replyOf(t, result)
	require.Equal(t, "Hello!", text)

	again, err := c.SendMessage(ctx, first)
	require.NoError(t, err)
	_, repeated := replyOf(t, again)
	require.Equal(t, task.ID, repeated.ID, "the same message makes no second run")

	next := saying("what did I say?")
	next.Message.ContextID = task.ContextID
	result, err = c.SendMessage(ctx, next)
	require.NoError(t, err)
	text, second := replyOf(t, result)
	require.Equal(t, "You said hello.", text)
	require.Equal(t, task.ContextID, second.ContextID)
	require.NotEqual(t, task.ID, second.ID)

	stream := saying("count")
	stream.Message.ContextID = task.ContextID
	var parts strings.Builder
	var last a2a.TaskState
	var streamed a2a.TaskID
	for e, err := range c.SendStreamingMessage(ctx, stream) {
		require.NoError(t, err)
		switch e := e.(type) {
		case *a2a.Task:
			streamed = e.ID
			require.Equal(t, a2a.TaskStateWorking, e.Status.State)
		case *a2a.TaskArtifactUpdateEvent:
			parts.WriteString(e.Artifact.Parts[0].(a2a.TextPart).Text)
		case *a2a.TaskStatusUpdateEvent:
			last = e.Status.State
		}
	}
	require.Equal(t, "One two three.", parts.String())
	require.Equal(t, a2a.TaskStateCompleted, last)

	g.end()
	g.begin()
	c = g.peerOf("main", g.Token())
	got, err := c.GetTask(ctx, &a2a.TaskQueryParams{ID: streamed})
	require.NoError(t, err)
	text, _ = replyOf(t, got)
	require.Equal(t, "One two three.", text)
	_, err = c.CancelTask(ctx, &a2a.TaskIDParams{ID: streamed})
	require.ErrorIs(t, err, a2a.ErrTaskNotCancelable)

	command := saying("/status")
	command.Message.ContextID = task.ContextID
	result, err = c.SendMessage(ctx, command)
	require.NoError(t, err)
	require.Contains(t, result.(*a2a.Message).Parts[0].(a2a.TextPart).Text, "agent main")

	for name, wrong := range map[string]*a2a.MessageSendParams{
		"no text": {Message: a2a.NewMessage(a2a.MessageRoleUser)}, "a file": {Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.FilePart{File: a2a.FileURI{URI: "https://a.example/b"}})},
		"an unknown task":       {Message: &a2a.Message{ID: "1", TaskID: "run_nobody", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.TextPart{Text: "x"}}}},
		"a task that has ended": {Message: &a2a.Message{ID: "2", TaskID: streamed, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.TextPart{Text: "x"}}}},
	} {
		_, err := c.SendMessage(ctx, wrong)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, a2a.ErrInternalError, name)
	}
	_, err = c.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: streamed, Config: a2a.PushConfig{URL: "https://a.example"}})
	require.ErrorIs(t, err, a2a.ErrPushNotificationNotSupported)
	require.Empty(t, models.Violations())

	for _, authorization := range []string{"", "Bearer wrong"} {
		resp := g.call(http.MethodPost, "/a2a/main", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"`+string(streamed)+`"}}`, "Authorization", authorization)
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}
}

// A task that works can be cancelled, and resubscribed to.
func TestATaskIsCancelledOverA2A(t *testing.T) {
	t.Parallel()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	g := start(t, `models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
agents: { list: [{ id: main, default: true, publish: { a2a: true } }] }
`)
	c := g.peerOf("main", g.Token())
	models.Enqueue(modeltest.Broken("Wait", modeltest.Stall, 1))
	later := saying("hello")
	no := false
	later.Config = &a2a.MessageSendConfig{Blocking: &no}
	result, err := c.SendMessage(t.Context(), later)
	require.NoError(t, err)
	task := result.(*a2a.Task)
	require.Equal(t, a2a.TaskStateSubmitted, task.Status.State)
	ends := make(chan a2a.TaskState, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		var last a2a.TaskState
		for e, err := range c.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: task.ID}) {
			if s, ok := e.(*a2a.TaskStatusUpdateEvent); ok && err == nil {
				last = s.Status.State
			}
		}
		ends <- last
	}()
	got, err := c.GetTask(t.Context(), &a2a.TaskQueryParams{ID: task.ID})
	require.NoError(t, err)
	require.Equal(t, a2a.TaskStateWorking, got.Status.State)
	cancelled, err := c.CancelTask(t.Context(), &a2a.TaskIDParams{ID: task.ID})
	require.NoError(t, err)
	require.Equal(t, a2a.TaskStateCanceled, cancelled.Status.State)
	require.Equal(t, a2a.TaskStateCanceled, <-ends)
}

// What is above a caller looks over A2A as what never was.
func TestTheHiddenIsAsTheAbsentOverA2A(t *testing.T) {
	t.Parallel()
	with, without := withLevels(t, flow.Public), withLevels(t, flow.Public)
	session := with.plantSession(flow.Confidential)
	planted := with.plant(session, flow.Confidential)
	ask := func(g *gateway, level flow.Level, method, params string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + planted.ids().Replace(params) + `}`
		return g.ask(level, http.MethodPost, "/a2a/main", body, "Content-Type", "application/json").Body
	}
	for method, params := range map[string]string{
		"tasks/get": `{"id":"{run}"}`, "tasks/cancel": `{"id":"{run}"}`,
		"message/send": `{"message":{"kind":"message","messageId":"1","taskId":"{run}","role":"user","parts":[{"kind":"text","text":"hi"}]}}`,
	} {
		for _, level := range []flow.Level{flow.Public, flow.Internal} {
			one, other := ask(with, level, method, params), ask(without, level, method, params)
			require.JSONEq(t, other, one, "%s by %s", method, level)
			require.NotContains(t, one, marker)
			require.True(t, json.Valid([]byte(one)))
		}
		require.NotEqual(t, ask(without, flow.Restricted, method, params), ask(with, flow.Restricted, method, params), method)
	}
}
