package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// talk is a router whose agents answer by what their session is told last; what
// each session was told is kept in order.
type talk struct {
	*bundle
	mu    sync.Mutex
	told  []string // "<key>: <text>"
	reply func(key sessions.Key, text string) (string, error)
}

// exchangeBounds are wide enough for most tests.
func exchangeBounds() place.ExchangeSettings {
	return place.ExchangeSettings{
		MaxTurns: announce.TurnsMax, MaxHops: 6, MaxSteps: 60, MaxTokens: 1_000_000, MaxAge: time.Hour,
		MaxTasks: 8, MaxChildren: 5, ArchiveAfter: time.Hour,
	}
}

func newTalk(t *testing.T, more ...func(*bundle)) *talk {
	t.Helper()
	k := &talk{}
	k.bundle = newBundle(t, func(b *bundle) {
		b.agent.work = k.work
		b.settings.Exchanges = exchangeBounds()
		b.settings.Keyer.Scope = sessions.ScopePerPeer
		b.settings.Owners = append(b.settings.Owners, "test:ann", "test:bob") // who may learn anything
		for _, change := range more {
			change(b)
		}
	})
	return k
}

func (k *talk) work(_ context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
	last := s.Last()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, s.Record().Key.Bare()+": "+last.Text())
	if k.reply == nil {
		return fmt.Sprintf("%s %d", run.Kind, len(k.told)), nil
	}
	return k.reply(s.Record().Key, last.Text())
}

// session begins a direct chat with a person and returns its session.
func (k *talk) session(who string) sessions.Record {
	k.t.Helper()
	k.ended(k.hear(in(who, "first", "hello")).Run)
	record, err := k.store.SessionByKey(context.Background(), sessions.Key("agent:main:direct:"+who))
	require.NoError(k.t, err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = nil
	return record
}

func caller(r sessions.Record) sessions.Caller {
	return sessions.Caller{Session: r.ID, Key: r.Key, Agent: r.Agent, Taint: r.Taint, Clearance: r.Clearance, Route: r.Route}
}

// ask begins an exchange.
func (k *talk) ask(from, to sessions.Record, text string) ledger.Exchange {
	k.t.Helper()
	x, err := k.Exchanges().Start(context.Background(), exchange.Ask{
		Kind: announce.Send, Caller: caller(from), Target: to, Text: text, Label: from.Taint, Key: "tool/" + text,
	})
	require.NoError(k.t, err)
	return x
}

// over waits until an exchange has ended.
func (k *talk) over(id string) ledger.Exchange {
	k.t.Helper()
	for {
		x, err := k.store.Exchange(context.Background(), id)
		require.NoError(k.t, err)
		if x.Phase == announce.Ended {
			return x
		}
		k.ended(x.Run)
	}
}

func (k *talk) heard() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.told...)
}

func TestExchangeTakesTurnsAndAnnounces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.settings.Exchanges.MaxTurns = 3
		x := k.over(k.ask(ann, bob, "how many?").ID)
		require.Equal(t, announce.Announced, x.Outcome, x.Detail)
		require.Equal(t, []string{
			"direct:bob: how many?", "direct:ann: ask 1", "direct:bob: reply 2", "direct:ann: reply 3",
			"direct:bob: Now write what the people in this conversation should know about this exchange.",
		}, k.heard())
		k.await(3)
		require.Equal(t, []string{"echo: hello", "announce 5"}[1:], k.chat.texts("bob")[1:], "it is announced where the target speaks")
		require.Len(t, k.chat.texts("ann"), 1, "the requester's people see none of it")
		require.Equal(t, []sessions.ID{ann.ID}, x.Chain.Hops)
		again := k.ask(ann, bob, "how many?")
		require.Equal(t, x.ID, again.ID, "the same call is the same exchange")
		record, err := k.store.Session(t.Context(), bob.ID)
		require.NoError(t, err)
		require.Equal(t, bob.Route, record.Route, "steps don't change where a session speaks")
		messages, err := k.store.Thread(t.Context(), record)
		require.NoError(t, err)
		for _, m := range messages[2:] {
			require.NotEqual(t, sessions.RoleUser, m.Role, "no step is a person's message")
		}
	})
}

func TestExchangeEndsEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply   map[string]string
		fail    string
		outcome announce.Outcome
		detail  string
		shown   []string
	}{
		"skipped":          {map[string]string{"how many?": "seven", "seven": "REPLY_SKIP"}, "", announce.Announced, "", []string{"done"}},
		"silent":           {map[string]string{"how many?": "seven", "seven": "REPLY_SKIP", "Now write": "ANNOUNCE_SKIP"}, "", announce.Silent, "", nil},
		"no answer":        {map[string]string{"how many?": "NO_REPLY"}, "", announce.NoAnswer, "nothing to say", nil},
		"failed":           {nil, "how many?", announce.Failed, "the target's run ended as failed: Something went wrong", nil},
		"a turn fails":     {map[string]string{"how many?": "seven"}, "seven", announce.Announced, "", []string{"done"}},
		"announcing fails": {map[string]string{"how many?": "seven", "seven": "REPLY_SKIP"}, "Now write", announce.Failed, "the announcement ended as failed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newTalk(t)
				ann, bob := k.session("ann"), k.session("bob")
				k.reply = func(_ sessions.Key, text string) (string, error) {
					if c.fail != "" && strings.HasPrefix(text, c.fail) {
						return "", errors.New("no model")
					}
					for said, reply := range c.reply {
						if strings.HasPrefix(text, said) {
							return reply, nil
						}
					}
					return "done", nil
				}
				x := k.over(k.ask(ann, bob, "how many?").ID)
				require.Equal(t, c.outcome, x.Outcome)
				require.Contains(t, x.Detail, c.detail)
				synctest.Wait()
				require.Equal(t, c.shown, append([]string(nil), k.chat.texts("bob")[1:]...))
			})
		})
	}
}

// Whatever was stored last: a process that dies and comes back goes on there, and repeats no step.
func TestExchangeGoesOnAfterADeathAtAnyCommit(t *testing.T) {
	t.Parallel()
	var undisturbed []string
	for n := range 14 {
		t.Run(fmt.Sprint("after commit ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newTalk(t)
				ann, bob := k.session("ann"), k.session("bob")
				k.settings.Exchanges.MaxTurns = 5
				k.await(2)
				id := k.ask(ann, bob, "how many?").ID
				for range n {
					synctest.Wait() // as far as it comes
					k.restart()
				}
				x := k.over(id)
				k.await(1)
				require.Equal(t, announce.Announced, x.Outcome)
				if n == 0 {
					undisturbed = k.heard()
				}
				require.Equal(t, undisturbed, k.heard())
				require.Len(t, k.chat.texts("bob"), 2)
			})
		})
	}
}

func TestSecretsDoNotComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.agent.begin = func(s *sessions.Session) {
			if s.Record().ID == bob.ID { // it learns something on the way
				s.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("secret", flow.NewLabel(flow.Confidential, flow.Trusted))}})
			}
		}
		x := k.over(k.ask(ann, bob, "how many?").ID)
		require.Contains(t, x.Detail, "above the other's clearance")
		require.Zero(t, countPrefix(k.heard(), "direct:ann"))
	})
}

func countPrefix(texts []string, prefix string) int {
	n := 0
	for _, text := range texts {
		if strings.HasPrefix(text, prefix) {
			n++
		}
	}
	return n
}

func TestCircleIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob, cid := k.session("ann"), k.session("bob"), k.session("cid")
		first := k.ask(ann, bob, "one")
		onward := caller(bob)
		onward.Chain = first.Chain
		second, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: onward, Target: cid, Text: "two", Label: bob.Taint, Key: "two"})
		require.NoError(t, err)
		back := caller(cid)
		back.Chain = second.Chain
		_, err = k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: back, Target: ann, Text: "three", Label: cid.Taint, Key: "three"})
		require.ErrorContains(t, err, "came from that session")
		k.over(first.ID)
		k.over(second.ID)
	})
}

// A sub-agent may always speak to its parent, see docs/agents.md. Its parent may answer; nobody can go on like this for ever.
func TestSubAgentSpeaksToItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, cid := k.session("ann"), k.session("cid")
		k.settings.Exchanges.MaxHops = 4
		child := k.Router.Places().NewSubAgent(ann, "main", "", "prices", ann.Taint)
		task, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Spawn, Caller: caller(ann), Target: child, Create: true, Text: "look", Label: ann.Taint, Key: "spawn"})
		require.NoError(t, err)
		who := caller(child)
		who.Chain, who.Run = task.Chain, task.Run
		word, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: who, Target: ann, Text: "which shop?", Label: ann.Taint, Key: "word"})
		require.NoError(t, err)
		require.Equal(t, []sessions.ID{ann.ID, child.ID}, word.Chain.Hops)
		k.over(word.ID)
		require.Positive(t, countPrefix(k.heard(), "direct:ann: which shop?"), "%v", k.heard())

		back := caller(ann)
		back.Chain, back.Run = word.Chain, word.First
		_, err = k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: back, Target: child, Text: "that one", Label: ann.Taint, Key: "back"})
		require.ErrorContains(t, err, "came from that session", "the parent answers instead")
		aside := caller(cid)
		aside.Chain = word.Chain
		_, err = k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: aside, Target: ann, Text: "x", Label: ann.Taint, Key: "aside"})
		require.ErrorContains(t, err, "came from that session", "nobody else may")
		k.over(task.ID)
	})
}

// A parent that waits for its sub-agent's answer is not asked back: each would wait for the other.
func TestSubAgentAnswersItsParentInstead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		child := k.Router.Places().NewSubAgent(ann, "main", "", "prices", ann.Taint)
		task, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Spawn, Caller: caller(ann), Target: child, Create: true, Text: "look", Label: ann.Taint, Key: "spawn"})
		require.NoError(t, err)
		k.over(task.ID)
		asked := k.ask(ann, child, "how far?")
		who := caller(child)
		who.Chain, who.Run = asked.Chain, asked.Run
		_, err = k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: who, Target: ann, Text: "what?", Label: ann.Taint, Key: "word"})
		require.ErrorContains(t, err, "came from that session")
		k.over(asked.ID)
	})
}

// A sub-agent and its parent that speak to each other for ever are stopped by the chain's bounds.
func TestTalkWithAParentEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.settings.Exchanges.MaxHops, k.settings.Exchanges.MaxTurns = 4, 0
		chain, parent := sessions.Chain{}, caller(ann)
		for i := range 10 {
			parent.Chain = chain
			child := k.Router.Places().NewSubAgent(ann, "main", "", "prices", ann.Taint)
			task, err := k.Exchanges().Start(t.Context(), exchange.Ask{
				Kind: announce.Spawn, Caller: parent, Target: child, Create: true, Text: "look", Label: ann.Taint, Key: fmt.Sprintf("spawn %d", i),
			})
			if err != nil {
				require.ErrorContains(t, err, "session.agentToAgent.maxHops")
				require.Equal(t, 2, i)
				return
			}
			who := caller(child)
			who.Chain, who.Run = task.Chain, task.Run
			word, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: who, Target: ann, Text: "?", Label: ann.Taint, Key: fmt.Sprintf("word %d", i)})
			require.NoError(t, err)
			k.over(task.ID)
			k.over(word.ID)
			chain = word.Chain
		}
		require.Fail(t, "it went on for ever")
	})
}

func TestChainHasABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.settings.Exchanges.MaxSteps = 3
		x := k.over(k.ask(ann, bob, "one").ID)
		require.Equal(t, announce.Stopped, x.Outcome)
		require.Contains(t, x.Detail, "maximum number of steps")
		require.Len(t, k.heard(), 3)
		spent := caller(ann)
		spent.Chain = sessions.Chain{ID: x.Chain.ID}
		_, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: spent, Target: bob, Text: "two", Label: ann.Taint, Key: "two"})
		require.ErrorContains(t, err, "maximum number of steps")
	})
}

func TestTaskIsReportedToItsRequester(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.await(1)
		child := k.Router.Places().NewSubAgent(ann, "main", "", "prices", ann.Taint)
		who := caller(ann)
		who.Audience = sessions.AudienceOwner
		x, err := k.Exchanges().Start(t.Context(), exchange.Ask{
			Kind: announce.Spawn, Caller: who, Target: child, Create: true, Text: "look", Label: ann.Taint, Key: "spawn",
			Task: exchange.Task{Name: "prices"},
		})
		require.NoError(t, err)
		x = k.over(x.ID)
		require.Equal(t, sessions.AudienceOwner, x.Audience, "the sub-agent reads what its requester may read")
		require.Equal(t, announce.Announced, x.Outcome)
		k.await(1)
		report := k.chat.texts("ann")[1]
		require.True(t, strings.HasPrefix(report, "**Status:** success (prices)\n\n**Result:** report 2\n\n_runtime"), report)
		synctest.Wait()
		record, err := k.store.Session(t.Context(), ann.ID)
		require.NoError(t, err)
		messages, err := k.store.Thread(t.Context(), record)
		require.NoError(t, err)
		last := messages[len(messages)-1]
		require.Equal(t, sessions.RoleAgent, last.Role, "the requester's agent knows of it")
		require.Equal(t, report, last.Text())
		require.Equal(t, 1, countPrefix(k.heard(), "subagent:"+string(child.Key)[len("agent:main:subagent:"):]+": look"))
	})
}

func TestStopStopsSubAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.agent.work = func(ctx context.Context, _ *sessions.Session, _ *sessions.Run) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		child := k.Router.Places().NewSubAgent(ann, "main", "", "", ann.Taint)
		x, err := k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Spawn, Caller: caller(ann), Target: child, Create: true, Text: "look", Label: ann.Taint, Key: "spawn"})
		require.NoError(t, err)
		synctest.Wait()
		got := k.hear(in("ann", "2", "/stop"))
		require.Contains(t, got.Notice, "including all sub-agents of this conversation")
		require.Equal(t, sessions.RunAborted, k.ended(x.First).Status)
		x, err = k.store.Exchange(t.Context(), x.ID)
		require.NoError(t, err)
		require.Equal(t, announce.Stopped, x.Outcome)
	})
}

func TestTasksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.settings.Exchanges.MaxTasks, k.settings.Exchanges.MaxChildren = 2, 3
		working, most := 0, 0
		k.agent.work = func(_ context.Context, _ *sessions.Session, run *sessions.Run) (string, error) {
			if run.Kind != sessions.KindTask {
				return "done", nil
			}
			k.mu.Lock()
			working++
			most = max(most, working)
			k.mu.Unlock()
			time.Sleep(time.Minute)
			k.mu.Lock()
			working--
			k.mu.Unlock()
			return "done", nil
		}
		spawn := func(key string) (ledger.Exchange, error) {
			child := k.Router.Places().NewSubAgent(ann, "main", "", key, ann.Taint)
			return k.Exchanges().Start(t.Context(), exchange.Ask{
				Kind: announce.Spawn, Caller: caller(ann), Target: child, Create: true, Text: key, Label: ann.Taint, Key: key, Task: exchange.Task{Name: key, Discard: true},
			})
		}
		var started []ledger.Exchange
		for i := range 3 {
			x, err := spawn(fmt.Sprint("task ", i))
			require.NoError(t, err)
			started = append(started, x)
		}
		_, err := spawn("one more")
		require.ErrorContains(t, err, "maxChildren")
		for _, x := range started {
			x = k.over(x.ID)
			child, err := k.store.Session(t.Context(), x.Target.Session)
			require.NoError(t, err)
			require.False(t, child.Ended.IsZero(), "it was to be discarded")
		}
		require.Equal(t, 2, most)
	})
}
