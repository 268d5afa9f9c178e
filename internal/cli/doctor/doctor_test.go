package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
)

// patient is an installation: a folder with a configuration, and perhaps a gateway.
type patient struct {
	*Doctor
	dir string
	env map[string]string
	out bytes.Buffer
}

// newPatient installs files; a configuration uses STATE for the state folder. No gateway runs.
func newPatient(t *testing.T, files map[string]string) *patient {
	t.Helper()
	p := &patient{dir: t.TempDir(), env: map[string]string{api.EnvURL: "http://127.0.0.1:1"}}
	for name, text := range files {
		p.file(t, name, text, 0o600)
	}
	transport := api.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	p.Doctor = &Doctor{
		Screen: terminal.Screen{Out: &p.out, Err: &p.out, Now: time.Now}, HTTP: client, Version: "v1",
		Locator: &api.Locator{HTTP: client, Loader: config.Loader{Home: p.dir, Dir: p.dir, Getenv: func(name string) (string, bool) {
			v, ok := p.env[name]
			return v, ok
		}}},
		Probe: func(context.Context, *config.Config) []Probed { return nil },
	}
	return p
}

func (p *patient) file(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "STATE", filepath.Join(p.dir, "state"))), mode))
	require.NoError(t, os.Chmod(path, mode)) // whatever the umask is
	return path
}

// run examines the patient and returns what is printed, one finding a line.
func (p *patient) run(t *testing.T) string {
	t.Helper()
	err := p.Run(t.Context())
	text := strings.ReplaceAll(p.out.String(), p.dir, "DIR")
	text = regexp.MustCompile(`(?m)^(ok   |note ) (documents|sandbox|commands) .*\n( +hint: .*\n)?`).ReplaceAllString(text, "") // what this machine has
	require.Equal(t, strings.Contains(text, "FAIL"), errors.Is(err, terminal.ErrReported), "%v\n%s", err, text)
	return text
}

const basics = "gateway: { listen: \"127.0.0.1:0\" }\nstate: STATE\n"

// answers is a gateway with fixed answers.
func answers(t *testing.T, p *patient, paths map[string]string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.Header.Get("Authorization") != "Bearer the-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		text, ok := paths[r.URL.Path]
		if status, rest, found := strings.Cut(text, "|"); found {
			code := 0
			_, err := fmt.Sscan(status, &code)
			if err != nil {
				code = http.StatusTeapot
			}
			w.WriteHeader(code)
			text = rest
		} else if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	p.env[api.EnvURL], p.env[api.EnvToken] = server.URL, "the-token"
}

func TestAFreshInstallation(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics})
	require.Equal(t, `ok    version            v1
ok    config             DIR/sluice.yaml
ok    state              DIR/state (will be created at the first start)
ok    token              DIR/state/token (will be created at the first start)
note  gateway            not running at http://127.0.0.1:1
                         hint: sluice serve
ok    port               127.0.0.1:0 is free
ok    store              embedded SQLite in the state folder
ok    bus                embedded NATS
ok    model              offline/guide (a demo without AI; sluice init sets up a real model)
ok    policy             0 rules; levels, rules and secrets fit together

No problems found.
`, p.run(t))
}

func TestARunningGateway(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics, "state/token": "the-token"})
	answers(t, p, map[string]string{
		"/healthz": "ok", "/v1/status": `{"commands":"groups"}`, "/v1/pairings": `{"pairings":[]}`,
		"/readyz": `503|{"ready":false,"parts":[{"name":"store","ok":true,"detail":"sqlite"},{"name":"bus","ok":true},{"name":"telegram/default","ok":false,"detail":"Unauthorized"},{"name":"mcp/files","ok":false}]}`,
	})
	require.Equal(t, `ok    version            v1
ok    config             DIR/sluice.yaml
ok    state              DIR/state
ok    token              DIR/state/token
ok    gateway            running at URL
ok    store              sqlite
ok    bus                works
FAIL  telegram/default   Unauthorized
                         fix: sluice status (shows what the platform says about the account)
FAIL  mcp/files          does not work
                         fix: check mcp.servers.files and the gateway's log; the gateway retries automatically
ok    api                the access token works
ok    groups             the kernel limits memory, processes and processors of a session's commands together (cgroup v2)
ok    policy             0 rules; levels, rules and secrets fit together

2 problems found.
`, strings.ReplaceAll(p.run(t), p.env[api.EnvURL], "URL"))
}

// A running gateway says which skills can't be used, and doctor how to see more of them.
func TestSkills(t *testing.T) {
	t.Parallel()
	ready := map[string]string{"/healthz": "ok", "/v1/status": "{}", "/v1/pairings": `{"pairings":[]}`, "/readyz": `{"ready":true}`}
	skilled := func(t *testing.T, list string) *patient {
		p := newPatient(t, map[string]string{"sluice.yaml": basics, "state/token": "the-token", "state/workspaces/main/skills/pdf/SKILL.md": "x"})
		paths := maps.Clone(ready)
		paths["/v1/skills"] = list
		answers(t, p, paths)
		return p
	}
	for name, c := range map[string]struct{ list, want string }{
		"all can be used": {
			`{"skills":[{"agent":"main","name":"pdf","state":"ok","trust":"trusted"},{"agent":"main","name":"xls","state":"unpinned","trust":"untrusted"}]}`,
			"(?m)^ok    skills             2 skills, untrusted: 1$",
		},
		"one has changed": {
			`{"skills":[{"agent":"main","name":"pdf","state":"changed","problem":"its content has changed","trust":"untrusted"},{"agent":"main","name":"xls","state":"ok","trust":"trusted"}]}`,
			"(?m)^FAIL  skill/pdf          agent main can't use it: its content has changed\n +fix: sluice skills show pdf --agent main$",
		},
		"the gateway can't list them": {`409|{"error":"x","message":"the folder has more than 100 skills"}`, "(?m)^FAIL  skills             .*more than 100 skills.*\n +fix: sluice skills check$"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Regexp(t, c.want, skilled(t, c.list).run(t))
		})
	}
	t.Run("the folder is a link", func(t *testing.T) {
		t.Parallel()
		p := skilled(t, `{"skills":[]}`)
		folder := filepath.Join(p.dir, "state/workspaces/main/skills")
		require.NoError(t, os.Rename(folder, folder+"-elsewhere"))
		require.NoError(t, os.Symlink("skills-elsewhere", folder))
		require.Regexp(t, "(?m)^FAIL  skills             agent main has no skills: .*it is a link.*\n +fix: make DIR/state/workspaces/main/skills a folder, not a link$", p.run(t))
	})
	t.Run("no gateway runs", func(t *testing.T) {
		t.Parallel()
		p := newPatient(t, map[string]string{"sluice.yaml": basics, "state/workspaces/main/skills/pdf/SKILL.md": "x"})
		require.NotContains(t, p.run(t), "skill")
	})
}

func TestReadinessBecomesFindings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   []finding
	}{
		"all is ready":    {200, `{"ready":true}`, []finding{healthy("ready", "all components")}},
		"a proxy answers": {502, `<html>`, []finding{problem("ready", "the gateway is not ready (HTTP status 502)", "sluice status")}},
		"nothing is said": {503, `{}`, []finding{problem("ready", "the gateway is not ready (HTTP status 503)", "sluice status")}},
		"the store is away": {
			503, `{"parts":[{"name":"store","detail":"away\u001b[2J"},{"name":"partitions","ok":false}]}`,
			[]finding{
				problem("store", "away\x1b[2J", "check store.url and free disk space; the gateway reconnects automatically"),
				problem("partitions", "does not work", "sluice status"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, ready(test.status, []byte(test.body)))
		})
	}
}

func TestTheTokenIsRejected(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics})
	answers(t, p, map[string]string{"/healthz": "ok"})
	p.env[api.EnvToken] = "wrong"
	text := p.run(t)
	require.Contains(t, text, "FAIL  ready              the gateway is not ready (HTTP status 401)\n")
	require.Contains(t, text, "FAIL  api                the gateway rejected the access token: set SLUICE_TOKEN")
	require.Contains(t, text, "fix: export SLUICE_TOKEN=$(cat DIR/state/token)\n")

	delete(p.env, api.EnvToken)
	p.out.Reset()
	text = p.run(t)
	require.Contains(t, text, "FAIL  api                no access token: DIR/state/token does not exist.")
	require.Contains(t, text, "fix: export SLUICE_TOKEN=...\n")
}

func TestAnotherProgramAnswers(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics})
	answers(t, p, nil)
	text := p.run(t)
	require.Contains(t, text, "FAIL  gateway            another program answers at "+p.env[api.EnvURL]+" (HTTP status 404)\n")
	require.Contains(t, text, "fix: sluice serve --listen 127.0.0.1:8485\n")
	require.Contains(t, text, "ok    store              embedded SQLite", "what a gateway would need is checked")
}

func TestTheConfiguration(t *testing.T) {
	t.Parallel()
	const fix = "\n                         fix: "
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"a mistake":       {"sate: x", 0o600, "FAIL  config             DIR/sluice.yaml:1:1: sate: "},
		"exposed secrets": {basics + "models: { default: p/m, providers: { p: { kind: openai, apiKey: hush-hush } } }", 0o644, "FAIL  config             DIR/sluice.yaml contains secrets and other users can read it (mode 0644)" + fix + "chmod 600 DIR/sluice.yaml\n"},
		"no secrets":      {basics, 0o644, "ok    config             DIR/sluice.yaml\n"},
		"references":      {basics + "models: { default: p/m, providers: { p: { kind: openai, apiKey: \"${KEY}\" } } }", 0o644, "ok    config             DIR/sluice.yaml\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, nil)
			p.env["KEY"] = "hush-hush"
			p.file(t, "sluice.yaml", test.text, test.mode)
			text := p.run(t)
			require.Contains(t, text, test.want)
			require.NotContains(t, text, "hush")
		})
	}
	p := newPatient(t, map[string]string{"sluice.yaml": "sate: x"})
	require.Contains(t, p.run(t), fix+"edit it, then run: sluice config check DIR/sluice.yaml\n")
	require.NotContains(t, p.out.String(), "state ", "the rest depends on it")

	p = newPatient(t, nil)
	p.env["SLUICE_STATE"] = filepath.Join(p.dir, "state")
	require.Contains(t, p.run(t), "note  config             no configuration file: the defaults are used\n                         hint: sluice init\n")

	p = newPatient(t, nil)
	p.Locator.Config = "none.yaml"
	text := p.run(t)
	require.Contains(t, text, "none.yaml does not exist")
	require.Contains(t, text, fix+"sluice init --config none.yaml\n")
}

func TestTheStateFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(path, 0o700))
		require.NoError(t, os.Chmod(path, mode))                        // whatever the umask is
		t.Cleanup(func() { require.NoError(t, os.Chmod(path, 0o700)) }) // so that it can be removed
		return path
	}
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	own, open := folder("own", 0o700), folder("open", 0o755)
	require.Equal(t, healthy("state", own), stateFolder(own))
	require.Equal(t, healthy("state", own+"/a/b (will be created at the first start)"), stateFolder(own+"/a/b"))
	require.Equal(t, problem("state", "other users can read "+open+" (mode 0755)", "chmod 700 "+open), stateFolder(open))
	require.Equal(t, problem("state", file+" is not a folder", "mv "+file+" "+file+".old"), stateFolder(file))
	require.Equal(t, problem("state", "stat "+file+"/a: not a directory", "ls -ld "+file+"/a"), stateFolder(file+"/a"))
	require.Equal(t, problem("state", file+" is not a folder", "mv "+file+" "+file+".old"), futureFolder(file+"/a"))
	for err, want := range map[error]string{
		syscall.EROFS:  "mount its file system writable, or set state to another folder",
		syscall.ENOSPC: "free space on its disk, or set state to another folder",
		syscall.EACCES: "sudo chown",
	} {
		require.Equal(t, want, writeFix(&os.PathError{Op: "open", Path: own, Err: err}, "sudo chown"))
	}
	if os.Geteuid() == 0 {
		return // root may write anywhere
	}
	closed := folder("closed", 0o500)
	require.Equal(t, problem("state", "cannot write to "+closed+": permission denied", "sudo chown -R $(id -un) "+closed), stateFolder(closed))
	require.Equal(t, problem("state", "cannot create "+closed+"/a: permission denied", "sudo install -d -m 700 -o $(id -un) "+closed+"/a"), stateFolder(closed+"/a"))
}

func TestTheTokenFile(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	cfg := &config.Config{State: filepath.Join(p.dir, "state")}
	path := filepath.Join(p.dir, "state", "token")
	require.Equal(t, healthy("token", path+" (will be created at the first start)"), tokenFile(cfg))
	p.file(t, "state/token", "x", 0o600)
	require.Equal(t, healthy("token", path), tokenFile(cfg))
	p.file(t, "state/token", "x", 0o644)
	require.Equal(t, problem("token", "other users can read "+path+" (mode 0644)", "chmod 600 "+path), tokenFile(cfg))
	require.Equal(t, "ls -l "+path+"/token", tokenFile(&config.Config{State: path}).fix, "the state folder is a file")
	cfg.Gateway.Token = "x"
	require.Equal(t, healthy("token", "set in the configuration"), tokenFile(cfg))
}

// listener takes connections and closes them.
func listener(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.Addr().String()
}

func TestThePort(t *testing.T) {
	t.Parallel()
	taken := listener(t)
	require.Equal(t, problem("port", "cannot listen on "+taken+": address already in use", otherPort), port(t.Context(), taken))
	require.Equal(t, healthy("port", "127.0.0.1:0 is free"), port(t.Context(), "127.0.0.1:0"))
	require.Equal(t, otherPort, port(t.Context(), "nonsense").fix)
}

func TestReach(t *testing.T) {
	t.Parallel()
	at := listener(t)
	for address, want := range map[string]finding{
		"postgres://user:hush@" + at + "/db": healthy("store", "reachable at "+at),
		"postgres://user:hush@127.0.0.1:1/":  problem("store", "cannot be reached at 127.0.0.1:1", "x"),
		"postgres://127.0.0.1/":              problem("store", "cannot be reached at 127.0.0.1:1", "x"), // the default port
		"hush":                               problem("store", "the address is not a URL", "sluice config check"),
		"postgres://%zz":                     problem("store", "the address is not a URL", "sluice config check"),
	} {
		got := reach(t.Context(), "store", target{address, "1"}, "x")
		require.Equal(t, want, got, address)
		require.NotContains(t, got.text+got.fix, "hush")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Contains(t, reach(ended, "model", target{"http://127.0.0.1/v1", "443"}, "x").text, "127.0.0.1:80")
}

func TestConnectionsOfAStoppedGateway(t *testing.T) {
	t.Parallel()
	at := listener(t)
	p := newPatient(t, nil)
	p.file(t, "bin/server", "#!/bin/sh\n", 0o700)
	p.file(t, "sluice.yaml", basics+`
store: { url: "postgres://u:hush@127.0.0.1:1/sluice" }
bus: { url: "nats://`+at+`, nats://127.0.0.1:1" }
models: { default: local/llama, providers: { local: { kind: openai, baseURL: "http://`+at+`/v1" } } }
mcp:
  servers:
    far: { url: "http://127.0.0.1:1/mcp", classification: PUBLIC }
    gone: { command: [no-such-program-of-mcp], classification: PUBLIC }
    near: { command: ["`+p.dir+`/bin/server"], classification: PUBLIC }
`, 0o600)
	text := p.run(t)
	for _, want := range []string{
		"FAIL  store              cannot be reached at 127.0.0.1:1\n                         fix: start PostgreSQL there, or correct store.url\n",
		"ok    bus                reachable at " + at + "\n",
		"FAIL  bus                cannot be reached at 127.0.0.1:1\n                         fix: start NATS there, or correct bus.url\n",
		"ok    model              local/llama reachable at " + at + "\n",
		"FAIL  mcp/far            cannot be reached at 127.0.0.1:1\n",
		"FAIL  mcp/gone           program not found: ",
		"fix: install it, or correct mcp.servers.gone.command\n",
		"ok    mcp/near           DIR/bin/server (starts with the gateway)\n",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "hush")
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics + "session: { dmScope: per-peer }\nchannels: { telegram: { accounts: { default: { token: \"1:a\" }, ops: { token: \"2:b\" } } } }\n"})
	p.Probe = func(_ context.Context, cfg *config.Config) []Probed {
		require.Len(t, cfg.Channels.Telegram.Accounts, 2)
		return []Probed{
			{Channel: "telegram", Account: "default", Name: "@good\x1b_bot"},
			{Channel: "telegram", Account: "ops", Err: errors.New("the token is not valid")},
			{Channel: "slack", Err: errors.New("no adapter")},
			{Channel: "discord", Account: "default"},
		}
	}
	text := p.run(t)
	for _, want := range []string{
		`ok    telegram/default   @good\u001b_bot` + "\n",
		"FAIL  telegram/ops       the token is not valid\n                         fix: edit channels.telegram.accounts.ops, then run sluice doctor again\n",
		"FAIL  slack              no adapter\n                         fix: edit channels.slack, then run sluice doctor again\n",
		"ok    discord/default    the platform accepts the account\n",
		"\n2 problems found.\n",
	} {
		require.Contains(t, text, want)
	}
}

func TestNoChannelIsOn(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics + "channels: { webchat: { enabled: false } }\n"})
	require.Contains(t, p.run(t), "FAIL  channels           no channel is turned on: nobody can talk to the agents\n")
}

// Of two findings about one component, a problem counts. Of two problems ours does, as it names the setting.
func TestOneComponentHasOneFinding(t *testing.T) {
	t.Parallel()
	well, ill, worse := healthy("p", "well"), problem("p", "ill", "x"), problem("p", "worse", "y")
	for _, test := range []struct{ theirs, ours, want finding }{
		{well, ill, ill}, {ill, well, ill}, {ill, worse, worse}, {well, healthy("p", "very well"), healthy("p", "very well")},
	} {
		found := findings{healthy("o", ""), test.theirs}
		found.merge(test.ours)
		require.Equal(t, findings{healthy("o", ""), test.want}, found)
	}
}

// People who share the owner's session are worth a note, whether a setting or a code admits them.
func TestSharedChats(t *testing.T) {
	t.Parallel()
	const telegram = "channels: { telegram: { dmPolicy: %s, accounts: { default: { token: \"1:a\" } } } }\n"
	pairings := map[string]string{"/healthz": "ok", "/readyz": "{}", "/v1/status": "{}", "/v1/pairings": `{"pairings":[
		{"channel":"telegram","status":"approved"},{"channel":"telegram","status":"pending"},{"channel":"slack","status":"approved"},{"channel":"telegram","status":"approved"}]}`}
	for name, test := range map[string]struct {
		settings string
		paths    map[string]string // nil: no gateway runs
		want     string            // empty: no note
	}{
		"open":                 {fmt.Sprintf(telegram, "open"), nil, "channels.telegram.dmPolicy is open.\n"},
		"pairing, not running": {fmt.Sprintf(telegram, "pairing"), nil, ""},
		"paired":               {fmt.Sprintf(telegram, "pairing"), pairings, "2 people were admitted by a pairing code.\n"},
		"both":                 {fmt.Sprintf(telegram, "open"), pairings, "channels.telegram.dmPolicy is open.\n"},
		"their own sessions":   {fmt.Sprintf(telegram, "pairing") + "session: { dmScope: per-peer }\n", pairings, ""},
		"not told":             {fmt.Sprintf(telegram, "pairing"), map[string]string{"/healthz": "ok", "/v1/pairings": "500|"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, map[string]string{"sluice.yaml": basics + test.settings})
			if test.paths != nil {
				answers(t, p, test.paths)
			}
			require.ErrorIs(t, errors.Join(p.Run(t.Context()), terminal.ErrReported), terminal.ErrReported)
			if test.want == "" {
				require.NotContains(t, p.out.String(), "direct chats")
				return
			}
			require.Contains(t, p.out.String(), "note  direct chats       "+test.want)
			require.Contains(t, p.out.String(), "hint: change session.dmScope, then run sluice doctor again\n")
		})
	}
}

func TestSettingsThatDoNotFitTogether(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics + `
agents: { defaults: { sandbox: { mode: off }, tools: { allow: ["*", exec] } } }
policy: { rules: [{ name: a, hook: PRE_TOOL_CALL, tools: [exce], action: block }] }
`})
	text := p.run(t)
	require.Regexp(t, `(?m)^note  exec               .*main.*\n +hint: `, text)
	require.Regexp(t, `(?m)^FAIL  rules              .*"exce".*\n +fix: `, text)
	require.NotContains(t, text, "fit together")
	require.Contains(t, text, "\n1 problem found.\n")

	p = newPatient(t, map[string]string{"sluice.yaml": basics + "policy: { rules: [{ name: a, hook: PRE_OUTPUT, action: block }] }\n"})
	require.Contains(t, p.run(t), "ok    policy             1 rule; levels, rules and secrets fit together\n")
}

// t.Setenv keeps this test from running beside others.
func TestTheSandboxIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	agents := func(list string) *config.Config {
		p := newPatient(t, map[string]string{"sluice.yaml": basics + "agents: { list: [" + list + "] }\n"})
		cfg, err := p.Locator.Load()
		require.NoError(t, err)
		return cfg
	}
	got := sandboxed(t.Context(), agents("{ id: a, default: true, sandbox: { mode: required } }, { id: b }, { id: c, sandbox: { mode: required } }, { id: d, sandbox: { mode: optional } }, { id: e, tools: { allow: [exec] } }, { id: f, tools: { deny: [exec] } }"), time.Now)
	require.Len(t, got, 2)
	require.False(t, got[0].note)
	require.Regexp(t, `bwrap.*\. Agents that require it can't run commands: a, c\. Agents that therefore have no commands: b, d\. Agents whose commands run outside of it, with the rights of the gateway: e$`, got[0].text)
	require.Equal(t, installSandbox, got[0].fix)

	got = sandboxed(t.Context(), agents("{ id: a, default: true, sandbox: { mode: optional } }, { id: b, sandbox: { mode: \"off\" } }"), time.Now)
	require.Len(t, got, 2)
	require.True(t, got[0].note)
	require.Regexp(t, `\. Agents that therefore have no commands: a$`, got[0].text)

	got = sandboxed(t.Context(), agents("{ id: a, default: true, sandbox: { mode: \"off\" } }"), time.Now)
	require.Len(t, got, 1)
	require.Equal(t, "documents", got[0].part)
	require.True(t, got[0].note)
	require.Regexp(t, `^PDF, Office and other documents that people send can't be read, only plain text: .*bwrap`, got[0].text)
	require.Equal(t, note("documents", "PDF files that people send can't be read: pdftotext is not installed", "sudo apt-get install poppler-utils (or your distribution's package)"), documents(nil, ""))
}

func TestHowToMendTheSandbox(t *testing.T) {
	t.Parallel()
	refused := errors.New("try sandbox: run in sandbox: setting up uid map: Permission denied")
	for name, c := range map[string]struct {
		missing error
		files   map[string]string
		want    string
	}{
		"not installed":    {fmt.Errorf("bubblewrap is not installed: %w", exec.ErrNotFound), nil, "apt-get install bubblewrap"},
		"a container":      {refused, map[string]string{".dockerenv": ""}, "--security-opt"},
		"AppArmor":         {refused, map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n", "proc/sys/user/max_user_namespaces": "0\n"}, "apparmor_restrict_unprivileged_userns=0"},
		"Debian's setting": {refused, map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, "unprivileged_userns_clone=1"},
		"no namespaces":    {refused, map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "1\n", "proc/sys/user/max_user_namespaces": "0\n"}, "max_user_namespaces=10000"},
		"anything else":    {refused, nil, "0.8 or later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o600))
			}
			require.Contains(t, mendSandbox(c.missing, root), c.want)
		})
	}
}

func TestTheSandboxAndItsLimits(t *testing.T) {
	t.Parallel()
	p := newPatient(t, map[string]string{"sluice.yaml": basics + "agents: { list: [{ id: a, default: true, sandbox: { mode: required } }] }\n"})
	cfg, err := p.Locator.Load()
	require.NoError(t, err)
	limits := commandLimits(cfg.Limits)
	require.Contains(t, limits.text, "limited to ")
	require.Equal(t, limits.note, limits.fix != "", "there is a hint where the kernel sets no limits")
	got := sandboxed(t.Context(), cfg, time.Now)
	if got[0].fix == "" {
		require.Equal(t, []finding{healthy("sandbox", "bubblewrap works"), limits}, got[:2])
	}
}

// Nothing that a platform or a gateway says can steer the terminal, and a text of several lines stays in its column.
func TestTheReport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := terminal.Screen{Out: &out}
	require.ErrorIs(t, report(s, []finding{healthy("a\nb", "x\ny\x1b[2J"), problem("c", "d", "e\nf"), note("g", "h", "i"), note("j", "k", "")}), terminal.ErrReported)
	require.Equal(t, `ok    a b                x
                         y\u001b[2J
FAIL  c                  d
                         fix: e f
note  g                  h
                         hint: i
note  j                  k

1 problem found.
`, out.String())
	some := []finding{problem("a", "b", "c"), note("d", "e", "f")} // two lines each, and then the sum
	for room := range 5 {
		require.EqualError(t, report(terminal.Screen{Out: &full{room: room}}, some), "no space left", "after %d lines", room)
	}
	require.ErrorIs(t, report(terminal.Screen{Out: &full{room: 5}}, some), terminal.ErrReported)
	require.EqualError(t, report(terminal.Screen{Out: &full{room: 1}}, []finding{healthy("a", "b")}), "no space left")
}

// full is an output that has room for some lines.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room == 0 {
		return 0, errors.New("no space left")
	}
	f.room--
	return len(p), nil
}

func TestWhoIsLimited(t *testing.T) {
	t.Parallel()
	require.Empty(t, limited(nil), "nobody, or an older gateway")
	got := limited([]api.Limited{{Person: "telegram:1001", Reason: "limits.perPerson is reached: 30 in 1 minute", Count: 12}})
	require.Len(t, got, 1)
	require.Equal(t, "telegram:1001 was limited (12 messages or requests refused): limits.perPerson is reached: 30 in 1 minute", got[0].text)
}

// The path stands beside the error already.
func TestCauseLeavesThePathOut(t *testing.T) {
	t.Parallel()
	_, err := os.ReadFile(filepath.Join(t.TempDir(), "none"))
	require.Equal(t, "no such file or directory", cause(fmt.Errorf("create: %w", err)).Error())
	plain := errors.New("disk quota exceeded")
	require.Equal(t, plain, cause(plain))
}

func TestHowCommandsAreLimited(t *testing.T) {
	t.Parallel()
	require.Empty(t, together(""), "an older gateway")
	got := together("the gateway's control group is not delegated to it")
	require.Len(t, got, 1)
	require.True(t, got[0].note)
	require.Equal(t, "each command of a session has its own limits: the gateway's control group is not delegated to it", got[0].text)
	require.Contains(t, got[0].fix, "Delegate=yes")
}
