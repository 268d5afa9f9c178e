package router_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/limits"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/request"
	"sluice/sessions"
)

// perMinute is a limit for a minute.
func perMinute(n int) ledger.Rate { return ledger.Rate{Max: n, Per: time.Minute} }

// A person above the limit is told once in each conversation and window; commands, owners and other people are heard all the
// same. The count survives a restart, and a repeated event is not counted.
func TestAPersonIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Limits.Person = perMinute(2) })
		first := b.hear(in("ann", "1", "one"))
		time.Sleep(20 * time.Second)
		again := b.hear(in("ann", "1", "one"))
		require.True(t, again.Repeat)
		require.Equal(t, first.Run, again.Run)
		require.Equal(t, ledger.OutcomeRun, b.hear(inGroup("g", "ann", "2", "two", true)).Outcome)
		require.Equal(t, ledger.OutcomeHistory, b.hear(inGroup("g", "ann", "3", "not for you", false)).Outcome)
		b.await(2)

		b.restart()
		const want = "You sent more than 2 messages in 1 minute, so I did not accept the last one. Please try again in 40 seconds."
		require.Equal(t, ledger.OutcomeIgnored, b.hear(in("ann", "4", "three")).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(in("ann", "5", "four")).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(inGroup("g", "ann", "6", "five", true)).Outcome)
		b.await(2)
		require.Equal(t, []string{"echo: one", want}, b.chat.texts("chat-ann"))
		require.Equal(t, want, b.chat.texts("g")[1])
		require.True(t, b.hear(in("ann", "1", "one")).Repeat, "a repeated event is not refused")

		require.Equal(t, ledger.OutcomeCommand, b.hear(in("ann", "7", "/help")).Outcome)
		require.Equal(t, ledger.OutcomeRun, b.hear(in("bob", "8", "hello")).Outcome)
		for i := range 5 {
			require.Equal(t, ledger.OutcomeRun, b.hear(in("owner", fmt.Sprint("o", i), "hello")).Outcome)
		}
		time.Sleep(10 * time.Second) // refusals are stored
		refused, err := b.store.ListRefusals(t.Context(), flow.Restricted, time.Time{}, 10)
		require.NoError(t, err)
		require.Len(t, refused, 2)
		require.Equal(t, "limits.perPerson is reached: 2 in 1 minute", refused[1].Reason)
		require.Equal(t, 2, refused[1].Count)

		time.Sleep(30 * time.Second)
		require.Equal(t, ledger.OutcomeRun, b.hear(in("ann", "9", "after the window")).Outcome)
	})
}

// The ids of one person are counted together.
func TestLinkedIDsAreOnePerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Limits.Person = perMinute(1)
			b.settings.Keyer.Links = map[string]string{"test:ann": "Ann", "test:ann2": "Ann"}
		})
		require.Equal(t, ledger.OutcomeRun, b.hear(in("ann", "1", "one")).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(in("ann2", "2", "two")).Outcome)
		b.await(2)
	})
}

// An edit counts if it changes the message.
func TestAnEditThatChangesNothingIsNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Limits.Person = perMinute(2) })
		edit := func(version, text string) adapters.Inbound {
			m := in("ann", "1", text)
			m.Event, m.Edited = m.Event+"/edit/"+version, true
			return m
		}
		require.Equal(t, ledger.OutcomeRun, b.hear(in("ann", "1", "one")).Outcome)
		b.await(1)
		for i := range 3 {
			require.Equal(t, ledger.OutcomeIgnored, b.hear(edit(fmt.Sprint(i), "one")).Outcome)
		}
		require.Equal(t, ledger.OutcomeRun, b.hear(edit("a", "two")).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(edit("b", "three")).Outcome)
		synctest.Wait()
		require.Contains(t, strings.Join(b.chat.texts("chat-ann"), "\n"), "more than 2 messages")
	})
}

// A conversation and an agent are limited for all who write there, and the text says nothing about the others.
func TestConversationsAndAgentsAreLimited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits place.Limits
		other  ledger.Outcome // of a message elsewhere
		text   string
	}{
		"conversation": {place.Limits{Conversation: perMinute(2)}, ledger.OutcomeRun, "I can't accept more messages in this conversation at the moment. Please try again in 1 minute."},
		"agent":        {place.Limits{Agent: perMinute(2)}, ledger.OutcomeIgnored, "I can't accept more messages at the moment. Please try again in 1 minute."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.settings.Limits = c.limits })
				for i, who := range []string{"ann", "bob"} {
					require.Equal(t, ledger.OutcomeRun, b.hear(inGroup("g", who, fmt.Sprint(i), "hello", true)).Outcome)
				}
				b.await(2)
				require.Equal(t, ledger.OutcomeIgnored, b.hear(inGroup("g", "cid", "3", "hello", true)).Outcome)
				b.await(1)
				require.Equal(t, c.text, b.chat.texts("g")[2])
				require.Equal(t, c.other, b.hear(in("dan", "4", "hello")).Outcome)
				require.Equal(t, ledger.OutcomeRun, b.hear(inGroup("g", "owner", "5", "hello", true)).Outcome, "owners are not limited")
				synctest.Wait()
			})
		})
	}
}

// What is said at a higher level never limits a lower one: a limit would show that somebody has spoken.
func TestALimitDoesNotShowWhatIsAbove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Limits = place.Limits{Person: perMinute(3), Agent: perMinute(3), Conversation: perMinute(3)}
			b.settings.Keyer.Global = true // one session for all
			b.gate.sinks = func(r sessions.Route) flow.Level {
				if r.Conversation == "high" {
					return flow.Confidential
				}
				return flow.Public
			}
		})
		hear := func(group, id string) ledger.Outcome {
			return b.hear(inGroup(group, "ann", id, "hello", true)).Outcome
		}
		for i := range 3 {
			require.Equal(t, ledger.OutcomeRun, hear("high", fmt.Sprint("h", i)))
		}
		require.Equal(t, ledger.OutcomeIgnored, hear("high", "h3"))
		for i := range 3 {
			require.Equal(t, ledger.OutcomeRun, hear("low", fmt.Sprint("l", i)))
		}
		require.Equal(t, ledger.OutcomeIgnored, hear("low", "l3"))
		time.Sleep(time.Minute)
		for i := range 3 {
			require.Equal(t, ledger.OutcomeRun, hear("low", fmt.Sprint("m", i)))
		}
		require.Equal(t, ledger.OutcomeIgnored, hear("high", "h4"), "what is below is counted")
		synctest.Wait()
	})
}

// A program gets an error that says when to try again, and a message that it names again is then accepted.
func TestAProgramIsToldWhenToTryAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Limits.Conversation = perMinute(1) })
		first := b.hear(in("ann", "1", "one"))
		b.await(1)
		send := func() error {
			_, err := b.Intake.Admit(t.Context(), inbound.Admission{Inbound: in("ann", "2", "two"), Session: first.Session})
			return err
		}
		time.Sleep(time.Second)
		reached, ok := errors.AsType[*limits.Reached](send())
		require.True(t, ok)
		require.Equal(t, 59*time.Second, reached.Wait)
		time.Sleep(reached.Wait)
		require.NoError(t, send())
	})
}

// Requests of other agents count for the agent that gets them, and are refused in words that the asking agent understands.
func TestRequestsOfOtherAgentsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		s := *k.settings
		s.Limits.Agent = perMinute(1)
		k.Configure(&s)
		ask := func(agent, key string) error {
			c := caller(ann)
			c.Agent = agent
			_, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: c, Target: bob, Text: key, Label: ann.Taint, Key: key})
			return err
		}
		require.NoError(t, ask("other", "one"))
		require.NoError(t, ask("other", "one"), "a repeated request is the first one")
		refused, ok := errors.AsType[*request.Error](ask("other", "two"))
		require.True(t, ok)
		require.Equal(t, "the agent main accepts no more requests at the moment: try again in 1 minute (limits.perAgent)", refused.Text)
		require.NoError(t, ask("main", "three"), "sessions of the same agent are not limited")
		synctest.Wait()
	})
}

// Whether a limit is reached does not depend on the queue of a session that the sender may not know of: what is dropped
// there is counted as well.
func TestALimitDoesNotShowAFullQueue(t *testing.T) {
	t.Parallel()
	results := func(t *testing.T, full bool) (all []string) {
		synctest.Test(t, func(t *testing.T) {
			k := newTalk(t)
			ann, bob := k.session("ann"), k.session("bob")
			s := *k.settings
			s.Limits.Agent = perMinute(1)
			k.Configure(&s)
			if full {
				waits := make([]sessions.Run, queue.MaxWaiting)
				for i := range waits {
					waits[i] = sessions.Run{
						ID: sessions.NewRunID(), Session: bob.ID, Partition: bob.Partition, Kind: sessions.KindMessage, Status: sessions.RunQueued,
						Label: flow.NewLabel(flow.Restricted, flow.Trusted), Route: bob.Route, Accepted: time.Now(), EventKey: fmt.Sprint("fill/", i),
					}
				}
				require.NoError(t, k.store.CommitSession(t.Context(), sessions.Change{Enqueue: waits}))
			}
			for i := range 3 {
				c := caller(ann)
				c.Agent = "other"
				_, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: c, Target: bob, Text: "hello", Label: ann.Taint, Key: fmt.Sprint("k", i), Blind: true})
				if errors.Is(err, request.ErrQueueFull) { // as the tool says it
					err = nil
				}
				all = append(all, fmt.Sprint(err))
			}
			k.Router.StopIntake()
		})
		return all
	}
	open := results(t, false)
	require.Contains(t, open[1], "accepts no more requests")
	require.Equal(t, open, results(t, true))
}

// A person does not begin a new count with a new session.
func TestANewSessionDoesNotEndALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Limits.Conversation = perMinute(2) })
		for i := range 2 {
			require.Equal(t, ledger.OutcomeRun, b.hear(inGroup("g", "ann", fmt.Sprint(i), "hello", true)).Outcome)
		}
		b.await(2)
		require.Equal(t, ledger.OutcomeCommand, b.hear(inGroup("g", "ann", "n", "/new", true)).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(inGroup("g", "ann", "3", "hello", true)).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(inGroup("g", "ann", "4", "/new hello", true)).Outcome)
		synctest.Wait()
	})
}

// Whoever is limited is told once in a chat, also if each message begins a thread: the notices must not be a flood themselves.
// Others there are told as well.
func TestANoticeOfALimitIsSentOncePerPersonAndChat(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]place.Limits{"person": {Person: perMinute(1)}, "agent": {Agent: perMinute(1)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.settings.Limits = limit })
				say := func(who, id string, opens bool) ledger.Outcome {
					m := inGroup("g", who, id, "hello", true)
					m.Route.Thread, m.OpensThread = sessions.ThreadID("thread"+id), opens
					return b.hear(m).Outcome
				}
				require.Equal(t, ledger.OutcomeRun, say("ann", "1", true))
				for i := range 6 {
					require.Equal(t, ledger.OutcomeIgnored, say("ann", fmt.Sprint("f", i), i%2 == 0))
				}
				synctest.Wait()
				require.Len(t, b.deliveries(ledger.DeliverySent), 2, "a reply and a notice")
				if limit.Agent.Max > 0 {
					require.Equal(t, ledger.OutcomeIgnored, say("bob", "b", true))
					synctest.Wait()
					require.Len(t, b.deliveries(ledger.DeliverySent), 3)
				}
			})
		})
	}
}
