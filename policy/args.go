package policy

import (
	"bytes"
	"encoding/json"
	"errors"
)

// mapStrings applies f to each string value in a JSON text, but not to field names.
func mapStrings(text json.RawMessage, f func(string) string) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one JSON value")
	}
	return json.Marshal(mapValue(v, f))
}

func mapValue(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapValue(v[i], f)
		}
	case map[string]any:
		for key := range v {
			v[key] = mapValue(v[key], f)
		}
	}
	return v
}
