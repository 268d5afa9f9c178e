package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func testAllowRules(t *testing.T, b *bundle) {
	rule := func(id, agent, tool string, minute int) ledger.AllowRule {
		return ledger.AllowRule{
			ID: id, Agent: agent, Tool: tool, Args: json.RawMessage(`{"key":"a*\u0000"}`), Label: secret, Approval: "apr_1", By: "operator", Created: at(minute),
			Terms: sessions.Terms{Rules: []string{"policy.rules.ask"}, Level: flow.Confidential},
		}
	}
	first, second, other := rule("alw_1", "main", "exec", 1), rule("alw_2", "main", "exec", 2), rule("alw_3", "main", "fetch", 3)
	b.commit(ledger.Change{AllowRules: []ledger.AllowRule{second, first, other, rule("alw_4", "work", "exec", 0)}})
	b.refuse(sessions.ErrDuplicate, ledger.Change{AllowRules: []ledger.AllowRule{first}})

	got, err := b.AllowRulesOf(b.ctx, "main", "exec")
	require.NoError(t, err)
	require.Equal(t, []ledger.AllowRule{first, second}, got)
	one, err := b.AllowRule(b.ctx, "alw_3")
	require.NoError(t, err)
	require.Equal(t, other, one)

	b.commit(ledger.Change{EndAllowRules: []string{"alw_1"}})
	b.refuse(sessions.ErrNotFound, ledger.Change{EndAllowRules: []string{"alw_1"}})
	_, err = b.AllowRule(b.ctx, "alw_1")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	all, err := b.ListAllowRules(b.ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"alw_3", "alw_2", "alw_4"}, []string{all[0].ID, all[1].ID, all[2].ID})
	require.Len(t, all, 3)
}
