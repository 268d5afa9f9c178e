package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"sluice/internal/config/scalar"
	"sluice/internal/config/tags"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Schema returns the JSON Schema (draft 2020-12) of the file, generated from the tree's types.
func Schema() ([]byte, error) {
	root := structSchema(reflect.ValueOf(*Default()))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "sluice.yaml"
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return out.Bytes(), nil
}

type object = map[string]any

// structSchema describes a struct; v holds the defaults.
func structSchema(v reflect.Value) object {
	properties := object{}
	for _, f := range tags.Of(v.Type()).Fields {
		property := valueSchema(v.FieldByIndex(f.Index), f)
		property["description"] = f.Doc
		properties[f.Name] = property
	}
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

func valueSchema(v reflect.Value, f tags.Field) object {
	switch v.Interface().(type) {
	case flow.Level, Duration, Wait, Secret, scalar.Rate:
		return withDefault(scalarSchema("string", f), v)
	case sessions.Temperature:
		return withDefault(orReference(object{"type": "number", "minimum": 0, "maximum": sessions.TemperatureMax}), v)
	case Amount:
		return orReference(object{"type": "number", "minimum": 0})
	case Bytes:
		return withDefault(object{"type": []string{"string", "integer"}}, v)
	}
	switch v.Kind() {
	case reflect.Struct:
		return structSchema(v)
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": elementSchema(v)}
	case reflect.Slice:
		return withDefault(object{"type": []string{"array", "null"}, "items": elementSchema(v)}, v)
	case reflect.Bool:
		return withDefault(orReference(object{"type": "boolean"}), v)
	case reflect.Int:
		return withDefault(orReference(intSchema(f)), v)
	}
	if f.Chain {
		return withDefault(object{"type": []string{"string", "array", "null"}, "items": object{"type": "string"}}, v)
	}
	return withDefault(scalarSchema("string", f), v)
}

func elementSchema(v reflect.Value) object {
	var d decoder
	return valueSchema(d.element(v.Type()), tags.Field{})
}

// scalarSchema describes a text: one of the allowed values, if there is a list of them, or a text with a reference.
// Ids that look like numbers need no quotes.
func scalarSchema(kind string, f tags.Field) object {
	if len(f.Enum) > 0 {
		return orReference(object{"enum": f.Enum})
	}
	return object{"type": []string{kind, "number", "null"}}
}

func intSchema(f tags.Field) object {
	s := object{"type": "integer"}
	if f.Min != nil {
		s["minimum"] = *f.Min
	}
	if f.Max != nil {
		s["maximum"] = *f.Max
	}
	return s
}

// orReference extends a schema by texts with a ${…}.
func orReference(s object) object {
	return object{"anyOf": []object{s, {"type": "string", "pattern": `\$\{`}, {"type": "null"}}}
}

func withDefault(s object, v reflect.Value) object {
	if text, ok := defaultText(v); ok {
		s["default"] = text
	}
	return s
}

// defaultText returns a default as the schema and the reference show it; false if it is empty.
func defaultText(v reflect.Value) (any, bool) {
	if v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Int {
		return nil, false
	}
	switch x := v.Interface().(type) {
	case Secret:
		return nil, false
	case flow.Level:
		return x.String(), true
	case Duration:
		return x.String(), true
	case Wait:
		return x.String(), true
	case Bytes:
		return x.String(), true
	default:
		return x, true
	}
}
