package slacktest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// specFile is the published description of the Web API in the folder of descriptions.
const specFile = "slack-web-openapi-v2.json"

// specs are the parameters of each method.
type specs struct {
	methods map[string]map[string]parameter
}

type parameter struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
}

// published is the description in the folder that SLUICE_API_SPECS names, read once; nil if it names none.
var published = sync.OnceValues(func() (sp *specs, err error) {
	if folder := os.Getenv("SLUICE_API_SPECS"); folder != "" {
		sp, err = readSpecs(folder)
	}
	return sp, err
})

func readSpecs(folder string) (*specs, error) {
	path := filepath.Join(folder, specFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read web api description: %w", err)
	}
	var published struct {
		Paths map[string]map[string]struct {
			Parameters []parameter `json:"parameters"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &published); err != nil {
		return nil, fmt.Errorf("read web api description %s: %w", path, err)
	}
	sp := &specs{methods: map[string]map[string]parameter{}}
	for method, verbs := range published.Paths {
		for _, verb := range verbs {
			sp.add(method[1:], verb.Parameters)
		}
	}
	sp.addNewer()
	return sp, nil
}

func (sp *specs) add(method string, parameters []parameter) {
	if sp.methods[method] == nil {
		sp.methods[method] = map[string]parameter{}
	}
	for _, p := range parameters {
		if p.Name != "token" { // in a header or in the form: the call itself looks
			sp.methods[method][p.Name] = p
		}
	}
}

// addNewer adds what Slack has documented since it last published its description.
func (sp *specs) addNewer() {
	text := func(name string) parameter { return parameter{Name: name, Type: "string"} }
	need := func(name, kind string) parameter { return parameter{Name: name, Type: kind, Required: true} }
	sp.add("chat.postMessage", []parameter{text("metadata")})
	sp.add("chat.update", []parameter{text("metadata"), text("blocks")})
	sp.add("conversations.history", []parameter{{Name: "include_all_metadata", Type: "boolean"}, need("channel", "string")})
	sp.add("conversations.replies", []parameter{
		{Name: "include_all_metadata", Type: "boolean"}, need("channel", "string"), need("ts", "string"),
	})
	sp.add("conversations.list", []parameter{text("team_id")})
	sp.add("users.list", []parameter{text("team_id")})
	sp.add("users.info", []parameter{need("user", "string")})
	sp.add("apps.connections.open", nil)
	sp.add("files.getUploadURLExternal", []parameter{need("filename", "string"), need("length", "integer"), text("alt_txt"), text("snippet_type")})
	sp.add("files.completeUploadExternal", []parameter{
		need("files", "string"), text("channel_id"), text("channels"), text("initial_comment"), text("thread_ts"), text("blocks"),
	})
}

// check records what of a call breaks the published description or the published limits.
func (s *Server) check(req *request) {
	if s.specs != nil {
		for _, fault := range s.specs.faults(req) {
			s.violate("%s: %s", req.method, fault)
		}
	}
	s.checkLimits(req)
}

func (sp *specs) faults(req *request) []string {
	parameters, ok := sp.methods[req.method]
	if !ok {
		return []string{"no such method"}
	}
	var faults []string
	for name, p := range parameters {
		if p.Required && !req.form.Has(name) {
			faults = append(faults, "missing "+name)
		}
	}
	for name := range req.form {
		p, ok := parameters[name]
		switch {
		case !ok:
			faults = append(faults, "unknown parameter "+name)
		case !fits(p.Type, req.form.Get(name)):
			faults = append(faults, name+": want "+p.Type)
		}
	}
	return faults
}

func fits(kind, value string) bool {
	var err error
	switch kind {
	case "boolean":
		_, err = strconv.ParseBool(value)
	case "integer":
		_, err = strconv.ParseInt(value, 10, 64)
	case "number":
		_, err = strconv.ParseFloat(value, 64)
	}
	return err == nil
}
