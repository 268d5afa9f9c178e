package discordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// specsFolder is the environment variable with the folder of published API descriptions.
const specsFolder = "SLUICE_API_SPECS"

// specs is Discord's published description of its API.
type specs struct {
	paths map[string]map[string]operation

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

type operation struct {
	Parameters []struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
	} `json:"parameters"`
	Body *struct {
		Required bool                       `json:"required"`
		Content  map[string]json.RawMessage `json:"content"`
	} `json:"requestBody"`
}

const specName = "discord.json"

// loadSpecs reads the published description, once for all servers because that takes a second. It is nil without the
// environment variable.
var loadSpecs = sync.OnceValues(readSpecs)

func readSpecs() (*specs, error) {
	folder := os.Getenv(specsFolder)
	if folder == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Join(folder, "discord-openapi.json"))
	if err != nil {
		return nil, fmt.Errorf("read discord's API description: %w", err)
	}
	var doc struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read discord's API description: %w", err)
	}
	s := &specs{paths: map[string]map[string]operation{}, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	for path, item := range doc.Paths {
		var methods map[string]json.RawMessage
		if err := json.Unmarshal(item, &methods); err != nil {
			return nil, fmt.Errorf("read %s of discord's API description: %w", path, err)
		}
		s.paths[path] = map[string]operation{}
		for method, op := range methods {
			var o operation
			if json.Unmarshal(op, &o) == nil { // "parameters" is no operation
				s.paths[path][method] = o
			}
		}
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read discord's API description: %w", err)
	}
	return s, s.compiler.AddResource(specName, whole)
}

// check checks one request.
func (s *Server) check(rt route, c *call) {
	if s.specs == nil {
		return
	}
	path := rt.path
	if c.r.PathValue("message_id") == "@original" {
		path = strings.Replace(path, "{message_id}", "@original", 1)
	}
	if err := s.specs.check(path, rt.method, c); err != nil {
		s.violate("%s %s: %v", rt.method, path, err)
	}
}

func (sp *specs) check(path, method string, c *call) error {
	op, ok := sp.paths[path][strings.ToLower(method)]
	if !ok {
		return fmt.Errorf("discord's API has no such call")
	}
	known := map[string]bool{}
	for _, p := range op.Parameters {
		known[p.Name] = true
		if p.In == "query" && p.Required && !c.r.URL.Query().Has(p.Name) {
			return fmt.Errorf("query parameter %s is missing", p.Name)
		}
	}
	for name := range c.r.URL.Query() {
		if !known[name] {
			return fmt.Errorf("query parameter %s does not exist", name)
		}
	}
	if op.Body == nil || len(c.body) == 0 {
		if len(c.body) > 0 || op.Body != nil && op.Body.Required {
			return fmt.Errorf("body of %d bytes where the description says otherwise", len(c.body))
		}
		return nil
	}
	return sp.checkBody(path, method, c.body)
}

func (sp *specs) checkBody(path, method string, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("body is no JSON: %w", err)
	}
	schema, err := sp.schema(path, method)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (sp *specs) schema(path, method string) (*jsonschema.Schema, error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)
	at := specName + "#/paths/" + escaped + "/" + strings.ToLower(method) + "/requestBody/content/application~1json/schema"
	if known := sp.schemas[at]; known != nil {
		return known, nil
	}
	schema, err := sp.compiler.Compile(at)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	sp.schemas[at] = schema
	return schema, nil
}
