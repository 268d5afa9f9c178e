package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// explain says in plain words why a value does not fit a schema, or returns nil if it has no words for the case. The
// library decides whether the value fits. The place is the parameter, such as items[2].
func explain(s *jsonschema.Schema, value any, at string) error {
	switch v := value.(type) {
	case map[string]any:
		return explainObject(s, v, at)
	case []any:
		return explainArray(s, v, at)
	case string:
		return explainText(s, v, at)
	case float64:
		return explainNumber(s, v, at)
	}
	return nil
}

func explainObject(s *jsonschema.Schema, v map[string]any, at string) error {
	closed := s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil && len(s.PatternProperties) == 0
	names := slices.Sorted(maps.Keys(v))
	for _, name := range names {
		if s.Properties[name] == nil && closed {
			return fmt.Errorf("%s: unknown parameter", clipped(within(at, name)))
		}
	}
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return fmt.Errorf("%s: is required", within(at, name))
		}
	}
	for _, name := range names {
		if p := s.Properties[name]; p != nil {
			if err := explain(p, v[name], within(at, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func within(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func explainArray(s *jsonschema.Schema, v []any, at string) error {
	n, least, most := len(v), s.MinItems, s.MaxItems
	switch {
	case least != nil && most != nil && (n < *least || n > *most):
		return fmt.Errorf("%s: want %d to %d of them, got %d", at, *least, *most, n)
	case least != nil && n < *least:
		return fmt.Errorf("%s: want at least %d of them, got %d", at, *least, n)
	case most != nil && n > *most:
		return fmt.Errorf("%s: want at most %d of them, got %d", at, *most, n)
	case s.Items == nil:
		return nil
	}
	for i, item := range v {
		if err := explain(s.Items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func explainText(s *jsonschema.Schema, v, at string) error {
	n := utf8.RuneCountInString(v)
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, any(v)):
		return fmt.Errorf("%s: %q is not %s", at, clipped(v), alternatives(s.Enum))
	case s.MinLength != nil && n == 0 && *s.MinLength > 0:
		return errors.New(at + ": is required")
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Errorf("%s: has %d characters, the minimum is %d", at, n, *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Errorf("%s: has %d characters, the maximum is %d", at, n, *s.MaxLength)
	}
	return nil
}

func explainNumber(s *jsonschema.Schema, v float64, at string) error {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	low, high := s.Minimum != nil && v < *s.Minimum, s.Maximum != nil && v > *s.Maximum
	switch {
	case low:
		return fmt.Errorf("%s: %s is less than %s", at, number(v), number(*s.Minimum))
	case high && s.Minimum != nil:
		return fmt.Errorf("%s: %s, want %s to %s", at, number(v), number(*s.Minimum), number(*s.Maximum))
	case high:
		return fmt.Errorf("%s: %s is more than %s", at, number(v), number(*s.Maximum))
	}
	return nil
}

// alternatives lists the values of an enum for a sentence.
func alternatives(enum []any) string {
	words := make([]string, len(enum))
	for i, e := range enum {
		words[i] = clipped(fmt.Sprint(e))
	}
	if len(words) == 1 {
		return words[0]
	}
	return clipped(strings.Join(words[:len(words)-1], ", ")) + " or " + words[len(words)-1]
}
