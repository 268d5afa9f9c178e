package router_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

func takenBack(m adapters.Inbound) adapters.Inbound {
	m.Event, m.Text, m.Deleted = m.Event+"/deleted", "", true
	return m
}

func edited(m adapters.Inbound, n int, text string) adapters.Inbound {
	m.Event, m.Text, m.Edited = fmt.Sprint(m.Event, "/edit/", n), text, true
	return m
}

func reaction(m adapters.Inbound, emoji string) adapters.Inbound {
	m.Event, m.Text, m.Mentioned = m.Event+"/reaction/"+emoji, "", false
	m.Reaction = &adapters.Reaction{Emoji: emoji, Own: true}
	return m
}

func TestTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.busy()
		first, second, third := in("ann", "1", "one"), in("ann", "2", "two"), in("ann", "3", "three")
		b.hear(first)
		synctest.Wait()
		waiting := b.hear(second).Run
		b.hear(third)
		b.hear(edited(third, 1, "three, no: four"))
		require.Equal(t, ledger.OutcomeDeleted, b.hear(takenBack(second)).Outcome)
		b.hear(takenBack(third))
		b.hear(takenBack(first))
		release()
		require.Equal(t, "echo: one", b.last("ann"), "what is being answered already stays")
		run := b.ended(waiting)
		require.Equal(t, sessions.RunAborted, run.Status)
		require.Equal(t, "deleted by its sender", run.Error)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(takenBack(second)).Outcome, "told again")
		require.Equal(t, ledger.OutcomeIgnored, b.hear(takenBack(in("ann", "99", "never heard"))).Outcome)
	})
}

func TestHistoryIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		secret := inGroup("g1", "ann", "1", "the password is swordfish", false)
		b.hear(secret)
		morning := inGroup("g1", "ann", "2", "god morning", false)
		b.hear(morning)
		b.hear(edited(morning, 1, "good morning"))
		require.Equal(t, ledger.OutcomeIgnored, b.hear(edited(morning, 2, "good morning")).Outcome)
		require.Equal(t, ledger.OutcomeDeleted, b.hear(takenBack(secret)).Outcome)
		b.hear(inGroup("g1", "bob", "3", "what did I miss?", true))
		require.Contains(t, b.last("g1"), "good morning")
		require.NotContains(t, b.last("g1"), "swordfish")
	})
}

func TestReactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		for _, place := range []func(id, text string) adapters.Inbound{
			func(id, text string) adapters.Inbound { return in("ann", id, text) },
			func(id, text string) adapters.Inbound { return inGroup("g1", "ann", id, text, true) },
		} {
			asked := place("1", "shall we?")
			b.hear(asked)
			answer := b.last(string(asked.Route.Conversation))
			on := place("1", "")
			on.MessageID = b.chat.idOf(answer)
			require.Equal(t, ledger.OutcomeHistory, b.hear(reaction(on, "👍")).Outcome)
			on.MessageID = "of long ago"
			b.hear(reaction(on, "🎉"))
			b.hear(place("2", "so?"))
			said := b.last(string(asked.Route.Conversation))
			require.Contains(t, said, "ann: reacted with 👍 to: “echo: ")
			require.Contains(t, said, "ann: reacted with 🎉\n")
		}
		foreign, taken := reaction(in("ann", "3", ""), "👎"), reaction(in("ann", "4", ""), "👎")
		foreign.Reaction.Own, taken.Reaction.Removed = false, true
		require.Equal(t, ledger.OutcomeIgnored, b.hear(foreign).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(taken).Outcome)
	})
}

func TestReactionsOfStrangersAreIgnored(t *testing.T) {
	t.Parallel()
	b := newBundle(t, pairing)
	require.Equal(t, ledger.OutcomeIgnored, b.hear(reaction(in("eve", "1", ""), "👍")).Outcome)
	pending, err := b.store.ListPairings(t.Context(), "", "", ledger.PairingPending)
	require.NoError(t, err)
	require.Empty(t, pending)
}

// idOf is the platform's id of a message that was shown.
func (c *chat) idOf(text string) sessions.PlatformMessageID {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.said {
		if s.Text == text {
			return s.ID
		}
	}
	return ""
}

func TestPressIsThePersonsWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		press := b.press(b.offer("g1", "yes, please"), 0, "ann")
		press.Route.Handle = "interaction"
		require.Equal(t, ledger.OutcomeRun, b.hear(press).Outcome)
		require.Equal(t, "echo: ann: yes, please", b.last("g1"))
		d := b.deliveries(ledger.DeliverySent)[0]
		require.Empty(t, d.Route.Handle, "the answer is for all")
	})
}

// A platform tells of an edit again, under another name, when it has found a preview of a link.
func TestTheSameEditIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		first := in("ann", "1", "one")
		b.hear(first)
		b.last("ann")
		require.Equal(t, ledger.OutcomeRun, b.hear(edited(first, 1, "two")).Outcome)
		b.last("ann")
		require.Equal(t, ledger.OutcomeIgnored, b.hear(edited(first, 2, "two")).Outcome)
		require.Equal(t, ledger.OutcomeRun, b.hear(edited(first, 3, "one")).Outcome, "back again is an edit")
		b.last("ann")
		require.Equal(t, []string{"echo: one", "echo: two", "echo: one"}, b.chat.texts("ann"))
	})
}

func TestOneOfTwoExclusiveTurnsIsRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	release := b.busy()
	defer release()
	record, err := b.CreateSession(t.Context(), manage.NewSession{Persistent: true})
	require.NoError(t, err)
	const callers = 8
	got := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			_, got[i] = b.Intake.Admit(t.Context(), inbound.Admission{Inbound: in("ann", fmt.Sprint(i), "hi"), Session: record.ID, Exclusive: true})
		})
	}
	wg.Wait()
	taken := 0
	for _, err := range got {
		if err == nil {
			taken++
		} else {
			require.ErrorIs(t, err, request.ErrBusy)
		}
	}
	require.Equal(t, 1, taken)
}

// bots are heard like people.
func bots(b *bundle) {
	ch := b.settings.Channels["test"]
	ch.AllowBots = place.BotsOn
	b.settings.Channels["test"] = ch
}

func fromBot(id string, thread sessions.ThreadID) adapters.Inbound {
	m := inGroup("g1", "robot", id, "and you?", true)
	m.Sender.Bot, m.Route.Thread = true, thread
	return m
}

func TestBotLoopIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, bots)
		n := 0
		turn := func() ledger.Outcome {
			n++
			return b.hear(fromBot(fmt.Sprint(n), sessions.ThreadID(fmt.Sprint(n%2)))).Outcome
		}
		for range 6 {
			require.Equal(t, ledger.OutcomeRun, turn())
			time.Sleep(time.Minute)
		}
		b.restart()
		for range 3 {
			require.Equal(t, ledger.OutcomeIgnored, turn(), "a restart does not forget, and threads count together")
		}
		require.Equal(t, 1, b.audited("bots.stopped"))
		time.Sleep(time.Hour)
		require.Equal(t, ledger.OutcomeIgnored, turn(), "time alone does not help")
		b.hear(inGroup("g1", "ann", "100", "what goes on here?", false))
		require.Equal(t, ledger.OutcomeRun, turn())
	})
}

// What a bot says without addressing this one calls for no answer and is no turn.
func TestChatterOfBotsIsNoLoop(t *testing.T) {
	t.Parallel()
	b := newBundle(t, bots)
	for i := range 12 {
		m := fromBot(fmt.Sprint(i), "")
		m.Mentioned = false
		require.Equal(t, ledger.OutcomeHistory, b.hear(m).Outcome)
	}
	require.Equal(t, ledger.OutcomeRun, b.hear(fromBot("99", "")).Outcome)
}

func TestSlowBotsMayTalk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, bots)
		for i := range 12 {
			require.Equal(t, ledger.OutcomeRun, b.hear(fromBot(fmt.Sprint(i), "")).Outcome)
			time.Sleep(2 * time.Minute)
		}
	})
}

func TestWhichBotsAreHeard(t *testing.T) {
	t.Parallel()
	for policy, want := range map[place.BotPolicy][2]ledger.Outcome{
		"":                 {ledger.OutcomeIgnored, ledger.OutcomeIgnored},
		place.BotsOff:      {ledger.OutcomeIgnored, ledger.OutcomeIgnored},
		place.BotsMentions: {ledger.OutcomeRun, ledger.OutcomeIgnored},
		place.BotsOn:       {ledger.OutcomeRun, ledger.OutcomeHistory},
	} {
		b := newBundle(t, bots, func(b *bundle) {
			ch := b.settings.Channels["test"]
			ch.AllowBots = policy
			b.settings.Channels["test"] = ch
		})
		unmentioned := fromBot("2", "")
		unmentioned.Mentioned = false
		require.Equal(t, want, [2]ledger.Outcome{b.hear(fromBot("1", "")).Outcome, b.hear(unmentioned).Outcome}, policy)
	}
}
