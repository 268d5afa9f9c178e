package attacks_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
)

// configPath is where the configuration is served.
const configPath = "/v1/config"

// configured is what the owner is told of the configuration, and of a change.
type configured struct {
	OK      bool
	Version string
	Saved   int
	Faults  []struct{ Text string }
}

// configuration is what the owner is told of the configuration.
func (s *scene) configuration() (got configured) {
	s.t.Helper()
	s.read(s.as(masterToken, http.MethodGet, configPath, ""), &got)
	return got
}

// save saves a change as the owner.
func (s *scene) save(body string) answer {
	s.t.Helper()
	return s.as(masterToken, http.MethodPut, configPath, body, "If-Match", `"`+s.configuration().Version+`"`)
}

// takeBack goes back to before a save, if it was one.
func (s *scene) takeBack(saved answer) {
	s.t.Helper()
	if saved.status != http.StatusOK {
		return
	}
	var did configured
	s.read(saved, &did)
	s.read(s.save(fmt.Sprintf(`{"version":%d}`, did.Saved-1)), nil)
}

// edit is a change of one key.
func (s *scene) edit(path string, value any) string {
	s.t.Helper()
	return s.edits(args{"path": path, "value": value})
}

// edits are changes of several keys at once.
func (s *scene) edits(changes ...args) string {
	s.t.Helper()
	body, err := json.Marshal(args{"changes": changes})
	require.NoError(s.t, err)
	return string(body)
}

// keptSecret is a file that the gateway makes for a secret.
var keptSecret = regexp.MustCompile(`^[A-Za-z0-9-]+\.\d{8}T\d{6}\.\d{6}$`)

// configAttacks want the configuration, or use it to see or to write what they must not.
func configAttacks() []attack {
	return []attack{
		{path: "trust", name: "configuration: an operator, a viewer and a limited owner read it, check it, save it and go back", act: func(s *scene) {
			before, err := os.ReadFile(s.file)
			require.NoError(s.t, err)
			version := s.configuration().Version
			for _, who := range [][2]string{{"operator", "RESTRICTED"}, {"viewer", "RESTRICTED"}, {"owner", "CONFIDENTIAL"}, {"owner", "PUBLIC"}} {
				var token struct{ Token string }
				s.read(s.as(masterToken, http.MethodPost, "/v1/tokens", fmt.Sprintf(`{"name":"%s-%s-%d","role":"%s","level":"%s"}`, who[0], strings.ToLower(who[1]), s.n, who[0], who[1])), &token)
				for _, try := range [][3]string{
					{http.MethodGet, configPath, ""},
					{http.MethodGet, configPath + "/keys", ""},
					{http.MethodGet, configPath + "/history", ""},
					{http.MethodPost, configPath + "/check", `{"text":""}`},
					{http.MethodPost, configPath + "/check", `{"version":1}`},
					{http.MethodPut, configPath, s.edit("mcp.servers.high.classification", "PUBLIC")},
					{http.MethodPut, configPath, `{"text":""}`},
					{http.MethodPut, configPath, `{"version":1}`},
				} {
					got := s.as(token.Token, try[0], try[1], try[2], "If-Match", `"`+version+`"`)
					if got.status != http.StatusForbidden || strings.Contains(got.body, version) || strings.Contains(got.body, "mcp") {
						s.leak("%s of %s: %s %s %s gives %d %s", who[0], who[1], try[0], try[1], try[2], got.status, got.body)
					}
				}
			}
			if after, err := os.ReadFile(s.file); err != nil || string(after) != string(before) {
				s.leak("file: it has changed: %v", err)
			}
		}},
		{path: "trust", name: "configuration: a secret is put where it would be shown", act: func(s *scene) {
			file := filepath.Join(filepath.Dir(s.file), fmt.Sprintf("hidden-%d", s.n))
			require.NoError(s.t, os.WriteFile(file, []byte(s.secret), 0o600))
			ref := "${file:" + file + "}"
			for path, value := range map[string]any{
				"agents.list[1].systemPrompt": "You know " + ref + ".",
				"agents.list[1].name":         ref,
				"gateway.listen":              ref,
				"gateway.publicURL":           ref,
				"gateway.allowedHosts":        []string{"a.example", ref},
				"gateway.tokens[0].name":      ref + " ",
				"owners":                      []string{ref},
				"models.default":              ref,
				"log.level":                   ref,
				"limits.historyKeep":          ref,
				"channels.telegram.apiBase":   ref,
				"channels.telegram.dmPolicy":  ref,
				"tools.web.classification":    ref,
				"mcp.servers.low.url":         ref,
				"a2a.push.hosts":              []string{ref},
				"bindings[0].match.channel":   ref,
				"session.dmScope":             ref,
				"policy.rules[0].when":        ref,
				"hooks.low.prompt":            "{{" + ref,
				"secrets." + ref + ".value":   "x",
				ref:                           "x",
			} {
				s.unseen("check of "+path, s.as(masterToken, http.MethodPost, configPath+"/check", s.edit(path, value)).body)
				saved := s.save(s.edit(path, value))
				s.unseen("save of "+path, saved.body)
				for _, shown := range []string{configPath, configPath + "/history", configPath + "/keys", "/v1/audit?action=config.save"} {
					s.unseen(shown+" after "+path, s.as(masterToken, http.MethodGet, shown, "").body)
				}
				s.takeBack(saved)
			}
			s.has(s.as(masterToken, http.MethodGet, configPath+"/history", "").body, "agents.list[1].systemPrompt", "${file:") // it was saved, and is shown as a reference
		}},
		{path: "border", name: "configuration: the name of a secret's file leads elsewhere", act: func(s *scene) {
			folder, mark := filepath.Dir(s.file), fmt.Sprintf("trick-%d", s.n)
			made := "made-by-" + mark
			for _, up := range []string{"../../", "/tmp/", `..\\..\\`, strings.Repeat("../", 20)} { // no name may have a separator
				for path, value := range map[string]any{
					`secrets["` + up + mark + `"]`:                    args{"value": made, "tools": []string{"web_fetch"}},
					`models.providers["` + up + mark + `"]`:           args{"kind": "openai", "baseURL": "http://127.0.0.1:1", "apiKey": made},
					`channels.telegram.accounts["` + up + mark + `"]`: args{"token": "12345:" + made, "apiBase": s.telegram.URL()},
					`mcp.servers.low.headers["` + up + mark + `"]`:    made,
					`mcp.servers["` + up + mark + `"].headers.X-A`:    made,
					`hooks["` + up + mark + `"].secrets`:              []string{made},
					`gateway.tokens["` + up + mark + `"].token`:       made,
				} {
					got := s.save(s.edit(path, value))
					if got.status != http.StatusUnprocessableEntity {
						s.leak("save of %s: %d %s", path, got.status, got.body)
					}
					s.takeBack(got)
				}
			}
			s.keptFiles(folder, mark)
			for path, value := range map[string]any{ // these are names
				`secrets["a.."]`:                                    args{"value": made, "tools": []string{"web_fetch"}},
				`secrets["a...` + mark + `"]`:                       args{"value": made, "tools": []string{"web_fetch"}},
				`mcp.servers.low.headers["..%2f..%2f` + mark + `"]`: made,
			} {
				got := s.save(s.edit(path, value))
				if got.status != http.StatusOK {
					s.lacks = append(s.lacks, fmt.Sprintf("save of %s: %d %s", path, got.status, got.body))
				}
				s.unseen("save", got.body)
				if strings.Contains(s.as(masterToken, http.MethodGet, configPath, "").body, made) {
					s.leak("configuration: the secret is shown")
				}
				s.keptFiles(folder, mark)
				s.takeBack(got)
			}
		}},
		{path: "cost", name: "configuration: a text that grows", act: func(s *scene) {
			bomb := "agents: { list: [&a { id: a, models: [" + strings.Repeat("x,", 8) + "] }" + strings.Repeat(", *a", 110_000) + "] }\n"
			nested := "owners: &a [" + strings.Repeat("x,", 10) + "]\n"
			for i := range 20 {
				nested += fmt.Sprintf("k%d: &%c [%s]\n", i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 10), ", "))
			}
			file := filepath.Join(filepath.Dir(s.file), fmt.Sprintf("long-%d", s.n))
			require.NoError(s.t, os.WriteFile(file, []byte(strings.Repeat("x", 60<<10)), 0o600))
			for name, text := range map[string]string{
				"aliases":       bomb,
				"nested":        nested + "agents: { list: *u }\n",
				"brackets":      "owners: " + strings.Repeat("[", 500_000),
				"many errors":   "owners: [" + strings.Repeat("x, ", 110_000) + "x]\n",
				"large":         "# " + strings.Repeat("x", 1<<20) + "\n",
				"long by files": "agents: { list: [{ id: a, systemPrompt: \"" + strings.Repeat("${file:"+file+"}", 10_000) + "\" }] }\n",
			} {
				body, err := json.Marshal(args{"text": text})
				require.NoError(s.t, err)
				var would configured
				got := s.as(masterToken, http.MethodPost, configPath+"/check", string(body))
				s.read(got, &would)
				if would.OK || len(would.Faults) > 101 || len(got.body) > 256<<10 {
					s.leak("check of %s: %v, %d errors, %d bytes", name, would.OK, len(would.Faults), len(got.body))
				}
				if name != "nested" { // a save is checked in the same way
					continue
				}
				if got := s.save(string(body)); got.status != http.StatusUnprocessableEntity || len(got.body) > 256<<10 {
					s.leak("save of %s: %d, %d bytes", name, got.status, len(got.body))
				}
			}
			many := map[string]any{}
			for i := range 2000 {
				many[fmt.Sprint("k", i)] = i
			}
			var would configured
			s.read(s.as(masterToken, http.MethodPost, configPath+"/check", s.edit("secrets", many)), &would)
			if would.OK || len(would.Faults) != 1 {
				s.leak("check of many keys: %+v", would)
			}
			if got := s.as(masterToken, http.MethodPost, configPath+"/check", `{"text":"`+strings.Repeat("x", 9<<20)+`"}`); got.status != http.StatusRequestEntityTooLarge {
				s.leak("check of a long body: %d", got.status)
			}
		}},
		{path: "trust", name: "configuration: the gateway is opened and a level lowered, without a trace", act: func(s *scene) {
			for path, value := range map[string]any{"gateway.listen": "0.0.0.0:0", "gateway.publicURL": "https://a.example", "gateway.allowedHosts": []string{"a.example"}} {
				got := s.save(s.edit(path, value)) // its tokens can be guessed
				s.has(got.body, "too short")
				if got.status != http.StatusUnprocessableEntity {
					s.leak("save of %s: %d", path, got.status)
				}
				s.takeBack(got)
			}
			saved := s.save(s.edit("mcp.servers.high.classification", "INTERNAL")) // the owner's right
			var did configured
			s.read(saved, &did)
			s.takeBack(saved)
			var trail struct {
				Entries []struct {
					Actor, Object string
					Detail        struct {
						Version int
						Back    int `json:"back_to"`
						Keys    []string
					}
				}
			}
			s.read(s.as(masterToken, http.MethodGet, "/v1/audit?action=config.save&limit=2", ""), &trail)
			require.Len(s.t, trail.Entries, 2)
			for i, e := range trail.Entries { // the newest first
				if e.Actor != "operator" || e.Object != s.file || e.Detail.Version != did.Saved+1-i || fmt.Sprint(e.Detail.Keys) != "[mcp.servers.high.classification]" {
					s.leak("audit: %+v", e)
				}
			}
			if list := s.as(lowToken, http.MethodGet, "/v1/audit?action=config.save", "").body; strings.Contains(list, "config.save") {
				s.leak("audit: a token below it sees who changed the configuration: %s", list)
			}
		}},
	}
}

// keptFiles notes a leak if a save has left something else than the configuration and secrets in their folder.
func (s *scene) keptFiles(folder, mark string) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		name, inside := filepath.Base(path), filepath.Dir(path) == filepath.Join(folder, "sluice-secrets")
		known := path == s.file || strings.HasPrefix(name, "hidden-") || strings.HasPrefix(name, "long-") || inside && keptSecret.MatchString(name)
		if err == nil && !d.IsDir() && !known {
			s.leak("files: there is %s", path)
		}
		if err == nil && d.IsDir() && path != folder && name != "sluice-secrets" {
			s.leak("files: there is the folder %s", path)
		}
		return err
	}))
	for _, outside := range []string{folder, filepath.Dir(folder), "/tmp", s.state} {
		found, err := filepath.Glob(filepath.Join(outside, "*"+mark+"*"))
		require.NoError(s.t, err)
		if len(found) > 0 {
			s.leak("files: it has written %s", found)
		}
	}
}
