package router_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// inPrivate is what somebody asks in a group so that only they see the answer.
func inPrivate(group, who, id, text string) adapters.Inbound {
	m := inGroup(group, who, id, text, true)
	m.Route.Handle = "handle-of-" + id
	return m
}

// whispering takes private answers by their handle, as long as it holds.
type whispering struct {
	*chat
	holds bool
}

func (w *whispering) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	if out.Route.Handle != "" {
		if !w.holds {
			return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("the interaction is over")}
		}
		out.Route.Conversation = sessions.ConversationID(out.Route.Handle)
	}
	return w.chat.Send(ctx, out)
}

// A private answer goes by its handle, never to everybody, and nobody sees the handle.
func TestPrivateAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &whispering{holds: true}
		var log bytes.Buffer
		b := newBundle(t, func(b *bundle) {
			w.chat, b.adapter = b.chat, w
			b.settings.Queue.Mode = sessions.QueueCollect
			b.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		release := b.busy()
		b.hear(inGroup("g", "ann", "1", "first", true))
		synctest.Wait()
		b.hear(inGroup("g", "ann", "2", "aloud", true))
		b.hear(inPrivate("g", "ann", "3", "quietly"))
		b.hear(inPrivate("g", "ann", "4", "and this"))
		release()
		b.await(4)
		require.Equal(t, []string{"echo: ann: first", "echo: ann: aloud"}, b.chat.texts("g"))
		require.Equal(t, []string{"echo: ann: quietly"}, b.chat.texts("handle-of-3"))
		require.Equal(t, []string{"echo: ann: and this"}, b.chat.texts("handle-of-4"))

		w.holds = false
		b.hear(inPrivate("g", "ann", "5", "too late"))
		synctest.Wait()
		failed := b.deliveries(ledger.DeliveryFailed)
		require.Len(t, failed, 1)
		require.Contains(t, failed[0].LastError, "the interaction is over")
		w.holds = true
		time.Sleep(14 * time.Minute)
		_, err := b.RetryDelivery(t.Context(), failed[0].ID, "operator")
		require.NoError(t, err)
		b.await(1)
		require.Equal(t, []string{"echo: ann: too late"}, b.chat.texts("handle-of-5"))

		w.holds = false
		b.hear(inPrivate("g", "ann", "6", "much too late"))
		time.Sleep(15 * time.Minute)
		_, err = b.RetryDelivery(t.Context(), b.deliveries(ledger.DeliveryFailed)[0].ID, "operator")
		var bad *request.Error
		require.ErrorAs(t, err, &bad)
		require.Contains(t, bad.Text, "a reply to one person alone")
		require.Len(t, b.chat.texts("g"), 2)
		b.stop()
		require.NotEmpty(t, log.String())
		require.NotContains(t, log.String(), "handle-of")
	})
}

// A private answer that could not be sent while its handle held is given up, not sent late.
func TestPrivateAnswerExpiresWithItsHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.chat.fail = failFirst(1000, adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Minute, Certain: true})
		b.hear(inPrivate("g", "ann", "1", "quietly"))
		time.Sleep(14*time.Minute + 30*time.Second) // between two tries
		require.Len(t, b.deliveries(ledger.DeliveryQueued), 1)
		time.Sleep(2 * time.Minute)
		require.Len(t, b.deliveries(ledger.DeliveryExpired), 1)
	})
}

// unrevised is a platform on which what only one person sees can't be changed any more.
type unrevised struct {
	editable
	*whispering
}

func (u unrevised) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	return u.whispering.Send(ctx, out)
}
func (u unrevised) Channel() string { return u.whispering.Channel() }
func (u unrevised) Account() string { return u.whispering.Account() }
func (u unrevised) Run(ctx context.Context, in adapters.Acceptor) error {
	return u.whispering.Run(ctx, in)
}
func (u unrevised) Split(text string) []string { return u.whispering.Split(text) }

func (u unrevised) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	if out.Route.Handle != "" {
		return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("message_not_found")}
	}
	return u.editable.Edit(ctx, id, out)
}

// A private answer has no preview: its beginning would stay beside it.
func TestPrivateAnswerIsSaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.adapter = unrevised{editable{b.chat}, &whispering{chat: b.chat, holds: true}}
		})
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of an answer "})
			time.Sleep(5 * time.Second)
			return "the beginning of an answer and its end", nil
		}
		b.hear(inPrivate("g", "ann", "1", "quietly"))
		b.await(1)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"the beginning of an answer and its end"}, b.chat.texts("handle-of-1"))
		require.Empty(t, b.chat.texts("g"))
	})
}
