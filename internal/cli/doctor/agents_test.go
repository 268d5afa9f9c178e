package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const programsConfig = basics + `bus: { listen: "127.0.0.1:4299" }
agents:
  list:
    - { id: here, default: true, kind: nats, nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 }
    - { id: away, kind: nats, nkey: UDB354MRMQWKVNA6VJ6WIF5JUNMHZCAIXV3NZYEPDP2BFRKJLCYNHMDD }
    - { id: shell, kind: command, command: [sh], sandbox: { mode: "off" } }
    - { id: gone, kind: command, command: [/no/such/program], sandbox: { mode: "off" } }
    - { id: legal, kind: a2a, url: "http://127.0.0.1:1" }
`

// Programs that work for agents are checked: whether they are connected, there, and reachable.
func TestPrograms(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": programsConfig, "state/token": "the-token"})
	answers(t, p, map[string]string{
		"/healthz": "ok", "/v1/status": "{}", "/v1/pairings": `{"pairings":[]}`, "/readyz": `{"ready":true}`,
		"/v1/agents": `{"agents":[{"id":"here","instances":[{"id":"a"},{"id":"b"}]},{"id":"away"}]}`,
	})
	text := p.run(t)
	for _, want := range []string{
		"ok    agent/here         connected programs: 2\n",
		"FAIL  agent/away         no program is connected for this agent\n                         fix: start its program, with the secret key that belongs to the agent's nkey",
		"/sh (starts with each run)\n", "FAIL  agent/gone         program not found: ", "FAIL  agent/legal        cannot be reached at 127.0.0.1:1\n",
	} {
		require.Contains(t, text, want)
	}

	p = newPatient(t, map[string]string{"sluice.yaml": programsConfig})
	text = p.run(t)
	require.NotContains(t, text, "agent/here", "nobody can be connected to a gateway that does not run")
	require.NotContains(t, text, "offline/guide", "the default agent has no model")
	require.Contains(t, text, "FAIL  agent/gone")
}
