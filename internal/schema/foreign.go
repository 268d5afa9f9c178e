package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// depthMax is the maximum nesting depth of a foreign schema, as JSON.
	depthMax = 64
	// partsMax limits how many schemas one check visits per value, with each reference counted as often as it is
	// followed.
	partsMax = 2000
	// schemaMax is the size of a schema, in bytes.
	schemaMax = 32 << 10
)

// dialects are the values of $schema that the library supports.
var dialects = []string{"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}

// ErrRemote is the error for a schema that refers to another document: the gateway fetches no documents.
var ErrRemote = errors.New("the schema refers to another document ($ref), and the gateway fetches none")

// Parse parses the schema of a tool outside the gateway. It rejects a schema that is nested too deep or refers to
// other documents. The tool's server checks arguments itself, so arguments pass unchecked if the gateway can't check
// the schema: because it refers to itself or expands to too many parts, or because the library can't read it.
// unchecked then says why. Arguments whose check would take more than about a second pass, too.
func Parse(text json.RawMessage) (s *Schema, unchecked string, err error) {
	s = &Schema{text: text}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, "", fmt.Errorf("read schema: %w", err)
	}
	if err := survey(tree, 1, &unchecked); err != nil || unchecked != "" {
		return s, unchecked, err
	}
	unchecked = s.resolve(tree)
	return s, unchecked, nil
}

// AsObject returns the schema of a tool outside the gateway in the form that models need: the schema of an object.
func AsObject(schema any) (json.RawMessage, error) {
	object, ok := schema.(map[string]any)
	switch {
	case schema == nil:
		object = map[string]any{}
	case !ok:
		return nil, errors.New("the parameters are not a JSON Schema of an object")
	}
	if kind, has := object["type"]; has && kind != "object" {
		return nil, errors.New("the parameters are not a JSON Schema of an object")
	}
	object["type"] = "object"
	if _, has := object["properties"]; !has {
		object["properties"] = map[string]any{}
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("the parameters can't be written: %w", err)
	}
	if len(text) > schemaMax {
		return nil, fmt.Errorf("the parameters have %d bytes, the maximum is %d", len(text), schemaMax)
	}
	return text, nil
}

// survey rejects what no tool may have, and finds names that would make the references of a schema ambiguous.
func survey(tree any, depth int, unchecked *string) error {
	if depth > depthMax {
		return fmt.Errorf("the schema is nested more than %d deep", depthMax)
	}
	switch v := tree.(type) {
	case map[string]any:
		for key, e := range v {
			word, isText := e.(string)
			switch {
			case isText && key == "$ref" && !strings.HasPrefix(word, "#"):
				return ErrRemote
			case isText && (key == "$anchor" || key == "$dynamicAnchor" || key == "$dynamicRef" || key == "$id" && depth > 1):
				*unchecked = "it names subschemas with " + key
			}
			if err := survey(e, depth+1, unchecked); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := survey(e, depth+1, unchecked); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve prepares a schema for checks, or says why it can't be checked.
func (s *Schema) resolve(tree any) (unchecked string) {
	defer func() {
		if p := recover(); p != nil { // a panic of the library caused by a foreign schema
			unchecked = clipped(fmt.Sprintf("the library can't read it: %v", p))
		}
	}()
	raw, canonical, err := read(tree)
	if err != nil {
		return clipped("the library can't read it: " + err.Error())
	}
	if err := survey(canonical, 1, &unchecked); err != nil || unchecked != "" {
		return cmp.Or(unchecked, fmt.Sprint(err))
	}
	x := &expansion{root: canonical}
	switch x.schema(canonical); {
	case x.recursive:
		return "a $ref in it leads back to itself, or nowhere"
	case x.parts > partsMax:
		return fmt.Sprintf("it expands to more than %d subschemas", partsMax)
	case x.cost.instructions > instructionsMax:
		return "its patterns are too big"
	case !slices.Contains(dialects, raw.Schema):
		return clipped("its dialect is unknown: " + raw.Schema)
	}
	resolved, err := raw.Resolve(nil)
	if err != nil {
		return clipped("the library can't read it: " + err.Error())
	}
	s.resolved, s.cost = resolved, x.cost
	s.cost.parts += x.parts
	return ""
}

// read returns a schema as the library understands it. The canonical form is derived from that, so that the cost is
// computed for exactly what is checked, however the server writes its keywords.
func read(tree any) (raw *jsonschema.Schema, canonical any, err error) {
	once, err := json.Marshal(tree) // without duplicate names
	if err != nil {
		return nil, nil, err
	}
	raw = &jsonschema.Schema{}
	if err := json.Unmarshal(once, raw); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, nil, err
	}
	return raw, canonical, json.Unmarshal(text, &canonical)
}

// expansion counts what a check visits, with references followed.
type expansion struct {
	root      any
	parts     int
	cost      cost     // of patterns and of the values of enums
	open      []string // references that are being followed
	recursive bool
}

// schema counts a schema. It also counts values that may not be schemas, so that it never counts too few.
func (x *expansion) schema(tree any) {
	if x.parts++; x.parts > partsMax || x.recursive || x.cost.instructions > instructionsMax {
		return
	}
	switch v := tree.(type) {
	case map[string]any:
		for key, e := range v {
			text, isText := e.(string)
			switch {
			case key == "$ref" && isText:
				x.follow(text)
			case key == "pattern" && isText:
				x.cost.pattern(text)
			case key == "enum", key == "const":
				x.cost.parts += valuesIn(e)
			case slices.Contains([]string{"$defs", "definitions", "default", "examples"}, key): // not a check, but references may lead here
			case slices.Contains([]string{"properties", "patternProperties", "dependentSchemas", "dependencies"}, key):
				x.named(e, key == "patternProperties")
			default:
				x.schema(e)
			}
		}
	case []any:
		for _, e := range v {
			x.schema(e)
		}
	}
}

// named counts schemas with names, which may be patterns.
func (x *expansion) named(tree any, patterns bool) {
	if byName, ok := tree.(map[string]any); ok {
		for name, e := range byName {
			if patterns {
				x.cost.pattern(name)
			}
			x.schema(e)
		}
	}
}

func (x *expansion) follow(ref string) {
	var target any
	at, err := url.Parse(ref)
	found := err == nil
	if found {
		target, found = find(x.root, at.Fragment)
	}
	if x.recursive = !found || slices.Contains(x.open, ref); x.recursive {
		return
	}
	x.open = append(x.open, ref)
	x.schema(target)
	x.open = x.open[:len(x.open)-1]
}

// find follows a JSON pointer.
func find(tree any, pointer string) (any, bool) {
	if pointer == "" {
		return tree, true
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := tree.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			tree = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			tree = v[i]
		default:
			return nil, false
		}
	}
	return tree, true
}
