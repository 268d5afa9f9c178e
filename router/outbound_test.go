package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// failFirst makes the first n calls fail.
func failFirst(n int, f adapters.Failure) func(adapters.Outbound, int) error {
	return func(_ adapters.Outbound, call int) error {
		if call >= n {
			return nil
		}
		failure := f
		failure.Err = errors.New("platform says no")
		return &failure
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.chat.fail = failFirst(2, adapters.Failure{Kind: adapters.RateLimited, RetryAfter: 30 * time.Second, Certain: true})
		begun := time.Now()
		b.hear(in("ann", "1", "hi"))
		b.hear(in("ann", "2", "more"))
		b.await(2)
		require.InDelta(t, time.Minute, time.Since(begun), float64(2*time.Second))
		require.Equal(t, []string{"echo: hi", "echo: more"}, b.chat.texts("ann"), "the conversation stays in order")
		require.Equal(t, 4, b.chat.calls)
	})
}

func TestTenMinutesOfServerErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		begun := time.Now()
		b.chat.fail = func(adapters.Outbound, int) error {
			if time.Since(begun) < 10*time.Minute {
				return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: errors.New("502")}
			}
			return nil
		}
		b.hear(in("ann", "1", "hi"))
		time.Sleep(5 * time.Minute)
		b.restart() // the wait survives a restart
		b.await(1)
		require.Less(t, time.Since(begun), 16*time.Minute)
		require.Less(t, b.chat.calls, 30, "no hammering")
		require.Equal(t, []string{"echo: hi"}, b.chat.texts("ann"))
	})
}

func TestPermanentFailureIsADeadLetter(t *testing.T) {
	t.Parallel()
	for _, kind := range []adapters.Kind{adapters.Permanent, adapters.TooLarge, adapters.Unsupported} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				b.chat.fail = failFirst(1, adapters.Failure{Kind: kind, Certain: true})
				b.hear(in("ann", "1", "lost"))
				b.hear(in("ann", "2", "not lost"))
				b.await(1)
				synctest.Wait()
				dead := b.deliveries(ledger.DeliveryFailed)
				require.Len(t, dead, 1)
				require.Contains(t, dead[0].LastError, "platform says no")
				_, err := b.RetryDelivery(t.Context(), dead[0].ID, "operator")
				require.NoError(t, err)
				b.await(1)
				require.Equal(t, []string{"echo: not lost", "echo: lost"}, b.chat.texts("ann"))
				_, err = b.RetryDelivery(t.Context(), dead[0].ID, "operator")
				var bad *request.Error
				require.ErrorAs(t, err, &bad, "what was sent can't be sent again")
				_, err = b.DiscardDelivery(t.Context(), dead[0].ID, decider.Verdict{Actor: "operator", Owner: true})
				require.ErrorAs(t, err, &bad)
			})
		})
	}
}

// A revoked token is no dead letter at once: a person mends the configuration
// within the delivery's life; after that it expires.
func TestRevokedTokenHoldsUntilItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.chat.fail = failFirst(1_000_000, adapters.Failure{Kind: adapters.Auth, Certain: true})
		b.hear(in("ann", "1", "hi"))
		time.Sleep(23 * time.Hour)
		require.Len(t, b.deliveries(ledger.DeliveryQueued), 1)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliveryExpired), 1)
		require.Empty(t, b.chat.texts(""))
	})
}

func TestLostResponseIsUnknown(t *testing.T) {
	t.Parallel()
	for _, policy := range []place.UnknownPolicy{place.UnknownResend, place.UnknownHold} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) {
					ch := b.settings.Channels["test"]
					ch.OnUnknown = policy
					b.settings.Channels["test"] = ch
				})
				b.chat.fail = func(out adapters.Outbound, call int) error {
					if call > 0 {
						return nil
					}
					b.chat.show(out) // it did arrive
					return &adapters.Failure{Kind: adapters.Transient, Err: errors.New("connection reset")}
				}
				b.hear(in("ann", "1", "hi"))
				b.await(1)
				time.Sleep(time.Hour)
				synctest.Wait()
				unknown := b.deliveries(ledger.DeliveryUnknown)
				require.Len(t, unknown, 1, "it stays visible as unknown")
				if policy == place.UnknownHold {
					require.Len(t, b.chat.texts("ann"), 1)
					_, err := b.DiscardDelivery(t.Context(), unknown[0].ID, decider.Verdict{Actor: "operator", Owner: true})
					require.NoError(t, err)
					return
				}
				require.Len(t, b.chat.texts("ann"), 2, "at most one repeat")
				sent := b.deliveries(ledger.DeliverySent)
				require.Len(t, sent, 1)
				require.Equal(t, unknown[0].ID, sent[0].ResendOf)
				lost := b.entries("delivery.unknown")
				require.Len(t, lost, 1)
				require.Equal(t, string(unknown[0].ID), lost[0].Object)
				require.Contains(t, string(lost[0].Detail.(json.RawMessage)), `"again":"`+string(sent[0].ID)+`"`)
			})
		})
	}
}

func TestLongAnswerGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.chat.piece = 4096 })
		long := strings.Repeat("0123456789", 10_000)
		b.agent.answer = func(context.Context, string, func(sessions.Event)) (string, error) { return long, nil }
		b.chat.fail = func(_ adapters.Outbound, call int) error {
			if call == 10 {
				return &adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Minute, Certain: true, Err: errors.New("slow down")}
			}
			return nil
		}
		b.hear(in("ann", "1", "tell me everything"))
		b.await(10)
		b.restart()
		b.await(15)
		require.Equal(t, long, strings.Join(b.chat.texts("ann"), ""), "100 kB arrive whole, in order and once")
	})
}

func TestBlockedByFlowIsMadeUpForByANotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			if e.Label.FlowsTo(flow.Public) {
				return nil
			}
			return &policy.Decision{Action: policy.Block, Reason: "too secret", Rules: []policy.CheckResult{{Rule: policy.RuleFlow, Matched: true, Action: policy.Block}}}
		}
		b.gate.level = flow.Internal
		b.hear(in("ann", "1", "the plan"))
		b.await(1)
		require.Contains(t, b.chat.texts("ann")[0], "I am not allowed to send it in this conversation")
		require.NotContains(t, b.chat.texts("ann")[0], "plan")
		require.Len(t, b.deliveries(ledger.DeliveryBlocked), 1)
	})
}

// What a key names is compared for programs, as it was stored. The gateway's own messages are sent once for each key: replicas have
// other numbers in them.
func TestAKeyOfAMessageNamesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		own := outbound.Proactive{Channel: "test", To: "owner", Text: "80 % are used", Idempotency: "budget/1", Actor: "gateway"}
		first, err := b.Sender.Send(t.Context(), own)
		require.NoError(t, err)
		own.Text = "81 % are used"
		again, err := b.Sender.Send(t.Context(), own)
		require.NoError(t, err, "another replica tells it, too")
		require.Equal(t, first.ID, again.ID)

		asked := outbound.Proactive{Channel: "test", To: "ann", Text: "nul \x00", Idempotency: "program/1", Reader: flow.Restricted}
		first, err = b.Sender.Send(t.Context(), asked)
		require.NoError(t, err)
		b.await(2)
		moved := b.delivery(first.ID)
		moved.Route.Conversation = "ann-2" // the platform has given the conversation another id
		require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Deliveries: []ledger.DeliveryMove{{From: moved.Status, Delivery: moved}}}))
		again, err = b.Sender.Send(t.Context(), asked)
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID)
		for name, other := range map[string]outbound.Proactive{
			"text":  {Channel: "test", To: "ann", Text: "nul", Idempotency: "program/1", Reader: flow.Restricted},
			"place": {Channel: "test", To: "bob", Text: "nul \x00", Idempotency: "program/1", Reader: flow.Restricted},
		} {
			_, err = b.Sender.Send(t.Context(), other)
			require.ErrorIs(t, err, request.ErrReused, name)
		}
	})
}

func TestProactiveMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		send := outbound.Proactive{Channel: "test", To: "owner", Text: "disk is full", Idempotency: "alert/1", Actor: "operator"}
		d, err := b.Sender.Send(t.Context(), send)
		require.NoError(t, err)
		require.Equal(t, policy.Allow, d.Decision.Action)
		again, err := b.Sender.Send(t.Context(), send)
		require.NoError(t, err)
		require.Equal(t, d.ID, again.ID)
		b.await(1)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"disk is full"}, b.chat.texts(""))

		heard := b.hear(in("ann", "1", "hi"))
		b.await(1)
		_, err = b.Sender.Send(t.Context(), outbound.Proactive{To: "last", Session: heard.Session, Text: "by the way"})
		require.NoError(t, err)
		b.await(1)
		require.Equal(t, "by the way", b.chat.texts("ann")[1])

		for field, p := range map[string]outbound.Proactive{
			"text":    {Channel: "test", To: "x", Text: "  "},
			"channel": {Channel: "fax", To: "x", Text: "hi"},
			"to":      {Channel: "test", Text: "hi"},
		} {
			_, err := b.Sender.Send(t.Context(), p)
			var bad *request.Error
			require.ErrorAs(t, err, &bad)
			require.Equal(t, field, bad.Field)
		}
		_, err = b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "tset", ChatType: sessions.Group})
		require.ErrorContains(t, err, `no channel "tset"`)
		decision, err := b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", ChatType: sessions.Group})
		require.NoError(t, err)
		require.Equal(t, policy.Allow, decision.Action)
	})
}

// A message that holds others back can be discarded; those behind it need not wait for its next try.
func TestDiscardLetsTheNextOneGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.chat.fail = func(out adapters.Outbound, _ int) error {
			if out.Text != "first" {
				return nil
			}
			return &adapters.Failure{Kind: adapters.RateLimited, Certain: true, RetryAfter: time.Hour, Err: errors.New("too many requests")}
		}
		first, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "x", Text: "first"})
		require.NoError(t, err)
		_, err = b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "x", Text: "second"})
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, b.chat.texts("x"), "a conversation stays in order")
		_, err = b.DiscardDelivery(t.Context(), first.ID, decider.Verdict{Actor: "operator", Owner: true})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{"second"}, b.chat.texts("x"))
	})
}

// Without a session, the gate decides about a message when it is sent as it did when it was queued.
func TestMessageToWhereThereIsNoSessionYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			if e.Key != "agent:main:direct:ann" || e.Agent != "main" {
				return nil
			}
			return &policy.Decision{Action: policy.Block, Rules: []policy.CheckResult{{Rule: "sendPolicy.rules[0]", Matched: true, Action: policy.Block}}}
		}
		d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "hello"})
		require.NoError(t, err)
		require.Equal(t, policy.Block, d.Decision.Action)
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliveryBlocked), 1)
		require.Empty(t, b.chat.texts(""))
	})
}

// Typing shows, then a preview that is edited, and the preview becomes the answer: one message.
func TestPreviewBecomesTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits)
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			var all string
			for i := range 10 {
				piece := fmt.Sprint("a piece of it ", i, ". ")
				all += piece
				emit(sessions.Event{Type: sessions.EventDelta, Text: piece})
				time.Sleep(time.Second)
			}
			return all, nil
		}
		run := b.hear(in("ann", "1", "slowly please"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		time.Sleep(time.Minute)
		texts := b.chat.texts("ann")
		require.Len(t, texts, 1, "preview and answer are one message")
		require.Contains(t, texts[0], "it 9")
		require.Greater(t, b.chat.edits, 5)
		require.Len(t, b.deliveries(ledger.DeliverySent), 1)
		require.Empty(t, b.deliveries(ledger.DeliveryPreview))
	})
}

func withEdits(b *bundle) { b.adapter = editable{b.chat} }

// Handed over in the middle of a preview, the next owner takes it over.
func TestPreviewSurvivesAHandover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits)
		b.agent.answer = func(ctx context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			select {
			case <-time.After(10 * time.Second):
				return "the whole answer", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		run := b.hear(in("ann", "1", "slowly please"))
		b.await(1)
		b.restart()
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"the whole answer"}, b.chat.texts("ann"))
		require.Equal(t, 1, b.ended(run.Run).Attempts, "a hand-over counts no attempt")
	})
}

func TestFailedRunIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = func(context.Context, string, func(sessions.Event)) (string, error) {
			return "", &sessions.WorkError{Status: sessions.RunFailed, Public: "The model is down.", Err: errors.New("503")}
		}
		run := b.hear(in("ann", "1", "hi"))
		b.await(1)
		require.Equal(t, []string{"The model is down."}, b.chat.texts("ann"))
		require.Equal(t, sessions.RunFailed, b.ended(run.Run).Status)
		b.agent.answer = func(context.Context, string, func(sessions.Event)) (string, error) {
			return "", errors.New("password is 123")
		}
		b.hear(in("ann", "2", "hi"))
		b.await(1)
		require.NotContains(t, b.chat.texts("ann")[1], "123")
	})
}

func TestPoisonousRunEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		tries := 0
		b.agent.answer = func(_ context.Context, text string, _ func(sessions.Event)) (string, error) {
			if strings.Contains(text, "poison") {
				tries++
				panic("cannot swallow this")
			}
			return "fine", nil
		}
		run := b.hear(in("ann", "1", "poison"))
		other := b.hear(in("bob", "1", "hi"))
		require.Equal(t, sessions.RunDone, b.ended(other.Run).Status, "others are not held up")
		require.Equal(t, sessions.RunFailed, b.ended(run.Run).Status)
		require.Equal(t, 3, tries)
		b.await(2)
		require.Contains(t, b.chat.texts("ann")[0], "given up")
	})
}

func TestSilentAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = func(context.Context, string, func(sessions.Event)) (string, error) { return " NO_REPLY\n", nil }
		require.Equal(t, sessions.RunDone, b.ended(b.hear(in("ann", "1", "hi")).Run).Status)
		time.Sleep(time.Minute)
		require.Empty(t, b.chat.texts(""))
	})
}
