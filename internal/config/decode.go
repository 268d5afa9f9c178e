package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config/hint"
	"sluice/internal/config/scalar"
	"sluice/internal/config/tags"
	"sluice/internal/model/chain"
	"sluice/sessions"
)

// maxNodes bounds the expansion of a file by nested aliases.
const maxNodes = 100_000

// decoder reads YAML nodes into the tree. Unlike the YAML library's decoder, it knows the position of each value,
// continues after a fault, and never converts between text and numbers.
type decoder struct {
	*report
	expand  expander
	written map[string]string // see [Config.Written]; nil: nobody asks
	nodes   int
}

func (d *decoder) root(n *yaml.Node, c *Config) {
	d.value(n, reflect.ValueOf(c).Elem(), tags.Field{}, "")
}

// value reads a node into v, which holds the default. A null keeps the default.
func (d *decoder) value(n *yaml.Node, v reflect.Value, f tags.Field, path string) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.addAt(d.places[""], "", "is too large after its aliases are expanded: use fewer")
		}
		return
	}
	if s, ok := v.Addr().Interface().(interface{ Given() }); ok {
		s.Given() // an empty section means something, too
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.scalar(n, v, f, path)
		return
	}
	switch v.Kind() {
	case reflect.String:
		d.text(n, v, f, path)
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		d.table(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, path)
	default:
		d.scalar(n, v, f, path)
	}
}

// entries calls on once for each valid key of a mapping.
func (d *decoder) entries(n *yaml.Node, path string, on func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.add(path, "want keys with values, not %s", kindName(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		at := Place{n.Content[i].Line, n.Content[i].Column}
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			d.addAt(at, path, "has a key that is not a plain word: use a name")
			continue
		}
		if line, ok := seen[key.Value]; ok {
			d.addAt(at, join(path, key.Value), "is repeated: it is already set in line %d", line)
			continue
		}
		seen[key.Value] = at.Line
		d.places[join(path, key.Value)] = at
		on(key, n.Content[i+1])
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	s := tags.Of(v.Type())
	d.entries(n, path, func(key, value *yaml.Node) {
		p := join(path, key.Value)
		if f, ok := s.Find(key.Value); ok {
			d.locate(value, p)
			d.value(value, v.FieldByIndex(f.Index), f, p)
			return
		}
		if slices.Contains(s.Later, key.Value) {
			d.add(p, "is not supported in this version: remove it")
			return
		}
		d.add(p, "is not a key of %s: %s", cmp.Or(path, "the configuration"), hint.For(key.Value, s.Names()))
	})
}

// locate moves a path's position from its key to its value if the value is a single word.
func (d *decoder) locate(value *yaml.Node, path string) {
	if value.Kind == yaml.ScalarNode && value.Value != "" {
		d.places[path] = Place{value.Line, value.Column}
	}
}

func (d *decoder) table(n *yaml.Node, v reflect.Value, path string) {
	out := reflect.MakeMap(v.Type())
	d.entries(n, path, func(key, value *yaml.Node) {
		e := d.element(v.Type())
		d.value(value, e, tags.Field{}, join(path, key.Value))
		out.SetMapIndex(reflect.ValueOf(key.Value), e)
	})
	v.Set(out)
}

func (d *decoder) sequence(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.add(path, "want a list, not %s: write [ … ]", kindName(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(n.Content))
	for i, item := range n.Content {
		if d.nodes > maxNodes {
			return
		}
		p := fmt.Sprintf("%s[%d]", path, i)
		d.places[p] = Place{item.Line, item.Column}
		e := d.element(v.Type())
		d.value(item, e, tags.Field{}, p)
		out = reflect.Append(out, e)
	}
	v.Set(out)
}

// element returns a new element of a list or map, with its defaults.
func (*decoder) element(t reflect.Type) reflect.Value {
	e := reflect.New(t.Elem())
	switch x := e.Interface().(type) {
	case defaulter:
		x.setDefaults()
	case interface{ SetDefaults() }: // of another package
		x.SetDefaults()
	}
	return e.Elem()
}

// text reads a text. A chain of models may also be written as a list of their names.
func (d *decoder) text(n *yaml.Node, v reflect.Value, f tags.Field, path string) {
	if !f.Chain || n.Kind != yaml.SequenceNode {
		d.scalar(n, v, f, path)
		return
	}
	var names []string
	d.sequence(n, reflect.ValueOf(&names).Elem(), path)
	v.SetString(chain.Text(names))
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, f tags.Field, path string) {
	if n.Kind != yaml.ScalarNode {
		d.add(path, "want %s, not %s", wanted(v, f), kindName(n))
		return
	}
	text, err := d.expand.value(n.Value)
	if unset, ok := errors.AsType[*unsetError](err); ok && f.Made && n.Value == "${"+unset.name+"}" {
		return
	}
	if err != nil {
		d.add(path, "%s", err)
		return
	}
	if text != n.Value && d.written != nil {
		d.written[path] = n.Value
	}
	if !suits(n, v, text != n.Value) {
		d.add(path, "want %s, not %s", wanted(v, f), kindName(n))
		return
	}
	d.set(v, f, path, text)
}

// suits reports whether a scalar fits v's type. A value from a reference has no YAML type and fits any.
func suits(n *yaml.Node, v reflect.Value, expanded bool) bool {
	tag := n.ShortTag()
	switch v.Kind() {
	case reflect.Int:
		return expanded || tag == "!!int"
	case reflect.Bool:
		return expanded || tag == "!!bool"
	default:
		return tag != "!!bool" // ids may look like numbers; true is a mistake
	}
}

func (d *decoder) set(v reflect.Value, f tags.Field, path, text string) {
	if text == "" && len(f.Enum) > 0 && v.Kind() == reflect.String {
		return // empty: the default; but an empty level is a fault
	}
	if len(f.Enum) > 0 && !d.oneOf(f, path, text) {
		return
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			d.add(path, "%s", err)
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			d.add(path, "want %s", wanted(v, f))
		}
		v.SetBool(b)
	default:
		d.setInt(v, f, path, text)
	}
}

func (d *decoder) setInt(v reflect.Value, f tags.Field, path, text string) {
	i, err := strconv.Atoi(text)
	if err != nil || (f.Min != nil && i < *f.Min) || (f.Max != nil && i > *f.Max) {
		d.add(path, "want %s", wanted(v, f))
		return
	}
	v.SetInt(int64(i))
}

// oneOf checks a value against the allowed ones. Levels are case-insensitive.
func (d *decoder) oneOf(f tags.Field, path, text string) bool {
	if slices.ContainsFunc(f.Enum, func(e string) bool { return e == text || (isLevel(e) && strings.EqualFold(e, text)) }) {
		return true
	}
	d.add(path, "want %s", choices(f.Enum))
	return false
}

func isLevel(s string) bool { return strings.ToUpper(s) == s }

// wanted describes the values that a key accepts.
func wanted(v reflect.Value, f tags.Field) string {
	if len(f.Enum) > 0 {
		return choices(f.Enum)
	}
	switch v.Interface().(type) {
	case Duration:
		return "a time span such as 90s, 10m or 24h"
	case Wait:
		return "a time span such as 0s, 90s or 10m"
	case Bytes:
		return "an amount of data such as 512MiB or 5GiB"
	case Amount:
		return "an amount of money such as 2.50"
	case scalar.Rate:
		return "an amount and a period such as 60/1m"
	case sessions.Temperature:
		return "a number from 0 to 2 with at most two decimals, such as 0.7"
	case int:
		return wholeNumber(f)
	case bool:
		return "true or false"
	}
	return "a text (put it in quotes)"
}

func wholeNumber(f tags.Field) string {
	switch {
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("a whole number from %d to %d", *f.Min, *f.Max)
	case f.Min != nil:
		return fmt.Sprintf("a whole number of at least %d", *f.Min)
	}
	return "a whole number"
}

func choices(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	}
	return "a text"
}

// join adds a key to a path.
func join(path, key string) string { return hint.Join(path, key) }
