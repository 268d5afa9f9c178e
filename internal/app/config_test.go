package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log" //nolint:depguard // what libraries print with
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/app"
	"sluice/internal/config"
	"sluice/internal/configfile"
	"sluice/store/sqlite/sqlitetest"
)

// fromFile starts a gateway with a configuration file; if text is empty, the file does not exist yet.
func fromFile(t *testing.T, text string, env map[string]string) (g *gateway, path string) {
	t.Helper()
	g = &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	path = filepath.Join(t.TempDir(), "sluice.yaml")
	loader := config.Loader{Dir: filepath.Dir(path), Getenv: func(name string) (string, bool) {
		if name == config.EnvState {
			return g.state, true
		}
		v, ok := env[name]
		return v, ok
	}}
	if !strings.Contains(text, "listen:") {
		loader.Listen = "127.0.0.1:0"
	}
	source := configfile.Source{Loader: loader}
	if text != "" {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		source.Path = path
	}
	var err error
	g.cfg, err = loader.Load(source.Path)
	require.NoError(t, err)
	g.App = app.New(g.cfg, "test", slog.New(slog.NewTextHandler(g.log, nil)))
	g.Source = source
	g.committed = g.Committed()
	require.NoError(t, g.Start(t.Context()))
	t.Cleanup(g.end)
	return g, path
}

type shownKey struct {
	Path, Kind, Doc string
	Value           any
	Set, Restart    bool
	Source          struct {
		From, Name string
		Line       int
	}
}

type shownConfig struct {
	File, Makes, Version string
	Keys                 []shownKey
	Faults               []struct{ Text string }
	Waiting              []string
}

func (c shownConfig) key(t *testing.T, path string) shownKey {
	t.Helper()
	for _, k := range c.Keys {
		if k.Path == path {
			return k
		}
	}
	t.Fatalf("no key %s", path)
	return shownKey{}
}

type effects struct {
	OK      bool
	Version string
	Faults  []struct {
		Line       int
		Path, Text string
	}
	Changes []struct {
		Path, Kind    string
		Before, After any
		WasSet        bool `json:"was_set"`
		IsSet         bool `json:"is_set"`
	}
	Accounts []struct{ Channel, Account, Effect string }
	Restart  []string
	Saved    int
}

const configured = `# our gateway
gateway: { token: the-token-of-the-owner-1 }

models:
  default: offline/echo # for now
  providers:
    local: { kind: openai, baseURL: "http://127.0.0.1:9/v1", apiKey: "${KEY}", models: [m] }
agents:
  list:
    - id: main
      systemPrompt: ${PROMPT}
secrets:
  github: { value: ghp-literal-secret, tools: ["web_fetch"] }
`

// The owner sees each setting with its source, checks a change, saves it, sees who did what, and goes back. No secret
// is anywhere in what the gateway says.
func TestConfigIsReadCheckedSavedAndTakenBack(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, configured, map[string]string{"KEY": "sk-key-of-the-model", "PROMPT": "prompt-of-the-environment"})
	secrets := []string{"the-token-of-the-owner-1", "sk-key-of-the-model", "ghp-literal-secret", "prompt-of-the-environment", "bot-token-that-is-new"}
	all := ""
	ask := func(method, path, body string, status int, into any, headers ...string) {
		t.Helper()
		resp := g.call(method, path, body, headers...)
		raw, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, status, resp.StatusCode, "%s %s: %s", method, path, raw)
		all += string(raw)
		if into != nil {
			require.NoError(t, json.Unmarshal(raw, into), "%s", raw)
		}
	}
	var shown shownConfig
	ask(http.MethodGet, "/v1/config", "", http.StatusOK, &shown)
	require.Equal(t, path, shown.File)
	k := shown.key(t, "models.default")
	require.Equal(t, []any{"offline/echo", "file", 5, false}, []any{k.Value, k.Source.From, k.Source.Line, k.Restart})
	k = shown.key(t, "models.providers.local.apiKey")
	require.Equal(t, []any{nil, "secret", true, "environment", "KEY"}, []any{k.Value, k.Kind, k.Set, k.Source.From, k.Source.Name})
	k = shown.key(t, "secrets.github.value")
	require.Equal(t, []any{nil, "secret", true, "file"}, []any{k.Value, k.Kind, k.Set, k.Source.From})
	require.Equal(t, "${PROMPT}", shown.key(t, "agents.list[0].systemPrompt").Value, "it may be a secret")
	require.Equal(t, "default", shown.key(t, "limits.historyKeep").Source.From)
	require.Equal(t, "--listen", shown.key(t, "gateway.listen").Source.Name)
	require.Equal(t, "SLUICE_STATE", shown.key(t, "state").Source.Name)
	require.True(t, shown.key(t, "store.url").Restart)

	var patterns struct{ Keys []shownKey }
	ask(http.MethodGet, "/v1/config/keys", "", http.StatusOK, &patterns)
	require.Equal(t, "secret", shownConfig{Keys: patterns.Keys}.key(t, "channels.telegram.accounts.<name>.token").Kind)
	require.Equal(t, "secret", shownConfig{Keys: patterns.Keys}.key(t, "hooks.<name>.secrets[]").Kind)

	var e effects
	ask(http.MethodPost, "/v1/config/check", `{"changes":[{"path":"limits.historyKeep","value":5000},{"path":"models.colour","value":"blue"}]}`, http.StatusOK, &e)
	require.False(t, e.OK)
	require.Len(t, e.Faults, 2)
	require.Equal(t, "models.colour", e.Faults[0].Path)
	require.Equal(t, 8, e.Faults[0].Line)
	e = effects{}
	ask(http.MethodPost, "/v1/config/check", `{"changes":[{"path":"channels.telegram.accounts.second.token","value":"bot-token-that-is-new"},{"path":"models.default","value":"offline/guide"},{"path":"store.url","value":"${file:nowhere}"}]}`, http.StatusOK, &e)
	require.False(t, e.OK)
	require.Contains(t, e.Faults[len(e.Faults)-1].Text, "cannot be read")
	change := `{"changes":[{"path":"limits.historyKeep","value":7},{"path":"models.default","value":"offline/guide"},{"path":"secrets.github.value","value":"bot-token-that-is-new"}]}`
	e = effects{}
	ask(http.MethodPost, "/v1/config/check", change, http.StatusOK, &e)
	require.True(t, e.OK, "%v", e.Faults)
	require.Len(t, e.Changes, 5, "with what follows models.default")
	require.Equal(t, []any{"models.default", "offline/echo", "offline/guide"}, []any{e.Changes[0].Path, e.Changes[0].Before, e.Changes[0].After})
	require.Equal(t, []any{"secrets.github.value", nil, nil, true, true}, []any{e.Changes[3].Path, e.Changes[3].Before, e.Changes[3].After, e.Changes[3].WasSet, e.Changes[3].IsSet})
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, configured, string(text), "a check changes nothing")
	require.NoDirExists(t, filepath.Join(filepath.Dir(path), "sluice-secrets"))

	ask(http.MethodPut, "/v1/config", change, http.StatusPreconditionRequired, nil)
	ask(http.MethodPut, "/v1/config", change, http.StatusPreconditionFailed, nil, "If-Match", `"other"`)
	ask(http.MethodPut, "/v1/config", `{"changes":[{"path":"limits.historyKeep","value":"many"}]}`, http.StatusUnprocessableEntity, nil, "If-Match", shown.Version)
	ask(http.MethodPut, "/v1/config", `{"changes":[],"version":1,"text":""}`, http.StatusUnprocessableEntity, nil, "If-Match", shown.Version)
	e = effects{}
	ask(http.MethodPut, "/v1/config", change, http.StatusOK, &e, "If-Match", `"`+shown.Version+`"`)
	require.Equal(t, 2, e.Saved, "the first version is the file as it was")
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	lines, before := strings.Split(string(text), "\n"), strings.Split(configured, "\n")
	require.Equal(t, before[:4], lines[:4])
	require.Equal(t, "  default: offline/guide # for now", lines[4])
	require.Equal(t, before[5:12], lines[5:12])
	require.Contains(t, lines[12], "github: { value: \"${file:sluice-secrets/secrets-github-value.")
	require.Equal(t, []string{"limits:", "  historyKeep: 7", ""}, lines[13:])
	require.NotContains(t, string(text), "bot-token-that-is-new")
	var reply turnReply
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"repeat me"}`), http.StatusOK, &reply)
	require.Equal(t, "me", reply.Reply, "it is in effect at once")
	ask(http.MethodPut, "/v1/config", change, http.StatusPreconditionFailed, nil, "If-Match", shown.Version)

	var history struct {
		Versions []struct {
			ID      int
			By      string
			Changes []struct{ Path string }
		}
	}
	ask(http.MethodGet, "/v1/config/history", "", http.StatusOK, &history)
	require.Len(t, history.Versions, 2)
	require.Equal(t, []any{2, "operator", 5}, []any{history.Versions[0].ID, history.Versions[0].By, len(history.Versions[0].Changes)})
	require.Equal(t, []any{1, "", 0}, []any{history.Versions[1].ID, history.Versions[1].By, len(history.Versions[1].Changes)})
	ask(http.MethodPut, "/v1/config", `{"version":1}`, http.StatusOK, &e, "If-Match", e.Version)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, configured, string(text))
	ask(http.MethodPost, "/v1/config/check", `{"version":99}`, http.StatusNotFound, nil)

	var trail struct {
		Entries []struct{ Action, Actor, Object string }
	}
	ask(http.MethodGet, "/v1/audit?action=config.save", "", http.StatusOK, &trail)
	require.Len(t, trail.Entries, 2)
	for _, s := range secrets {
		require.NotContains(t, all, s)
	}
}

// While the file has faults, or is not what runs, a text from the environment is still shown as it was written.
func TestABrokenFileShowsNoSecret(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, configured, map[string]string{"KEY": "sk-key-of-the-model", "PROMPT": "prompt-of-the-environment"})
	for _, text := range []string{"models: [", "models: { default: nobody/x }\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for _, c := range [][3]string{{http.MethodGet, "/v1/config", ""}, {http.MethodPost, "/v1/config/check", `{"text":"agents: { list: [ { id: main, systemPrompt: other } ] }"}`}} {
			raw, err := io.ReadAll(g.call(c[0], c[1], c[2]).Body)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "prompt-of-the-environment", c[1])
			require.Contains(t, string(raw), "${PROMPT}", c[1])
		}
	}
}

// Secrets in lists, and those that are digits alone, are kept in files of their own, too.
func TestSecretsInListsAreKeptInFiles(t *testing.T) {
	t.Parallel()
	const own = "the-token-of-the-owner-1"
	g, path := fromFile(t, "gateway: { token: "+own+" }\nmodels: { default: offline/echo }\n", nil)
	g.put(own, `[{"path":"gateway.tokens","value":[{"name":"ops","token":"token-of-operators-1","role":"operator","classification":"INTERNAL"}]},{"path":"secrets.pin","value":{"value":123456789012,"tools":["web_fetch"]}}]`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), "token-of-operators-1")
	require.NotContains(t, string(text), "123456789012")
	require.Equal(t, http.StatusOK, g.call(http.MethodGet, "/v1/status", "", "Authorization", "Bearer token-of-operators-1").StatusCode)
}

// A save that was applied is in the audit trail even if its version can't be kept.
func TestASaveIsAuditedWithoutItsHistory(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, configured, map[string]string{"KEY": "sk-key-of-the-model", "PROMPT": "hello"})
	require.NoError(t, os.WriteFile(filepath.Join(g.state, "config-history"), nil, 0o600))
	var shown shownConfig
	read(t, g.call(http.MethodGet, "/v1/config", ""), http.StatusOK, &shown)
	read(t, g.call(http.MethodPut, "/v1/config", `{"changes":[{"path":"limits.historyKeep","value":7}]}`, "If-Match", shown.Version), http.StatusInternalServerError, nil)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "historyKeep: 7", "it is in effect")
	var trail struct{ Entries []struct{ Action string } }
	read(t, g.call(http.MethodGet, "/v1/audit?action=config.save", ""), http.StatusOK, &trail)
	require.Len(t, trail.Entries, 1)
}

// Only an owner whose token sees everything gets the configuration. Others are refused, and learn nothing of it.
func TestConfigIsTheOwners(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, configured, map[string]string{"KEY": "sk-key-of-the-model", "PROMPT": "hello"})
	for _, made := range []string{`{"name":"a","role":"owner","level":"CONFIDENTIAL"}`, `{"name":"b","role":"operator","level":"RESTRICTED"}`, `{"name":"c","role":"viewer","level":"RESTRICTED"}`} {
		var token struct{ Token string }
		read(t, g.call(http.MethodPost, "/v1/tokens", made), http.StatusCreated, &token)
		for _, c := range [][3]string{
			{http.MethodGet, "/v1/config", ""},
			{http.MethodGet, "/v1/config/keys", ""},
			{http.MethodGet, "/v1/config/history", ""},
			{http.MethodPost, "/v1/config/check", `{"text":""}`},
			{http.MethodPut, "/v1/config", `{"text":""}`},
		} {
			var refused map[string]any
			read(t, g.call(c[0], c[1], c[2], "Authorization", "Bearer "+token.Token), http.StatusForbidden, &refused)
			require.Len(t, refused, 2)
		}
	}
}

// A gateway without a configuration file says so, and the first save makes one.
func TestConfigWithoutAFile(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, "", nil)
	var shown shownConfig
	read(t, g.call(http.MethodGet, "/v1/config", ""), http.StatusOK, &shown)
	require.Equal(t, []string{"", path, "none"}, []string{shown.File, shown.Makes, shown.Version})
	k := shown.key(t, "gateway.token")
	require.Equal(t, []any{true, "made"}, []any{k.Set, k.Source.From})
	var e effects
	read(t, g.call(http.MethodPut, "/v1/config", `{"changes":[{"path":"models.default","value":"offline/echo"}]}`, "If-Match", "none"), http.StatusOK, &e)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "models:\n  default: offline/echo\n", string(text))
	read(t, g.call(http.MethodGet, "/v1/config", ""), http.StatusOK, &shown)
	require.Equal(t, path, shown.File)
	require.Equal(t, 2, e.Saved, "the first version is that there was no file")

	// So the first change can be taken back, and the way back too.
	require.Regexp(t, `(?s)2 .*models\.default.*\n1 .*no configuration file`, g.sluice("config", "history"))
	for i, want := range []struct {
		back  int
		model string
	}{{1, "offline/guide"}, {2, "offline/echo"}} {
		read(t, g.call(http.MethodPut, "/v1/config", fmt.Sprintf(`{"version":%d}`, want.back), "If-Match", e.Version), http.StatusOK, &e)
		require.Equal(t, 3+i, e.Saved)
		read(t, g.call(http.MethodGet, "/v1/config", ""), http.StatusOK, &shown)
		require.Equal(t, want.model, shown.key(t, "models.default").Value)
	}
	b := g.console("/config?part=history")
	b.until(`document.querySelectorAll("#versions > li").length === 4`)
	require.Contains(t, eval[string](b, `document.querySelector("#versions > li:last-child").innerText`), "no configuration file")
}

// On the page, the owner finds a setting, is told at once what is wrong with a value, sees what a change would do, saves
// it, and goes back. What the page shows and keeps never has a secret.
func TestConsoleConfig(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, strings.Replace(configured, "offline/echo", "offline/guide", 1), map[string]string{"KEY": "sk-key-of-the-model", "PROMPT": hostile[0]})
	b := newBrowser(t)
	b.watch()
	b.open(g.url("/config#token=" + g.Token()))
	b.until(`document.querySelectorAll(".setting").length > 50`)
	require.LessOrEqual(t, eval[int](b, `document.querySelectorAll(".setting").length`), 100)
	write := func(selector, text string) {
		t.Helper()
		eval[bool](b, `(() => { const n = document.querySelector(`+quoted(selector)+`); n.focus(); n.value = `+quoted(text)+`; n.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	}
	press := func(words string) {
		t.Helper()
		eval[bool](b, `([...document.querySelectorAll("main button")].find((n) => n.textContent.startsWith(`+quoted(words)+`) && !n.disabled)).click(), true`)
	}
	edit := func(key, value string) {
		t.Helper()
		write("#filters input", key)
		b.until(`document.querySelector('[data-path="` + key + `"]')`)
		eval[bool](b, `document.querySelector('[data-path="`+key+`"]').click(), true`)
		b.until(`document.querySelector("#value")`)
		write("#value", value)
		press("Add to the changes")
		b.until(`document.querySelector(".draft")`)
	}
	edit("limits.historyKeep", "many")
	b.until(`document.querySelector(".draft .note.bad")?.textContent.includes("whole number from 0 to 1000")`)
	require.True(t, eval[bool](b, `document.querySelector("[data-part=save]").disabled`))
	require.Empty(t, b.obstacles())
	b.picture("config-fault")
	edit("limits.historyKeep", "7")
	b.until(`document.querySelector(".draft .changes")?.innerText.includes("limits.historyKeep 50")`)
	edit("secrets.github.value", "a-new-secret-of-github")
	b.until(`document.querySelector(".draft .changes")?.innerText.includes("a new secret")`)

	press("Add a setting")
	b.until(`document.querySelectorAll("#patterns option").length > 20`)
	write("#adding input", "channels.telegram.accounts.<name>.token")
	press("Choose")
	b.until(`document.querySelector("#adding .note.bad")`)
	write("#adding input", "channels.telegram.accounts.second.dontknow")
	press("Choose")
	write("#adding input", "targets.me")
	press("Choose")
	write("#adding input", "channels.webchat.enabled")
	press("Choose")
	b.until(`document.querySelector("#value")`)
	b.picture("config-edit")
	require.Empty(t, b.obstacles())
	require.Empty(t, b.darkObstacles("config-edit"))
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	b.picture("config-phone")
	b.until(`!document.querySelector("[data-part=save]").disabled`)
	press("Save and apply")
	b.until(`!document.querySelector(".draft")`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "historyKeep: 7")
	b.open(g.url("/config?part=history"))
	b.until(`document.querySelectorAll("#versions > li").length === 2`)
	press("Go back to this version")
	b.until(`document.querySelector(".draft .changes")?.innerText.includes("limits.historyKeep 7")`)
	require.Empty(t, b.obstacles())
	b.picture("config-history")
	press("Save and apply")
	b.until(`document.querySelectorAll("#versions > li").length === 3`)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), "historyKeep")
	for _, secret := range []string{"sk-key-of-the-model", "ghp-literal-secret", "a-new-secret-of-github", "the-token-of-the-owner-1"} {
		require.False(t, eval[bool](b, `(document.documentElement.outerHTML + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)).includes(`+quoted(secret)+`)`))
	}
	b.sound()
}

// What a library prints is a record of the log, in its format and without secrets. It is not parallel, because the printer is the
// process's own.
func TestLinesOfLibrariesAreRecords(t *testing.T) { //nolint:paralleltest // see above
	logger, flags, printer := slog.Default(), log.Flags(), log.Writer()
	t.Cleanup(func() {
		slog.SetDefault(logger)
		log.SetOutput(printer)
		log.SetFlags(flags)
	})
	dir := t.TempDir()
	path := filepath.Join(dir, "sluice.yaml")
	require.NoError(t, os.WriteFile(path, []byte("gateway: { listen: 127.0.0.1:0, token: the-token-of-the-owner }\nstate: "+dir+"/state\nlog: { format: json }\n"), 0o600))
	out, logged, stop := running(t, path, false)
	out.await(t, "Open  http://")
	log.Print("Unsolicited response: the-token-of-the-owner")
	logged.await(t, "Unsolicited response")
	stop()
	logged.mu.Lock()
	defer logged.mu.Unlock()
	for line := range strings.Lines(logged.text.String()) {
		require.True(t, json.Valid([]byte(line)), "%s", line)
	}
	require.NotContains(t, logged.text.String(), "the-token-of-the-owner")
}

// A secret's file that changes on disk is in use without anything else: the old token no longer works, the new one does.
func TestRunWatchesTheFilesOfSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, secret := filepath.Join(dir, "sluice.yaml"), filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(secret, []byte("first-token\n"), 0o600))
	require.NoError(t, os.WriteFile(path, []byte("gateway: { listen: 127.0.0.1:0, token: \"${file:token}\" }\nstate: "+dir+"/state\nmodels: { default: offline/echo }\n"), 0o600))
	out, logged, stop := running(t, path, false)
	out.await(t, "Open  http://")
	out.mu.Lock()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out.text.String())
	out.mu.Unlock()
	status := func(token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v1/status", http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, []int{http.StatusOK, http.StatusUnauthorized}, []int{status("first-token"), status("the-second-token")})
	require.NoError(t, os.WriteFile(secret, []byte("the-second-token\n"), 0o600))
	logged.await(t, "configuration applied")
	require.Equal(t, []int{http.StatusUnauthorized, http.StatusOK}, []int{status("first-token"), status("the-second-token")})
	stop()
	require.NotContains(t, logged.text.String(), "the-second-token")
}

// The owner may open the gateway to other machines and lower a level, and the audit trail says who did.
func TestASaveThatOpensTheGatewayIsInTheAuditTrail(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-the-owner-1"
	g, path := fromFile(t, "gateway: { listen: \"127.0.0.1:0\", token: "+token+" }\nmodels: { default: offline/echo }\nchannels: { webchat: { classification: CONFIDENTIAL } }\n", nil)
	g.put(token, `[{"path":"gateway.listen","value":"0.0.0.0:0"},{"path":"channels.webchat.classification","value":"PUBLIC"}]`)
	require.True(t, strings.HasPrefix(g.Addr().String(), "[::]") || strings.HasPrefix(g.Addr().String(), "0.0.0.0"), g.Addr().String())
	var trail struct {
		Entries []struct {
			Actor, Object string
			Label         string
			Detail        struct{ Keys []string }
		}
	}
	read(t, g.call(http.MethodGet, "/v1/audit?action=config.save", "", "Authorization", "Bearer "+token), http.StatusOK, &trail)
	require.Len(t, trail.Entries, 1)
	require.Equal(t, []string{"operator", path}, []string{trail.Entries[0].Actor, trail.Entries[0].Object})
	require.ElementsMatch(t, []string{"gateway.listen", "channels.webchat.classification"}, trail.Entries[0].Detail.Keys)
}
