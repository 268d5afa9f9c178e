package router_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/request"
	"sluice/sessions"
)

func TestMessageIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		m := in("ann", "1", "hello")
		first := b.hear(m)
		require.Equal(t, ledger.OutcomeRun, first.Outcome)
		b.await(1)
		require.Equal(t, []string{"echo: hello"}, b.chat.texts("ann"))
		run := b.ended(first.Run)
		require.Equal(t, sessions.RunDone, run.Status)
		require.Equal(t, "echo: hello", run.Reply)
		synctest.Wait() // events follow the commit
		require.Equal(t, []sessions.EventType{sessions.EventUser, sessions.EventStarted, sessions.EventDone}, b.bus.seen(first.Run))

		again := b.hear(m)
		require.True(t, again.Repeat)
		require.Equal(t, first.Run, again.Run)
		b.restart()
		require.True(t, b.hear(m).Repeat)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts(""), 1)
		sent := b.deliveries(ledger.DeliverySent)
		require.Len(t, sent, 1)
		require.Equal(t, sessions.PlatformMessageID("1"), sent[0].Route.ReplyTo, "the answer refers to the message")
	})
}

// One chat in order; many chats beside each other, in about the time of one.
func TestOrderWithinAndParallelAcrossChats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = func(ctx context.Context, text string, _ func(sessions.Event)) (string, error) {
			time.Sleep(2 * time.Second)
			return text, ctx.Err()
		}
		begun := time.Now()
		const chats, each = 30, 3
		for n := range each {
			for c := range chats {
				b.hear(in(fmt.Sprint("p", c), fmt.Sprint(n), fmt.Sprint("text ", n)))
			}
		}
		b.await(chats * each)
		require.Less(t, time.Since(begun), each*2*time.Second+time.Second)
		for c := range chats {
			require.Equal(t, []string{"text 0", "text 1", "text 2"}, b.chat.texts(fmt.Sprint("p", c)))
		}
	})
}

// busy makes the agent wait with its first answer until release is called.
func (b *bundle) busy() (release func()) {
	held := make(chan struct{})
	b.agent.answer = func(ctx context.Context, text string, emit func(sessions.Event)) (string, error) {
		select {
		case <-held:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return echo(ctx, text, emit)
	}
	return sync.OnceFunc(func() { close(held) })
}

func TestCollectMakesOneRunOfWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Queue = queue.Settings{Mode: sessions.QueueCollect, Cap: 20, Debounce: 500 * time.Millisecond}
		})
		release := b.busy()
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		runs := []sessions.RunID{b.hear(in("ann", "2", "two")).Run, b.hear(in("ann", "3", "three")).Run}
		release()
		b.await(2)
		require.Equal(t, []string{"echo: one", "echo: two | three"}, b.chat.texts("ann"))
		for _, id := range runs {
			require.Equal(t, sessions.RunDone, b.ended(id).Status)
		}
		require.Equal(t, runs[0], b.ended(runs[1]).Leader)
	})
}

func TestFollowupAnswersEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.busy()
		for i, text := range []string{"one", "two", "three"} {
			b.hear(in("ann", fmt.Sprint(i), text))
		}
		release()
		b.await(3)
		require.Equal(t, []string{"echo: one", "echo: two", "echo: three"}, b.chat.texts("ann"))
	})
}

func TestOverflowIsTold(t *testing.T) {
	t.Parallel()
	for _, dropNew := range []bool{false, true} {
		t.Run(fmt.Sprint("new=", dropNew), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.settings.Queue.Cap, b.settings.Queue.DropNew = 2, dropNew })
				release := b.busy()
				b.hear(in("ann", "0", "working"))
				synctest.Wait()
				var last inbound.Admitted
				for i := range 4 {
					last = b.hear(in("ann", fmt.Sprint(i+1), fmt.Sprint("waits ", i)))
				}
				synctest.Wait()
				told := b.chat.texts("ann")
				again := in("ann", "4", "waits 3")
				require.True(t, b.hear(again).Repeat)
				require.Equal(t, 2, b.counted("sluice_router_queue_dropped_total", map[bool]string{false: "old", true: "new"}[dropNew]), "a repeated event drops nothing")
				release()
				if dropNew {
					require.Len(t, told, 2, "each refused message is told")
					require.Contains(t, told[0], "did not accept")
					require.Equal(t, ledger.OutcomeIgnored, last.Outcome)
					b.await(5)
					require.Equal(t, []string{"echo: working", "echo: waits 0", "echo: waits 1"}, b.chat.texts("ann")[2:])
					return
				}
				require.Len(t, told, 1, "told once while the same turn holds the queue up")
				require.Contains(t, told[0], "waits 0")
				b.await(4)
				require.Equal(t, []string{"echo: working", "echo: waits 2", "echo: waits 3"}, b.chat.texts("ann")[1:])
				dropped, err := b.store.ListRuns(t.Context(), ledger.Query{MaxLevel: flow.Restricted, Status: string(sessions.RunDropped)})
				require.NoError(t, err)
				require.Len(t, dropped, 2, "what was left out stays visible")
			})
		})
	}
}

func TestEditReplacesWhatStillWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.busy()
		b.hear(in("ann", "1", "first"))
		synctest.Wait()
		b.hear(in("ann", "2", "the sekond"))
		edit := in("ann", "2", "the second")
		edit.Event, edit.Edited = "chat-ann/2/edit/1", true
		b.hear(edit)
		same := edit
		same.Event = "chat-ann/2/edit/2"
		require.Equal(t, ledger.OutcomeIgnored, b.hear(same).Outcome, "an edit that changes nothing")
		release()
		b.await(2)
		late := in("ann", "1", "first, but other")
		late.Event, late.Edited = "chat-ann/1/edit/1", true
		b.hear(late)
		b.await(1)
		require.Equal(t, []string{"echo: first", "echo: the second", "echo: first, but other"}, b.chat.texts("ann"))
	})
}

func TestAccess(t *testing.T) {
	t.Parallel()
	direct := in("ann", "1", "hi")
	group := inGroup("g1", "ann", "1", "hi", true)
	quiet := inGroup("g1", "ann", "1", "hi", false)
	owners := inGroup("g1", "owner", "1", "/send off", false)
	for name, c := range map[string]struct {
		channel place.ChannelSettings
		event   func() inbound.Admission
		want    ledger.Outcome
	}{
		"open":                        {place.ChannelSettings{DMPolicy: place.AccessOpen}, admission(direct), ledger.OutcomeRun},
		"disabled":                    {place.ChannelSettings{DMPolicy: place.AccessDisabled}, admission(direct), ledger.OutcomeIgnored},
		"listed":                      {place.ChannelSettings{DMPolicy: place.AccessAllowlist, AllowFrom: []string{"ann"}}, admission(direct), ledger.OutcomeRun},
		"anyone is listed":            {place.ChannelSettings{DMPolicy: place.AccessAllowlist, AllowFrom: []string{"*"}}, admission(direct), ledger.OutcomeRun},
		"not listed":                  {place.ChannelSettings{DMPolicy: place.AccessAllowlist}, admission(direct), ledger.OutcomeIgnored},
		"unpaired":                    {place.ChannelSettings{DMPolicy: place.AccessPairing}, admission(direct), ledger.OutcomePairing},
		"nothing set":                 {place.ChannelSettings{}, admission(direct), ledger.OutcomeIgnored},
		"group open":                  {place.ChannelSettings{GroupPolicy: place.AccessOpen}, admission(group), ledger.OutcomeRun},
		"group not listed":            {place.ChannelSettings{GroupPolicy: place.AccessAllowlist}, admission(group), ledger.OutcomeIgnored},
		"group listed":                {place.ChannelSettings{GroupPolicy: place.AccessAllowlist, Groups: listed("g1", true)}, admission(group), ledger.OutcomeRun},
		"not mentioned":               {place.ChannelSettings{GroupPolicy: place.AccessAllowlist, Groups: listed("g1", true)}, admission(quiet), ledger.OutcomeHistory},
		"needs no mention":            {place.ChannelSettings{GroupPolicy: place.AccessAllowlist, Groups: listed("g1", false)}, admission(quiet), ledger.OutcomeRun},
		"group disabled":              {place.ChannelSettings{GroupPolicy: place.AccessDisabled, Groups: listed("g1", false)}, admission(group), ledger.OutcomeIgnored},
		"owner commands in any group": {place.ChannelSettings{GroupPolicy: place.AccessDisabled}, admission(owners), ledger.OutcomeCommand},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, func(b *bundle) { b.settings.Channels["test"] = c.channel })
			got, err := b.Intake.Admit(t.Context(), c.event())
			require.NoError(t, err)
			require.Equal(t, c.want, got.Outcome)
		})
	}
	b := newBundle(t)
	bot := direct
	bot.Sender.Bot = true
	require.Equal(t, ledger.OutcomeIgnored, b.hear(bot).Outcome)
	elsewhere := direct
	elsewhere.Route.Channel = "fax"
	require.Equal(t, ledger.OutcomeIgnored, b.hear(elsewhere).Outcome)
}

func admission(m adapters.Inbound) func() inbound.Admission {
	return func() inbound.Admission { return inbound.Admission{Inbound: m} }
}

func listed(group string, mention bool) map[string]place.GroupSettings {
	return map[string]place.GroupSettings{group: {RequireMention: mention}}
}

func TestGroupHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		for i := range 60 {
			b.hear(inGroup("g1", "ann", fmt.Sprint(i), fmt.Sprint("chatter ", i), false))
		}
		b.restart()
		b.hear(inGroup("g1", "bob", "100", "what do you think?", true))
		b.await(1)
		text := b.chat.texts("g1")[0]
		require.NotContains(t, text, "chatter 9\n", "only the newest fifty are kept")
		require.Contains(t, text, "ann: chatter 10\n")
		require.Contains(t, text, "ann: chatter 59")
		require.Contains(t, text, "bob: what do you think?")

		b.hear(inGroup("g1", "bob", "101", "and now?", true))
		b.await(1)
		require.NotContains(t, b.chat.texts("g1")[1], "chatter", "what an answer has taken over is not told again")
	})
}

func TestLabelsFollowTheConversation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.gate.level = flow.Confidential })
		guest := b.ended(b.hear(in("ann", "1", "hi")).Run)
		require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), guest.Label)
		owner := b.ended(b.hear(in("owner", "1", "hi")).Run)
		require.Equal(t, flow.NewLabel(flow.Confidential, flow.Trusted), owner.Label)
		b.await(2)
		synctest.Wait()
		for _, d := range b.deliveries(ledger.DeliverySent) {
			require.Equal(t, flow.Confidential, d.Label.Level())
		}
	})
}

func TestBadInputLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.hear(in("ann", "1", strings.Repeat("x", 1<<20)))
		b.await(1)
		require.Contains(t, b.chat.texts("ann")[0], "too long")
		b.hear(in("ann", "2", "caf\xe9 \x00 au lait"))
		b.await(1)
		require.Equal(t, "echo: caf\uFFFD  au lait", b.chat.texts("ann")[1])
		require.Equal(t, ledger.OutcomeIgnored, b.hear(in("ann", "3", "")).Outcome)

		b.StopIntake()
		_, err := b.Intake.Admit(t.Context(), inbound.Admission{Inbound: in("ann", "4", "late")})
		require.ErrorIs(t, err, request.ErrStopping)
	})
}

func TestGroupMovesToANewID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Channels["test"] = place.ChannelSettings{GroupPolicy: place.AccessAllowlist, Groups: listed("g1", true)}
		})
		before := b.hear(inGroup("g1", "ann", "1", "hi", true))
		b.await(1)
		move := inGroup("g2", "ann", "2", "", true)
		move.Migrated = &adapters.Migration{From: "g1", To: "g2"}
		require.Equal(t, ledger.OutcomeMoved, b.hear(move).Outcome)
		after := b.hear(inGroup("g2", "ann", "3", "still there?", true))
		require.Equal(t, before.Session, after.Session, "the session goes on")
		b.await(1)
		require.Len(t, b.chat.texts("g2"), 1)
	})
}
