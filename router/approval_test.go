package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

// asking makes an agent that asks for one tool call and answers with what was decided about it.
func asking(b *bundle) {
	b.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
		calls := s.PendingToolCalls()
		if len(calls) == 0 {
			s.Append(sessions.Message{Role: sessions.RoleAssistant, Run: run.ID, Parts: []sessions.Part{{
				Type: sessions.PartToolCall, CallID: "call_1", Tool: "exec", Args: json.RawMessage(`{"command":"rm ` + "```" + `"}`), Label: flow.Bottom(),
			}}})
			calls = s.PendingToolCalls()
		}
		if err := s.Persist(ctx); err != nil {
			return "", err
		}
		decided, err := b.agent.approver.Decide(ctx, s.Last().ID, toConfirm(calls))
		if err != nil {
			return "", err
		}
		b.agent.decided = decided
		s.ResolveInterrupted()
		return fmt.Sprintf("%s %v %s", decided[0].CallID, decided[0].Approved, decided[0].Reason), nil
	}
}

// whileAsked is a bundle whose owner has asked for something, and the approval that this waits for.
func whileAsked(t *testing.T) (*bundle, inbound.Admitted, ledger.Approval) {
	t.Helper()
	b := newBundle(t)
	asking(b)
	heard := b.hear(in("owner", "1", "clean up"))
	b.await(1)
	synctest.Wait()
	return b, heard, b.onlyApproval(ledger.ApprovalPending)
}

func toConfirm(calls []sessions.Part) []sessions.CallToConfirm {
	asked := make([]sessions.CallToConfirm, len(calls))
	for i, call := range calls {
		asked[i].Part, asked[i].Terms.Level = call, flow.Public
	}
	return asked
}

// approvals are those of a status.
func (b *bundle) approvals(status ledger.ApprovalStatus) []ledger.Approval {
	b.t.Helper()
	found, err := b.store.ListApprovals(context.Background(), ledger.Query{MaxLevel: flow.Restricted, Status: string(status)})
	require.NoError(b.t, err)
	return found
}

func (b *bundle) onlyApproval(status ledger.ApprovalStatus) ledger.Approval {
	b.t.Helper()
	found := b.approvals(status)
	require.Len(b.t, found, 1)
	return found[0]
}

// A call waits for its approval over a restart; the question is asked once.
func TestApprovalWaitsOverARestart(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"allow":                "call_1 true ",
		"deny":                 "call_1 false the owner denied it",
		"deny not on a Sunday": "call_1 false the owner denied it: not on a Sunday",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &rich{chat: newChat(), buttons: 5}
				b := newBundle(t, func(b *bundle) { b.chat, b.adapter = r.chat, r })
				asking(b)
				heard := b.hear(in("owner", "1", "clean up"))
				b.await(1)
				synctest.Wait()
				p := b.onlyApproval(ledger.ApprovalPending)
				require.Contains(t, b.chat.texts("owner")[0], "May I use `exec`?")
				require.Contains(t, b.chat.texts("owner")[0], "\n````\n{", "what is shown does not end the fence")
				asked := b.deliveries(ledger.DeliverySent)[0]
				require.Equal(t, []adapters.Button{
					{Label: "Allow", Value: "/approve " + string(p.ID) + " allow", Press: string(asked.ID) + "/0"},
					{Label: "Deny", Value: "/approve " + string(p.ID) + " deny", Press: string(asked.ID) + "/1"},
					{Label: "Always allow…", Value: "/approve " + string(p.ID) + " always", Press: string(asked.ID) + "/2"},
				}, r.sent[0].Buttons)
				b.restart()
				synctest.Wait()
				run, err := b.store.Run(t.Context(), heard.Run)
				require.NoError(t, err)
				require.Equal(t, sessions.RunRunning, run.Status)
				require.Zero(t, run.Attempts, "waiting is no attempt")
				b.hear(in("owner", "2", "/approve "+string(p.ID)+" "+word))
				require.Equal(t, want, b.ended(heard.Run).Reply)
				b.await(2)
				require.Len(t, b.chat.texts("owner"), 3, "question, answer to the command, answer of the run")
			})
		})
	}
}

func TestNobodyApprovesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.RunTimeout = time.Minute })
		asking(b)
		begun := time.Now()
		heard := b.hear(in("owner", "1", "clean up"))
		require.Equal(t, "call_1 false it was not approved in time", b.ended(heard.Run).Reply)
		require.Equal(t, 10*time.Minute, time.Since(begun).Round(time.Second), "the wait does not count as time of the run")
		p := b.onlyApproval(ledger.ApprovalDenied)
		require.Equal(t, "gateway", p.By)
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Owner: true})
		require.ErrorContains(t, err, "is already denied")
	})
}

// An approval does not cover what the session has learnt since the question.
func TestASessionLearnsWhileItsCallWaits(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"before the yes": true, "and nobody decides": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, heard, p := whileAsked(t)
				require.NoError(t, b.Learn(t.Context(), heard.Session, strangers, "token:ops"))
				if allowed {
					_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Actor: "test:owner", Owner: true})
					require.NoError(t, err)
				}
				require.Contains(t, b.ended(heard.Run).Reply, "call_1 false the conversation has learned more")
				require.Equal(t, "gateway", b.onlyApproval(ledger.ApprovalDenied).By)
			})
		})
	}
}

func TestStopEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, heard, _ := whileAsked(t)
		begun := time.Now()
		b.hear(in("owner", "2", "/stop"))
		require.Equal(t, sessions.RunAborted, b.ended(heard.Run).Status)
		require.Less(t, time.Since(begun), time.Minute)
		require.Equal(t, "the run has ended", b.onlyApproval(ledger.ApprovalDenied).Reason.Raw())
	})
}

// What is said while a call waits comes after it, and a call that was allowed is not run twice.
func TestMessagesWaitBehindAnApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, first, p := whileAsked(t)
		second := b.hear(in("owner", "2", "and then?"))
		got, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Actor: "operator", Owner: true})
		require.NoError(t, err)
		require.Equal(t, ledger.ApprovalAllowed, got.Status)
		require.Equal(t, "call_1 true ", b.ended(first.Run).Reply)
		require.Equal(t, ledger.ApprovalUsed, b.onlyApproval(ledger.ApprovalUsed).Status)
		synctest.Wait()
		next := b.onlyApproval(ledger.ApprovalPending)
		require.NotEqual(t, p.ID, next.ID, "the same call of another answer is another")
		_, err = b.Approvals.DecideApproval(t.Context(), next.ID, decider.Verdict{Actor: "operator", Owner: true})
		require.NoError(t, err)
		require.Equal(t, "call_1 false the owner denied it", b.ended(second.Run).Reply)
	})
}

// A call that may have begun when the process ended is not run again.
func TestAllowedCallIsUsedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, heard, p := whileAsked(t)
		ask := b.agent.work
		b.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
			if _, err := b.agent.approver.Decide(ctx, s.Last().ID, toConfirm(s.PendingToolCalls())); err != nil {
				return "", err
			}
			return ask(ctx, s, run) // asks again, as after a crash
		}
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Actor: "operator", Owner: true})
		require.NoError(t, err)
		require.Contains(t, b.ended(heard.Run).Reply, "call_1 false interrupted")
	})
}

func TestApproveCommandSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, p := whileAsked(t)
		for i, c := range []struct{ who, text, want string }{
			{"ann", "/approve " + string(p.ID) + " allow", "Only an owner can use /approve."},
			{"owner", "/approve", "Usage: `/approve ID allow`"},
			{"owner", "/approve " + string(p.ID), "Usage: "},
			{"owner", "/approve " + string(p.ID) + " maybe", "Usage: "},
			{"owner", "/approve apr_000000000000 allow", "No question has the id `apr_000000000000`."},
			{"owner", "/approve " + string(p.ID) + " deny " + strings.Repeat("x", 501), "reason: is 501 bytes"},
			{"owner", "/approve " + string(p.ID) + " allow", "Allowed: I will run `exec`."},
			{"owner", "/approve " + string(p.ID) + " deny", string(p.ID) + " is already allowed."},
		} {
			got := b.hear(in(c.who, fmt.Sprint(i+2), c.text))
			require.Contains(t, got.Notice, c.want, c.text)
			synctest.Wait()
		}
	})
}

// What is asked for in somebody's own chat is decided in the owner's.
func TestAnOwnerIsAskedElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		asking(b)
		heard := b.hear(in("ann", "1", "clean up"))
		b.await(1)
		require.Empty(t, b.chat.texts("ann"))
		require.Contains(t, b.chat.texts("owner")[0], "May I use")
		p := b.onlyApproval(ledger.ApprovalPending)
		b.hear(in("owner", "1", "/approve "+string(p.ID)+" allow"))
		require.Equal(t, "call_1 true ", b.ended(heard.Run).Reply)
	})
}

// A job has no chat: an owner is asked on a channel where one can be reached.
func TestAnOwnerIsAskedAboutAJobsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, doing(prompting("brief", "clean up", "ann")), asking)
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		p := b.onlyApproval(ledger.ApprovalPending)
		require.Len(t, b.chat.texts("owner"), 1)
		require.Contains(t, b.chat.texts("owner")[0], "May I use")
		b.hear(in("owner", "1", "/approve "+string(p.ID)+" allow"))
		synctest.Wait()
		require.Equal(t, []string{"call_1 true "}, b.chat.texts("ann"))
	})
}
