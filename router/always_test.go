package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

// proposed is the message that shows a rule about an approval.
func (b *bundle) proposed(p ledger.Approval) ledger.Delivery {
	b.t.Helper()
	for _, d := range b.deliveries(ledger.DeliverySent) {
		if len(d.Controls) == 1 && strings.HasPrefix(d.Controls[0].Args, string(p.ID)+" always save ") {
			return d
		}
	}
	require.Fail(b.t, "no rule is shown")
	return ledger.Delivery{}
}

func (b *bundle) allowRules() []ledger.AllowRule {
	b.t.Helper()
	all, err := b.store.ListAllowRules(context.Background())
	require.NoError(b.t, err)
	return all
}

// An owner presses "Always allow…", reads the rule and saves it. The call runs, and the next one like it asks nobody.
func TestAlwaysAllowInAChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, k, p, q := asked(t)
		b.hear(b.press(q, 2, "owner"))
		synctest.Wait()
		shown := b.proposed(p)
		require.Contains(t, shown.Text, "alwaysAllow:\n  agent: main\n  tool: exec\n  args:\n    command: rm ```\n  upTo: PUBLIC/trusted\n````")
		require.Equal(t, 2, k.open())
		require.Empty(t, b.allowRules(), "showing a rule saves nothing")
		require.Equal(t, ledger.ApprovalPending, b.onlyApproval(ledger.ApprovalPending).Status)

		got := b.hear(b.press(shown, 0, "owner"))
		rules := b.allowRules()
		require.Len(t, rules, 1)
		require.Equal(t, "Allowed: I will run `exec`, and from now on all calls that match the rule `"+rules[0].ID+"`. To end the rule: `sluice policy end-rule "+rules[0].ID+"`, or the view Policy.", got.Notice)
		require.Equal(t, "test:owner", rules[0].By)
		synctest.Wait()
		require.Zero(t, k.open(), "no button is left, of the question or of the rule")
		require.Equal(t, ledger.ApprovalUsed, b.onlyApproval(ledger.ApprovalUsed).Status)
		require.Equal(t, 1, b.audited("allow_rule.add"))
		require.Equal(t, "This has already been decided.", b.hear(b.press(shown, 0, "owner")).Notice)

		require.Equal(t, "call_1 true ", b.ended(b.hear(in("owner", "2", "clean up again")).Run).Reply)
		require.Len(t, b.approvals(ledger.ApprovalUsed), 2)
		require.Empty(t, b.approvals(ledger.ApprovalPending))
	})
}

var saveLine = regexp.MustCompile(`(?s)/approve apr_\w+ always save .*?\n` + "`")

// A rule with a pattern is made by text: first it is shown, then it is saved with the code that came with it.
func TestAlwaysAllowByText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, p := whileAsked(t)
		n := 1
		says := func(text string) string {
			n++
			got := b.hear(in("owner", fmt.Sprint(n), "/approve "+string(p.ID)+" "+text)).Notice
			synctest.Wait()
			return got
		}
		shown := says("always command=rm *")
		require.Contains(t, shown, "    command: rm *\n")
		save := strings.TrimSuffix(saveLine.FindString(shown), "\n`")
		require.NotEmpty(t, save)
		code := strings.Fields(save)[4]
		for text, want := range map[string]string{
			"always save":                        "This rule would allow the call",
			"always save command=rm *":           "This rule would allow the call",
			"always save " + code:                "Nothing is saved yet: the code belongs to another rule.",
			"always save " + code + " command=*": "Nothing is saved yet: the code belongs to another rule.",
			"always other=*":                     "`other=*` does not name an argument of the call.",
			"always rm *":                        "does not name an argument of the call.",
			"always command=git *":               "args: does not match this call",
			"always command=[":                   "is not a pattern",
			"always\ncommand=*":                  "    command: '*'\n",
		} {
			require.Contains(t, says(text), want, text)
		}
		require.Empty(t, b.allowRules())
		require.Contains(t, says(strings.TrimPrefix(save, "/approve "+string(p.ID)+" ")), "Allowed: I will run `exec`")
		require.JSONEq(t, `{"command":"rm *"}`, string(b.allowRules()[0].Args))
	})
}

// What an owner decides each time has no button for a rule, and no text makes one.
func TestNoRuleInAChatForWhatIsDecidedEachTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		terms sessions.Terms
		who   string
		want  string
	}{
		"the level would rise":         {sessions.Terms{Level: flow.Public, Rules: []string{"consent"}}, "owner", "can only be allowed once: the call would raise the level"},
		"untrusted text":               {sessions.Terms{Level: flow.Public, Rules: []string{policy.RulePrefix + "careful", "trust"}}, "owner", "can only be allowed once: "},
		"a rule names approvers":       {sessions.Terms{Level: flow.Public, Approvers: [][]string{{"test:owner"}}}, "owner", "can only be allowed once: a rule of the configuration names approvers"},
		"an approver who is no owner":  {sessions.Terms{Level: flow.Public, Approvers: [][]string{{"test:eve"}}}, "eve", "You may not decide about this: only an owner can always allow a call."},
		"an owner who is not approver": {sessions.Terms{Level: flow.Public, Approvers: [][]string{{"test:eve"}}}, "owner", "A rule leaves that decision to "},
		"somebody else":                {sessions.Terms{Level: flow.Public}, "ann", "Only an owner can use /approve."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, _, p := whileAsked(t)
				other := p
				other.ID, other.Terms = "apr_000000000001", c.terms
				require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Ask: []ledger.Approval{other}}))
				for i, text := range []string{"always", "always save 00000000"} {
					require.Contains(t, b.hear(in(c.who, fmt.Sprint(i+2), "/approve "+string(other.ID)+" "+text)).Notice, c.want)
				}
				require.Empty(t, b.allowRules())
			})
		})
	}
}

// A rule that a conversation may not carry, or that is too long to be read there, is neither shown nor saved there.
func TestARuleThatCannotBeShownIsNotSavedInAChat(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *ledger.Approval){
		"above the chat": func(p *ledger.Approval) { p.Label = flow.NewLabel(flow.Restricted, flow.Trusted) },
		"too long":       func(p *ledger.Approval) { p.Args = json.RawMessage(`{"command":"` + strings.Repeat("x", 1600) + `"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, _, p := whileAsked(t)
				p.ID = "apr_000000000001"
				change(&p)
				require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Ask: []ledger.Approval{p}}))
				got := b.hear(in("owner", "2", "/approve "+string(p.ID)+" always")).Notice
				require.Equal(t, "The rule can't be shown here. `sluice approvals always apr_000000000001` and the web page show it.", got)
				require.NotContains(t, got, "xxx")
				require.Empty(t, b.allowRules())
			})
		})
	}
}

// A question that no rule can answer has no button for one.
func TestNoButtonForARuleThatCannotBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { withKeys(b) })
		askingOn(b, sessions.Terms{Level: flow.Public, Rules: []string{"trust"}})
		b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliverySent)[0].Controls, 2)
	})
}

// An owner in a place below a call's level learns nothing about its arguments by trying patterns, nor why no rule may allow it.
func TestPatternsTellNothingAboutACallAboveTheChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, p := whileAsked(t)
		says := func(id ledger.ApprovalID, i int, words string) string {
			return strings.ReplaceAll(b.hear(in("owner", fmt.Sprint(id, i), "/approve "+string(id)+" always"+words)).Notice, string(id), "ID")
		}
		p.Label = flow.NewLabel(flow.Restricted, flow.Trusted)
		for i, change := range []func(p *ledger.Approval){
			func(*ledger.Approval) {},
			func(p *ledger.Approval) { p.Args = json.RawMessage(`{"other":1,"other":2}`) },
			func(p *ledger.Approval) { p.Terms.Rules = []string{"consent"} },
		} {
			p.ID = ledger.ApprovalID(fmt.Sprintf("apr_00000000000%d", i))
			change(&p)
			require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Ask: []ledger.Approval{p}}))
			for j, words := range []string{"", " command=*", " command=rm*", " command=git*", " path=*", " save", " save 00000000 command=["} {
				require.Equal(t, "The rule can't be shown here. `sluice approvals always ID` and the web page show it.", says(p.ID, j, words), words)
			}
		}
	})
}

// Two owners who press at the same time make one decision and at most one rule.
func TestTwoPressAtOnce(t *testing.T) {
	t.Parallel()
	for name, save := range map[string][2]bool{"both save": {true, true}, "one allows, one saves": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, _, p, q := asked(t)
				b.hear(b.press(q, 2, "owner"))
				synctest.Wait()
				shown := b.proposed(p)
				var notices [2]string
				var both sync.WaitGroup
				for i, saves := range save {
					m := b.press(q, 0, "owner")
					if saves {
						m = b.press(shown, 0, "owner")
					}
					m.Event += fmt.Sprint("/", i)
					both.Go(func() {
						got, err := b.Intake.Admit(t.Context(), inbound.Admission{Inbound: m})
						if err != nil {
							t.Error(err)
						}
						notices[i] = got.Notice
					})
				}
				both.Wait()
				synctest.Wait()
				late := 0
				for _, n := range notices {
					if n == "This has already been decided." || strings.Contains(n, "already") {
						late++
					}
				}
				require.Equal(t, 1, late, notices)
				require.LessOrEqual(t, len(b.allowRules()), 1)
				require.Len(t, b.approvals(ledger.ApprovalUsed), 1)
			})
		})
	}
}
