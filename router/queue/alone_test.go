package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Pick takes alone what is worked alone, and what has an order, whatever the queue's mode is.
func TestPickTakesSomeAlone(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	run := func(id string, change func(*sessions.Run)) sessions.Run {
		r := waitingRun(id, sessions.RunQueued, "1", time.Minute, now)
		r.Kind = sessions.KindMessage
		if change != nil {
			change(&r)
		}
		return r
	}
	kind := func(k sessions.RunKind) func(*sessions.Run) { return func(r *sessions.Run) { r.Kind = k } }
	alone := map[string]func(*sessions.Run){
		"a step": kind(sessions.KindAsk), "a task": kind(sessions.KindTask), "a note": kind(sessions.KindNote), "a command": kind(sessions.KindCommand),
		"an order": func(r *sessions.Run) { r.Input.Order = &sessions.Order{Do: sessions.OrderRetry} },
	}
	for name, change := range alone {
		for where, c := range map[string]struct {
			waiting []sessions.Run
			want    int
		}{
			"first": {[]sessions.Run{run("x", change), run("a", nil), run("b", nil)}, 1},
			"last":  {[]sessions.Run{run("a", nil), run("b", nil), run("x", change)}, 2},
			"twice": {[]sessions.Run{run("x", change), run("y", change)}, 1},
		} {
			batch, wait := Pick(Settings{Mode: sessions.QueueCollect}, c.waiting, now, false)
			require.Len(t, batch, c.want, "%s %s", name, where)
			require.Equal(t, c.waiting[0].ID, batch[0].ID)
			require.Zero(t, wait)
		}
	}
}

// What joins a batch later does not overwrite the run that waits behind it.
func TestABatchGrowsWithoutItsQueue(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for _, kinds := range [][]sessions.RunKind{{sessions.KindMessage, sessions.KindNote}, {sessions.KindNote, sessions.KindMessage}} {
		waiting := []sessions.Run{waitingRun("a", sessions.RunQueued, "1", time.Minute, now), waitingRun("b", sessions.RunQueued, "1", time.Minute, now)}
		waiting[0].Kind, waiting[1].Kind = kinds[0], kinds[1]
		batch, _ := Pick(Settings{}, waiting, now, false)
		require.Len(t, batch, 1)
		batch = append(batch, waitingRun("later", sessions.RunQueued, "1", 0, now))
		require.Equal(t, sessions.RunID("b"), waiting[1].ID, "batch %v", batch)
	}
}

// A message in parts is one: all that its parts say, quote and bring.
func TestJoinedParts(t *testing.T) {
	t.Parallel()
	quotation := sessions.Quotation{Kind: sessions.QuoteReply, Text: "before"}
	passed := sessions.Quotation{Kind: sessions.QuoteForward, Text: "passed on"}
	part := func(text string, label flow.Label, quotations ...sessions.Quotation) sessions.Run {
		return sessions.Run{Label: label, Input: sessions.Input{
			Text: text, Quotations: quotations, Attachments: []sessions.Attachment{{Name: text}}, History: []sessions.HistoryLine{{Text: text}},
		}}
	}
	secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
	message := []sessions.Run{part("one", flow.Bottom(), quotation, passed), part("", secret, quotation, passed), part("two", flow.Bottom())}
	message[1].Input.Unread, message[2].Input.Unread = "a poll", "a map"
	whole := Joined(message)
	require.Equal(t, "one\ntwo", whole.Input.Text)
	require.Equal(t, []sessions.Quotation{quotation, passed, passed}, whole.Input.Quotations, "what all parts answer is quoted once")
	require.Len(t, whole.Input.Attachments, 3)
	require.Len(t, whole.Input.History, 3)
	require.Equal(t, "a poll", whole.Input.Unread)
	require.Equal(t, secret.Join(flow.Bottom()), whole.Label)
	require.Equal(t, message[0], Joined(message[:1]))
}
