package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/work"
	"sluice/sessions"
)

// askingOn is asking for a call that may be decided about on some terms.
func askingOn(b *bundle, terms sessions.Terms) {
	asking(b)
	ask := b.agent.work
	b.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
		b.agent.approver = onTerms{b.agent.approver, terms}
		return ask(ctx, s, run)
	}
}

// onTerms is an approver for calls that a rule holds on some terms.
type onTerms struct {
	work.Approver
	terms sessions.Terms
}

func (o onTerms) Decide(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error) {
	for i := range calls {
		calls[i].Terms = o.terms
	}
	return o.Approver.Decide(ctx, message, calls)
}

// audited are the entries of the audit trail with an action, the newest first.
func (b *bundle) entries(action string) []ledger.AuditRecord {
	b.t.Helper()
	found, err := b.store.ListAudit(context.Background(), ledger.AuditQuery{MaxLevel: flow.Restricted, Action: action, Limit: 200})
	require.NoError(b.t, err)
	return found
}

// Whom a rule names decides about a call, and nobody else: no owner who is not named, nor an operator, who stands for one.
func TestWhoMayDecideAboutACall(t *testing.T) {
	t.Parallel()
	const refused, others = "Only an owner can use /approve.", "A rule leaves that decision to "
	for name, c := range map[string]struct {
		approvers [][]string
		answers   map[string]string // to each who is to be refused
		operator  string            // what an operator is told; empty: it may decide
		may       string            // who may by /approve; empty: nobody
	}{
		"nobody is named":   {nil, map[string]string{"ann": refused, "eve": refused}, "", "owner"},
		"the owners":        {[][]string{{}}, map[string]string{"ann": refused}, "", "owner"},
		"others are named":  {[][]string{{"test:eve", "test:bob"}}, map[string]string{"ann": refused, "owner": others + "test:eve, test:bob."}, "test:eve, test:bob", "eve"},
		"an owner is named": {[][]string{{"test:owner"}}, map[string]string{"eve": refused}, "test:owner", "owner"},
		"two lists": {
			[][]string{{"test:eve", "test:bob"}, {"test:bob", "test:ann"}},
			map[string]string{"ann": refused, "eve": refused, "owner": others + "test:eve, test:bob; and of these only to test:bob, test:ann."},
			"test:eve, test:bob; and of these only to test:bob, test:ann", "bob",
		},
		"a list and the owners": {[][]string{{"test:eve", "test:owner"}, {}}, map[string]string{"eve": refused, "ann": refused}, "test:eve, test:owner; and of these only to the owners", "owner"},
		"nobody can": {
			[][]string{{"test:eve"}, {}},
			map[string]string{"eve": refused, "owner": others + "test:eve; and of these only to the owners."},
			"test:eve; and of these only to the owners", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				askingOn(b, sessions.Terms{Approvers: c.approvers})
				heard := b.hear(in("owner", "1", "clean up"))
				synctest.Wait()
				p := b.onlyApproval(ledger.ApprovalPending)
				for who, want := range c.answers {
					require.Equal(t, want, b.hear(in(who, "2", "/approve "+string(p.ID)+" allow")).Notice, who)
				}
				require.Equal(t, len(c.answers), b.audited("command.denied"), "each is audited")
				synctest.Wait()
				require.Equal(t, p.ID, b.onlyApproval(ledger.ApprovalPending).ID, "none of it has decided")

				_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Actor: "operator", Owner: true, Reason: flow.NewText(string(make([]byte, 501)), flow.Bottom())})
				if c.operator != "" {
					var left *decider.NotApproverError
					require.ErrorAs(t, err, &left)
					require.EqualError(t, err, "operator may not decide about this: the decision is left to "+c.operator+" (approvers of policy.rules)")
				} else {
					require.ErrorContains(t, err, "is 501 bytes", "it may, in fewer words")
				}
				if c.may == "" {
					require.Equal(t, "call_1 false it was not approved in time", b.ended(heard.Run).Reply)
					return
				}
				b.hear(in(c.may, "3", "/approve "+string(p.ID)+" allow"))
				require.Equal(t, "call_1 true ", b.ended(heard.Run).Reply)
				require.Equal(t, "test:"+c.may, b.onlyApproval(ledger.ApprovalUsed).By)
			})
		})
	}
}

// Who is not an owner is asked in their own chat, by the gate's leave, and a denial is not said to be the owner's.
func TestWhomARuleNamesIsAsked(t *testing.T) {
	t.Parallel()
	for level, want := range map[flow.Level]string{
		flow.Restricted: "May I use `exec`?",
		flow.Public:     "May I use a tool? It can't be shown here",
	} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sink := anywhere()
				sink.Recipients = map[string]flow.Level{"eve": level}
				b := newBundle(t, judged(t, sink))
				askingOn(b, sessions.Terms{Approvers: [][]string{{"test:eve"}}})
				b.agent.begin = func(s *sessions.Session) { s.Raise(flow.NewLabel(flow.Confidential, flow.Trusted)) }
				heard := b.hear(in("owner", "1", "clean up"))
				synctest.Wait()
				require.Empty(t, b.chat.texts("owner"), "who may not decide is not asked")
				p := b.onlyApproval(ledger.ApprovalPending)
				require.Contains(t, b.last("eve"), want)
				require.Contains(t, b.last("eve"), "/approve "+string(p.ID)+" allow")
				b.hear(in("eve", "1", "/approve "+string(p.ID)+" deny not today"))
				require.Equal(t, "call_1 false an approver denied it: not today", b.ended(heard.Run).Reply)
			})
		})
	}
}

// In a group an owner is told that the decision is others', not whose it is.
func TestAGroupIsNotToldWhoDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		askingOn(b, sessions.Terms{Approvers: [][]string{{"test:eve"}}})
		b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		p := b.onlyApproval(ledger.ApprovalPending)
		require.Equal(t, "A rule leaves that decision to others.", b.hear(inGroup("g1", "owner", "2", "/approve "+string(p.ID)+" allow", true)).Notice)
		require.Contains(t, fmt.Sprintf("%s", b.entries("command.denied")[0].Detail), string(p.ID))
	})
}

// Silence means what the rule says, over a restart too, and stands in the audit trail.
func TestWhatSilenceMeansForACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		onTimeout policy.Action
		restart   bool
		reply     string
		status    ledger.ApprovalStatus
		action    string
	}{
		{policy.Allow, false, "call_1 true ", ledger.ApprovalUsed, "approval.allowed"},
		{policy.Allow, true, "call_1 true ", ledger.ApprovalUsed, "approval.allowed"},
		{policy.Block, false, "call_1 false it was not approved in time", ledger.ApprovalDenied, "approval.denied"},
		{policy.Block, true, "call_1 false it was not approved in time", ledger.ApprovalDenied, "approval.denied"},
	} {
		t.Run(fmt.Sprintf("%s, restart %v", c.onTimeout, c.restart), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				askingOn(b, sessions.Terms{Timeout: 3 * time.Minute, AllowOnTimeout: c.onTimeout == policy.Allow})
				begun := time.Now()
				heard := b.hear(in("owner", "1", "clean up"))
				b.await(1)
				p := b.onlyApproval(ledger.ApprovalPending)
				if c.restart {
					b.restart()
					synctest.Wait()
				}
				require.Equal(t, c.reply, b.ended(heard.Run).Reply)
				require.Equal(t, 3*time.Minute, time.Since(begun).Round(time.Second), "a restart begins no new wait")
				decided := b.onlyApproval(c.status)
				require.Equal(t, p.ID, decided.ID)
				require.Equal(t, "gateway", decided.By)
				entries := b.entries(c.action)
				require.Len(t, entries, 1)
				require.Equal(t, "gateway", entries[0].Actor)
				require.Equal(t, string(p.ID), entries[0].Object)
				_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Actor: "operator", Owner: true})
				require.ErrorContains(t, err, "already", "who comes later changes nothing")
			})
		})
	}
}

// What nobody decided about while the gateway was down is decided by silence when it is back.
func TestSilenceWhileTheGatewayIsDown(t *testing.T) {
	t.Parallel()
	for allow, want := range map[bool]string{true: "call_1 true ", false: "call_1 false it was not approved in time"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				askingOn(b, sessions.Terms{Timeout: time.Minute, AllowOnTimeout: allow})
				heard := b.hear(in("owner", "1", "clean up"))
				b.await(1)
				b.stop()
				time.Sleep(time.Hour) // the test's own time
				b.start()
				require.Equal(t, want, b.ended(heard.Run).Reply)
			})
		})
	}
}

// Where others have to decide by now than those who were asked, the call does not run, and the audit trail says so.
func TestOthersHaveToDecideByNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		askingOn(b, sessions.Terms{})
		heard := b.hear(in("owner", "1", "clean up"))
		b.await(1)
		p := b.onlyApproval(ledger.ApprovalPending)
		b.stop()
		askingOn(b, sessions.Terms{Approvers: [][]string{{"test:eve"}}})
		b.start()
		require.Contains(t, b.ended(heard.Run).Reply, "call_1 false the approvers have changed")
		require.Equal(t, "gateway", b.onlyApproval(ledger.ApprovalDenied).By)
		entries := b.entries("approval.denied")
		require.Len(t, entries, 1)
		require.Equal(t, string(p.ID), entries[0].Object)
	})
}

// A list that names nobody leaves the decision to the owners: they are asked in the conversation, as where no rule is.
func TestAnEmptyListLeavesItToTheOwners(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		approvers [][]string
		group     int // questions there
	}{"an empty list": {[][]string{{}}, 1}, "no list": {nil, 1}, "somebody is named": {[][]string{{"test:ann"}}, 0}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBundle(t)
			askingOn(b, sessions.Terms{Approvers: c.approvers})
			b.hear(inGroup("g", "owner", "1", "clean up", true))
			synctest.Wait()
			require.Len(t, b.chat.texts("g"), c.group, name)
			require.Len(t, b.chat.texts("ann"), 1-c.group, name)
		})
	}
}

// Who is asked can answer, even if they may not talk to the agent; about other questions they can't.
func TestAnApproverWhoMayNotTalk(t *testing.T) {
	t.Parallel()
	for _, policy := range []place.AccessPolicy{place.AccessPairing, place.AccessAllowlist, place.AccessDisabled} {
		for name, answer := range map[string]func(b *bundle, q ledger.Delivery, p ledger.Approval, who string) adapters.Inbound{
			"press": func(b *bundle, q ledger.Delivery, _ ledger.Approval, who string) adapters.Inbound {
				return b.press(q, 0, who)
			},
			"text": func(_ *bundle, _ ledger.Delivery, p ledger.Approval, who string) adapters.Inbound {
				return in(who, "9", "/approve "+string(p.ID)+" allow")
			},
		} {
			t.Run(name+", "+string(policy), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBundle(t, func(b *bundle) {
						withKeys(b)
						b.settings.Channels["test"] = place.ChannelSettings{DMPolicy: policy, GroupPolicy: place.AccessAllowlist}
					})
					askingOn(b, sessions.Terms{Approvers: [][]string{{"test:eve"}}})
					heard := b.hear(in("owner", "1", "clean up"))
					synctest.Wait()
					p, q := b.onlyApproval(ledger.ApprovalPending), b.deliveries(ledger.DeliverySent)[0]
					b.hear(answer(b, q, p, "ann"))
					b.hear(in("eve", "1", "/stop"))
					require.Equal(t, p.ID, b.onlyApproval(ledger.ApprovalPending).ID, "others can't, and it gives no other right")
					b.hear(answer(b, q, p, "eve"))
					require.Equal(t, "call_1 true ", b.ended(heard.Run).Reply)
					require.Equal(t, "test:eve", b.onlyApproval(ledger.ApprovalUsed).By)
					require.Contains(t, b.hear(b.press(q, 0, "eve")).Notice, "already been decided")
				})
			})
		}
	}
}

// Somebody who was removed for good decides nothing, also if a rule still names them.
func TestARevokedApproverDecidesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			withKeys(b)
			b.settings.Channels["test"] = place.ChannelSettings{DMPolicy: place.AccessPairing, GroupPolicy: place.AccessAllowlist}
		})
		b.hear(in("eve", "0", "hello"))
		_, err := b.Pairings.ApprovePairing(t.Context(), b.code(), "test:owner")
		require.NoError(t, err)
		require.NoError(t, b.Pairings.RevokePairing(t.Context(), "test", "default", "eve", "test:owner"))
		askingOn(b, sessions.Terms{Approvers: [][]string{{"test:eve"}}})
		b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		p := b.onlyApproval(ledger.ApprovalPending)
		b.hear(in("eve", "9", "/approve "+string(p.ID)+" allow"))
		require.Equal(t, p.ID, b.onlyApproval(ledger.ApprovalPending).ID)
	})
}
