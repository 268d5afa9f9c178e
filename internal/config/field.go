package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sluice/policy/flow"
)

// field has the tags of one struct field.
type field struct {
	name     string
	doc      string
	enum     []string
	min, max *int
	chain    bool // a model, or a list of models
	index    []int
}

// section has the tags of a struct.
type section struct {
	fields []field
	later  []string // keys of a later version
}

func (s section) find(name string) (field, bool) {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return s.fields[i], true
}

func (s section) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// sectionOf reads the tags of a struct type, including the fields of inlined structs.
func sectionOf(t reflect.Type) section {
	var s section
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Name == "_":
			s.later = append(s.later, list(f.Tag.Get("later"))...)
		case !f.IsExported():
		case f.Anonymous:
			inner := sectionOf(f.Type)
			for _, g := range inner.fields {
				g.index = append([]int{i}, g.index...)
				s.fields = append(s.fields, g)
			}
			s.later = append(s.later, inner.later...)
		default:
			s.fields = append(s.fields, fieldOf(f, i))
		}
	}
	return s
}

func fieldOf(f reflect.StructField, index int) field {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	g := field{name: name, doc: f.Tag.Get("doc"), enum: list(f.Tag.Get("enum")), chain: f.Tag.Get("chain") != "", index: []int{index}}
	g.min, g.max = number(f.Tag.Get("min")), number(f.Tag.Get("max"))
	if f.Type == reflect.TypeFor[flow.Level]() {
		for _, l := range flow.Levels() {
			g.enum = append(g.enum, l.String())
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

// channelNames returns the keys under channels.
func channelNames() []string { return sectionOf(reflect.TypeFor[Channels]()).names() }
