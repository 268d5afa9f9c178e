// Package schema has the JSON Schemas of tools' parameters and checks the arguments of calls against them.
//
// A built-in tool declares its parameters once, as a Go struct: [Of] infers the schema that models are told, and the same
// schema checks a call's arguments before they are decoded. [Parse] reads the schema of a tool outside the gateway.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema describes the parameters of a tool. It is safe for concurrent use.
type Schema struct {
	text     json.RawMessage
	resolved *jsonschema.Resolved // nil: the schema can't be checked here
	cost     cost                 // of a check; not used for our own schemas
	own      bool                 // inferred from a struct: null counts as missing, and numbers are lowered
	lowered  map[string]float64   // maximum of each parameter that is lowered to it
	empty    map[string]bool      // parameters that an empty text leaves out
	also     map[string]string    // other names of parameters, which models are not told: the parameter of each
}

// Text returns the schema as JSON. It must not be changed.
func (s *Schema) Text() json.RawMessage { return s.text }

// Object is a parameter that accepts any JSON object.
type Object map[string]json.RawMessage

// inferred has the schemas of structs by type: each is inferred and resolved once per process.
var inferred sync.Map //nolint:gochecknoglobals // a cache of what the types of the program say

// Of returns the schema of the parameters in the struct T. The tag json names a parameter; one without omitempty is
// required. The tag jsonschema describes it. The tag bounds limits it, see [bound]. The tag also gives it a second name,
// which is accepted and not part of the schema that models are told. An invalid tag is a programming error and panics.
func Of[T any]() *Schema {
	key := reflect.TypeFor[T]()
	if known, ok := inferred.Load(key); ok {
		return known.(*Schema) //nolint:forcetypeassert // only schemas are stored
	}
	made, err := infer(key)
	if err != nil {
		panic(fmt.Sprintf("schema of %s: %v", key, err))
	}
	known, _ := inferred.LoadOrStore(key, made)
	return known.(*Schema) //nolint:forcetypeassert // only schemas are stored
}

func infer(t reflect.Type) (*Schema, error) {
	raw, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Object](): {Type: "object"},
	}})
	if err != nil {
		return nil, err
	}
	s := &Schema{own: true, lowered: map[string]float64{}, empty: map[string]bool{}, also: map[string]string{}}
	if err := s.complete(raw, t, true); err != nil {
		return nil, err
	}
	if raw.Properties == nil {
		raw.Properties = map[string]*jsonschema.Schema{}
	}
	if s.resolved, err = raw.Resolve(nil); err != nil {
		return nil, err
	}
	s.text, err = json.Marshal(raw)
	return s, err
}

// complete adds properties that the library does not infer from a struct.
func (s *Schema) complete(raw *jsonschema.Schema, t reflect.Type, top bool) error {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := raw.Properties[name]
		if p == nil {
			continue
		}
		if also := f.Tag.Get("also"); also != "" && top {
			s.also[also] = name
		}
		notNull(p)
		within, element := p, f.Type
		if p.Items != nil {
			notNull(p.Items)
			within = p.Items
		}
		if element.Kind() == reflect.Slice || element.Kind() == reflect.Pointer {
			element = element.Elem()
		}
		if element.Kind() == reflect.Struct {
			if err := s.complete(within, element, false); err != nil {
				return err
			}
		}
		for _, b := range strings.FieldsFunc(f.Tag.Get("bounds"), func(r rune) bool { return r == ',' }) {
			if b == "lowered" && top && p.Maximum != nil {
				s.lowered[name] = *p.Maximum
				continue
			}
			if b == "empty" && top {
				s.empty[name] = true
				continue
			}
			if err := bound(p, b); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// notNull removes the null that the library allows for pointers and slices: an optional parameter is simply left out.
func notNull(p *jsonschema.Schema) {
	if len(p.Types) == 2 && p.Types[0] == "null" {
		p.Type, p.Types = p.Types[1], nil
	}
}

// bound applies one part of the tag bounds: minimum=1, maximum=1, lowered (a number above the maximum counts as the maximum),
// empty (an empty text counts as missing), minLength=1, maxLength=1, minItems=1, maxItems=1, enum=a|b or format=date-time. With "each." before it, it applies to the
// items of an array.
func bound(p *jsonschema.Schema, text string) error {
	key, value, _ := strings.Cut(text, "=")
	if name, ok := strings.CutPrefix(key, "each."); ok {
		if p.Items == nil {
			return errors.New("each. without an array")
		}
		return bound(p.Items, name+"="+value)
	}
	var err error
	switch key {
	case "minimum":
		err = json.Unmarshal([]byte(value), &p.Minimum)
	case "maximum":
		err = json.Unmarshal([]byte(value), &p.Maximum)
	case "minLength":
		err = json.Unmarshal([]byte(value), &p.MinLength)
	case "maxLength":
		err = json.Unmarshal([]byte(value), &p.MaxLength)
	case "minItems":
		err = json.Unmarshal([]byte(value), &p.MinItems)
	case "maxItems":
		err = json.Unmarshal([]byte(value), &p.MaxItems)
	case "format":
		p.Format = value
	case "enum":
		for word := range strings.SplitSeq(value, "|") {
			p.Enum = append(p.Enum, word)
		}
	default:
		return fmt.Errorf("unknown bound %q", text)
	}
	if err != nil {
		return fmt.Errorf("bound %q: %w", text, err)
	}
	return nil
}
