package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sluice/internal/glob"
)

const (
	// argsPatternMax is the maximum length of a pattern of arguments in bytes.
	argsPatternMax = 16 << 10
	// argsDepthMax is how deep objects and lists may be nested in arguments that are compared with a pattern.
	argsDepthMax = 32
	// anyValue matches any value: a string, a number, an object.
	anyValue = "*"
)

// ExactArgs returns a pattern for [ArgsMatch] that matches only these arguments.
func ExactArgs(args json.RawMessage) (json.RawMessage, error) {
	if _, err := decodeArgs(args); err != nil {
		return nil, err
	}
	return mapStrings(args, glob.Escape)
}

// CheckArgsPattern says what is wrong with a pattern for [ArgsMatch].
func CheckArgsPattern(pattern json.RawMessage) error {
	if len(pattern) > argsPatternMax {
		return fmt.Errorf("is %d bytes, the maximum is %d", len(pattern), argsPatternMax)
	}
	v, err := decodeArgs(pattern)
	if err != nil {
		return err
	}
	var wrong error
	mapValue(v, func(text string) string {
		if text != "" && !glob.ValidName(text) {
			wrong = fmt.Errorf("%q is not a pattern: put a backslash before a literal * ? [ or ]", text)
		}
		return text
	})
	return wrong
}

// ArgsMatch reports whether the arguments of a call match a pattern: both have the same fields, and each string matches
// the string of the pattern, in which * matches any characters. The pattern "*" matches any value. Arguments with a
// duplicate field, which programs could read in two ways, match nothing.
func ArgsMatch(pattern, args json.RawMessage) bool {
	want, err := decodeArgs(pattern)
	if err != nil {
		return false
	}
	got, err := decodeArgs(args)
	return err == nil && valueMatches(want, got)
}

func valueMatches(want, got any) bool {
	switch want := want.(type) {
	case string:
		text, isText := got.(string)
		if !isText || want == "" { // an empty pattern matches nothing, see [glob.ValidName]
			return want == anyValue || isText && text == ""
		}
		return glob.Names([]string{want}, text)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !valueMatches(want[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(want) {
			return false
		}
		for name, value := range want {
			if other, there := object[name]; !there || !valueMatches(value, other) {
				return false
			}
		}
		return true
	}
	return want == got
}

// decodeArgs reads an object without duplicate fields.
func decodeArgs(text json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeOnce(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("is not an object")
	}
	return object, nil
}

func decodeOnce(dec *json.Decoder, depth int) (any, error) {
	if depth > argsDepthMax {
		return nil, fmt.Errorf("is nested deeper than %d", argsDepthMax)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			key, _ := name.(string) // the decoder allows nothing else
			if _, twice := object[key]; twice {
				return nil, fmt.Errorf("has the field %q twice", key)
			}
			if object[key], err = decodeOnce(dec, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := dec.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeOnce(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return token, nil
}
