// Package tags reads the struct tags of the configuration.
package tags

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sluice/policy/flow"
)

// Field has the tags of one struct field.
type Field struct {
	Name     string
	Doc      string
	Enum     []string
	Min, Max *int
	Chain    bool // a model, or a list of models
	Made     bool // without a value, the gateway makes one
	Index    []int
}

// Section has the tags of a struct.
type Section struct {
	Fields []Field
	Later  []string // keys of a later version
}

// Find returns the field of a key.
func (s Section) Find(name string) (Field, bool) {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return s.Fields[i], true
}

// Names returns the keys.
func (s Section) Names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// read has the sections of the types that were asked for.
var read sync.Map

// Of returns the tags of a struct type, including the fields of inlined structs. They are read once; callers do not change them.
func Of(t reflect.Type) Section {
	if known, ok := read.Load(t); ok {
		return known.(Section)
	}
	s := sectionOf(t)
	read.Store(t, s)
	return s
}

func sectionOf(t reflect.Type) Section {
	var s Section
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Name == "_":
			s.Later = append(s.Later, list(f.Tag.Get("later"))...)
		case !f.IsExported():
		case f.Anonymous:
			inner := Of(f.Type)
			for _, g := range inner.Fields {
				g.Index = append([]int{i}, g.Index...)
				s.Fields = append(s.Fields, g)
			}
			s.Later = append(s.Later, inner.Later...)
		default:
			s.Fields = append(s.Fields, fieldOf(f, i))
		}
	}
	return s
}

func fieldOf(f reflect.StructField, index int) Field {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	g := Field{Name: name, Doc: f.Tag.Get("doc"), Enum: list(f.Tag.Get("enum")), Chain: f.Tag.Get("chain") != "", Made: f.Tag.Get("made") != "", Index: []int{index}}
	g.Min, g.Max = number(f.Tag.Get("min")), number(f.Tag.Get("max"))
	if f.Type == reflect.TypeFor[flow.Level]() {
		for _, l := range flow.Levels() {
			g.Enum = append(g.Enum, l.String())
		}
	}
	return g
}

func list(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

func number(tag string) *int {
	n, err := strconv.Atoi(tag)
	if err != nil {
		return nil // the tag is missing; a test checks that the tags are numbers
	}
	return &n
}
