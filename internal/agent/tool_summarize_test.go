package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// saying is a session about several things.
func (b *bundle) saying(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		b.model.Answers = []sessiontest.Answer{sessiontest.Says("I see")}
		_, err := b.ask(t.Context(), text)
		require.NoError(t, err)
	}
}

func (b *bundle) summarize(t *testing.T, args string, answers ...sessiontest.Answer) sessions.Part {
	t.Helper()
	b.model.Answers = append([]sessiontest.Answer{sessiontest.Calls("summarize", args, "call_1")}, answers...)
	b.model.Answers = append(b.model.Answers, sessiontest.Says("ok"))
	answer, err := b.ask(t.Context(), "sum it up")
	require.NoError(t, err)
	b.run.ID = sessions.NewRunID()
	messages := b.session.Messages()
	part := messages[len(messages)-2].Parts[0]
	if !part.Error {
		require.Greater(t, answer.Usage.InputTokens, 10, "it counts to the run")
	}
	return part
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.saying(t, "the ferry leaves at nine", "bread costs 3", "who feeds the cat?", "is the FERRY late?")
	part := b.summarize(t, `{}`, sessiontest.Says("about ferries, bread and a cat"))
	require.JSONEq(t, `{"summary":"about ferries, bread and a cat","messages":9}`, part.Text)
	asked := b.model.Asked()
	request := asked[len(asked)-2]
	require.Empty(t, request.Tools)
	require.Equal(t, 2048, request.MaxTokens)
	require.Contains(t, request.Messages[0].Text(), "bread costs 3")
	require.NotContains(t, request.Messages[0].Text(), "calls summarize")

	part = b.summarize(t, `{"scope":"topic","focus":"ferry times"}`, sessiontest.Says("late"))
	require.JSONEq(t, `{"summary":"late","messages":4}`, part.Text)
	asked = b.model.Asked()
	request = asked[len(asked)-2]
	require.Contains(t, request.System, "Leave out everything that is not about this topic: ferry times")
	require.Contains(t, request.Messages[0].Text(), "is the FERRY late?")
	require.NotContains(t, request.Messages[0].Text(), "bread")

	b.summarize(t, `{"scope":"session","focus":"prices"}`, sessiontest.Says("bread"))
	asked = b.model.Asked()
	require.Contains(t, asked[len(asked)-2].System, "Focus on this: prices")
}

func TestSummarizeArguments(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.saying(t, "the ferry leaves at nine")
	for args, says := range map[string]string{
		`{"scope":"world"}`:                            `scope: "world" is not session or topic`,
		`{"scope":"topic","focus":"submarines"}`:       "focus: nothing in this conversation is about it",
		`{"focus":"` + strings.Repeat("x", 501) + `"}`: "focus: has 501 characters, the maximum is 500",
		`{"focus":"` + strings.Repeat("é", 251) + `"}`: "focus: is 502 bytes long, the maximum is 500",
		`{"sessionKey":"main"}`:                        "sessionKey: unknown parameter",
	} {
		result := b.summarize(t, args)
		require.True(t, result.Error, result.Text)
		require.Contains(t, result.Text, says)
	}
}

// The summary is as secret as what it was made of, and its model is told nothing above its level.
func TestSummaryIsLabelledAndItsModelIsASink(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.saying(t, "hello")
	b.session.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("the secret", confidential)}})
	part := b.summarize(t, `{}`, sessiontest.Says("a secret"))
	require.False(t, part.Error, part.Text)
	require.Equal(t, confidential.Level(), part.Label.Level())

	asked := len(b.model.Asked())
	lowered := sessiontest.Calls("summarize", `{}`, "call_1")
	b.model.Answers = []sessiontest.Answer{func(ctx context.Context, r sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		b.model.Level = internal.Level()
		return lowered(ctx, r, on)
	}}
	_, err := b.ask(t.Context(), "sum it up")
	require.ErrorContains(t, err, "more than its model may see", "the session's own next step is refused too")
	messages := b.session.Messages()
	result := messages[len(messages)-1].Parts[0]
	require.True(t, result.Error)
	require.Equal(t, "this conversation is CONFIDENTIAL, which the model test/scripted is not allowed to see: an owner can raise models.providers.test.classification", result.Text)
	require.Len(t, b.model.Asked(), asked+1)
}

func TestSummaryMayFail(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.saying(t, "hello")
	for kind, says := range map[sessions.ModelErrorKind]string{
		sessions.ModelOverloaded: "the model is not responding (it is overloaded); try again later",
		sessions.ModelRefused:    "the tool failed with an internal error; try again later",
	} {
		part := b.summarize(t, `{}`, fails(kind, time.Second))
		require.True(t, part.Error)
		require.Equal(t, says, part.Text)
	}
	empty := b.summarize(t, `{}`, sessiontest.Says(""))
	require.Equal(t, "the model returned no text; try again, or ask for something else with focus", empty.Text)
	overflow := fails(sessions.ModelOverflow, 0)
	part := b.summarize(t, `{}`, overflow, overflow, sessiontest.Says("short"))
	require.Contains(t, part.Text, `"summary":"short"`, "it is asked with shorter extracts")
	part = b.summarize(t, `{}`, overflow, overflow, overflow, overflow, overflow)
	require.Equal(t, "this conversation is too long for its model, even in extracts; take scope topic", part.Text)
}
