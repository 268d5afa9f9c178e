package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// judged makes the router judge by the real gate, with rules.
func judged(t require.TestingT, sink policy.Sink, rules ...policy.Rule) func(*bundle) {
	compiled, err := condition.NewRules(rules)
	require.NoError(t, err)
	gate := policy.NewGate(map[string]policy.Sink{"test": sink}, nil, compiled)
	return func(b *bundle) {
		b.gate.sinks = gate.SinkLevel
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			d := gate.Decide(e)
			return &d
		}
	}
}

func anywhere() policy.Sink { return policy.Sink{Level: flow.Restricted} }

func cards() policy.Rule {
	return policy.Rule{Name: "cards", Hook: policy.PreOutput, Action: policy.Redact, Redact: `\d{16}`}
}

const card = "4111111111111111"

// decided are the entries of the audit trail about what the gate decided, oldest first.
func (b *bundle) decided() (actions []string) {
	b.t.Helper()
	entries, err := b.store.ListAudit(context.Background(), ledger.AuditQuery{MaxLevel: flow.Restricted, Limit: 200})
	require.NoError(b.t, err)
	for _, e := range entries {
		switch action := strings.TrimPrefix(e.Action, "delivery."); policy.Action(action) {
		case policy.Allow, policy.Redact, policy.Block, policy.Hold:
			actions = append([]string{action}, actions...)
		}
	}
	return actions
}

func TestWhatARuleTakesOutLeavesNowhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), cards()))
		b.chat.piece = 20 // the number would be in two pieces
		b.chat.fail = func(_ adapters.Outbound, n int) error {
			if n == 1 {
				return &adapters.Failure{Kind: adapters.RateLimited, Certain: true, RetryAfter: time.Minute, Err: errors.New("too many requests")}
			}
			return nil
		}
		d, err := b.Sender.Send(t.Context(), outbound.Proactive{
			Channel: "test", To: "owner", Text: "your card is " + card + ", keep it",
			Buttons: []adapters.Button{{Label: "Pay with " + card, Value: "/pay " + card}},
			Files:   []outbound.NewFile{{Name: card + ".txt", Content: []byte("hello")}},
		})
		require.NoError(t, err)
		require.Equal(t, policy.Redact, d.Decision.Action)
		time.Sleep(time.Hour)
		sent := b.deliveries(ledger.DeliverySent)
		require.Len(t, sent, 1)
		all := strings.Join(b.chat.texts("owner"), "")
		require.Contains(t, all, "your card is [redacted], keep it")
		require.Contains(t, all, "`/pay [redacted]` – Pay with [redacted]")
		require.Contains(t, all, `File "[redacted].txt" is not shown`)
		require.NotContains(t, all, card)
		require.NotContains(t, sent[0].Text+strings.Join(sent[0].Parts, ""), card, "the row shows what left")
		require.Equal(t, []string{"redact"}, b.decided(), "tried twice, decided once")
	})
}

// What was taken out at the first try is not found at the second: the message is redacted all the same, and that is said once.
func TestWhatWasTakenOutStaysRedacted(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]bool{"by itself": false, "allowed by a person": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rules, want := []policy.Rule{cards()}, []string{"redact"}
				if held {
					rules, want = append(rules, policy.Rule{Name: "wait", Hook: policy.PreOutput, Action: policy.Hold, When: `output.kind == "message"`}), []string{"hold", "allow", "redact"}
				}
				b := newBundle(t, judged(t, anywhere(), rules...))
				b.chat.fail = func(out adapters.Outbound, _ int) error {
					if time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < 5*time.Minute && !strings.Contains(out.Text, "May I") {
						return &adapters.Failure{Kind: adapters.RateLimited, Certain: true, RetryAfter: time.Minute, Err: errors.New("too many requests")}
					}
					return nil
				}
				d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "owner", Text: "your card is " + card})
				require.NoError(t, err)
				if held {
					b.await(1) // the question
					p := b.approvals(ledger.ApprovalPending)
					require.Len(t, p, 1)
					_, err := b.Approvals.DecideApproval(t.Context(), p[0].ID, decider.Verdict{Allow: true, Actor: "test:owner", Owner: true})
					require.NoError(t, err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				sent, err := b.store.Delivery(t.Context(), d.ID)
				require.NoError(t, err)
				require.Equal(t, ledger.DeliverySent, sent.Status)
				require.Equal(t, "your card is [redacted]", sent.Text)
				require.Greater(t, sent.Attempts, 1)
				require.Equal(t, policy.Redact, sent.Decision.Action)
				require.Equal(t, want, b.decided())
			})
		})
	}
}

func TestEveryDecisionIsInTheAuditTrail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), policy.Rule{Name: "words", Hook: policy.PreOutput, When: `text.contains("plan")`, Action: policy.Block}))
		b.hear(in("ann", "1", "hello"))
		b.await(1)
		b.hear(in("ann", "2", "the plan"))
		b.await(1)
		require.Equal(t, []string{"echo: hello", "I have a reply, but I am not allowed to send it in this conversation. My owner can see why with `sluice deliveries list --status blocked`, or start a new session with /new."}, b.chat.texts("ann"))
		require.Equal(t, []string{"allow", "block", "allow"}, b.decided())
		d := b.deliveries(ledger.DeliveryBlocked)[0].Decision
		require.Equal(t, []string{"sendPolicy.default", "policy.rules.words"}, matched(*d))
	})
}

// The speaker of a run stands for all people whose messages it answers. It is an owner only if all of them are owners.
func TestTheGateSeesAllWhoSpoke(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		speak []string
		user  string
		owner bool
	}{
		"an owner":                {[]string{"owner"}, "test:owner", true},
		"an owner twice":          {[]string{"owner", "owner"}, "test:owner", true},
		"two owners":              {[]string{"owner", "boss"}, "", true},
		"an owner behind another": {[]string{"ann", "owner"}, "", false},
		"another behind an owner": {[]string{"owner", "ann"}, "", false},
		"another twice":           {[]string{"ann", "ann"}, "test:ann", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, withMode(sessions.QueueCollect), func(b *bundle) { b.settings.Owners = append(b.settings.Owners, "test:boss") })
				var seen []policy.SessionInput
				b.gate.forbid = func(e policy.Egress) *policy.Decision {
					if e.Effects && e.Kind == string(ledger.KindReply) {
						seen = append(seen, e.Session)
					}
					return nil
				}
				release := b.busy()
				b.hear(inGroup("g", "bob", "0", "first", true))
				synctest.Wait()
				var last inbound.Admitted
				for i, who := range c.speak {
					last = b.hear(inGroup("g", who, fmt.Sprint(1+i), "more", true))
				}
				release()
				b.await(2)
				require.Len(t, seen, 2)
				require.Equal(t, []any{"test:bob", false}, []any{seen[0].User, seen[0].Owner})
				require.Equal(t, []any{c.user, c.owner}, []any{seen[1].User, seen[1].Owner})

				run, err := b.store.Run(t.Context(), last.Run)
				require.NoError(t, err)
				b.gate.forbid = func(e policy.Egress) *policy.Decision {
					require.Equal(t, []any{c.user, c.owner}, []any{e.Session.User, e.Session.Owner}, "what is told to who waits, too")
					return nil
				}
				_, err = b.Answers.Disclose(t.Context(), run, flow.Level{})
				require.NoError(t, err)
			})
		})
	}
}

// Who speaks into a run while it works is among them from then on, before anything of the answer is shown.
func TestWhatIsShownIsShownToAllWhoSpoke(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits, withMode(sessions.QueueSteer))
		var owned []bool
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			if e.Partial {
				owned = append(owned, e.Session.Owner)
			}
			return nil
		}
		b.agent.work = func(ctx context.Context, _ *sessions.Session, _ *sessions.Run) (string, error) {
			time.Sleep(time.Second)
			b.gate.mu.Lock()
			require.NotEmpty(t, owned)
			require.NotContains(t, owned, false)
			owned = nil
			b.gate.mu.Unlock()
			b.hear(inGroup("g", "ann", "2", "two", true))
			_, err := b.agent.inbox.Take(ctx)
			time.Sleep(10 * time.Second)
			return "done", err
		}
		b.hear(inGroup("g", "owner", "1", "one", true))
		b.await(1)
		require.NotEmpty(t, owned)
		require.NotContains(t, owned, true)
	})
}

// What the gate would take out, or block, is not shown while it is written either.
func TestNoPreviewOfWhatARuleMayBeAbout(t *testing.T) {
	t.Parallel()
	elsewhere := cards()
	elsewhere.When = `output.channel == "slack" && text.size() > 0`
	for name, c := range map[string]struct {
		rule  policy.Rule
		shown bool
	}{
		"none":      {elsewhere, true},
		"redact":    {cards(), false},
		"block":     {policy.Rule{Name: "b", Hook: policy.PreOutput, Action: policy.Block, When: `text.contains("nobody says this")`}, false},
		"hold":      {policy.Rule{Name: "h", Hook: policy.PreOutput, Action: policy.Hold, When: `text.size() > 100000`}, false},
		"few":       {policy.Rule{Name: "f", Hook: policy.PreOutput, Action: policy.Block, Rate: &policy.Rate{Limit: 1, Per: time.Hour}}, true},
		"too often": {policy.Rule{Name: "o", Hook: policy.PreOutput, Action: policy.Block, When: `session.user == "test:ann"`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, withEdits, judged(t, anywhere(), c.rule))
				b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
					all := "the number that you asked for is "
					emit(sessions.Event{Type: sessions.EventDelta, Text: all})
					for i := range card {
						emit(sessions.Event{Type: sessions.EventDelta, Text: card[i : i+1]})
						time.Sleep(time.Second)
					}
					return all + card, nil
				}
				b.ended(b.hear(in("ann", "1", "slowly please")).Run)
				time.Sleep(time.Minute)
				synctest.Wait()
				b.chat.mu.Lock()
				edits := b.chat.edits
				b.chat.mu.Unlock()
				require.Equal(t, c.shown, edits > 0)
				if c.shown {
					require.Len(t, b.chat.texts("ann"), 1)
					return
				}
				require.LessOrEqual(t, len(b.chat.texts("ann")), 1)
				for _, e := range b.bus.events {
					if e.Type != sessions.EventDone || c.rule.Action == policy.Redact { // in the end it is known what it has become
						require.NotContains(t, e.Text, "4", "nobody who follows the session sees it, either")
					}
				}
			})
		})
	}
}

// What is written while the gate is asked about the preview is not in that preview: nobody has asked about it.
func TestAPreviewIsWhatTheGateHasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const key = "hush-hush-hush"
		secrets, err := policy.NewSecrets(nil, []string{key})
		require.NoError(t, err)
		rules, err := condition.NewRules(nil)
		require.NoError(t, err)
		gate := policy.NewGate(map[string]policy.Sink{"test": anywhere()}, nil, rules).Hiding(secrets)
		b := newBundle(t, withEdits)
		var more func() // what the model says while the gate thinks
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			d := gate.Decide(e)
			if e.Partial && more != nil {
				say := more
				more = nil
				say()
			}
			return &d
		}
		shown := make(chan []string, 1)
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "this is the beginning of the answer"})
			time.Sleep(1490 * time.Millisecond) // the first preview is there, the second is near
			emit(sessions.Event{Type: sessions.EventDelta, Text: ", the key is "})
			b.gate.mu.Lock()
			more = func() { emit(sessions.Event{Type: sessions.EventDelta, Text: key}) }
			b.gate.mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			shown <- b.chat.texts("ann")
			return "never mind", nil
		}
		b.hear(in("ann", "1", "slowly please"))
		require.Equal(t, []string{"this is the beginning of the answer, the key is "}, <-shown)
		b.await(1)
	})
}

func TestAPersonsLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := policy.Sink{Level: flow.Internal, Recipients: map[string]flow.Level{"bob": flow.Public}}
		b := newBundle(t, judged(t, sink)) // chat-bob is bob's
		require.Equal(t, flow.Internal, b.ended(b.hear(in("ann", "1", "hi")).Run).Label.Level())
		require.Equal(t, flow.Public, b.ended(b.hear(in("bob", "1", "hi")).Run).Label.Level(), "what somebody external says is no higher than what they may hear")
		b.await(2)

		inside := flow.NewLabel(flow.Internal, flow.Trusted)
		for to, want := range map[string]policy.Action{"chat-ann": policy.Allow, "chat-bob": policy.Block, "chat-cat": policy.Block} {
			d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: to, Text: "the plan", Label: inside})
			require.NoError(t, err)
			require.Equal(t, want, d.Decision.Action, to)
			check, err := b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", ChatType: sessions.Direct, To: to, Label: inside, Kind: ledger.KindMessage, Text: "the plan"})
			require.NoError(t, err)
			require.True(t, d.Decision.Same(&check), "%+v\n%+v", d.Decision, check)
		}
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliveryBlocked), 2)
		require.Contains(t, b.deliveries(ledger.DeliveryBlocked)[0].LastError+b.deliveries(ledger.DeliveryBlocked)[1].LastError, "is unknown, because no message has come from there")
	})
}

// The owner in a group is still a group, and one that nobody was ever heard in may be anybody's.
func TestAGroupsLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := policy.Sink{Level: flow.Internal, Conversations: map[sessions.ConversationID]flow.Level{"hall": flow.Public}}
		b := newBundle(t, judged(t, sink))
		hall := b.ended(b.hear(inGroup("hall", "owner", "1", "hi", true)).Run)
		require.Equal(t, flow.Public, hall.Label.Level())
		b.hear(inGroup("team", "owner", "2", "hi", true))
		b.await(2)
		for to, want := range map[string]policy.Action{"hall": policy.Block, "team": policy.Allow, "other": policy.Block} {
			d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: to, ChatType: sessions.Group, Text: "the plan", Label: flow.NewLabel(flow.Internal, flow.Trusted)})
			require.NoError(t, err)
			require.Equal(t, want, d.Decision.Action, to)
		}
	})
}

// egresses are a rule, a level of the channel, and messages that are sent one after the other.
type egresses struct {
	rule  policy.Rule
	level flow.Level
	sent  []outbound.Proactive
}

func anyEgresses(t *rapid.T) egresses {
	e := egresses{level: rapid.SampledFrom(flow.Levels()).Draw(t, "sink")}
	e.rule = policy.Rule{
		Name: "r", Hook: policy.PreOutput,
		When: rapid.SampledFrom([]string{
			"", `text.contains("4")`, `output.to == "chat-ann"`, `output.kind == "message" && output.level > PUBLIC`, `session.agent == "main"`, `output.chatType == "group"`,
		}).Draw(t, "when"),
		Action: rapid.SampledFrom([]policy.Action{policy.Block, policy.Redact}).Draw(t, "action"),
	}
	if e.rule.Action == policy.Redact {
		e.rule.Redact = `\d`
	}
	if rapid.Bool().Draw(t, "rated") {
		e.rule.Rate = &policy.Rate{Limit: rapid.IntRange(1, 3).Draw(t, "limit"), Per: time.Hour, By: policy.RateByConversation}
	}
	for range 10 {
		e.sent = append(e.sent, outbound.Proactive{
			Channel: "test", To: rapid.SampledFrom([]string{"chat-ann", "chat-bob", "chat-cat", "hall", "owner"}).Draw(t, "to"),
			Text:     rapid.SampledFrom([]string{"hello", card}).Draw(t, "text"),
			ChatType: rapid.SampledFrom([]sessions.ChatType{sessions.Direct, sessions.Group}).Draw(t, "type"),
			Label:    flow.NewLabel(rapid.SampledFrom(flow.Levels()).Draw(t, "level"), flow.Trusted),
		})
	}
	return e
}

// What policy check says is what becomes of the message: for any rules, texts and places.
func TestTheCheckSaysWhatADeliveryDoes(t *testing.T) {
	t.Parallel()
	for seed := range 12 {
		drawn := rapid.Custom(anyEgresses).Example(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, judged(t, policy.Sink{Level: drawn.level, Recipients: map[string]flow.Level{"bob": flow.Public}}, drawn.rule))
				b.hear(in("ann", "1", "hi"))
				b.hear(in("bob", "1", "hi"))
				synctest.Wait()
				for _, p := range drawn.sent {
					b.sameForCheck(p)
				}
			})
		})
	}
}

// sameForCheck sends a message, for which check, queue and delivery have to decide the same.
func (b *bundle) sameForCheck(p outbound.Proactive) {
	b.t.Helper()
	check, err := b.Sender.CheckPolicy(b.t.Context(), outbound.Check{Channel: "test", To: p.To, ChatType: p.ChatType, Label: p.Label, Kind: ledger.KindMessage, Text: p.Text})
	require.NoError(b.t, err)
	d, err := b.Sender.Send(b.t.Context(), p)
	require.NoError(b.t, err)
	synctest.Wait()
	stored, err := b.store.Delivery(b.t.Context(), d.ID)
	require.NoError(b.t, err)
	require.True(b.t, check.Same(d.Decision), "%+v\n%+v", check, d.Decision)
	require.True(b.t, check.Same(stored.Decision), "%+v\n%+v", check, stored.Decision)
	require.Equal(b.t, map[bool]ledger.DeliveryStatus{true: ledger.DeliverySent, false: ledger.DeliveryBlocked}[check.Passes()], stored.Status)
}

// A rule that comes while a message is tried counts from the next try on; what has left in part goes no further.
func TestARuleThatComesBetweenTwoTries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing int // the call that fails
		want    []string
		status  ledger.DeliveryStatus
	}{
		"before the first piece": {0, []string{"a number: [redacted]", "; that is all"}, ledger.DeliverySent},
		"after the first piece":  {1, []string{"a number: 4111111111"}, ledger.DeliveryBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, judged(t, anywhere()))
				b.chat.piece = 20
				b.chat.fail = func(_ adapters.Outbound, n int) error {
					if n != c.failing {
						return nil
					}
					return &adapters.Failure{Kind: adapters.RateLimited, Certain: true, RetryAfter: time.Minute, Err: errors.New("too many requests")}
				}
				d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "a number: " + card + "; that is all"})
				require.NoError(t, err)
				synctest.Wait()
				b.gate.mu.Lock()
				judged(t, anywhere(), cards())(b)
				b.gate.mu.Unlock()
				time.Sleep(time.Hour)
				require.Equal(t, c.want, b.chat.texts("ann"))
				stored, err := b.store.Delivery(t.Context(), d.ID)
				require.NoError(t, err)
				require.Equal(t, c.status, stored.Status)
			})
		})
	}
}
