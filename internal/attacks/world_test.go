package attacks_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters/discord/discordtest"
	"sluice/adapters/slack/slacktest"
	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/app"
	"sluice/internal/config"
	"sluice/internal/configfile"
	"sluice/internal/model/modeltest"
	"sluice/store/sqlite/sqlitetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The NATS server leaves a few behind that end by themselves a little later.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*Server).startGoRoutine.func1"),
	)
}

const (
	// patience is how long a wait may take before it is a failure.
	patience = 30 * time.Second

	masterToken = "master-token" // sees everything
	lowToken    = "low-token"    // sees what is PUBLIC
	vaultValue  = "the-value-of-the-vault"

	slackGroup = "C000777"

	// What the files of an agent's sessions, and those of one session, may take.
	workspaceMax, sessionMax = 16 << 20, 1 << 20
)

// record collects what is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// world is a whole gateway in this process, as lenient as its configuration allows: sessions rise by
// themselves, every session is in sight of every other, everybody may speak. Only the fixed checks are in the way.
type world struct {
	*app.App
	t        testing.TB
	state    string
	file     string // the configuration
	log      *record
	watch    *watch
	telegram *telegramtest.Server
	slack    *slacktest.Server
	discord  *discordtest.Server
	models   *modeltest.Server // may be told everything
	cheap    *modeltest.Server // may be told what is PUBLIC
	outside  *outside          // two MCP servers
	paths    []operation
}

// settings is the configuration of a world; %s in it are its addresses.
func (w *world) settings(policy string) string {
	owners := make([]string, 0, scenesMax+2)
	for n := range scenesMax {
		owners = append(owners, fmt.Sprintf(`"telegram:%d", "slack:%s", "discord:%d"`, ownerBase+n, slacktest.Person(ownerBase+n), ownerBase+n))
	}
	owners = append(owners, `"slack:`+slacktest.Person(1)+`"`, `"discord:1"`, `"webchat:local"`)
	return `gateway: { listen: 127.0.0.1:0, token: ` + masterToken + `, tokens: [{ name: low, token: ` + lowToken + `, classification: PUBLIC, role: operator }] }
state: ` + w.state + `
limits: { workspaceBytes: ` + strconv.Itoa(workspaceMax) + `, sessionBytes: ` + strconv.Itoa(sessionMax) + ` }
log: { level: debug }
owners: [` + strings.Join(owners, ", ") + `]
models:
  default: p/m
  providers:
    p: { kind: openai, apiKey: key, baseURL: "` + w.models.OpenAIURL() + `", models: [other] }
    cheap: { kind: openai, apiKey: key, baseURL: "` + w.cheap.OpenAIURL() + `", classification: PUBLIC }
agents: { list: [{ id: main, default: true, publish: { openai: true, a2a: true }, subagents: { allowAgents: ["*"] } }, { id: ops }, { id: thrifty, model: cheap/m }, { id: skilled }, { id: filed, workspaceClassification: CONFIDENTIAL, fileAccess: { read: [plans] } }] }
bindings: [{ match: { channel: telegram, group: "` + strconv.Itoa(fileGroup) + `" }, agent: filed }]
a2a: { push: { hosts: [127.0.0.1], private: true } }
secrets: { vault: { value: ` + vaultValue + `, classification: CONFIDENTIAL, tools: ["mcp_*", "web_fetch"] } }
session:
  dmScope: per-channel-peer
  queue: { mode: followup, debounceMs: 0, cap: 3, drop: new }
tools:
  sessions: { visibility: all }
  agentToAgent: { enabled: true }
  subagents: { tools: { allow: [sessions_list, sessions_history, sessions_send, session_status, message] } }
  web: { enabled: true, classification: PUBLIC }
mcp:
  servers:
    low: { url: "` + w.outside.low.URL + `", classification: PUBLIC }
    high: { url: "` + w.outside.high.URL + `", classification: CONFIDENTIAL }
channels:
  telegram:
    dmPolicy: open
    allowFrom: ["*"]
    groupPolicy: open
    groups: { "*": { requireMention: false } }
    accounts: { default: { token: "` + w.telegram.Token() + `", apiBase: "` + w.telegram.URL() + `" } }
  slack:
    classification: INTERNAL
    groups: { ` + slackGroup + `: { requireMention: false }, "*": { requireMention: true } }
    accounts: { default: { replyInThread: true, botToken: ` + slacktest.BotToken + `, appToken: ` + slacktest.AppToken + `, apiBase: "` + w.slack.URL() + `" } }
  discord:
    groups: { "` + discordtest.General + `": { requireMention: false }, "*": { requireMention: true } }
    accounts: { default: { token: "` + w.discord.Token() + `", apiBase: "` + w.discord.URL() + `" } }
` + causesYAML + alertSettings + policy
}

// rules are about words that only the attacks on rules use.
const rules = `
  rules:
    - { name: ask-about-it, hook: PRE_TOOL_CALL, tools: [todo_add], when: 'string(tool.args.items[0]) == "ask somebody"', action: require_approval, message: somebody is asked }
    - { name: ask-an-approver, hook: MCP_TOOL_CALL, when: 'string(tool.args.text) == "ask an approver first"', action: require_approval }
    - { name: seldom, hook: PRE_TOOL_CALL, tools: [todo_add], when: 'string(tool.args.items[0]).startsWith("counted")', action: block, rate: { limit: 3, per: 1h, by: agent } }
    - { name: no-forbidden-todo, hook: PRE_TOOL_CALL, tools: [todo_add], when: 'string(tool.args.items[0]) == "forbidden"', action: block, message: that is forbidden }
    - { name: no-forbidden-reset, hook: SESSION_RESET, when: 'session.channel == "telegram" && session.level == CONFIDENTIAL && session.user.endsWith("77")', action: block, message: it stays as it is }
    - { name: no-forbidden-talk, hook: AGENT_INVOCATION, when: 'text.contains("forbidden talk")', action: block, message: agents do not speak of it }
    - { name: no-codewords, hook: PRE_OUTPUT, when: 'text.contains("codeword-")', action: block }
    - { name: ask-planwords, hook: PRE_OUTPUT, when: 'text.contains("planword-")', action: require_approval, timeout: 1h }
    - { name: no-numbers, hook: PRE_OUTPUT, when: 'text.contains("number-")', redact: 'number-[0-9]+', action: redact }
`

// lenient lets sessions rise by themselves; strict never lets them rise above their own conversation.
const (
	lenient = "policy:\n  escalation: auto" + rules
	strict  = "policy:\n  escalation: deny" + rules
)

// newWorld starts a gateway and the platforms, models and servers around it.
func newWorld(t testing.TB, policy string) *world {
	t.Helper()
	w := &world{
		t: t, state: sqlitetest.Dir(t), log: &record{}, outside: newOutside(t),
		telegram: telegramtest.Start(t, telegramtest.Options{}), slack: slacktest.Start(t, slacktest.Options{}), discord: discordtest.Start(t, discordtest.Options{}),
	}
	for _, s := range []**modeltest.Server{&w.models, &w.cheap} {
		var err error
		*s, err = modeltest.Start()
		require.NoError(t, err)
		t.Cleanup((*s).Close)
		(*s).Always(obedient)
	}
	w.telegram.Join(telegramtest.Group(causesChat, "What agents were woken for"))
	w.slack.Join(slackGroup, "channel", "general", slacktest.Person(1), slacktest.Person(2))
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	require.NoError(t, os.WriteFile(path, []byte(w.settings(policy)), 0o600))
	cfg, err := config.System().Load(path)
	require.NoError(t, err)
	w.file = path
	w.App = app.New(cfg, "test", slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	w.Source = configfile.Source{Loader: config.System(), Path: path}
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.Stop(ctx)
	})
	w.until("every part to be ready", func() bool {
		var status struct{ Parts []struct{ OK bool } }
		w.read(w.as(masterToken, http.MethodGet, "/v1/status", ""), &status)
		for _, p := range status.Parts {
			if !p.OK {
				return false
			}
		}
		return true
	})
	w.paths = w.operations()
	w.watch = newWatch(t, w.state)
	t.Cleanup(func() { w.watch.close(t) })
	return w
}

// until waits until something holds that nobody tells of.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	until(w.t, 10*time.Millisecond, what, holds)
}

func until(t testing.TB, every time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(every)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// answer is what a request was answered.
type answer struct {
	status int
	body   string
}

// as makes a request with a token. Headers follow as names and values.
func (w *world) as(token, method, path, body string, headers ...string) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+w.Addr().String()+path, strings.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(w.t, err)
	defer resp.Body.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return answer{resp.StatusCode, string(raw)}
}

// settle waits until no run waits or works any more and nothing is on its way out.
func (w *world) settle() {
	w.t.Helper()
	until(w.t, time.Millisecond, "runs and deliveries to end", func() bool { return w.watch.idle(w.t) })
}
