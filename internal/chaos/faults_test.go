package chaos_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/chaos/completions"
)

func TestEventGivenAgainIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	for name := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{platform: name, seedPlus: 20})
			w.startReady()
			first := w.say(1001, "")
			w.awaitAnswers()
			w.chat.redeliver(first.Event)
			w.awaitAnswers()
			w.terminate()
			w.startReady()
			w.chat.redeliver(first.Event)
			second := w.say(1001, "")
			w.awaitAnswers()
			w.kill()
			w.startReady()
			w.chat.redeliver(second.Event)
			w.chat.redeliver(first.Event)
			w.awaitAnswers()
			w.settle()
			verdict, unknown := w.judge()
			require.Empty(t, verdict.Repeats)
			require.Empty(t, unknown)
			require.Len(t, w.chat.shown(1001), 2)
		})
	}
}

// TestLostAnswers cuts connections under load, among them those of calls that have
// taken effect, and lets the gateway die while it does not know of them.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{platform: name, seedPlus: 25})
			w.startReady()
			for range 3 {
				w.chat.loseAnswers(4)
				for i := range int64(12) {
					w.say(1001+i%6, "")
				}
				w.pause(time.Duration(w.rng.Int64N(int64(200 * time.Millisecond))))
				w.chat.cut()
			}
			w.awaitAnswers()
			w.chat.loseAnswers(2)
			w.say(1001, "")
			w.say(1002, "")
			w.pause(time.Duration(w.rng.Int64N(int64(500 * time.Millisecond))))
			w.kill()
			w.settle()
			w.judge()
		})
	}
}

func TestChatsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	const chats, thinks = 100, 2 * time.Second
	w := newWorld(t, options{silence: thinks, seedPlus: 21})
	w.startReady()
	began := time.Now()
	for i := range int64(chats) {
		w.say(1001+i, "")
	}
	w.awaitAnswers()
	took := time.Since(began)
	t.Logf("%d chats, a model that takes %s: all answered in %s", chats, thinks, took.Round(time.Millisecond))
	require.Less(t, took, 4*thinks)
	w.settle()
	w.judge()
}

// TestRateLimit uses the half minute that Telegram likes to ask for in the full run, two seconds otherwise.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	asked := 2
	if *long {
		asked = 30
	}
	w := newWorld(t, options{seedPlus: 22})
	w.startReady()
	limited := w.telegram().Inject(telegramtest.RateLimit(asked).On("sendMessage").InChat(1001).For(2))
	for range 3 {
		w.say(1001, "")
		w.say(1002, "")
	}
	w.awaitAnswers()
	require.Equal(t, 2, limited.Hits())
	var calls []time.Time
	for _, c := range w.telegram().Calls("sendMessage") {
		if c.Chat == 1001 {
			calls = append(calls, c.At)
		}
	}
	for i := range 2 {
		require.GreaterOrEqual(t, calls[i+1].Sub(calls[i]), time.Duration(asked)*time.Second, "call %d came too early", i+1)
	}
	others := w.telegram().Sent(1002)
	require.True(t, others[len(others)-1].At.Before(calls[1]), "another chat waited for the limited one")
	w.settle()
	verdict, unknown := w.judge()
	require.Empty(t, verdict.Repeats)
	require.Empty(t, unknown)
}

// TestTelegramIsDown stands for ten minutes of 5xx. The timers of a process can't
// be made faster, so the time is compressed: 20 seconds in the full run, 3 otherwise.
// What ten minutes add is longer pauses, of at most five minutes, which the router's own tests cover.
func TestTelegramIsDown(t *testing.T) {
	t.Parallel()
	outage := 3 * time.Second
	if *long {
		outage = 20 * time.Second
	}
	w := newWorld(t, options{seedPlus: 23})
	w.startReady()
	w.say(1001, "")
	w.awaitAnswers()
	w.telegram().Inject(telegramtest.APIError(500, "Internal Server Error").For(telegramtest.Always))
	for i := range int64(20) {
		w.say(1001+i%5, "")
	}
	w.pause(outage / 2)
	w.kill()
	w.start() // it must come up, or wait, while Telegram is down
	w.pause(outage / 2)
	w.telegram().Heal()
	w.awaitAnswers()
	w.settle()
	verdict, _ := w.judge()
	require.Empty(t, verdict.Repeats)
}

func TestOddMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{seedPlus: 24})
	w.startReady()
	ctx, cancel := context.WithTimeout(t.Context(), answerWithin)
	defer cancel()
	w.telegram().Join(telegramtest.Private(1500))
	w.telegram().PostRaw(func(int64) string { return `{"update_id":1001,"message":{"message_id":"x"}}` })
	w.telegram().PostRaw(func(int64) string {
		return `{"update_id":1002,"message":{"message_id":1,"date":1,"chat":{"id":1500,"type":"private"},"from":{"id":1500,"is_bot":false,"first_name":"P"},"text":"bad \ud800 text ` + "\xff" + `"}}`
	})
	sent, err := w.telegram().WaitSent(ctx, 1500, 1)
	require.NoError(t, err)
	require.Contains(t, sent[0].Plain, "bad \uFFFD text \uFFFD")

	w.telegram().Say(telegramtest.Private(1501), telegramtest.User{ID: 1501, FirstName: "P"}, megabyte())
	sent, err = w.telegram().WaitSent(ctx, 1501, 1)
	require.NoError(t, err)
	require.Contains(t, sent[0].Plain, "too long")

	w.telegram().Say(telegramtest.Private(1502), telegramtest.User{ID: 1502, FirstName: "P"}, "[long]")
	w.untilShown("the long answer", func() bool {
		pieces := w.telegram().Sent(1502)
		return len(pieces) > 2 && strings.Contains(pieces[len(pieces)-1].Plain, completions.LongLine(completions.LongLines))
	})
	w.wholeLongAnswer(1502, 0)
	w.terminate()
}
