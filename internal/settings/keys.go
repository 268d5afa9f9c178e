// Package settings lists the settings in effect with their sources, changes the configuration file, and keeps its earlier
// versions.
//
// It never shows the value of a secret, only whether it is set. A value from the environment or from a file may be a secret,
// so its reference is shown, such as ${NAME}.
package settings

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sluice/adapters"
	"sluice/internal/config/hint"
	"sluice/internal/config/tags"
)

// Kind is the type of a value.
type Kind string

// The kinds. A list has texts or numbers. A list of sections is not one value: each section has keys of its own.
const (
	Text   Kind = "text"
	Number Kind = "number"
	Bool   Kind = "bool"
	List   Kind = "list"
	Hidden Kind = "secret"
)

// From is where a value comes from.
type From string

// The sources.
const (
	Default     From = "default"
	File        From = "file"        // written in the configuration
	Environment From = "environment" // an environment variable
	SecretFile  From = "secret_file" // a file that the configuration names
	Credential  From = "credential"  // a credential of systemd
	Flag        From = "flag"        // of the command line
	Made        From = "made"        // by the gateway itself, at its first start
)

// Source is where a value comes from.
type Source struct {
	From From
	Line int    // in the configuration; 0: it is not there
	Name string // of the variable, the file, the credential or the flag
}

// Key is a setting that is in effect.
type Key struct {
	Path   string
	Kind   Kind
	Value  any // string, int, bool or []any; nil: empty, or a secret
	Set    bool
	Enum   []string
	Doc    string
	Source Source
	// Restart: a change takes effect at the next start.
	Restart bool

	sum [sha256.Size]byte // of the real value
}

// Pattern is a setting that can be set: <name> stands for any name, and [] for any index.
type Pattern struct {
	Path string
	Kind Kind
	Enum []string
	Doc  string
}

// KeysOf lists the keys of a checked configuration, in the order of its types.
func KeysOf(config any) []Key {
	var w walker
	w.walk(reflect.ValueOf(config).Elem(), tags.Field{}, "")
	if c, ok := config.(interface{ Written() map[string]string }); ok {
		hide(w.keys, c.Written())
	}
	return w.keys
}

// hide shows texts that come from the environment or from files as they are written.
func hide(keys []Key, written map[string]string) {
	for i := range keys {
		k := &keys[i]
		if k.Kind == Text && len(k.Enum) == 0 && k.Value != nil {
			if text, ok := written[k.Path]; ok {
				k.Value = text
			}
		}
		if list, ok := k.Value.([]any); ok {
			for j := range list {
				if text, ok := written[fmt.Sprintf("%s[%d]", k.Path, j)]; ok {
					list[j] = text
				}
			}
		}
	}
}

// Sums returns a checksum of each section of a checked configuration, also of an empty one. Of secrets it only counts whether they
// are set. Keys for which skip returns true do not count.
func Sums(config any, skip func(path string) bool) map[string]string {
	sections := map[string]hash.Hash{}
	for _, f := range tags.Of(reflect.TypeOf(config).Elem()).Fields {
		sections[f.Name] = sha256.New()
	}
	for _, k := range KeysOf(config) {
		section := k.Path
		if end := strings.IndexAny(section, ".["); end >= 0 {
			section = section[:end]
		}
		if !skip(k.Path) {
			_, _ = fmt.Fprintf(sections[section], "%q %t %#v\n", k.Path, k.Set, k.Value) // never fails
		}
	}
	sums := make(map[string]string, len(sections))
	for section, h := range sections {
		sums[section] = hex.EncodeToString(h.Sum(nil)[:8])
	}
	return sums
}

type walker struct {
	keys    []Key
	entries []Entry
	// patterns: visit one element that stands for all, instead of the elements of tables and lists.
	patterns bool
}

// PatternsOf lists the keys that a configuration may have. defaults is a configuration without named sections.
func PatternsOf(defaults any) []Pattern {
	w := walker{patterns: true}
	w.walk(reflect.ValueOf(defaults).Elem(), tags.Field{}, "")
	out := make([]Pattern, len(w.keys))
	for i, k := range w.keys {
		out[i] = Pattern{Path: k.Path, Kind: k.Kind, Enum: k.Enum, Doc: k.Doc}
	}
	return out
}

func (w *walker) walk(v reflect.Value, f tags.Field, path string) {
	_, secret := reflect.TypeAssert[adapters.Secret](v)
	_, text := v.Interface().(encoding.TextMarshaler)
	switch kind := v.Kind(); {
	case secret || text:
		w.leaf(v, f, path)
	case kind == reflect.Struct:
		for _, below := range tags.Of(v.Type()).Fields {
			w.walk(v.FieldByIndex(below.Index), below, hint.Join(path, below.Name))
		}
	case kind == reflect.Map && w.patterns:
		w.walk(reflect.New(v.Type().Elem()).Elem(), tags.Field{Doc: f.Doc, Enum: f.Enum}, path+"."+anyName)
	case kind == reflect.Map:
		for _, name := range slices.Sorted(maps.Keys(asStrings(v))) {
			of, at := v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key())), hint.Join(path, name)
			w.entry(of, at, name, "")
			w.walk(of, tags.Field{Doc: f.Doc, Enum: f.Enum}, at)
		}
	case kind == reflect.Slice && listOfSections(v.Type().Elem()) && w.patterns:
		w.walk(reflect.New(v.Type().Elem()).Elem(), tags.Field{Doc: f.Doc, Enum: f.Enum}, path+"[]")
	case kind == reflect.Slice && listOfSections(v.Type().Elem()):
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", path, i)
			w.entry(v.Index(i), at, "", path)
			w.walk(v.Index(i), tags.Field{Doc: f.Doc, Enum: f.Enum}, at)
		}
	default:
		w.leaf(v, f, path)
	}
}

// listOfSections reports whether the elements of a list have keys of their own, or are secrets.
func listOfSections(t reflect.Type) bool {
	return t == reflect.TypeFor[adapters.Secret]() || t.Kind() == reflect.Struct && !t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func asStrings(v reflect.Value) map[string]bool {
	names := map[string]bool{}
	for _, key := range v.MapKeys() {
		names[key.String()] = true
	}
	return names
}

func (w *walker) leaf(v reflect.Value, f tags.Field, path string) {
	k := Key{Path: path, Enum: f.Enum, Doc: f.Doc, Source: Source{From: Default}}
	if s, ok := reflect.TypeAssert[adapters.Secret](v); ok {
		k.Kind, k.Set, k.sum = Hidden, s != "", sha256.Sum256([]byte(s.Reveal()))
		w.keys = append(w.keys, k)
		return
	}
	k.Kind, k.Value = plain(v)
	k.Set = k.Value != nil
	k.sum = sha256.Sum256(fmt.Append(nil, k.Value))
	w.keys = append(w.keys, k)
}

// plain converts a value for JSON; nil if it is empty.
func plain(v reflect.Value) (Kind, any) {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		raw, err := m.MarshalText()
		if err != nil || len(raw) == 0 {
			return Text, nil
		}
		return Text, string(raw)
	}
	switch v.Kind() {
	case reflect.Bool:
		return Bool, v.Bool()
	case reflect.Int, reflect.Int64, reflect.Int32:
		return Number, int(v.Int())
	case reflect.Slice:
		if v.Len() == 0 {
			return List, nil
		}
		all := make([]any, v.Len())
		for i := range all {
			_, all[i] = plain(v.Index(i))
		}
		return List, all
	}
	if s := fmt.Sprint(v.Interface()); s != "" {
		return Text, s
	}
	return Text, nil
}

// Change is the difference of a key between two configurations.
type Change struct {
	Path          string
	Kind          Kind
	Before, After any  // nil: empty, or a secret
	Was, Is       bool // whether there was a value, and whether there is one
}

// Diff lists what differs, in the order of the keys.
func Diff(before, after []Key) []Change {
	old, next := map[string]*Key{}, map[string]*Key{}
	for i := range before {
		old[before[i].Path] = &before[i]
	}
	var out []Change
	for i := range after {
		k := &after[i]
		next[k.Path] = k
		switch was, ok := old[k.Path]; {
		case !ok && k.Set:
			out = append(out, Change{Path: k.Path, Kind: k.Kind, After: k.Value, Is: true})
		case ok && was.sum != k.sum:
			out = append(out, Change{Path: k.Path, Kind: k.Kind, Before: was.Value, After: k.Value, Was: was.Set, Is: k.Set})
		}
	}
	for i := range before {
		if k := &before[i]; next[k.Path] == nil && k.Set {
			out = append(out, Change{Path: k.Path, Kind: k.Kind, Before: k.Value, Was: true})
		}
	}
	return out
}

// Below reports whether a path is the key itself or below it.
func Below(path, key string) bool {
	rest, ok := strings.CutPrefix(path, key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
