package app_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
)

// A call is simulated as the words of who asks would lead to it: those of the gateway's own token are an owner's, those of a
// named token its own, and untrusted.
func TestSimulationIsOfWhoAsks(t *testing.T) {
	t.Parallel()
	g := withLevels(t, flow.Restricted, `policy:
  rules:
    - { name: guests, hook: PRE_TOOL_CALL, action: block, when: '!session.owner' }
    - { name: named, hook: PRE_TOOL_CALL, action: block, when: 'session.user == "webchat:token:INTERNAL"' }
    - { name: strangers, hook: PRE_TOOL_CALL, action: block, when: 'session.trust == "untrusted"' }
`)
	const body = `{"tool_name":"todo_list"}`
	for token, decided := range map[string]string{"test-token": "ALLOW", "INTERNAL": "BLOCK"} {
		resp := g.call("POST", "/v1/policy/simulate", body, "Authorization", "Bearer "+token, "Content-Type", "application/json")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		var got struct {
			Decision string
			Rules    []struct {
				Rule    string
				Matched bool
			}
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
		require.NoError(t, resp.Body.Close())
		require.Equal(t, decided, got.Decision, token)
		matched := map[string]bool{}
		for _, r := range got.Rules {
			matched[r.Rule] = matched[r.Rule] || r.Matched
		}
		for _, rule := range []string{"policy.rules.guests", "policy.rules.named", "policy.rules.strangers"} {
			require.Equal(t, decided == "BLOCK", matched[rule], "%s for %s in %v", rule, token, got.Rules)
		}
	}
}
