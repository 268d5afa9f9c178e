package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// detailMax is how many bytes of the library's errors are shown.
const detailMax = 300

// Decode checks a call's arguments and decodes them into a T, whose schema is that of [Of]. Its errors name the
// parameter.
func Decode[T any](args json.RawMessage) (into T, err error) {
	s := Of[T]()
	if args, err = s.named(args); err != nil {
		return into, err
	}
	wrong := s.Check(args)
	if err := decode(s.lastValues(args), &into); err != nil { // this error is easier to understand
		return into, err
	}
	return into, wrong
}

// Named gives each parameter of a call its first name. It changes nothing in arguments that use first names alone, that give
// a parameter twice, which [Decode] refuses, or that are not an object.
func (s *Schema) Named(args json.RawMessage) json.RawMessage {
	if named, err := s.named(args); err == nil {
		return named
	}
	return args
}

// Aliased reports whether a parameter has a second name.
func (s *Schema) Aliased() bool { return len(s.also) > 0 }

func (s *Schema) named(args json.RawMessage) (json.RawMessage, error) {
	if !s.Aliased() {
		return args, nil
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return args, nil //nolint:nilerr // decoding says what is wrong
	}
	renamed := false
	for _, also := range slices.Sorted(maps.Keys(s.also)) {
		name, value := s.also[also], given[also]
		if value == nil {
			continue
		}
		if first, both := given[name]; both && string(first) != "null" && string(value) != "null" {
			return args, fmt.Errorf("%s: means the same as %s; give only one of the two", also, name)
		} else if !both || string(first) == "null" {
			given[name] = value
		}
		delete(given, also)
		renamed = true
	}
	if !renamed {
		return args, nil
	}
	return json.Marshal(given)
}

// lastValues keeps only that value of each parameter which [Schema.Check] checks: the last one, unless it counts as
// missing. Otherwise a Go struct would keep parts of earlier values. JSON that is not an object stays unchanged.
func (s *Schema) lastValues(args json.RawMessage) json.RawMessage {
	var last map[string]json.RawMessage
	if json.Unmarshal(args, &last) != nil {
		return args
	}
	maps.DeleteFunc(last, func(name string, v json.RawMessage) bool {
		return string(v) == "null" || string(v) == `""` && s.empty[name]
	})
	text, err := json.Marshal(last)
	if err != nil {
		return args
	}
	return text
}

// Check checks arguments against the schema. Its errors name the parameter.
func (s *Schema) Check(args json.RawMessage) error {
	if s.resolved == nil {
		return nil
	}
	var value map[string]any
	if err := json.Unmarshal(args, &value); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if s.own {
		s.normalize(value)
	}
	if value == nil {
		value = map[string]any{}
	}
	if !s.cost.affordable(args, value) {
		return nil
	}
	err := s.resolved.Validate(value)
	if err == nil {
		return nil
	}
	if plain := explain(s.resolved.Schema(), value, ""); plain != nil {
		return plain
	}
	return shortened(err)
}

// normalize removes nulls, which stand for missing parameters, and empty texts where they do. It lowers numbers above
// their maximum where that is allowed.
func (s *Schema) normalize(value map[string]any) {
	for name, v := range value {
		if v == nil || v == "" && s.empty[name] {
			delete(value, name)
		}
		if n, ok := v.(float64); ok {
			if most, lowered := s.lowered[name]; lowered && n > most {
				value[name] = most
			}
		}
	}
}

// shortened shortens the library's error: the outermost parameter, and what is wrong in it.
func shortened(err error) error {
	text, place := err.Error(), ""
	for {
		head, rest, ok := strings.Cut(text, ": ")
		at, validating := strings.CutPrefix(head, "validating ")
		if !ok || !validating {
			break
		}
		if at = strings.TrimPrefix(at, "/properties/"); at != "root" {
			place = cmp.Or(place, at)
		}
		text = rest
	}
	return errors.New(clipped(cmp.Or(place, "arguments") + ": " + text))
}

func clipped(text string) string {
	if len(text) <= detailMax {
		return text
	}
	return strings.ToValidUTF8(text[:detailMax], "") + "…"
}

// decode reads arguments strictly.
func decode(args json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: want %s, got a JSON %s", cmp.Or(parameter(reflect.TypeOf(into).Elem(), te.Field), "arguments"), kind(te.Type.Kind().String()), te.Value)
	}
	if err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("%s: unknown parameter", strings.Trim(name, `"`))
		}
		return fmt.Errorf("arguments: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("arguments: more than one JSON value")
	}
	return nil
}

// parameter is a path of parameters without the name of an embedded struct, which models do not know.
func parameter(t reflect.Type, path string) string {
	first, rest, nested := strings.Cut(path, ".")
	if !nested || t.Kind() != reflect.Struct {
		return path
	}
	if f, ok := t.FieldByName(first); ok && f.Anonymous {
		return rest
	}
	return path
}

// kind returns a model's name for a Go kind.
func kind(of string) string {
	switch {
	case strings.HasPrefix(of, "int"), strings.HasPrefix(of, "uint"):
		return "a whole number"
	case strings.HasPrefix(of, "float"):
		return "a number"
	case of == "bool":
		return "true or false"
	case of == "slice":
		return "an array"
	case of == "ptr", of == "struct", of == "map":
		return "an object"
	}
	return "a " + of
}
