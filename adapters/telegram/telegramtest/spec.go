package telegramtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// specs is the published description of the Bot API.
type specs struct {
	Methods map[string]specMethod `json:"methods"`
	Types   map[string]specMethod `json:"types"`
	lower   map[string]string     // method name in lower case → as published
}

type specMethod struct {
	Fields []specField `json:"fields"`
}

type specField struct {
	Name     string   `json:"name"`
	Types    []string `json:"types"`
	Required bool     `json:"required"`
}

// published is what requests are checked against, read once for all servers; nil without $SLUICE_API_SPECS.
var published = sync.OnceValues(func() (*specs, error) {
	folder := os.Getenv("SLUICE_API_SPECS")
	if folder == "" {
		return nil, nil
	}
	return readSpecs(filepath.Join(folder, "telegram-api.json"))
})

func readSpecs(path string) (*specs, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read bot api description: %w", err)
	}
	sp := &specs{lower: map[string]string{}}
	if err := json.Unmarshal(text, sp); err != nil {
		return nil, fmt.Errorf("read bot api description %s: %w", path, err)
	}
	for name := range sp.Methods {
		sp.lower[strings.ToLower(name)] = name
	}
	return sp, nil
}

// check records what of a request breaks the published description.
func (s *Server) check(method string, req *request) {
	if s.specs == nil {
		return
	}
	name, ok := s.specs.lower[strings.ToLower(method)]
	if !ok {
		s.violate(method + ": no such method")
		return
	}
	raw := req.raw
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	for _, fault := range s.specs.object(name, s.specs.Methods[name].Fields, raw) {
		s.violate(fault)
	}
}

func (sp *specs) object(where string, fields []specField, raw []byte) []string {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return []string{where + ": not a JSON object"}
	}
	var faults []string
	for _, f := range fields {
		value, given := values[f.Name]
		delete(values, f.Name)
		switch {
		case !given && f.Required:
			faults = append(faults, where+": missing "+f.Name)
		case given:
			faults = append(faults, sp.value(where+"."+f.Name, f.Types, value)...)
		}
	}
	for name := range values {
		faults = append(faults, where+": unknown parameter "+name)
	}
	return faults
}

// value checks a value against the types that it may have; the first that fits is enough.
func (sp *specs) value(where string, types []string, raw json.RawMessage) []string {
	var faults []string
	for _, t := range types {
		faults = sp.typed(where, t, raw)
		if faults == nil {
			return nil
		}
	}
	return faults
}

func (sp *specs) typed(where, t string, raw json.RawMessage) []string {
	if element, ok := strings.CutPrefix(t, "Array of "); ok {
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return []string{where + ": want an array"}
		}
		var faults []string
		for i, e := range elements {
			faults = append(faults, sp.typed(fmt.Sprintf("%s[%d]", where, i), element, e)...)
		}
		return faults
	}
	switch t {
	case "String":
		return fits[string](where, t, raw)
	case "Integer":
		return fits[int64](where, t, raw)
	case "Float":
		return fits[float64](where, t, raw)
	case "Boolean":
		return fits[bool](where, t, raw)
	}
	object, ok := sp.Types[t]
	if !ok || len(object.Fields) == 0 {
		return nil // a union or a file: nothing to hold it against
	}
	return sp.object(where, object.Fields, raw)
}

func fits[T any](where, t string, raw json.RawMessage) []string {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return []string{where + ": want " + t}
	}
	return nil
}
