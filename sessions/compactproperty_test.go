package sessions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// drawThread is a conversation of people, agents and tools, as runs write it.
func drawThread(t *rapid.T) (messages []sessions.Message) {
	text := func(name string) []sessions.Part {
		level := rapid.SampledFrom([]flow.Level{flow.Public, flow.Internal, flow.Confidential}).Draw(t, name+" level")
		return []sessions.Part{sessions.TextPart(strings.Repeat("x", rapid.IntRange(1, 50).Draw(t, name)), flow.NewLabel(level, flow.Trusted))}
	}
	for turn := range rapid.IntRange(1, 8).Draw(t, "turns") {
		for range rapid.IntRange(1, 3).Draw(t, "said") {
			role := rapid.SampledFrom([]sessions.Role{sessions.RoleUser, sessions.RoleAgent}).Draw(t, "role")
			messages = append(messages, sessions.Message{Role: role, Parts: text("said")})
		}
		for call := range rapid.IntRange(0, 3).Draw(t, "calls") {
			id := fmt.Sprint("call_", turn, "_", call)
			messages = append(messages,
				sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{{Type: sessions.PartToolCall, CallID: id, Tool: "look", Label: flow.Bottom()}}},
				sessions.Message{Role: sessions.RoleToolResult, Parts: []sessions.Part{{Type: sessions.PartToolResult, CallID: id, Tool: "look", Text: "seen", Label: flow.Bottom()}}})
		}
		messages = append(messages, sessions.Message{Role: sessions.RoleAssistant, Parts: text("answer")})
	}
	return messages
}

// Whatever was said: what is kept is the newest of it, unchanged, not longer than asked for unless it is one turn's
// last word and its answer; every tool's result stands behind its call; and the summary is as secret as what it stands for.
func TestCompactionProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		s := sessions.NewSession(sessiontest.NewMemory(), sessions.Record{ID: sessions.NewID(), Key: "agent:main:main", Agent: "main", Taint: flow.Bottom()}, time.Now)
		s.Append(drawThread(t)...)
		require.NoError(t, s.Persist(ctx))
		for range rapid.IntRange(1, 3).Draw(t, "compactions") {
			before := s.Messages()
			keep := rapid.IntRange(0, 400).Draw(t, "keep")
			n := s.CompactionPoint(keep)
			if n == 0 {
				return
			}
			require.NoError(t, s.Compact("in short", n))
			require.NoError(t, s.Persist(ctx))
			after := s.Messages()
			require.Equal(t, before[n:], after[1:], "the newest stays as it was")
			require.Contains(t, []sessions.Role{sessions.RoleUser, sessions.RoleAgent}, after[1].Role)
			label := flow.Bottom()
			for _, m := range before[:n] {
				label = label.Join(m.Label)
			}
			require.Equal(t, sessions.RoleSummary, after[0].Role)
			require.Equal(t, label, after[0].Label)
			requirePairs(t, after)
			requireShort(t, after[1:], keep)
		}
	})
}

func requirePairs(t *rapid.T, thread []sessions.Message) {
	for i, m := range thread {
		for _, call := range m.ToolCalls() {
			require.Less(t, i+1, len(thread))
			require.Equal(t, call.CallID, thread[i+1].Parts[0].CallID)
		}
		if m.Role == sessions.RoleToolResult {
			require.Positive(t, i)
			require.Equal(t, m.Parts[0].CallID, thread[i-1].Parts[0].CallID)
		}
	}
}

// requireShort fails if what is kept is longer than asked for and could have been shorter.
func requireShort(t *rapid.T, kept []sessions.Message, keep int) {
	size, openings := 0, 0
	for _, m := range kept {
		if m.Role == sessions.RoleUser || m.Role == sessions.RoleAgent {
			openings++
		}
		for _, p := range m.Parts {
			size += len(p.Text) + len(p.Args)
		}
	}
	require.True(t, size <= keep || openings == 1, "%d bytes are kept of %d, in %d turns", size, keep, openings)
}

// What agents say to each other is shortened as what people say is.
func TestConversationOfAgentsIsCompacted(t *testing.T) {
	t.Parallel()
	s := sessions.NewSession(sessiontest.NewMemory(), sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:1", Agent: "main", Taint: flow.Bottom()}, time.Now)
	for _, text := range []string{"one", "two", "three"} {
		s.Append(
			sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}},
			sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("answer", flow.Bottom())}})
	}
	require.NoError(t, s.Persist(t.Context()))
	n := s.CompactionPoint(0)
	require.Equal(t, 4, n)
	require.NoError(t, s.Compact("in short", n))
	require.Equal(t, "three", s.Messages()[1].Text())
}
