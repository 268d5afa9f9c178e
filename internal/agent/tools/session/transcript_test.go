package session

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Whatever was said: what is shown and what is dropped add up, it stays below the cap, and the newest are the ones that show.
func TestHistoryAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var messages []sessions.Message
		for i, size := range rapid.SliceOfN(rapid.SampledFrom([]int{1, 800, 3000, 3900, 6000}), 1, 80).Draw(r, "sizes") {
			text := fmt.Sprintf("%d|%s", i, strings.Repeat("x", size))
			messages = append(messages, sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}})
		}
		limit := rapid.IntRange(1, 100).Draw(r, "limit")
		got := historyOf(messages, limit, false)
		if len(got.Messages)+got.DroppedMessages != len(messages) || len(got.Messages) > limit || got.Bytes > 80*1024 || len(got.Messages) == 0 {
			r.Fatalf("%d of %d shown, %d dropped, %d bytes", len(got.Messages), len(messages), got.DroppedMessages, got.Bytes)
		}
		for i, m := range got.Messages {
			shown, want := strings.TrimSuffix(m.Content[0].Text, "…"), messages[got.DroppedMessages+i].Parts[0].Text
			if shown != want[:min(len(want), 4000)] {
				r.Fatalf("at place %d stands %.10q and not %.10q", i, shown, want)
			}
		}
		if got.ContentTruncated != strings.Contains(texts(got), "…") || got.Truncated != (got.DroppedMessages > 0) {
			r.Fatal("the marks do not say what was done")
		}
	})
}

func texts(h History) string {
	var b strings.Builder
	for _, m := range h.Messages {
		b.WriteString(m.Content[0].Text)
	}
	return b.String()
}
