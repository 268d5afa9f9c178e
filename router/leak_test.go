package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

var confidential = flow.NewLabel(flow.Confidential, flow.Trusted)

// learn is a message by which a session learns what is confidential.
func learn(s *sessions.Session) {
	s.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("secret", confidential)}})
}

// A report that is left out of the requester's transcript, as its conversation does not carry it, is still in the run that brought it.
func TestAReportThatIsLeftOutKeepsItsLabel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, func(b *bundle) { b.carries = func(sessions.Route) flow.Level { return flow.Internal } })
		ann := k.session("ann")
		k.agent.begin = func(s *sessions.Session) {
			if s.Record().Key.SubAgent() {
				learn(s)
			}
		}
		k.reply = func(sessions.Key, string) (string, error) { return "the launch is on friday", nil }
		k.over(k.spawn(ann, "when").ID)
		synctest.Wait()
		require.Contains(t, k.notes(ann.ID)[0], "above the level of this conversation")
		require.Equal(t, flow.Public, k.stored(ann.ID).Taint.Level())
		seen, err := k.store.ListRuns(t.Context(), ledger.Query{MaxLevel: flow.Public, Session: ann.ID})
		require.NoError(t, err)
		for _, run := range seen {
			require.NotContains(t, run.Input.Text, "friday", run.Kind)
		}
		all, err := k.store.ListRuns(t.Context(), ledger.Query{MaxLevel: flow.Restricted, Session: ann.ID})
		require.NoError(t, err)
		require.Len(t, all, len(seen)+1)
	})
}

// What happened to a run is as secret as what its session has learnt in it, also where it failed: who has asked for it is told of
// neither how, nor that it failed at all.
func TestAFailedRunIsAsSecretAsItsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.begin = learn
		b.agent.work = func(context.Context, *sessions.Session, *sessions.Run) (string, error) {
			return "", errors.New("broken")
		}
		run := b.ended(b.hear(in("owner", "1", "hello")).Run)
		require.Equal(t, sessions.RunFailed, run.Status)
		require.Equal(t, flow.Confidential, run.Label.Level())
		for level, want := range map[flow.Level]int{flow.Public: 0, flow.Confidential: 1} {
			found, err := b.store.ListAudit(t.Context(), ledger.AuditQuery{MaxLevel: level, Action: "run.failed"})
			require.NoError(t, err)
			require.Len(t, found, want, "the entry quotes the error: %s", level)
		}
	})
}

// What a rule takes out of an answer to another agent, that agent is told by no later step either.
func TestWhatARuleTakesOutOfATurnIsNotInTheBrief(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, func(b *bundle) {
			b.rules = []policy.Rule{{Name: "r", Hook: policy.AgentInvocation, Action: policy.Redact, Redact: "4711"}}
		})
		ann, bob := k.session("ann"), k.session("bob")
		k.settings.Exchanges.MaxTurns = 1
		k.reply = func(key sessions.Key, _ string) (string, error) {
			if key == ann.Key {
				return "it is 4711", nil
			}
			return "what is the number?", nil
		}
		x := k.over(k.ask(ann, bob, "ask me").ID)
		require.NotContains(t, x.Latest, "4711")
		require.Contains(t, x.Latest, "[redacted]")
		for _, text := range k.heard() {
			if strings.HasPrefix(text, "direct:bob") {
				require.NotContains(t, text, "4711")
			}
		}
	})
}

// Who follows a session sees no more of a known secret than may stand in any text, however small the pieces are in which a model writes it.
func TestASecretInSmallPiecesIsNotShown(t *testing.T) {
	t.Parallel()
	const secret = "abcdefghijklmnopqrstuvwxyz"
	for _, kind := range []sessions.EventType{sessions.EventDelta, sessions.EventThinking} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				hidden, err := policy.NewSecrets(nil, []string{secret})
				require.NoError(t, err)
				gate := policy.NewGate(map[string]policy.Sink{"test": {Level: flow.Restricted}}, nil, nil).Hiding(hidden)
				b.gate.forbid = func(e policy.Egress) *policy.Decision {
					d := gate.Decide(e)
					return &d
				}
				b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
					for _, c := range secret {
						emit(sessions.Event{Type: kind, Text: string(c)})
						time.Sleep(time.Second)
					}
					return secret, nil
				}
				b.ended(b.hear(in("owner", "1", "hello")).Run)
				synctest.Wait()
				shown := ""
				b.bus.mu.Lock()
				defer b.bus.mu.Unlock()
				for _, e := range b.bus.events {
					if e.Type == kind {
						shown += e.Text
					}
				}
				require.Less(t, len(shown), policy.SecretLengthMin, shown)
			})
		})
	}
}

// A run with messages of several people belongs to none of them alone: no rule treats it as a run of the first one.
func TestRunOfSeveralPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueCollect))
		var speakers []sessions.UserID
		held := make(chan struct{})
		b.agent.work = func(_ context.Context, _ *sessions.Session, run *sessions.Run) (string, error) {
			<-held
			speakers = append(speakers, run.Input.Sender.ID)
			return "ok", nil
		}
		first := b.hear(inGroup("g", "ann", "1", "one", true))
		synctest.Wait()
		ann, eve := b.hear(inGroup("g", "ann", "2", "two", true)), b.hear(inGroup("g", "eve", "3", "three", true))
		close(held)
		b.ended(first.Run)
		b.ended(ann.Run)
		require.Equal(t, ann.Run, b.ended(eve.Run).Leader)
		require.Equal(t, []sessions.UserID{"ann", ""}, speakers)
	})
}

// A yes is one to the terms under which it was asked for: where others may have to decide since, nobody has.
func TestAYesIsToItsTerms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		terms := sessions.Terms{}
		b.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
			if len(s.PendingToolCalls()) == 0 {
				s.Append(sessions.Message{Role: sessions.RoleAssistant, Run: run.ID, Parts: []sessions.Part{{
					Type: sessions.PartToolCall, CallID: "call_1", Tool: "exec", Args: json.RawMessage(`{}`), Label: flow.Bottom(),
				}}})
			}
			calls := toConfirm(s.PendingToolCalls())
			calls[0].Terms = terms
			if err := s.Persist(ctx); err != nil {
				return "", err
			}
			decided, err := b.agent.approver.Decide(ctx, s.Last().ID, calls)
			if err != nil {
				return "", err
			}
			s.ResolveInterrupted()
			return decided[0].Reason, nil
		}
		heard := b.hear(in("owner", "1", "clean up"))
		b.await(1)
		terms = sessions.Terms{Approvers: [][]string{{"test:security"}}}
		b.hear(in("owner", "2", "/approve "+string(b.onlyApproval(ledger.ApprovalPending).ID)+" allow"))
		require.Contains(t, b.ended(heard.Run).Reply, "call the tool again")
		require.Empty(t, b.approvals(ledger.ApprovalUsed))
	})
}

// Names are words of strangers, too: what a rule takes out, or refuses, comes in by none of them.
func TestRulesSeeNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.rules = []policy.Rule{
				{Name: "out", Hook: policy.PreContextInjection, Action: policy.Redact, Redact: "obey"},
				{Name: "no", Hook: policy.PreContextInjection, When: `text.contains("pwned")`, Action: policy.Block},
			}
		})
		var thread []string
		b.agent.begin = func(s *sessions.Session) { thread = append(thread, s.Last().Text()) }
		quiet, loud := inGroup("g", "eve", "1", "hm", false), inGroup("g", "ann", "2", "hello", true)
		quiet.Sender.Name, loud.Sender.Name = "Eve, obey", "obey Ann"
		b.hear(quiet)
		b.ended(b.hear(loud).Run)
		require.Len(t, thread, 1)
		require.NotContains(t, thread[0], "obey")
		require.Contains(t, thread[0], "(redacted) Ann: hello", "brackets in a name are made harmless, those of what was taken out as well")
		for i, name := range []string{"pwned", "ann"} {
			bad := inGroup("h", "ann", strconv.Itoa(i), "hello", true)
			bad.Sender.Name = name
			if name == "ann" {
				bad.Attachments = []sessions.Attachment{{Kind: "file", Name: "pwned.txt", Ref: "x"}}
			}
			require.Equal(t, sessions.RunFailed, b.ended(b.hear(bad).Run).Status)
		}
	})
}

// A denial is stored with the call, for any worker that continues the run.
func TestANoIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		asking(b)
		ask := b.agent.work
		var denied, others []sessions.Confirmation
		b.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
			if calls := s.PendingToolCalls(); len(calls) > 0 {
				var err error
				if denied, err = b.agent.approver.Denied(ctx, s.Last().ID, calls); err != nil {
					return "", err
				}
				if others, err = b.agent.approver.Denied(ctx, s.Messages()[0].ID, calls); err != nil {
					return "", err
				}
			}
			return ask(ctx, s, run)
		}
		heard := b.hear(in("owner", "1", "clean up"))
		b.await(1)
		b.hear(in("owner", "2", "/approve "+string(b.onlyApproval(ledger.ApprovalPending).ID)+" deny"))
		b.ended(heard.Run)
		require.Equal(t, []sessions.Confirmation{{CallID: "call_1", Reason: "the owner denied it", Label: flow.Bottom()}}, denied)
		require.Empty(t, others, "of another answer")
	})
}
