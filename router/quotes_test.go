package router_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/sessions"
)

// modelSetTo has a session's agent, which knows what is CONFIDENTIAL, set its model.
func (b *bundle) modelSetTo(id sessions.ID, name string) {
	b.t.Helper()
	set := flow.NewText(name, confidential)
	require.NoError(b.t, b.store.CommitSession(b.t.Context(), sessions.Change{Patch: []sessions.Patch{{ID: id, Model: &set}}}))
}

// A model that a session has been given is as secret as what was known to who gave it, and so is that it was taken back.
func TestAModelIsAsSecretAsWhoSetIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.carrying(flow.Internal)
		id := b.hear(in("owner", "1", "hello")).Session
		b.await(1)
		for i, name := range []string{"test/other", "test/more", ""} {
			b.modelSetTo(id, name)
			n := string(rune('a' + i))
			require.Equal(t, "Model: set for this session, but not shown here. The agent's own model is `test/model`; `/model default` returns to it.", b.hear(in("owner", "m"+n, "/model")).Notice)
			require.Contains(t, b.hear(in("owner", "s"+n, "/status")).Notice, "- agent main, model not shown here\n")
		}
		group := b.hear(inGroup("g1", "owner", "1", "hello", true)).Session
		b.await(1)
		for i, name := range []string{"test/other", ""} { // where others read it, as if it was not set
			b.modelSetTo(group, name)
			n := string(rune('a' + i))
			require.Equal(t, "Model: `test/model` (the agent's own).", b.hear(inGroup("g1", "owner", "m"+n, "/model", true)).Notice)
			require.Contains(t, b.hear(inGroup("g1", "owner", "s"+n, "/status", true)).Notice, "- agent main, model `test/model`\n")
		}
		b.modelSetTo(id, "test/other")
		b.carrying(flow.Confidential)
		said := b.hear(in("owner", "2", "/model"))
		require.Contains(t, said.Notice, "`test/other` (set for this session")
		answer, err := b.store.Delivery(t.Context(), said.NoticeID)
		require.NoError(t, err)
		require.Equal(t, confidential, answer.Label, "an answer is as secret as what it quotes")
		require.Contains(t, b.hear(in("owner", "3", "/model default")).Notice, "answers again: `test/model`")
		b.carrying(flow.Public)
		require.Contains(t, b.hear(in("owner", "4", "/model")).Notice, "not shown here", "said where more may be said")
	})
}

// A model that the configuration does not know is refused, with those that it does know.
func TestModelCommandNamesWhatMayBeChosen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		id := b.hear(in("owner", "1", "hello")).Session
		b.await(1)
		require.Equal(t, "No model test/the-secret may be chosen: want one of test/other, test/more.", b.hear(in("owner", "2", "/model test/the-secret")).Notice)
		record, err := b.store.Session(t.Context(), id)
		require.NoError(t, err)
		require.True(t, record.Model.Empty())
	})
}

// used has a session use tokens.
func (b *bundle) used(id sessions.ID, in int, taint flow.Label) {
	b.t.Helper()
	record, err := b.store.Session(b.t.Context(), id)
	require.NoError(b.t, err)
	record.Usage, record.ContextSize, record.Taint = sessions.Usage{InputTokens: in, OutputTokens: in / 100, CachedTokens: in / 4}, 4321, taint
	require.NoError(b.t, b.store.CommitSession(b.t.Context(), sessions.Change{Save: []sessions.Record{record}}))
}

// Exact numbers of tokens are told to an owner in private alone, and there as far as the place carries what the session knows. Others are
// told a magnitude, whatever the session knows.
func TestWhoIsToldHowManyTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.carrying(flow.Internal)
		owner, guest := b.hear(in("owner", "1", "hello")).Session, b.hear(in("ann", "1", "hello")).Session
		group := b.hear(inGroup("g1", "owner", "1", "hello", true)).Session
		b.await(3)
		const exact, rough = "- tokens in: 23456 (25% from the provider's cache)\n- tokens out: 234\n- context: 4321\n- cost: 1.25 USD", "- tokens in: more than 10,000\n- tokens out: less than 1,000"
		for n, taint := range []flow.Label{flow.Bottom(), confidential} {
			for _, id := range []sessions.ID{owner, guest, group} {
				b.used(id, 23456, taint)
				call := spending.Call{ID: fmt.Sprint(id, n), Origin: spending.Origin{Session: id}, Level: taint.Level(), Outcome: spending.OutcomeOK, Cost: spending.One * 5 / 8 * spending.Money(2-n), Currency: "USD", Priced: true}
				require.NoError(t, b.store.Post(t.Context(), &spending.Posting{Call: call}))
			}
			want := exact
			if !taint.FlowsTo(flow.Internal) {
				want = rough
			}
			id := string(rune('a' + n))
			require.Equal(t, want, b.hear(in("owner", "u"+id, "/usage")).Notice)
			require.Contains(t, b.hear(in("owner", "v"+id, "/status")).Notice, want)
			require.Equal(t, rough, b.hear(in("ann", "w"+id, "/usage")).Notice)
			require.Equal(t, rough, b.hear(inGroup("g1", "owner", "x"+id, "/usage", true)).Notice)
			require.Contains(t, b.hear(inGroup("g1", "ann", "y"+id, "/status", true)).Notice, rough)
		}
	})
}

// Who decides about a call reads which tool it is where that may be said.
func TestApproveNamesTheToolWhereItMayBeSaid(t *testing.T) {
	t.Parallel()
	for level, want := range map[flow.Level]string{flow.Confidential: "Denied: I will not run `exec`.", flow.Internal: "Denied: I will not run it."} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				b.carrying(flow.Confidential) // what is said there is CONFIDENTIAL
				asking(b)
				heard := b.hear(in("owner", "1", "clean up"))
				b.await(1)
				synctest.Wait()
				b.carrying(level)
				asked := b.onlyApproval(ledger.ApprovalPending)
				require.Equal(t, confidential, asked.Label)
				require.Equal(t, want, b.hear(in("owner", "2", "/approve "+string(asked.ID)+" deny")).Notice)
				b.ended(heard.Run)
			})
		})
	}
}

// reading makes an agent that asks for one tool call, and reads why it was denied.
func reading(b *bundle) {
	asking(b)
	ask := b.agent.work
	b.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
		if _, err := ask(ctx, s, run); err != nil {
			return "", err
		}
		s.Raise(b.agent.decided[0].Label)
		return b.agent.decided[0].Reason, nil
	}
}

// A reason is labelled with where it was typed: a session reads it where it may rise to that and still speak in its own conversation.
func TestAReasonIsAsSecretAsWhereItWasTyped(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		typed flow.Label
		want  string
		taint flow.Label
	}{
		"where as much may be said":     {flow.NewLabel(flow.Internal, flow.Trusted), "the owner denied it: it is the merger", flow.NewLabel(flow.Internal, flow.Trusted)},
		"where more may be said":        {flow.NewLabel(flow.Restricted, flow.Trusted), "it was denied; the reason is above the level of this conversation", flow.NewLabel(flow.Internal, flow.Trusted)},
		"by somebody who is no owner":   {flow.NewLabel(flow.Public, flow.Untrusted), "the owner denied it: it is the merger", flow.NewLabel(flow.Internal, flow.Untrusted)},
		"by who has lost its own label": {flow.Label{}, "it was denied; the reason is above the level of this conversation", flow.NewLabel(flow.Internal, flow.Trusted)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.carries = func(sessions.Route) flow.Level { return flow.Internal } })
				b.carrying(flow.Internal)
				reading(b)
				heard := b.hear(in("owner", "1", "clean up"))
				b.await(1)
				synctest.Wait()
				asked := b.onlyApproval(ledger.ApprovalPending)
				_, err := b.Approvals.DecideApproval(t.Context(), asked.ID, decider.Verdict{Reason: flow.NewText("it is the merger", tc.typed), Actor: "operator", Owner: true})
				require.NoError(t, err)
				run := b.ended(heard.Run)
				require.Equal(t, tc.want, run.Reply)
				require.Equal(t, tc.taint, run.Label)
			})
		})
	}
}

// How a run failed is up to its agent, who could tell something by it: where what the session knows may not be said, every failure is the same but for
// the one about which an owner must do something.
func TestAFailureTellsNothingOfWhatASessionKnows(t *testing.T) {
	t.Parallel()
	const kept = "I could not answer. My owner can see why with `sluice runs list --status failed`, or start a new session with /new."
	empty := &sessions.WorkError{Status: sessions.RunFailed, Public: "My model gave an empty reply.", Err: errors.New("empty")}
	long := &sessions.WorkError{Status: sessions.RunFailed, Public: "This is too long for my model.", Err: errors.New("long")}
	level := &sessions.WorkError{Status: sessions.RunFailed, Public: "An owner can raise classification.", Err: sessions.ErrModelLevel}
	for name, tc := range map[string]struct {
		why   *sessions.WorkError
		taint flow.Label
		want  string
	}{
		"known":               {empty, flow.Bottom(), empty.Public},
		"empty":               {empty, confidential, kept},
		"long":                {long, confidential, kept},
		"above its own model": {level, confidential, level.Public},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				b.carrying(flow.Internal)
				b.agent.work = func(_ context.Context, s *sessions.Session, _ *sessions.Run) (string, error) {
					s.Raise(tc.taint)
					return "", tc.why
				}
				b.hear(in("ann", "1", "hello"))
				b.await(1)
				require.Equal(t, []string{tc.want}, b.chat.texts("ann"))
			})
		})
	}
}

// What a session had learnt before is told by /raise in private alone.
func TestRaiseTellsAGroupWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.carrying(flow.Internal)
		id := b.hear(inGroup("g1", "owner", "1", "hello", true)).Session
		b.await(1)
		b.learn(id, flow.NewLabel(flow.Restricted, flow.Trusted))
		run := b.ended(b.hear(inGroup("g1", "owner", "2", "/raise INTERNAL", true)).Run)
		require.Equal(t, "This conversation is now at INTERNAL: I can use information up to INTERNAL here, until `/new`.", run.Reply)
	})
}
