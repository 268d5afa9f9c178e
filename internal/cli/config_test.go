package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

const configAnswer = `{"file":"/etc/sluice.yaml","version":"v1","keys":[` +
	`{"path":"gateway.listen","kind":"text","value":"127.0.0.1:8484","set":true,"doc":"The address.","source":{"from":"flag","name":"--listen"},"restart":false},` +
	`{"path":"gateway.token","kind":"secret","set":true,"doc":"The owner's token.","source":{"from":"made","name":"token"},"restart":false},` +
	`{"path":"store.url","kind":"secret","set":false,"doc":"The database.","source":{"from":"default"},"restart":true},` +
	`{"path":"models.providers.p.apiKey","kind":"secret","set":true,"doc":"The key.","source":{"from":"secret_file","name":"/run/key","line":9},"restart":false},` +
	`{"path":"owners","kind":"list","value":["telegram:1","a\u001bb"],"set":true,"doc":"Who owns it <b>.","source":{"from":"file","line":3},"restart":false},` +
	`{"path":"limits.historyKeep","kind":"number","value":50,"set":true,"doc":"How many.","source":{"from":"default"},"restart":false}],` +
	`"faults":[{"line":4,"path":"models.colour","text":"unknown key"}],"waiting":["log.level"]}`

func TestConfigList(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"config list": {
			asks: "GET /v1/config", answer: configAnswer,
			out: `SETTING                    VALUE                 SOURCE                 RESTART
gateway.listen             127.0.0.1:8484        flag --listen          -
gateway.token              (secret)              made by the gateway    -
store.url                  -                     default                yes
models.providers.p.apiKey  (secret)              file /run/key, line 9  -
owners                     telegram:1, a\u001bb  file, line 3           -
limits.historyKeep         50                    default                -

File: /etc/sluice.yaml
The file has errors. The last valid configuration stays in effect:
  line 4: models.colour: unknown key
Changed, and in effect after the next start: log.level
`,
		},
		"config history": {
			asks: "GET /v1/config/history",
			answer: `{"versions":[{"id":3,"at":"2026-04-26T18:03:00Z","by":"operator","back_to":1,"changes":[{"path":"limits.historyKeep"}]},` +
				`{"id":2,"at":"2026-04-26T17:03:16Z","by":"token:a\u001b","changes":[{"path":"limits.historyKeep"},{"path":"models.default"}]},{"id":1,"at":"2026-04-25T17:03:16Z","changes":[]}]}`,
			out: `VERSION  SAVED    BY                      CHANGED
3        16s ago  operator                back to version 1: limits.historyKeep
2        1h ago   token:a\u001b           limits.historyKeep, models.default
1        25h ago  outside of the gateway  -
`,
		},
	})
	env := answering(t, map[string]string{"/v1/config": configAnswer})
	for line, want := range map[string][]string{
		"config list --changed":       {"gateway.listen", "gateway.token", "models.providers.p.apiKey", "owners"},
		"config list TOKEN the":       {"gateway.token"},
		"config list who":             {"owners"},
		"config list --changed store": {},
	} {
		var got struct {
			Version string
			Keys    []struct{ Path, Doc string }
		}
		answered := execute(t, env, append(words(line), "--json")...)
		require.NoError(t, json.Unmarshal([]byte(answered.out), &got), answered)
		paths := []string{}
		for _, k := range got.Keys {
			paths = append(paths, k.Path)
		}
		require.Equal(t, want, paths, line)
		require.Equal(t, "v1", got.Version, "all else is as the gateway said it")
	}
	require.Contains(t, execute(t, env, "config", "list", "who", "--json").out, "<b>")
	require.Equal(t, "No settings found.\n\nThere is no configuration file. The first change makes /a/sluice.yaml.\n",
		execute(t, answering(t, map[string]string{"/v1/config": `{"makes":"/a/sluice.yaml","keys":[]}`}), "config", "list").out)
}

// configured is a gateway whose configuration can be changed. It keeps what it was asked.
type configured struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	check string // what a check is answered
	save  int    // the status of a save
}

const willDo = `{"ok":true,"version":"v7","faults":[],"changes":[{"path":"limits.historyKeep","kind":"number","before":50,"after":7,"was_set":true,"is_set":true},` +
	`{"path":"models.providers.p.apiKey","kind":"secret","was_set":true,"is_set":true},{"path":"secrets.new.value","kind":"secret","was_set":false,"is_set":true},{"path":"owners","kind":"list","before":["a","b"],"was_set":true,"is_set":false}],` +
	`"accounts":[{"channel":"telegram","account":"second","effect":"starts"}],"restart":["store.url"]}`

const shownEffects = `SETTING                    BEFORE    AFTER
limits.historyKeep         50        7
models.providers.p.apiKey  (secret)  (another secret)
secrets.new.value          -         (secret)
owners                     a, b      -
The account second on telegram starts.
In effect after the next start: store.url
`

func newConfigured(t *testing.T) *configured {
	t.Helper()
	c := &configured{check: willDo, save: http.StatusOK}
	c.Server = httptest.NewServer(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked = append(c.asked, strings.Join(strings.Fields(r.Method+" "+r.URL.Path+" "+r.Header.Get("If-Match")+" "+string(body)), " "))
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/config/keys":
			fmt.Fprint(w, `{"keys":[{"path":"limits.historyKeep","kind":"number"},{"path":"channels.webchat.enabled","kind":"bool"},{"path":"models.default","kind":"text"},{"path":"owners","kind":"list"},`+
				`{"path":"channels.telegram.accounts.<name>.token","kind":"secret"},{"path":"hooks.<name>.secrets[]","kind":"secret"},{"path":"gateway.tokens[].token","kind":"secret"}]}`)
		case "POST /v1/config/check":
			if c.check == "" {
				refuse(w, http.StatusNotFound, "not_found", "not found")
				return
			}
			fmt.Fprint(w, c.check)
		case "PUT /v1/config":
			if c.save != http.StatusOK {
				refuse(w, c.save, "changed", "the configuration file has changed")
				return
			}
			fmt.Fprint(w, strings.Replace(c.check, `"ok":true`, `"ok":true,"saved":2`, 1))
		}
	})))
	t.Cleanup(c.Close)
	return c
}

// run runs a command, which may be asked something.
func (c *configured) run(t *testing.T, with func(d *cli.Deps), args ...string) result {
	t.Helper()
	var out bytes.Buffer
	d, stderr := deps(t, map[string]string{cli.EnvURL: c.URL, cli.EnvToken: fakeToken}, args...)
	d.Stdout = &out
	if with != nil {
		with(&d)
	}
	code := cli.Execute(t.Context(), d)
	return result{code, out.String(), stderr.String()}
}

// A change is checked, shown and saved for the file that was checked. Each value is sent in the type of its setting.
func TestConfigIsChanged(t *testing.T) {
	t.Parallel()
	for line, body := range map[string]string{
		"config set limits.historyKeep 7":                         `{"changes":[{"path":"limits.historyKeep","value":7}]}`,
		"config set limits.historyKeep many":                      `{"changes":[{"path":"limits.historyKeep","value":"many"}]}`,
		"config set channels.webchat.enabled false":               `{"changes":[{"path":"channels.webchat.enabled","value":false}]}`,
		"config set models.default 7":                             `{"changes":[{"path":"models.default","value":"7"}]}`,
		`config set owners '["telegram:1"]'`:                      `{"changes":[{"path":"owners","value":["telegram:1"]}]}`,
		`config set somewhere.new '{"a":1.50}'`:                   `{"changes":[{"path":"somewhere.new","value":{"a":1.50}}]}`,
		"config set channels.telegram.accounts.x.token ${TOKEN}":  `{"changes":[{"path":"channels.telegram.accounts.x.token","value":"${TOKEN}"}]}`,
		`config set hooks.ci.secrets '["${A}","${file:b}"]'`:      `{"changes":[{"path":"hooks.ci.secrets","value":["${A}","${file:b}"]}]}`,
		"config unset limits.historyKeep":                         `{"changes":[{"path":"limits.historyKeep","remove":true}]}`,
		"config rollback 12":                                      `{"version":12}`,
		`config set channels.telegram.accounts '{"x":{"b":"c"}}'`: `{"changes":[{"path":"channels.telegram.accounts","value":{"x":{"b":"c"}}}]}`,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			c := newConfigured(t)
			require.Equal(t, result{cli.ExitDone, shownEffects + "Saved as version 2.\n", ""}, c.run(t, nil, words(line)...))
			want := []string{"POST /v1/config/check " + body, `PUT /v1/config "v7" ` + body}
			require.Equal(t, want, c.asked[len(c.asked)-2:])
			got := c.run(t, nil, append(words(line), "--json")...)
			require.Equal(t, cli.ExitDone, got.code)
			require.JSONEq(t, strings.Replace(willDo, `"ok":true`, `"ok":true,"saved":2`, 1), got.out)
			require.Empty(t, got.err)
		})
	}
}

// At a terminal, nothing is saved before somebody says yes.
func TestConfigAsksAtATerminal(t *testing.T) {
	t.Parallel()
	const asked = "Save this change? [y/N] "
	for name, one := range map[string]struct {
		answer string
		args   []string
		want   result
		sent   int
	}{
		"yes":           {"y\n", nil, result{cli.ExitDone, shownEffects + "Saved as version 2.\n", asked}, 2},
		"no":            {"n\n", nil, result{cli.ExitFailed, shownEffects, asked + "sluice: nothing was changed\n"}, 1},
		"end of input":  {"", nil, result{cli.ExitFailed, shownEffects, asked + "sluice: nothing was changed\n"}, 1},
		"without doubt": {"", []string{"--yes"}, result{cli.ExitDone, shownEffects + "Saved as version 2.\n", ""}, 2},
		"JSON, no":      {"n\n", []string{"--json"}, result{cli.ExitFailed, "", shownEffects + asked + "sluice: nothing was changed\n"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConfigured(t)
			got := c.run(t, func(d *cli.Deps) { d.Terminal, d.Stdin = true, strings.NewReader(one.answer) }, append([]string{"config", "rollback", "1"}, one.args...)...)
			require.Equal(t, one.want, got)
			require.Len(t, c.asked, one.sent)
		})
	}
}

// The value of a secret comes from standard input, or is typed without being shown; it is never an argument.
func TestConfigSecretsAreNoArguments(t *testing.T) {
	t.Parallel()
	const key = "channels.telegram.accounts.default.token"
	body := `{"changes":[{"path":"` + key + `","value":"123:abc"}]}`
	c := newConfigured(t)
	got := c.run(t, func(d *cli.Deps) { d.Stdin = strings.NewReader("123:abc\r\n") }, "config", "set", key)
	require.Equal(t, cli.ExitDone, got.code, got.err)
	require.Equal(t, `PUT /v1/config "v7" `+body, c.asked[2])
	require.NotContains(t, got.out+got.err, "123:abc")
	c = newConfigured(t)
	got = c.run(t, func(d *cli.Deps) {
		d.Terminal, d.Stdin, d.Secret = true, strings.NewReader("y\n"), func() (string, error) { return "123:abc", nil }
	}, "config", "set", key)
	require.Equal(t, result{cli.ExitDone, shownEffects + "Saved as version 2.\n", "Value of " + key + ": \nSave this change? [y/N] "}, got)
	require.Equal(t, `PUT /v1/config "v7" `+body, c.asked[2])

	for name, one := range map[string]struct {
		typed string
		err   error
		args  []string
		want  string
	}{
		"an argument":           {"", nil, []string{key, "123:abc"}, key + " is a secret, and other programs can see"},
		"another way to write":  {"", nil, []string{`channels["telegram"].accounts["default"]["token"]`, "123:abc"}, "is a secret"},
		"in a section":          {"", nil, []string{"channels.telegram.accounts", `{"default":{"token":"123:abc"}}`}, key + " is a secret"},
		"in a list":             {"", nil, []string{"hooks.ci.secrets", `["${A}","123:abc"]`}, "hooks.ci.secrets[1] is a secret"},
		"in a list of sections": {"", nil, []string{"gateway.tokens", `[{"token":"123:abc"}]`}, "gateway.tokens[0].token is a secret"},
		"nothing":               {"\n", nil, []string{key}, "the value of " + key + " is empty"},
		"too much":              {strings.Repeat("x", 64<<10+1), nil, []string{key}, "has more than 65536 bytes"},
		"broken":                {"", errors.New("the line is cut"), []string{key}, "the line is cut"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConfigured(t)
			got := c.run(t, func(d *cli.Deps) {
				if d.Stdin = strings.NewReader(one.typed); one.err != nil {
					d.Secret = func() (string, error) { return "", one.err }
				}
			}, append([]string{"config", "set"}, one.args...)...)
			require.NotZero(t, got.code)
			require.Contains(t, got.err, one.want)
			require.NotContains(t, got.err, "123:abc")
			require.Len(t, c.asked, 1, "only the settings that there could be were asked for")
		})
	}
}

// What can't be saved is not.
func TestConfigChangesThatFail(t *testing.T) {
	t.Parallel()
	misuse(t, map[string]string{
		"config rollback first": `VERSION "first": use a number from "sluice config history"`,
		"config rollback 0":     `VERSION "0": use a number from "sluice config history"`,
		"config set":            "expected at least 1 argument, got 0",
		"config unset":          "expected 1 argument, got 0",
	})
	c := newConfigured(t)
	require.Contains(t, c.run(t, nil, "config", "set", "models.default").err, "the value of models.default is missing")
	for _, bad := range []string{"telegram:1", `"telegram:1"`, "["} {
		require.Contains(t, c.run(t, nil, "config", "set", "owners", bad).err, `write the value as JSON`)
	}
	require.Len(t, c.asked, 4, "nothing was sent")
	c = newConfigured(t)
	c.check = `{"ok":false,"version":"v7","faults":[{"line":3,"path":"limits.historyKeep","text":"use a number\u001b"},{"text":"no"}],"changes":[],"accounts":[],"restart":[]}`
	got := c.run(t, nil, "config", "unset", "x")
	require.Equal(t, cli.ExitUsage, got.code)
	require.Contains(t, got.err, "sluice: not saved:\n  line 3: limits.historyKeep: use a number\\u001b\n  no\n")
	got = c.run(t, nil, "config", "unset", "x", "--json")
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.out, `"ok": false`)
	require.Len(t, c.asked, 2, "it was checked, and not saved")
	c.check = ""
	require.Equal(t, "sluice: version 99 is not kept: `sluice config history` lists those that are\n", c.run(t, nil, "config", "rollback", "99").err)
	c = newConfigured(t)
	c.save = http.StatusPreconditionFailed
	got = c.run(t, nil, "config", "unset", "x")
	require.Equal(t, result{cli.ExitFailed, shownEffects, "sluice: the configuration file has changed\n"}, got)
	c = newConfigured(t)
	c.check = `{"ok":true,"version":"v8","faults":[],"changes":[],"accounts":[],"restart":[]}`
	require.Equal(t, "No setting gets another value.\nSaved as version 2.\n", c.run(t, nil, "config", "unset", "x").out)
}
