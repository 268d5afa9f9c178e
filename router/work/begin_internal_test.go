package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// A run starts with its message only if nothing has to be waited for or fetched.
func TestBeginsAtOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(run *sessions.Run)
		want   bool
	}{
		"a message":                {func(*sessions.Run) {}, true},
		"with history":             {func(r *sessions.Run) { r.Input.History = []sessions.HistoryLine{{Text: "before"}} }, true},
		"a part of a message":      {func(r *sessions.Run) { r.Input.More = true }, false},
		"with a file":              {func(r *sessions.Run) { r.Input.Attachments = []sessions.Attachment{{Kind: "photo"}} }, false},
		"the first in a thread":    {func(r *sessions.Run) { r.Input.NewThread = true }, false},
		"an edit":                  {func(r *sessions.Run) { r.Input.Order = &sessions.Order{Do: sessions.OrderEdit} }, false},
		"a command":                {func(r *sessions.Run) { r.Kind = sessions.KindCommand }, false},
		"a step between agents":    {func(r *sessions.Run) { r.Kind = sessions.KindTask }, false},
		"the report of a subagent": {func(r *sessions.Run) { r.Kind = sessions.KindNote }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []sessions.QueueMode{sessions.QueueFollowup, sessions.QueueCollect, sessions.QueueSteer, sessions.QueueInterrupt} {
				run := sessions.Run{ID: "run_1", Kind: sessions.KindMessage, Status: sessions.RunQueued, Accepted: now, Input: sessions.Input{Text: "hi"}}
				c.change(&run)
				s := &place.Settings{Queue: queue.Settings{Mode: mode, Debounce: time.Minute}}
				require.Equal(t, c.want, beginsAtOnce(s, run, sessions.Record{}, now), mode)
			}
		})
	}
}
