package router_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/sessions"
)

// ReadThread implements [adapters.ThreadReader].
func (c *chat) ReadThread(_ context.Context, route sessions.Route, _ sessions.PlatformMessageID, _ int) ([]adapters.ThreadMessage, error) {
	if c.thread == nil {
		return nil, nil
	}
	return c.thread(route)
}

func inThread(who, id, text string, mentioned bool) adapters.Inbound {
	m := inGroup("g", who, id, text, mentioned)
	m.Route.Thread, m.MessageID = "10", sessions.PlatformMessageID(id)
	return m
}

// An agent that is called into a thread is told what the thread is about, once; the channel's next turn is not told it again.
func TestAThreadBringsItsRoot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.chat.thread = func(route sessions.Route) ([]adapters.ThreadMessage, error) {
			require.EqualValues(t, "10", route.Thread)
			return []adapters.ThreadMessage{
				{ID: "10", From: sessions.Peer{ID: "bo", Name: "Bo"}, Text: "the port is 9999"},
				{ID: "11", From: sessions.Peer{ID: "ann", Name: "Ann"}, Text: "which one?"},
			}, nil
		}
		var seen []string
		b.agent.work = func(_ context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
			seen = append(seen, s.Last().Text())
			return "ok", nil
		}
		root := inGroup("g", "bo", "10", "the port is 9999", false)
		root.MessageID = "10"
		b.hear(root)
		b.hear(inThread("ann", "11", "which one?", false))
		got := b.hear(inThread("owner", "12", "what port?", true))
		b.await(1)
		require.Contains(t, seen[0], "[Earlier in this thread; words of \"Bo\" (id \"bo\"):]\n> the port is 9999")
		require.Contains(t, seen[0], "ann: which one?", "what was heard there comes as ever")
		require.NotContains(t, seen[0], "> which one?", "and once")
		record, err := b.store.Session(t.Context(), got.Session)
		require.NoError(t, err)
		require.Equal(t, flow.Untrusted, record.Taint.Trust())

		b.hear(inThread("owner", "13", "thanks", true))
		b.await(1)
		require.NotContains(t, seen[1], "9999", "the thread is read once")
		b.hear(inGroup("g", "owner", "14", "anything else?", true))
		b.await(1)
		require.NotContains(t, seen[2], "9999", "the channel is not told what the thread was")
	})
}

// A thread that can't be read is said to the agent, and answered.
func TestAThreadThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.chat.thread = func(sessions.Route) ([]adapters.ThreadMessage, error) { return nil, errors.New("no scope") }
		var seen string
		b.agent.work = func(_ context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
			seen = s.Last().Text()
			return "ok", nil
		}
		b.hear(inThread("owner", "12", "what port?", true))
		b.await(1)
		require.Contains(t, seen, "could not be read")
		require.Contains(t, seen, "what port?")
	})
}
