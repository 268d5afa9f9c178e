package settings

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config/bare"
	"sluice/internal/config/hint"
	"sluice/internal/pattern"
)

// nodesMax bounds the expansion of nested aliases, like the check of the configuration.
const nodesMax = 100_000

// document reads a checked text; nil if it is empty.
func document(text []byte) (*yaml.Node, error) {
	shown, hid := bare.Hide(string(text))
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(shown), &doc); err != nil {
		return nil, fmt.Errorf("read YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	if hid {
		bare.ShowAll(&doc)
	}
	return &doc, nil
}

// Locate sets the source of each key. text is a checked file; override has the keys whose values do not come from it.
func Locate(keys []Key, text []byte, override map[string]Source) error {
	doc, err := document(text)
	if err != nil {
		return err
	}
	found := places{at: map[string]*yaml.Node{}}
	if doc != nil {
		found.walk(doc.Content[0], "")
	}
	for i := range keys {
		k := &keys[i]
		if n := found.at[k.Path]; n != nil && n.ShortTag() != "!!null" {
			k.Source = sourceOf(n)
			if k.Source.From != File && (k.Kind == Text || k.Kind == List) && len(k.Enum) == 0 {
				k.Value = raw(n)
			}
		}
		if s, ok := override[k.Path]; ok {
			k.Source = s
			k.Set = k.Set || s.From == Made
		}
	}
	return nil
}

type places struct {
	at    map[string]*yaml.Node
	nodes int
}

func (p *places) walk(n *yaml.Node, path string) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if p.nodes++; p.nodes > nodesMax {
		return
	}
	p.at[path] = n
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			p.walk(n.Content[i+1], hint.Join(path, n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			p.walk(item, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

var reference = pattern.New(`\$?\$\{[^}]*\}`)

// sourceOf returns the source of a node's value: the first reference in it, or the file itself.
func sourceOf(n *yaml.Node) Source {
	from := Source{From: File, Line: n.Line}
	for _, text := range scalars(n) {
		for _, ref := range reference.Regexp().FindAllString(text, -1) {
			if strings.HasPrefix(ref, "$$") {
				continue
			}
			name := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
			from.From, from.Name = Environment, name
			if path, ok := strings.CutPrefix(name, "file:"); ok {
				from.From, from.Name = SecretFile, path
			}
			if credential, ok := strings.CutPrefix(name, "credential:"); ok {
				from.From, from.Name = Credential, credential
			}
			return from
		}
	}
	return from
}

// scalars returns the texts of a node: its own, or those of its list.
func scalars(n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode {
		return []string{n.Value}
	}
	out := make([]string, len(n.Content))
	for i, item := range n.Content {
		out[i] = item.Value
	}
	return out
}

// raw returns the value of a node as it is written in the file.
func raw(n *yaml.Node) any {
	if n.Kind != yaml.SequenceNode {
		return n.Value
	}
	out := []any{}
	for _, text := range scalars(n) {
		out = append(out, text)
	}
	return out
}

// step is one part of a path: a key or an index.
type step struct {
	key   string
	index int
	list  bool
}

var stepShape = regexp.MustCompile(`^(?:\.?([^.\[\]"\s]+)|\["((?:[^"\\]|\\.)*)"\]|\[(\d{1,4})\])`)

// stepsMax bounds the depth of a path; the configuration is less deep.
const stepsMax = 20

// stepsOf splits a path.
func stepsOf(path string) ([]step, error) {
	var out []step
	for rest := path; rest != ""; {
		m := stepShape.FindStringSubmatch(rest)
		if m == nil || len(out) == stepsMax {
			return nil, fmt.Errorf("%q is not the path of a setting: write it as in agents.list[0].model", path)
		}
		rest = rest[len(m[0]):]
		switch {
		case m[1] != "":
			out = append(out, step{key: m[1]})
		case m[3] != "":
			n, err := strconv.Atoi(m[3])
			if err != nil {
				return nil, fmt.Errorf("%q: %w", path, err)
			}
			out = append(out, step{index: n, list: true})
		default:
			out = append(out, step{key: strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[2])})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the path of the setting is missing")
	}
	return out, nil
}
