package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
mcp: { servers: { tracker: { url: "https://t.example", classification: CONFIDENTIAL } } }
checks:
  ci: { http: "https://ci.example/api?token=${TOKEN}", headers: { Authorization: "Bearer ${TOKEN}" }, value: body.status, every: 5m }
  open: { mcp: tracker/list, args: '{"state":"open"}' }
  top: { mcp: tracker/list, classification: RESTRICTED }
  dead: { gateway: deadLetters, when: value > 0 }
`, "TOKEN=hunter2")
	all := c.CompiledChecks(nil)
	require.Len(t, all, 4)
	require.Equal(t, "ci", all[0].Name)
	require.Equal(t, 5*time.Minute, all[0].Every)
	require.Equal(t, "Bearer hunter2", all[0].Headers["Authorization"])
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), all[0].Label)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Trusted), all[1].Label)
	require.Equal(t, time.Minute, all[1].Every)
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), all[2].Label)
	require.Equal(t, flow.NewLabel(flow.Restricted, flow.Untrusted), all[3].Label)
}

func TestFaultsOfChecks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"checks: { A: { file: /x } }":                                      `sluice.yaml:1:11: checks.A: "A": want a name of a-z 0-9 _ -`,
		"checks: { a: {} }":                                                `sluice.yaml:1:11: checks.a: has 0 of http, mcp, file and gateway: want one`,
		"checks: { a: { file: x } }":                                       `sluice.yaml:1:22: checks.a.file: "x": want an absolute path`,
		"checks: { a: { http: x } }":                                       `sluice.yaml:1:22: checks.a.http: want an http or https address`,
		"checks: { a: { http: 'https://u:p@x' } }":                         `sluice.yaml:1:22: checks.a.http: contains a user name or password: put it into headers.Authorization`,
		"checks: { a: { mcp: b/c } }":                                      `sluice.yaml:1:21: checks.a.mcp: no MCP server "b": add it to mcp.servers, or correct the name`,
		"checks: { a: { file: /x, every: 10ms } }":                         `sluice.yaml:1:33: checks.a.every: 10ms: want at least 1s`,
		"checks:\n  a:\n    file: /x\n    value: body.size + bdy\n":        `sluice.yaml:4:24: checks.a.value: line 1, column 13 of the expression: undeclared reference to 'bdy'`,
		"checks:\n  a:\n    file: /x\n    when: status == 3\n":             `sluice.yaml:4:11: checks.a.when: line 1, column 1 of the expression: undeclared reference to 'status'`,
		"cron: { jobs: [{ id: a, every: 1m, check: ci }] }":                `cron.jobs[0].check: no check "ci" in checks: none is configured`,
		"checks: { a: { gateway: letters } }":                              `sluice.yaml:1:25: checks.a.gateway: "letters": want deadLetters, heldDeliveries, queuedDeliveries, waitingApprovals`,
		"checks: { a: { file: /x, value: 'body.map(x, [1].map(y, y))' } }": `sluice.yaml:1:33: checks.a.value: has nested loops`,
	} {
		require.Contains(t, faults(t, text)[0], want, text)
	}
}
