package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

func TestAnswerIsLeftToTheCaller(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("hello"))
	answer, err := b.ask(t.Context(), "hi")
	require.NoError(t, err)
	require.Equal(t, "hello", answer.Text)
	require.Equal(t, "test/scripted", answer.Model)
	require.Equal(t, 5, answer.Usage.OutputTokens)
	require.True(t, b.session.IsDirty(b.session.Last().ID), "the last message is stored with the run's end")
	require.Equal(t, []sessions.EventType{sessions.EventStarted, sessions.EventDelta, sessions.EventDelta}, b.kinds())
	require.Equal(t, b.run.ID, b.session.Last().Run)
}

func TestAgentIsToldWhoItIs(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("hello"), sessiontest.Says("ahoy"))
	_, err := b.ask(t.Context(), "hi")
	require.NoError(t, err)
	b.roster.Configure(roster.Settings{Monitor: lenient(), Agents: []roster.Definition{{ID: "main", Model: "test/scripted", SystemPrompt: "You are a pirate."}}})
	b.reopen(t)
	_, err = b.ask(t.Context(), "hi")
	require.NoError(t, err)
	requests := b.model.Asked()
	require.Contains(t, requests[0].System, "You are main, an assistant")
	require.Equal(t, "You are a pirate.", requests[1].System)
}

func TestToolsUntilAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("session_status", `{}`, "a", "b"), sessiontest.Calls("nonsense", `{}`, "c"), sessiontest.Says("done"))
	answer, err := b.ask(t.Context(), "how are you?")
	require.NoError(t, err)
	require.Equal(t, "done", answer.Text)
	messages := b.session.Messages()
	require.Len(t, messages, 6)
	require.Contains(t, messages[2].Parts[0].Text, `"key":"main"`)
	require.True(t, messages[4].Parts[0].Error)
	require.Contains(t, messages[4].Parts[0].Text, "nonsense")
	require.Equal(t, []sessions.EventType{
		sessions.EventStarted,
		sessions.EventToolCall, sessions.EventToolCall, sessions.EventToolDone, sessions.EventToolDone,
		sessions.EventToolCall, sessions.EventToolDone, sessions.EventDelta, sessions.EventDelta,
	}, b.kinds())
}

// Some models give the calls of one answer the same id, or none: each call is run, and has its result.
func TestCallsWithoutIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("session_status", `{}`, "a", "a", "", ""), sessiontest.Says("done"))
	answer, err := b.ask(t.Context(), "how are you?")
	require.NoError(t, err)
	require.Equal(t, "done", answer.Text)
	results := b.session.Messages()[2].Parts
	require.Len(t, results, 4)
	ids := map[string]bool{}
	for _, r := range results {
		require.False(t, r.Error, r.Text)
		ids[r.CallID] = true
	}
	require.Len(t, ids, 4)
}

func TestModelIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, fails(sessions.ModelRateLimited, 30*time.Second), fails(sessions.ModelOverloaded, 0), fails(sessions.ModelCut, 0), sessiontest.Says("at last"))
		begun := time.Now()
		answer, err := b.ask(t.Context(), "hi")
		require.NoError(t, err)
		require.Equal(t, "at last", answer.Text)
		require.GreaterOrEqual(t, time.Since(begun), 30*time.Second, "the provider's wish is honoured")
		require.Equal(t, 3, strings.Count(fmt.Sprint(b.kinds()), string(sessions.EventRetrying)))
		require.Len(t, b.session.Messages(), 2)
	})
}

func TestModelIsReallyDown(t *testing.T) {
	t.Parallel()
	for kind, says := range map[sessions.ModelErrorKind]string{
		sessions.ModelRateLimited: "too many requests",
		sessions.ModelOverloaded:  "overloaded",
		sessions.ModelUnavailable: "no connection",
		sessions.ModelCut:         "break off",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				for range 100 {
					b.model.Answers = append(b.model.Answers, fails(kind, 0))
				}
				begun := time.Now()
				_, err := b.ask(t.Context(), "hi")
				var why *sessions.WorkError
				require.ErrorAs(t, err, &why)
				require.Equal(t, sessions.RunFailed, why.Status)
				require.Contains(t, why.Public, says)
				require.InDelta(t, 5*time.Minute, time.Since(begun), float64(time.Minute))
				require.Len(t, b.session.Messages(), 1)
			})
		})
	}
}

func TestFaultsThatWaitingDoesNotMend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer sessiontest.Answer
		says   string
	}{
		"wrong key":     {fails(sessions.ModelAuth, 0), "API key"},
		"refused":       {fails(sessions.ModelRefused, 0), "did not accept"},
		"asked to wait": {fails(sessions.ModelRateLimited, time.Hour), "too many requests"},
		"too long":      {fails(sessions.ModelOverflow, 0), "too long"},
		"empty reply":   {sessiontest.Says(""), "empty reply"},
		"only spaces":   {sessiontest.Says(" \n"), "empty reply"},
		"panic":         {func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) { panic("x") }, "did not accept"},
		"not a modelerr": {func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
			return sessions.Completion{}, errors.New("x")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, c.answer)
			_, err := b.ask(t.Context(), "hi")
			require.Error(t, err)
			var why *sessions.WorkError
			if c.says != "" {
				require.ErrorAs(t, err, &why)
				require.Contains(t, why.Public, c.says)
			}
			require.Len(t, b.model.Asked(), 1, "asked once")
		})
	}
}

// A job, and an agent that another one has answered, may have nothing to say.
func TestEmptyReplyIsSilenceWhereNobodyWaits(t *testing.T) {
	t.Parallel()
	for _, kind := range []sessions.RunKind{sessions.KindTrigger, sessions.KindReply, sessions.KindAnnounce} {
		b := newBundle(t, sessiontest.Says(""))
		b.run.Kind = kind
		answer, err := b.ask(t.Context(), "hi")
		require.NoError(t, err, kind)
		require.Empty(t, answer.Text)

		b = newBundle(t, func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
			return sessions.Completion{Truncated: true}, nil
		})
		b.run.Kind = kind
		_, err = b.ask(t.Context(), "hi")
		require.ErrorContains(t, err, "empty", "it reached the model's limit before its first word")
	}
}

func TestRunHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(ctx context.Context, _ sessions.Request, _ func(sessions.Chunk)) (sessions.Completion, error) {
			<-ctx.Done()
			return sessions.Completion{}, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := b.ask(ctx, "hi")
		var why *sessions.WorkError
		require.ErrorAs(t, err, &why)
		require.Equal(t, sessions.RunTimeout, why.Status)
	})
}

func TestCirclesEnd(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range 100 {
		b.model.Answers = append(b.model.Answers, sessiontest.Calls("session_status", `{}`, fmt.Sprint("call_", i)))
	}
	_, err := b.ask(t.Context(), "go")
	var why *sessions.WorkError
	require.ErrorAs(t, err, &why)
	require.Contains(t, why.Public, "without reaching an answer")
}

func TestOverflowIsAnsweredByCompaction(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range 8 {
		b.model.Answers = []sessiontest.Answer{sessiontest.Says(fmt.Sprint("answer ", i))}
		_, err := b.ask(t.Context(), fmt.Sprint("question ", i, strings.Repeat(" really", 50)))
		require.NoError(t, err)
		require.NoError(t, b.session.Persist(t.Context()))
	}
	b.model.Answers = []sessiontest.Answer{fails(sessions.ModelOverflow, 0), fails(sessions.ModelOverflow, 0), sessiontest.Says("the gist"), sessiontest.Says("42")}
	answer, err := b.ask(t.Context(), "and the last question?")
	require.NoError(t, err)
	require.Equal(t, "42", answer.Text)
	messages := b.session.Messages()
	require.Equal(t, sessions.RoleSummary, messages[0].Role)
	require.Equal(t, "the gist", messages[0].Text())
	require.Less(t, len(messages), 16)
	require.Equal(t, "and the last question?", messages[len(messages)-2].Text())
	asked := b.model.Asked()
	require.Contains(t, asked[len(asked)-2].Messages[0].Text(), "question 0")

	require.NoError(t, b.session.Persist(t.Context()))
	b.reopen(t)
	require.Equal(t, messages, b.session.Messages())
}

func TestNearlyFullIsCompactedBeforeTheModelComplains(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("one"), sessiontest.Says("gist"), sessiontest.Says("two"))
	b.model.Window = 17 // the first answer uses 13
	_, err := b.ask(t.Context(), "first")
	require.NoError(t, err)
	b.model.Window = 15
	_, err = b.ask(t.Context(), "second")
	require.NoError(t, err)
	require.Equal(t, sessions.RoleSummary, b.session.Messages()[0].Role)
}

// The context has to hold the answer too: one that may be long leaves less room for the thread.
func TestRoomForTheAnswer(t *testing.T) {
	t.Parallel()
	for tokens, first := range map[int]sessions.Role{1: sessions.RoleUser, 29: sessions.RoleSummary} {
		b := newBundle(t, sessiontest.Says("one"), sessiontest.Says("gist"), sessiontest.Says("two"))
		b.model.Window = 41 // the first answer uses 13
		require.NoError(t, b.session.Patch(sessions.Patch{MaxTokens: &tokens}))
		_, err := b.ask(t.Context(), "first")
		require.NoError(t, err)
		_, err = b.ask(t.Context(), "second")
		require.NoError(t, err)
		require.Equal(t, first, b.session.Messages()[0].Role, "%d tokens", tokens)
	}
}

// A summary that fails for a while is retried like any other completion.
func TestFailedSummaryIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, sessiontest.Says("one"), fails(sessions.ModelOverloaded, 0), sessiontest.Says("gist"), sessiontest.Says("two"))
		b.model.Window = 17
		_, err := b.ask(t.Context(), "first")
		require.NoError(t, err)
		b.model.Window = 15
		answer, err := b.ask(t.Context(), "second")
		require.NoError(t, err)
		require.Equal(t, "two", answer.Text)
		require.Equal(t, sessions.RoleSummary, b.session.Messages()[0].Role)
	})
}

// What a model may not see it does not get for a summary either.
func TestSummaryIsNotAskedOfAModelThatMayNotSeeIt(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("one"), sessiontest.Says("gist"), sessiontest.Says("two"))
	b.model.Window = 17
	_, err := b.ask(t.Context(), "first")
	require.NoError(t, err)
	asked := len(b.model.Asked())
	b.model.Window = 15
	b.session.Append(sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("a secret", flow.NewLabel(flow.Confidential, flow.Trusted))}})
	b.model.Level = flow.Public
	_, err = b.ask(t.Context(), "second")
	require.ErrorIs(t, err, sessions.ErrModelLevel)
	require.Len(t, b.model.Asked(), asked)
}

// A process that died after the calls were stored: the first of them may have begun and is reported as interrupted, those
// behind it can't have, and the work goes on.
func TestWorkGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.session.Append(
		sessions.Message{Role: sessions.RoleUser, Run: b.run.ID, Parts: []sessions.Part{sessions.TextPart("go", flow.Bottom())}},
		sessions.Message{Role: sessions.RoleAssistant, Run: b.run.ID, Parts: []sessions.Part{
			{Type: sessions.PartToolCall, CallID: "a", Tool: "launch", Label: flow.Bottom()},
			{Type: sessions.PartToolCall, CallID: "b", Tool: "session_status", Label: flow.Bottom()},
			{Type: sessions.PartToolCall, CallID: "c", Tool: "launch", Label: flow.Bottom()},
		}},
	)
	require.NoError(t, b.session.Persist(t.Context()))
	b.reopen(t)
	b.model.Answers = []sessiontest.Answer{sessiontest.Says("went on")}
	answer, err := b.work(t.Context())
	require.NoError(t, err)
	require.Equal(t, "went on", answer.Text)
	results := b.session.Messages()[2].Parts
	require.True(t, results[0].Error)
	require.Contains(t, results[0].Text, "interrupted")
	require.False(t, results[1].Error)
	require.NotContains(t, results[2].Text, "interrupted", "it can't have begun before the first one had its result")
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var why *sessions.WorkError
	_, err := b.Open(t.Context(), sessions.Record{Agent: "gone"})
	require.ErrorAs(t, err, &why)
	require.Contains(t, why.Public, "agents.list")
	_, err = b.Open(t.Context(), sessions.Record{Agent: "main", Model: flow.NewText("gone/model", flow.Bottom())})
	require.ErrorAs(t, err, &why)
	require.Contains(t, why.Public, "/model default")
	require.NotContains(t, why.Public, "gone", "it is as secret as who has set it")
	require.Empty(t, b.roster.ModelName("gone"))
}
