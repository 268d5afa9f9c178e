// Package config reads sluice.yaml into one typed tree.
//
// The tree's types are the single source: keys, allowed values and
// descriptions are in struct tags, defaults in defaults.go. The JSON Schema
// and docs/configuration.md are generated from them.
//
//	yaml:"name"    the key
//	doc:"text"     what it means, for the schema and the reference
//	enum:"a,b"     the only values
//	later:"a,b"    on a blank field: keys of a later version; told apart from mistakes
//	min:"1"        the least number (max likewise)
//
// A file is read as YAML nodes, so each fault has its line and column. All
// faults are found before any is reported. ${VAR} and ${file:/path} are put in
// after the YAML is read: what they hold is never read as YAML.
package config

//go:generate go run ./gen ../../docs
