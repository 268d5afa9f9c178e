package attacks_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
)

// operation is one operation of the HTTP API, as its own document has it.
type operation struct{ method, path, id string }

// operations are all of the API.
func (w *world) operations() (all []operation) {
	w.t.Helper()
	var document struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	w.read(w.as(masterToken, http.MethodGet, "/openapi.json", ""), &document)
	for path, methods := range document.Paths {
		for method, o := range methods {
			all = append(all, operation{strings.ToUpper(method), path, o.OperationID})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	require.Greater(w.t, len(all), 30)
	return all
}

// sweep looks for the secret wherever somebody below CONFIDENTIAL can look, by every way that the gateway has.
func (s *scene) sweep() {
	s.t.Helper()
	s.settle()
	for _, look := range s.looks() {
		look()
	}
}

// looks returns the parts of a sweep, in order.
func (s *scene) looks() []func() {
	rows := sync.OnceValue(s.sessions)
	made := sync.OnceValue(func() []sessionRow { return s.madeOf(rows()) })
	known := sync.OnceValue(func() map[string][]string { return s.idsOf(made()) })
	return []func(){
		s.sweepChats,
		func() { s.sweepHTTP("the low token", known(), lowToken) },
		func() { s.sweepHTTP("the page", known(), masterToken, "Sluice-Client", "page") }, // it carries what is INTERNAL
		func() { s.sweepTranscripts(made()) },
		func() { s.sweepFiles(rows()) },
		s.sweepRecords,
	}
}

// sweepRecords ends the streams and looks at what was logged and sent since the scene began.
func (s *scene) sweepRecords() {
	s.end()
	s.unseen("events for the low token", s.heard.String())
	s.unseen("log", s.log.String()[s.since.log:])
	s.unseen("MCP server low", s.outside.heardLow.String()[s.since.outside:])
	for _, q := range s.cheap.Requests()[s.since.cheap:] {
		s.unseen("model cheap", string(q.Raw))
	}
}

// sweepChats looks at everything that the platforms were told.
func (s *scene) sweepChats() {
	for _, c := range s.telegram.Calls("")[s.since.telegram:] {
		s.unseen("telegram "+c.Method, string(c.Params))
	}
	for _, chat := range []int64{s.private().ID, s.group().ID} {
		for _, m := range s.telegram.Sent(chat) {
			if m.File != nil {
				s.unseen("telegram file", m.File.FileName+" "+string(m.Content))
			}
		}
	}
	for channel := range s.slack.Counts() {
		for _, m := range s.slack.Shown(channel) {
			s.unseen("slack "+channel, m.Text)
		}
	}
	for _, c := range s.discord.Calls("")[s.since.discord:] {
		s.unseen("discord "+c.Path, string(c.Body))
	}
}

// sweepHTTP asks every operation that only looks, about everything that the scene has made.
func (s *scene) sweepHTTP(who string, known map[string][]string, token string, headers ...string) {
	for _, o := range s.paths {
		if o.method != http.MethodGet || strings.HasSuffix(o.path, "/events") || o.path == stepsPath || o.path == "/v1/stream" { // streams do not end
			continue
		}
		for _, path := range filled(o.path, known) {
			s.unseen(who+" "+path, s.as(token, http.MethodGet, path, "", headers...).body)
		}
	}
	for _, path := range []string{"/", "/metrics", "/healthz", "/readyz", "/openapi.json", "/v1/sessions?limit=1", "/v1/runs?limit=1", "/v1/sessions/main", "/v1/usage?by=agent,person,session,job,model"} {
		s.unseen(who+" "+path, s.as(token, http.MethodGet, path, "", headers...).body)
	}
}

// ids are what the scene has made that knows the secret, by the names of the path's parameters.
func (s *scene) ids() map[string][]string { return s.idsOf(s.made()) }

func (s *scene) idsOf(made []sessionRow) map[string][]string {
	known := map[string][]string{}
	for _, row := range made {
		known["id"] = append(known["id"], row.ID)
	}
	for parameter, list := range map[string]string{"run": "/v1/runs", "delivery": "/v1/deliveries", "exchange": "/v1/exchanges", "approval": "/v1/approvals"} {
		var rows map[string]json.RawMessage
		s.read(s.as(masterToken, http.MethodGet, list+"?limit=20", ""), &rows)
		for _, raw := range rows {
			var elements []json.RawMessage
			if json.Unmarshal(raw, &elements) != nil {
				continue
			}
			for _, e := range elements {
				var row struct{ ID string }
				if json.Unmarshal(e, &row) == nil && strings.Contains(string(e), s.secret) {
					known[parameter] = append(known[parameter], row.ID)
				}
			}
		}
	}
	for _, run := range known["run"] {
		known["response"] = append(known["response"], responseOf(run))
	}
	return known
}

// responseOf is the id of a run for clients of OpenAI's API.
func responseOf(run string) string { return "resp_" + strings.TrimPrefix(run, "run_") }

// made are the sessions of this scene.
func (s *scene) made() []sessionRow { return s.madeOf(s.sessions()) }

func (s *scene) madeOf(all []sessionRow) []sessionRow {
	return slices.DeleteFunc(slices.Clone(all), func(r sessionRow) bool { return s.since.sessions[r.ID] })
}

// filled are the paths of a template for all that is known; none where nothing is.
func filled(template string, known map[string][]string) []string {
	open := strings.Index(template, "{")
	if open < 0 {
		return []string{template}
	}
	end := open + strings.Index(template[open:], "}")
	name := strings.TrimSuffix(template[open+1:end], "...")
	var paths []string
	for _, id := range known[name] {
		paths = append(paths, filled(template[:open]+url.PathEscape(id)+template[end+1:], known)...)
	}
	return paths
}

// sweepTranscripts looks into the threads and runs of the sessions that may know less.
func (s *scene) sweepTranscripts(made []sessionRow) {
	for _, row := range made {
		if strings.HasPrefix(row.Taint, "CONFIDENTIAL") || strings.HasPrefix(row.Taint, "RESTRICTED") {
			continue
		}
		s.unseen("transcript of "+row.Key+" at "+row.Taint, s.as(masterToken, http.MethodGet, "/v1/sessions/"+row.ID+"/history", "").body)
		s.unseen("runs of "+row.Key, s.as(masterToken, http.MethodGet, "/v1/sessions/"+row.ID+"/runs", "").body)
	}
}

// sweepFiles looks into the folders of the sessions that may know less.
func (s *scene) sweepFiles(all []sessionRow) {
	low := map[string]bool{}
	for _, row := range all {
		low[row.ID] = strings.HasPrefix(row.Taint, "PUBLIC") || strings.HasPrefix(row.Taint, "INTERNAL")
	}
	root := filepath.Join(s.state, "workspaces")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // no session has files yet
		}
		for _, part := range strings.Split(path, string(filepath.Separator)) {
			if low[part] {
				content, err := os.ReadFile(path)
				s.unseen("file "+filepath.Base(path), string(content)+d.Name())
				return err
			}
		}
		return nil
	})
	require.NoError(s.t, err)
}
