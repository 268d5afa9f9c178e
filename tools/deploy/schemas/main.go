// Command schemas makes a JSON Schema for each kind of object of Kubernetes from the published description of its API:
//
//	schemas SWAGGER FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: schemas SWAGGER FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run(swagger, folder string) error {
	data, err := os.ReadFile(filepath.Clean(swagger))
	if err != nil {
		return err
	}
	var api struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(data, &api); err != nil {
		return err
	}
	for _, d := range api.Definitions {
		strict(d)
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	all, err := json.Marshal(map[string]any{"definitions": api.Definitions})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "definitions.json"), all, 0o600); err != nil {
		return err
	}
	for name, d := range api.Definitions {
		kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 {
			continue
		}
		kind, _ := kinds[0].(map[string]any)
		group, _ := kind["group"].(string)
		version, _ := kind["version"].(string)
		object, _ := kind["kind"].(string)
		// The suffix of kubeconform: -group-version, with the first part of the group's name.
		file := strings.ToLower(object)
		if group != "" {
			first, _, _ := strings.Cut(group, ".")
			file += "-" + first
		}
		file += "-" + strings.ToLower(version) + ".json"
		schema, err := json.Marshal(map[string]any{"$ref": "definitions.json#/definitions/" + name})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file), schema, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// strict refuses unknown keys, and makes references relative to the file with all definitions. Numbers with a unit and
// ports may be texts.
func strict(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, has := v["properties"]; has {
			if _, open := v["additionalProperties"]; !open {
				v["additionalProperties"] = false
			}
		}
		if v["format"] == "int-or-string" {
			v["type"] = []string{"string", "integer"}
			delete(v, "format")
		}
		if v["format"] == "int32" || v["format"] == "int64" || v["format"] == "double" || v["format"] == "byte" {
			delete(v, "format")
		}
		for _, below := range v {
			strict(below)
		}
	case []any:
		for _, below := range v {
			strict(below)
		}
	}
}
