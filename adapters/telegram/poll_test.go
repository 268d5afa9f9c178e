package telegram_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram"
	"sluice/adapters/telegram/telegramtest"
)

func TestMessageInAnswerOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Say(telegramtest.Private(1001), ada, "hello")
	s.run(t)

	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, "1001/1", in.Event)
	require.Equal(t, "hello", in.Text)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	require.Equal(t, adapters.Connected, s.adapter.State().Status)
	require.Equal(t, "test0_bot", s.adapter.State().Self.Username)

	receipt, err := s.adapter.Send(t.Context(), out(in.Route, "**hi** there"))
	require.NoError(t, err)
	require.Equal(t, "2", string(receipt.MessageID))
	require.Len(t, s.srv.Sent(1001), 1)
}

func TestConnectedWithoutWaitingForAMessage(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Inject(telegramtest.Status(502, "").On("getUpdates"))
	s.run(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // less than a call that waits for updates
	defer cancel()
	calls, err := s.srv.WaitCalls(ctx, "getUpdates", 3)
	require.NoError(t, err)
	require.Equal(t, adapters.Connected, s.adapter.State().Status, "before the call that waits")
	require.NotContains(t, string(calls[1].Params), `"timeout":45`)
	require.Contains(t, string(calls[2].Params), `"timeout":45`)
}

func TestNothingIsConfirmedBeforeItIsAccepted(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	var refusals atomic.Int32
	s.inbox.refuse = func(in adapters.Inbound) error {
		if in.Text == "c" && refusals.Add(1) < 3 {
			return errRefused
		}
		return nil
	}
	for i, text := range []string{"a", "b", "c", "d"} {
		s.srv.Say(telegramtest.Private(1001+int64(i%2)), ada, text)
	}
	s.run(t)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	require.EqualValues(t, 3, refusals.Load())
	seen := map[string]int{}
	for _, in := range s.inbox.wait(t, 4) {
		seen[in.Text]++
	}
	require.Equal(t, 1, seen["a"], "before the refused one: confirmed at once")
	require.Equal(t, 1, seen["b"])
	require.Equal(t, 1, seen["c"])
	require.GreaterOrEqual(t, seen["d"], 1, "another chat's later message comes again: a repeat")
}

// A fault in what takes messages in ends neither the process nor the polling.
func TestPanicInAcceptIsContained(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	var panics atomic.Int32
	s.inbox.refuse = func(in adapters.Inbound) error {
		if in.Text == "bad" && panics.Add(1) == 1 {
			panic("bad")
		}
		return nil
	}
	s.srv.Say(telegramtest.Private(1001), ada, "bad")
	s.srv.Say(telegramtest.Private(1002), ada, "good")
	s.run(t)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	require.EqualValues(t, 2, panics.Load())
}

func TestUnconfirmedComesAgainAfterRestart(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.inbox.refuse = func(adapters.Inbound) error { return errRefused }
	said := s.srv.Say(telegramtest.Private(1001), ada, "hello")
	stop := s.run(t)
	_, err := s.srv.WaitCalls(t.Context(), "getUpdates", 2)
	require.NoError(t, err)
	stop()
	require.NoError(t, <-s.runErr)
	require.Equal(t, 1, s.srv.Pending())

	s.inbox.refuse = nil
	s.run(t)
	first := s.inbox.wait(t, 1)[0]
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	s.srv.Redeliver(said.UpdateID)
	require.Equal(t, first.Event, s.inbox.wait(t, 2)[1].Event, "a repeat has the same name")
}

// After a week without updates Telegram gives the next one any id. An offset that is far ahead of it confirms nothing, so
// that the poller must take its offset from what comes.
func TestUpdateIDsMayFall(t *testing.T) {
	t.Parallel()
	const silence, after = 3, 250 // more than two polls give
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.NextUpdateID(800_000_000)
	for i := range silence {
		s.srv.Say(telegramtest.Private(1001), ada, fmt.Sprint("before ", i))
	}
	s.run(t)
	s.inbox.wait(t, silence)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))

	s.srv.NextUpdateID(5_000)
	for i := range after {
		s.srv.Say(telegramtest.Private(1001), ada, fmt.Sprint("after ", i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := s.inbox.wait(t, silence+after)
	require.NoError(t, s.srv.WaitConfirmed(ctx))
	require.Len(t, got, silence+after, "each comes once")
	for i := range after {
		require.Equal(t, fmt.Sprint("after ", i), got[silence+i].Text)
	}
	require.Less(t, len(s.srv.Calls("getUpdates")), 20, "no call is made in vain")
}

// An answer that comes at once with nothing new in it, as from a proxy that knows no long polls or a server that
// confirms nothing, is followed by a pause.
func TestPollsInVainHaveAFloor(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"empty":    `{"ok":true,"result":[]}`,
		"the same": `{"ok":true,"result":[{"update_id":7,"my_chat_member":{}}]}`,
		"no ids":   `{"ok":true,"result":[{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const floor, polls = 50 * time.Millisecond, 10
			s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.PollFloor = floor })
			s.srv.Inject(telegramtest.Status(200, answer).On("getUpdates").For(telegramtest.Always))
			began := time.Now()
			s.run(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := s.srv.WaitCalls(ctx, "getUpdates", polls)
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(began), (polls-4)*floor, "the first polls show how things stand and come at once")
		})
	}
}

func TestMessagesOfAChatStayInOrder(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	const chats, each = 20, 15
	for i := range each {
		for c := range int64(chats) {
			s.srv.Say(telegramtest.Private(1001+c), ada, fmt.Sprint(i))
		}
	}
	s.run(t)
	next := map[string]int{}
	for _, in := range s.inbox.wait(t, chats*each) {
		chat := string(in.Route.Conversation)
		require.Equal(t, fmt.Sprint(next[chat]), in.Text)
		next[chat]++
	}
}

func TestMalformedUpdatesAreSkipped(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{
		"wrong types":     `{"update_id":%d,"message":{"message_id":"x","chat":[]}}`,
		"unknown kind":    `{"update_id":%d,"brand_new_kind":{"a":1}}`,
		"no chat":         `{"update_id":%d,"message":{"message_id":5,"text":"x"}}`,
		"not json":        `{"update_id":%d,"message":{{{`,
		"cut":             `{"update_id":%d,"message":{"text":"abc`,
		"null":            `null`,
		"a number":        `5`,
		"bad id":          `{"update_id":"%d"}`,
		"unknown forward": `{"update_id":%d,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"","forward_origin":{"type":"telepathy"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, nil)
			s.srv.Say(telegramtest.Private(1001), ada, "before")
			s.srv.PostRaw(func(id int64) string { return strings.ReplaceAll(broken, "%d", strconv.FormatInt(id, 10)) })
			s.srv.Say(telegramtest.Private(1001), ada, "after")
			s.run(t)
			got := s.inbox.wait(t, 2)
			require.Equal(t, "after", got[len(got)-1].Text)
			require.NoError(t, s.srv.WaitConfirmed(t.Context()))
		})
	}
}

// What stands between the gateway and Telegram may answer a page of its own with status 200. It confirms no update.
func TestForeignAnswersConfirmNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	var said telegramtest.Said
	s.inbox.refuse = func(in adapters.Inbound) error {
		if in.Text == "before" { // the next call finds an update that nobody has seen
			s.srv.Inject(telegramtest.Status(200, "<html>log in first</html>").On("getUpdates").For(4))
			said = s.srv.Say(telegramtest.Private(1001), ada, "after")
		}
		return nil
	}
	s.srv.Say(telegramtest.Private(1001), ada, "before")
	s.run(t)
	require.Equal(t, "after", s.inbox.wait(t, 2)[1].Text)
	require.NoError(t, s.srv.WaitConfirmedOne(t.Context(), said.UpdateID))
}

func TestMegabyteMessageComesThroughPolling(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Say(telegramtest.Private(1001), ada, strings.Repeat("a", 1<<20))
	s.srv.Say(telegramtest.Private(1001), ada, "after")
	s.run(t)
	got := s.inbox.wait(t, 2)
	require.Len(t, got[0].Text, 1<<20)
	require.Equal(t, "after", got[1].Text)
}

func TestPollingOutlivesFailures(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]*telegramtest.Fault{
		"5xx":      telegramtest.Status(502, "<html>"),
		"cut":      telegramtest.DropBefore(),
		"lost":     telegramtest.DropAfter(),
		"429":      telegramtest.RateLimit(1),
		"no json":  telegramtest.Status(200, "<html>"),
		"deadline": telegramtest.Slow(time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, nil)
			s.srv.Inject(fault.On("getUpdates").For(2))
			s.srv.Say(telegramtest.Private(1001), ada, "hello")
			s.run(t)
			s.inbox.wait(t, 1)
			require.NoError(t, s.srv.WaitConfirmed(t.Context()))
		})
	}
}

func TestConflictIsShown(t *testing.T) {
	t.Parallel()
	log := newLogBuffer()
	s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.Log = log.logger() })
	s.srv.Inject(telegramtest.Conflict().On("getUpdates").For(telegramtest.Always))
	s.run(t)
	log.wait(t, "trying again") // it is said once the state shows it
	require.Equal(t, adapters.Failed, s.adapter.State().Status)
	require.Contains(t, s.adapter.State().Detail, "another poller or a webhook uses this token")
}

// A replica that was frozen can cut off its successor once, which must not cost the successor the long pause.
func TestOneConflictIsShort(t *testing.T) {
	t.Parallel()
	log := newLogBuffer()
	s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.Log = log.logger() })
	s.run(t)
	s.srv.Say(telegramtest.Private(1001), ada, "before")
	s.inbox.wait(t, 1)
	s.srv.Inject(telegramtest.Conflict().On("getUpdates").For(1))
	s.srv.Say(telegramtest.Private(1001), ada, "after") // ends the call that waits, if one does
	log.wait(t, "trying again")
	require.NotContains(t, log.String(), "wait=30s")
	s.inbox.wait(t, 2)
}

func TestPollingTakesOverFromWebhook(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) {
		c.Mode, c.WebhookURL, c.WebhookSecret = telegram.Webhook, "http://127.0.0.1:1/nobody", "s3cret"
	})
	stop := s.run(t)
	require.NoError(t, s.srv.WaitWebhook(t.Context()))
	s.srv.Say(telegramtest.Private(1001), ada, "kept")
	stop()

	polling, err := telegram.New(telegram.Config{Token: adapters.Secret(s.srv.Token()), APIBase: s.srv.URL(), Registerer: s.metrics})
	require.NoError(t, err)
	t.Cleanup(polling.Close)
	s.adapter = polling
	s.run(t)
	require.Equal(t, "kept", s.inbox.wait(t, 1)[0].Text)
	require.Empty(t, s.srv.WebhookURL())
}

func TestUpdatesAreCounted(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Say(telegramtest.Private(1001), ada, "hello")
	s.srv.PostRaw(func(id int64) string { return fmt.Sprintf(`{"update_id":%d,"message":7}`, id) })
	s.run(t)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	n, err := testutil.GatherAndCount(s.metrics, "sluice_telegram_updates_total")
	require.NoError(t, err)
	require.Equal(t, 3, n, "accepted, malformed, and ignored for the empty place of the malformed one")
}
