package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
)

// detailMax is how many bytes of an error are shown that the library words.
const detailMax = 300

// Decode checks a call's arguments and decodes them into a T, whose schema [Of] gives. Its errors name the parameter.
func Decode[T any](args json.RawMessage) (into T, err error) {
	s := Of[T]()
	wrong := s.Check(args)
	if err := decode(s.once(args), &into); err != nil { // of two errors, this one is the plainer
		return into, err
	}
	return into, wrong
}

// once leaves of each parameter what [Schema.Check] checks: the last of its values, unless that counts as missing. A Go
// struct would keep a part of the values before. Other JSON than an object stays as it is.
func (s *Schema) once(args json.RawMessage) json.RawMessage {
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
		s.ease(value)
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
	return worded(err)
}

// ease lets a null stand for a parameter that is left out, and an empty text where it may. It lowers numbers that may be
// above their maximum.
func (s *Schema) ease(value map[string]any) {
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

// worded is the library's error in short: the outermost parameter, and what is wrong within it.
func worded(err error) error {
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
		return fmt.Errorf("%s: want %s, got a JSON %s", cmp.Or(te.Field, "arguments"), kind(te.Type.Kind().String()), te.Value)
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

// kind is what a model calls a Go kind.
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
