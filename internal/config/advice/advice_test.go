package advice_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/config/advice"
)

// Each thing that is careless is said once, in words that name the settings, and nothing is said of what is well.
func TestAdvice(t *testing.T) {
	t.Parallel()
	loader := config.Loader{Getenv: func(string) (string, bool) { return "", false }, Home: "/home/ann", Dir: t.TempDir()}
	const (
		local   = "models: { default: local/m, providers: { local: { kind: openai, baseURL: http://127.0.0.1:1/v1, classification: INTERNAL } } }\n"
		bot     = `accounts: { default: { token: "1:a" } }`
		owned   = "owners: [\"webchat:local\", \"telegram:1\"]\n"
		crm     = "mcp: { servers: { crm: { command: [crm], classification: CONFIDENTIAL } } }\n"
		carries = owned + "channels: { telegram: { classification: CONFIDENTIAL, " + bot + " } }\n"
	)
	for name, c := range map[string]struct {
		text string
		want []string // "wrong" or "note", the part, and what the text has in it
	}{
		"nothing": {"", nil},
		"no such sub-agent": {"agents: { list: [{ id: main, subagents: { allowAgents: [main, '*', resaerch] } }, { id: research }] }\n", []string{
			`wrong agents agents.list[0].subagents.allowAgents: no agent "resaerch" in agents.list`,
		}},
		"no such account": {
			owned + "channels: { telegram: { accounts: { default: { token: \"1:a\" }, work: { token: \"2:b\" } } } }\nbindings:\n" +
				"- { match: { channel: telegram, account: worc }, agent: main }\n- { match: { account: home }, agent: main }\n" +
				"- { match: { account: work }, agent: main }\n- { match: { account: default }, agent: main }\n" +
				"- { match: { channel: slack, account: home }, agent: main }\n- { match: { channel: webchat, account: default }, agent: main }\n- { match: { channel: webchat, account: home }, agent: main }\n",
			[]string{
				`wrong bindings bindings[0].match.account: no account "worc": did you mean work?`, `wrong bindings bindings[1].match.account: no account "home": want one of `,
				`wrong bindings bindings[6].match.account: no account "home"`,
			},
		},
		"tokens to guess": {"gateway: { token: abc, tokens: [{ name: ops, token: abcd }, { name: ci, token: 0123456789abcdef }] }\n", []string{
			"note token gateway.token has fewer than 16 characters", "note token gateway.tokens[0].token has fewer than 16 characters",
		}},
		"levels that fit": {carries + crm + "secrets: { a: { value: 123456, tools: [mcp_crm_*] } }\n", nil},
		"low model": {
			carries + local, []string{"wrong levels agent main can't reply on webchat (CONFIDENTIAL), telegram (CONFIDENTIAL): its model local/m is limited to INTERNAL"},
		},
		"low model of another agent": {
			carries + local + "agents: { list: [{ id: a, default: true, model: offline/guide }, { id: b }, { id: c }] }\nbindings: [{ match: { channel: slack }, agent: b }, { match: { channel: telegram }, agent: c }]\n",
			[]string{"wrong levels agent c can't reply on telegram (CONFIDENTIAL)"},
		},
		"low account": {
			local + owned + `channels: { telegram: { classification: CONFIDENTIAL, accounts: { default: { token: "1:a", classification: INTERNAL } } }, webchat: { enabled: false } }`, nil,
		},
		"low model for a server":             {local + crm + "channels: { webchat: { classification: INTERNAL } }\n", []string{"note levels agent main can't continue after using mcp.servers.crm (CONFIDENTIAL)", "note levels mcp.servers.crm returns CONFIDENTIAL content, and no channel allows that"}},
		"low model for a server not allowed": {local + "agents: { defaults: { tools: { deny: [mcp_*] } } }\n" + crm + "channels: { webchat: { classification: CONFIDENTIAL } }\n", []string{"wrong levels agent main can't reply on webchat"}},
		"low model for files":                {local + "agents: { list: [{ id: a, workspaceClassification: RESTRICTED }] }\n", []string{"wrong levels agent a can't use its files (RESTRICTED)"}},
		"low server":                         {carries + "mcp: { servers: { crm: { command: [crm] } } }\n", []string{"wrong levels no conversation can use mcp.servers.crm: it is limited to PUBLIC, and these channels are above that: webchat (CONFIDENTIAL), telegram (CONFIDENTIAL)"}},
		"low pages for one": {
			owned + "channels: { telegram: { " + bot + " }, webchat: { classification: INTERNAL } }\ntools: { web: { enabled: true } }\n",
			[]string{"note levels conversations on webchat (INTERNAL) can't use tools.web"},
		},
		"low groups": {
			owned + "channels: { telegram: { classification: INTERNAL, groups: { \"*\": { classification: PUBLIC }, \"-1\": { classification: PUBLIC } }, " + bot + " } }\n",
			[]string{"wrong levels unlisted groups of telegram (INTERNAL) get no replies"},
		},
		"groups as the channel": {owned + "channels: { telegram: { classification: INTERNAL, groups: { \"*\": {}, \"-1\": { classification: PUBLIC } }, " + bot + " } }\n", nil},
		"nobody to ask":         {"channels: { telegram: { " + bot + " } }\n", []string{"note owners no owner is on telegram"}},
		"auto in groups": {
			owned + "channels: { telegram: { groupPolicy: open, " + bot + " } }\npolicy: { escalation: auto }\n", []string{"note escalation policy.escalation is auto, and the agents listen to groups of telegram"},
		},
		"limits that one person uses up": {
			"limits: { perPerson: 30/1m, perConversation: 30/1m, perAgent: 300/10m }\n",
			[]string{"note limits one person can use up limits.perConversation (30/1m)", "note limits one person can use up limits.perAgent (300/10m)"},
		},
		"a limit that is shared alone": {"limits: { perAgent: 300/1m }\n", []string{"note limits one person can use up limits.perAgent (300/1m)"}},
		"limits for all":               {"limits: { perPerson: 30/1m, perConversation: 60/1m, perAgent: 301/10m, perToken: 600/1m }\n", nil},
		"auto without groups":          {owned + "channels: { telegram: { " + bot + " } }\npolicy: { escalation: auto }\n", nil},
		"free commands": {
			"agents: { list: [{ id: a, tools: { allow: [\"*\", exec] }, sandbox: { mode: off } }, { id: b, tools: { allow: [exec] } }, { id: c, sandbox: { mode: off } }] }\n",
			[]string{"note exec commands of a run outside a sandbox"},
		},
		"rules that apply": {crm + "channels: { webchat: { classification: CONFIDENTIAL } }\npolicy: { rules: [" +
			"{ name: a, hook: PRE_TOOL_CALL, tools: [\"web_*\", exec, \"*_send\"], action: block }, { name: b, hook: MCP_TOOL_CALL, tools: [mcp_crm_find, \"mcp_*\"], action: block }] }\n", nil},
		"rules that never do": {
			crm + "channels: { webchat: { classification: CONFIDENTIAL } }\npolicy: { rules: [" +
				"{ name: a, hook: PRE_TOOL_CALL, tools: [exce], action: block }, { name: b, hook: MCP_TOOL_CALL, tools: [exec, \"mcp_cmr_*\"], action: block }] }\n",
			[]string{`wrong rules policy.rules.a: no tool is named "exce"`, `wrong rules policy.rules.b: no tool is named "exec"`, `wrong rules policy.rules.b: no tool is named "mcp_cmr_*"`},
		},
		"no server for a rule": {"policy: { rules: [{ name: a, hook: MCP_TOOL_CALL, action: block }] }\n", []string{"wrong rules policy.rules.a never applies"}},
		"nobody approves": {
			"policy: { rules: [{ name: a, hook: PRE_OUTPUT, action: require_approval, approvers: [\"telegram:1\"] }] }\n", []string{"wrong rules policy.rules.a: no approver can decide"},
		},
		"secret for nobody": {"secrets: { a: { value: 123456, tools: [mcp_crm_*] } }\n", []string{"wrong secrets no tool gets secrets.a: no tool matches mcp_crm_*"}},
		"secret above its tool": {
			"mcp: { servers: { crm: { command: [crm] } } }\nsecrets: { a: { value: 123456, tools: [mcp_crm_*] } }\n", []string{"wrong secrets no tool gets secrets.a: its level INTERNAL is above mcp.servers.crm (PUBLIC)"},
		},
		"secret above all": {"policy: { clearance: PUBLIC }\nsecrets: { a: { value: 123456, tools: [exec] } }\n", []string{"wrong secrets no session gets secrets.a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			parsed, err := loader.Parse("sluice.yaml", []byte(c.text))
			require.NoError(t, err)
			for _, a := range advice.On(parsed, []string{"exec", "web_fetch", "sessions_send"}) {
				require.NotEmpty(t, a.Fix)
				kind := map[bool]string{true: "wrong ", false: "note "}[a.Wrong]
				got = append(got, kind+a.Part+" "+a.Text)
			}
			require.Len(t, got, len(c.want), strings.Join(got, "\n"))
			for i, want := range c.want {
				require.True(t, strings.HasPrefix(got[i], want), "%s\nwant: %s", got[i], want)
			}
		})
	}
}
