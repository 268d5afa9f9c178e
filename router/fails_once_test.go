package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/announce"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/disclose"
	"sluice/router/exchange"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// admitting gives the router a message while the database fails again and again.
func (b *bundle) admitting(m adapters.Inbound) inbound.Admitted {
	b.t.Helper()
	got := insisting(b, func(ctx context.Context) (inbound.Admitted, error) {
		return b.Intake.Admit(ctx, inbound.Admission{Inbound: m})
	})
	synctest.Wait()
	return got
}

// alone marks a request whose only result is its error.
func alone(request func(context.Context) error) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, request(ctx) }
}

// Whichever call of the database fails while an event is taken in: its platform hears of the failure, and when it tells the event again the
// event leads to what it would have led to.
func TestEventsWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	noPeople := func(b *bundle) {
		b.settings.Channels["test"] = place.ChannelSettings{GroupPolicy: place.AccessAllowlist, DMPolicy: place.AccessAllowlist}
	}
	for name, c := range map[string]struct {
		option func(*bundle)
		scene  func(b *bundle)
	}{
		"a conversation": {nil, func(b *bundle) {
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(in("ann", "1", "one")).Outcome)
			second := b.admitting(in("ann", "2", "two"))
			require.Equal(b.t, ledger.OutcomeRun, second.Outcome)
			require.Equal(b.t, []string{"echo: one", "echo: two"}, b.chat.texts("ann"))
			repeat := b.admitting(in("ann", "2", "two"))
			require.True(b.t, repeat.Repeat)
			require.Equal(b.t, second.Run, repeat.Run)
		}},
		"messages that wait, are edited and are taken back": {nil, func(b *bundle) {
			defer b.busy()()
			one, two, three := in("ann", "1", "one"), in("ann", "2", "two"), in("ann", "3", "three")
			b.hear(one)
			synctest.Wait()
			waiting := b.admitting(two)
			b.admitting(three)
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(edited(two, 1, "too")).Outcome)
			require.Equal(b.t, sessions.RunAborted, b.ended(waiting.Run).Status)
			require.Equal(b.t, ledger.OutcomeIgnored, b.admitting(edited(two, 2, "too")).Outcome, "it is that already")
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(edited(one, 1, "first")).Outcome, "it is worked on already")
			require.Equal(b.t, ledger.OutcomeIgnored, b.admitting(edited(one, 2, "first")).Outcome)
			require.Equal(b.t, ledger.OutcomeDeleted, b.admitting(takenBack(three)).Outcome)
			require.Equal(b.t, ledger.OutcomeDeleted, b.admitting(takenBack(two)).Outcome)
			require.Equal(b.t, ledger.OutcomeIgnored, b.admitting(takenBack(two)).Outcome)
		}},
		"a person with a limit": {func(b *bundle) { b.settings.Limits.Person = perMinute(2) }, func(b *bundle) {
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(in("ann", "1", "one")).Outcome)
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(in("ann", "2", "two")).Outcome)
			require.Equal(b.t, ledger.OutcomeIgnored, b.admitting(in("ann", "3", "three")).Outcome)
			require.Contains(b.t, b.last("ann"), "more than 2 messages")
		}},
		"the talk of a group": {nil, func(b *bundle) {
			said := inGroup("g", "ann", "1", "blue is nice", false)
			require.Equal(b.t, ledger.OutcomeHistory, b.admitting(said).Outcome)
			require.Equal(b.t, ledger.OutcomeHistory, b.admitting(edited(said, 1, "red is nice")).Outcome)
			require.Equal(b.t, ledger.OutcomeIgnored, b.admitting(edited(said, 2, "red is nice")).Outcome, "it is that already")
			gone := inGroup("g", "ann", "2", "or green", false)
			b.admitting(gone)
			require.Equal(b.t, ledger.OutcomeDeleted, b.admitting(takenBack(gone)).Outcome)
			got := b.admitting(inGroup("g", "bob", "3", "which one?", true))
			lines := b.ended(got.Run).Input.History
			require.Len(b.t, lines, 1)
			require.Equal(b.t, "red is nice", lines[0].Text)
			synctest.Wait()
			shown := inGroup("g", "ann", "1", "", false)
			shown.MessageID = "1"
			require.Equal(b.t, ledger.OutcomeHistory, b.admitting(reaction(shown, "👍")).Outcome)
			after := b.ended(b.admitting(inGroup("g", "bob", "4", "well?", true)).Run).Input.History
			require.Len(b.t, after, 1)
			require.Contains(b.t, after[0].Text, "reacted with 👍 to: “echo: ")
			require.Equal(b.t, ledger.OutcomeMoved, b.admitting(adapters.Inbound{Event: "moved", Route: shown.Route, Migrated: &adapters.Migration{From: "g", To: "g2"}}).Outcome)
		}},
		"a group that is known by an older id": {func(b *bundle) {
			b.settings.Channels["test"] = place.ChannelSettings{GroupPolicy: place.AccessAllowlist, Groups: map[string]place.GroupSettings{"g": {RequireMention: true}}}
		}, func(b *bundle) {
			b.admitting(adapters.Inbound{Event: "moved", Route: inGroup("g", "ann", "1", "", false).Route, Migrated: &adapters.Migration{From: "g", To: "g2"}})
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(inGroup("g2", "ann", "2", "hello", true)).Outcome)
			require.Equal(b.t, ledger.OutcomeHistory, b.admitting(inGroup("g2", "ann", "3", "hello", false)).Outcome)
		}},
		"somebody who asks to be admitted": {pairing, func(b *bundle) {
			require.Equal(b.t, ledger.OutcomePairing, b.admitting(in("ann", "1", "let me in")).Outcome)
			require.Equal(b.t, ledger.OutcomePairing, b.admitting(in("ann", "2", "please")).Outcome)
			require.Contains(b.t, b.last("ann"), b.code())
			require.Contains(b.t, b.admitting(in("ann", "3", "/whoami")).Notice, "test:ann")
			require.Contains(b.t, b.admitting(in("owner", "1", "/pair approve "+b.code())).Notice, "ann")
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(in("ann", "4", "hello")).Outcome)
			require.Contains(b.t, b.admitting(in("owner", "2", "/pair approve XXXX")).Notice, "No pending pairing")
		}},
		"people and groups that are not admitted": {noPeople, func(b *bundle) {
			require.Equal(b.t, ledger.OutcomeIgnored, b.admitting(inGroup("g", "owner", "1", "are you there?", true)).Outcome)
			require.Contains(b.t, b.last("owner"), "groups:")
			require.Contains(b.t, b.admitting(in("ann", "1", "/whoami")).Notice, "test:ann")
		}},
		"bots": {bots, func(b *bundle) {
			for range 6 {
				b.commands++
				require.Equal(b.t, ledger.OutcomeRun, b.admitting(fromBot(string(rune('a'+b.commands)), "")).Outcome)
			}
			require.Equal(b.t, ledger.OutcomeIgnored, b.admitting(fromBot("z", "")).Outcome)
			require.Equal(b.t, 1, b.audited("bots.stopped"))
		}},
		"a session whose time is over": {withReset(place.ResetPolicy{Mode: place.ResetIdle, Idle: time.Hour}), func(b *bundle) {
			first := b.admitting(in("ann", "1", "one"))
			time.Sleep(2 * time.Hour)
			require.NotEqual(b.t, first.Session, b.admitting(in("ann", "2", "two")).Session)
		}},
		"more than may wait": {func(b *bundle) { b.settings.Queue.Cap = 1 }, func(b *bundle) {
			defer b.busy()()
			b.hear(in("ann", "1", "one"))
			synctest.Wait()
			waiting := b.admitting(in("ann", "2", "two"))
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(in("ann", "3", "three")).Outcome)
			require.Equal(b.t, sessions.RunDropped, b.ended(waiting.Run).Status)
			require.Contains(b.t, b.last("ann"), "starting with: “two”")
			b.admitting(in("ann", "4", "four"))
			require.Len(b.t, b.chat.texts("ann"), 1, "it is told once")
		}},
		"threads and what /send sets for them": {nil, func(b *bundle) {
			inPart := func(who, id, text string) adapters.Inbound {
				m := inGroup("g", who, id, text, true)
				m.Route.Thread = "t1"
				return m
			}
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(inPart("ann", "1", "hello")).Outcome)
			require.Contains(b.t, b.admitting(inPart("owner", "2", "/send on")).Notice, "in this thread")
			require.Contains(b.t, b.admitting(inGroup("g", "owner", "3", "/send off", true)).Notice, "1 thread that had a setting of its own")
			require.Contains(b.t, b.admitting(inPart("owner", "4", "/status")).Notice, "send: deny, as in the channel")
			shown := len(b.chat.texts("g"))
			b.admitting(inPart("ann", "5", "are you there?"))
			require.Len(b.t, b.chat.texts("g"), shown, "it inherits the word of the group")
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(inPart("owner", "6", "/new and now?")).Outcome)
			require.NotEmpty(b.t, b.admitting(inPart("owner", "7", "/activation always")).Notice)
			require.Equal(b.t, ledger.OutcomeRun, b.admitting(inGroup("g", "ann", "8", "hello", true)).Outcome)
		}},
		"a request that may not wait": {nil, func(b *bundle) {
			defer b.busy()()
			first := in("ann", "1", "one")
			exclusive := func(m adapters.Inbound) func(context.Context) (inbound.Admitted, error) {
				return func(ctx context.Context) (inbound.Admitted, error) {
					return b.Intake.Admit(ctx, inbound.Admission{Inbound: m, Exclusive: true})
				}
			}
			got := insisting(b, exclusive(first))
			synctest.Wait()
			require.Equal(b.t, got.Run, insisting(b, exclusive(first)).Run, "told again")
			_, err := exclusive(in("ann", "2", "two"))(b.t.Context())
			require.ErrorIs(b.t, err, request.ErrBusy)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, withFailing, func(b *bundle) {
					if c.option != nil {
						c.option(b)
					}
				})
				c.scene(b)
			})
		})
	}
}

// A command whose call of the database fails does nothing and says nothing; told again, it is carried out.
func TestCommandsWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withFailing)
		b.hear(in("owner", "1", "one"))
		b.hear(in("owner", "2", "two"))
		synctest.Wait()
		for _, c := range []struct{ text, want string }{
			{"/help", "Just talk to me"},
			{"/status", "agent:main:direct:owner"},
			{"/whoami", "my owner"},
			{"/usage", "tokens"},
			{"/model test/other", "test/other"},
			{"/model", "test/other"},
			{"/queue collect", "all at once"},
			{"/queue", "collect"},
			{"/send off", "off"},
			{"/status", "send: deny"},
			{"/send inherit", ""},
			{"/branch", "no other branch"},
			{"/stop", "nothing to stop"},
			{"/subagents", "no sub-agents"},
			{"/raise nothing", "Usage"},
			{"/approve apr_1 allow", "apr_1"},
			{"/activation always", ""},
			{"/undo 0", "Usage"},
			{"/branch 99", ""},
		} {
			b.commands++
			m := in("owner", "cmd-"+string(rune('a'+b.commands)), c.text)
			got := b.admitting(m)
			require.Equal(t, ledger.OutcomeCommand, got.Outcome, c.text)
			require.NotEmpty(t, got.Notice, c.text)
			require.Contains(t, got.Notice, c.want, c.text)
			require.Equal(t, got.Notice, b.last("owner"))
			again := b.admitting(m)
			require.True(t, again.Repeat)
			require.Equal(t, got.Notice, again.Notice)
		}
		for _, text := range []string{"/retry", "/undo", "/branch 1", "/raise CONFIDENTIAL", "/new and now?"} {
			b.commands++
			got := b.admitting(in("owner", "cmd-"+string(rune('a'+b.commands)), text))
			require.Equal(t, ledger.OutcomeRun, got.Outcome, text)
			require.Equal(t, sessions.RunDone, b.ended(got.Run).Status, text)
		}
		require.Contains(t, b.admitting(in("owner", "last", "/reset")).Notice, "New session started")
	})
}

// What operators and programs ask for fails with the database, and works when they ask again.
func TestRequestsWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, withFailing)
		b := k.bundle
		ann, bob := k.session("ann"), k.session("bob")
		resolved := insisting(b, func(ctx context.Context) (sessions.Record, error) { return b.ResolveSession(ctx, string(ann.Key)) })
		require.Equal(t, ann.ID, resolved.ID)
		require.NotEmpty(t, insisting(b, func(ctx context.Context) (sessions.Record, error) { return b.SessionOrMain(ctx, "") }).Key)
		main := insisting(b, func(ctx context.Context) (sessions.Record, error) { return b.MainSession(ctx, sessions.MainAlias) })
		require.Equal(t, main.ID, insisting(b, func(ctx context.Context) (sessions.Record, error) { return b.SessionOrMain(ctx, "") }).ID)
		made := insisting(b, func(ctx context.Context) (sessions.Record, error) { return b.CreateSession(ctx, manage.NewSession{}) })
		title := flow.NewText("a title", flow.Bottom())
		patched := insisting(b, func(ctx context.Context) (sessions.Record, error) {
			return b.PatchSession(ctx, sessions.Patch{ID: made.ID, Title: &title}, "operator")
		})
		require.Equal(t, "a title", patched.Title.Raw())
		insisting(b, alone(func(ctx context.Context) error {
			return b.Learn(ctx, made.ID, flow.NewLabel(flow.Internal, flow.Trusted), "operator")
		}))
		learnt, err := b.store.Session(t.Context(), made.ID)
		require.NoError(t, err)
		require.Equal(t, flow.Internal, learnt.Taint.Level())
		insisting(b, alone(func(ctx context.Context) error { return b.AbortSession(ctx, made.ID, "operator") }))
		fresh := insisting(b, func(ctx context.Context) (sessions.Record, error) { return b.ResetSession(ctx, made.ID, "operator") })
		require.NotEqual(t, made.ID, fresh.ID)
		insisting(b, alone(func(ctx context.Context) error { return b.DeleteSession(ctx, fresh.ID, "operator") }))

		x := insisting(b, func(ctx context.Context) (ledger.Exchange, error) {
			return b.Exchanges().Start(ctx, exchange.Ask{Kind: announce.Send, Caller: caller(ann), Target: bob, Text: "how many?", Label: ann.Taint, Key: "tool/1"})
		})
		onward := caller(bob)
		onward.Chain = x.Chain
		insisting(b, func(ctx context.Context) (ledger.Exchange, error) {
			return b.Exchanges().Start(ctx, exchange.Ask{Kind: announce.Send, Caller: onward, Target: main, Text: "and you?", Label: bob.Taint, Key: "tool/2"})
		})
		require.Equal(t, announce.Announced, k.over(x.ID).Outcome)
		task := insisting(b, func(ctx context.Context) (ledger.Exchange, error) {
			return b.Exchanges().StartTask(ctx, exchange.NewTask{Session: ann, Text: "look", Route: ann.Route, Key: "1"})
		})
		require.Equal(t, announce.Announced, k.over(task.ID).Outcome)
		again := insisting(b, func(ctx context.Context) (ledger.Exchange, error) {
			return b.Exchanges().StartTask(ctx, exchange.NewTask{Session: ann, Text: "look", Route: ann.Route, Key: "1"})
		})
		require.Equal(t, task.ID, again.ID)
		standing := insisting(b, func(ctx context.Context) (outbound.SendPermission, error) {
			return b.SendPermissions().SendPermission(ctx, ann, ann.Route)
		})
		require.Equal(t, flow.Public, standing.Carries)
		synctest.Wait()
	})
}

// A message that a program sends fails with the database, and is there once when it is sent again; so is what operators do with it.
func TestMessagesWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withFailing)
		ann := b.hear(in("ann", "1", "hello"))
		b.hear(inGroup("team", "ann", "2", "hello", true))
		synctest.Wait()
		for _, p := range []outbound.Proactive{
			{Channel: "test", To: "team", ChatType: sessions.Group, Text: "to a group"},
			{Channel: "test", To: "chat-ann", Text: "to a person"},
			{Channel: "test", To: "owner", Text: "to the owner"},
			{Channel: "test", To: "last", Session: ann.Session, Text: "to where it was"},
			{Channel: "test", To: "nobody", Text: "to somebody new", Idempotency: "once"},
		} {
			d := insisting(b, func(ctx context.Context) (ledger.Delivery, error) { return b.Sender.Send(ctx, p) })
			synctest.Wait()
			require.Equal(t, ledger.DeliverySent, b.delivery(d.ID).Status, p.Text)
			require.Equal(t, p.Text, b.last(string(d.Route.Conversation)))
			if p.Idempotency != "" {
				again := insisting(b, func(ctx context.Context) (ledger.Delivery, error) { return b.Sender.Send(ctx, p) })
				require.Equal(t, d.ID, again.ID)
			}
		}
		for _, c := range []outbound.Check{{Channel: "test", To: "chat-ann"}, {Channel: "test", To: "owner"}, {Channel: "test", Session: string(ann.Session)}} {
			decision := insisting(b, func(ctx context.Context) (policy.Decision, error) { return b.Sender.CheckPolicy(ctx, c) })
			require.True(t, decision.Passes())
		}
		b.chat.fail = func(adapters.Outbound, int) error {
			return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errAway}
		}
		d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "team", ChatType: sessions.Group, Text: "at last"})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, ledger.DeliveryFailed, b.delivery(d.ID).Status)
		insisting(b, func(ctx context.Context) (ledger.Delivery, error) { return b.RetryDelivery(ctx, d.ID, "operator") })
		synctest.Wait()
		insisting(b, func(ctx context.Context) (ledger.Delivery, error) {
			return b.DiscardDelivery(ctx, d.ID, decider.Verdict{Actor: "operator", Owner: true})
		})
		require.Equal(t, ledger.DeliveryDiscarded, b.delivery(d.ID).Status)
	})
}

// Who decides while the database fails hears of it; nothing is decided before they try again.
func TestDecisionsWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withFailing, judged(t, anywhere(), asks(nil)))
		for _, text := range []string{"plan one", "plan two", "plan three"} {
			_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "team", ChatType: sessions.Group, Text: text})
			require.NoError(t, err)
		}
		answer := b.hear(in("ann", "1", "the plan"))
		synctest.Wait()
		of := map[string]ledger.Approval{}
		for _, p := range b.approvals(ledger.ApprovalPending) {
			of[b.delivery(p.Delivery).Text] = p
		}
		run := b.ended(answer.Run)
		told := func() disclose.Told {
			return insisting(b, func(ctx context.Context) (disclose.Told, error) {
				return b.Answers.Disclose(ctx, run, flow.Level{})
			})
		}
		require.Equal(t, of["echo: the plan"].ID, told().Withheld.Approval)
		owner := decider.Verdict{Actor: "test:owner", Owner: true}
		decide := func(text string, v decider.Verdict) ledger.Approval {
			return insisting(b, func(ctx context.Context) (ledger.Approval, error) {
				return b.Approvals.DecideApproval(ctx, of[text].ID, v)
			})
		}
		allow := owner
		allow.Allow = true
		require.Equal(t, ledger.ApprovalAllowed, decide("plan one", allow).Status)
		require.Equal(t, ledger.ApprovalDenied, decide("plan two", owner).Status)
		insisting(b, func(ctx context.Context) (ledger.Delivery, error) {
			return b.DiscardDelivery(ctx, of["plan three"].Delivery, owner)
		})
		synctest.Wait()
		require.Equal(t, []string{"plan one"}, b.chat.texts("team"))
		require.Contains(t, b.admitting(in("owner", "1", "/approve "+string(of["echo: the plan"].ID)+" allow")).Notice, "Allowed: I will send it.")
		require.Equal(t, "echo: the plan", told().Text)
		require.Equal(t, "echo: the plan", b.last("ann"))
	})
}

// So it is with who admits somebody, and who shuts them out again.
func TestPairingsWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withFailing, pairing)
		b.hear(in("ann", "1", "let me in"))
		code := b.code()
		p := insisting(b, func(ctx context.Context) (ledger.Pairing, error) {
			return b.Pairings.ApprovePairing(ctx, code, "operator")
		})
		require.Equal(t, ledger.PairingApproved, p.Status)
		insisting(b, alone(func(ctx context.Context) error {
			return b.Pairings.RevokePairing(ctx, "test", "default", "ann", "operator")
		}))
		require.Equal(t, ledger.OutcomePairing, b.hear(in("ann", "2", "hello?")).Outcome)
		b.hear(in("bob", "1", "let me in"))
		code = b.code()
		p = insisting(b, func(ctx context.Context) (ledger.Pairing, error) {
			return b.Pairings.DenyPairing(ctx, code, "operator")
		})
		require.Equal(t, ledger.PairingDenied, p.Status)
	})
}
