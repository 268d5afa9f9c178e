package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Edit gives a key a value: a text, a number, true or false, a list, or a whole section. Remove takes the key out of the
// file, so that its default is in effect.
type Edit struct {
	Path   string          `json:"path" maxLength:"512"`
	Value  json.RawMessage `json:"value,omitempty"`
	Remove bool            `json:"remove,omitempty"`
}

// edited makes edits in a checked text. Other lines stay as they are. A top-level section in which keys are added or removed is
// formatted again; its comments and its order stay.
func edited(text []byte, edits []Edit) ([]byte, error) {
	for _, e := range edits {
		steps, err := stepsOf(e.Path)
		if err != nil {
			return nil, err
		}
		var value *yaml.Node
		if !e.Remove {
			if value, err = nodeOf(e.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Path, err)
			}
		}
		if text, err = editOne(text, steps, value); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
		if len(text) > fileBytesMax { // each edit reads the whole text
			return nil, fmt.Errorf("%s: the file would have %d bytes, the maximum is %d", e.Path, len(text), fileBytesMax)
		}
	}
	return text, nil
}

// nodeOf makes a node of a JSON value, which is written in the style of YAML.
func nodeOf(raw json.RawMessage) (*yaml.Node, error) {
	value, err := decoded(raw)
	if err != nil {
		return nil, err
	}
	var n yaml.Node
	if err := n.Encode(withNumbers(value)); err != nil {
		return nil, fmt.Errorf("write value: %w", err)
	}
	return &n, nil
}

// decoded reads a JSON value; numbers stay as they are written.
func decoded(raw json.RawMessage) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, errors.New("the value is missing, or it is not JSON; to take the key out of the file, set remove")
	}
	return value, nil
}

// withNumbers gives whole numbers the type of YAML.
func withNumbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return i
		}
		return x.String()
	case []any:
		for i := range x {
			x[i] = withNumbers(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = withNumbers(x[k])
		}
	}
	return v
}

var errNothing = errors.New("the file does not have this key")

func editOne(text []byte, steps []step, value *yaml.Node) ([]byte, error) {
	doc, err := document(text)
	if err != nil {
		return nil, err
	}
	if doc == nil || doc.Content[0].Kind == yaml.ScalarNode { // nothing but comments
		doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
		if value == nil {
			return nil, errNothing
		}
		if _, err := put(doc.Content[0], steps, value); err != nil {
			return nil, err
		}
		added, err := encode(doc)
		if len(bytes.TrimSpace(text)) > 0 {
			added = append(append(bytes.TrimRight(text, "\n"), '\n'), added...)
		}
		return added, err
	}
	root := doc.Content[0]
	if value != nil && value.Kind == yaml.ScalarNode {
		if old := find(root, steps); old != nil {
			if out, ok := inPlace(string(text), old, value); ok {
				return []byte(out), nil
			}
		}
	}
	first, last := extent(root, steps[0].key, text)
	if value == nil {
		if err := remove(root, steps); err != nil {
			return nil, err
		}
	} else if _, err := put(root, steps, value); err != nil {
		return nil, err
	}
	return splice(text, root, steps[0].key, first, last)
}

// inPlace replaces a value that stands on one line.
func inPlace(text string, old, value *yaml.Node) (string, bool) {
	lines := strings.SplitAfter(text, "\n")
	if old.Kind != yaml.ScalarNode || old.Anchor != "" || old.Line < 1 || old.Line > len(lines) || old.Style&(yaml.TaggedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return "", false
	}
	line := []rune(lines[old.Line-1])
	if old.Column < 1 || old.Column-1 > len(line) {
		return "", false
	}
	rest := string(line[old.Column-1:])
	length := tokenLength(rest, old)
	if length <= 0 {
		return "", false
	}
	if value.ShortTag() == "!!str" && value.Style == 0 {
		quoted := *value
		quoted.Style = old.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle) // as before
		value = &quoted
	}
	written, err := encode(value)
	fresh := strings.TrimRight(string(written), "\n")
	if err != nil || strings.Contains(fresh, "\n") {
		return "", false
	}
	if value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 && !strings.HasPrefix(fresh, `"`) && strings.ContainsAny(fresh, ",[]{}") && !strings.HasPrefix(fresh, "'") {
		fresh = strconv.Quote(value.Value) // inside { … } such characters would end a plain text
	}
	lines[old.Line-1] = string(line[:old.Column-1]) + fresh + rest[length:]
	return strings.Join(lines, ""), true
}

// tokenLength returns the length in bytes of the value at the start of a text; 0 if the value does not end on its line.
func tokenLength(rest string, n *yaml.Node) int {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			return i + 1
		}
	case n.Value != "" && strings.HasPrefix(rest, n.Value):
		return len(n.Value)
	}
	return 0
}

// find returns the node of a path; nil if the document does not have it. It does not follow aliases, whose values belong to several keys.
func find(n *yaml.Node, steps []step) *yaml.Node {
	for _, s := range steps {
		if n = child(n, s); n == nil {
			return nil
		}
	}
	return n
}

func child(n *yaml.Node, s step) *yaml.Node {
	if s.list {
		if n.Kind == yaml.SequenceNode && s.index < len(n.Content) {
			return n.Content[s.index]
		}
		return nil
	}
	if i := keyAt(n, s.key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// keyAt returns the index of a key in a mapping; -1 if it is missing.
func keyAt(n *yaml.Node, key string) int {
	if n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

var errShared = errors.New("the file has this value only as an alias (*name): change it in the file")

// put sets the value of a path, and creates missing sections.
func put(n *yaml.Node, steps []step, value *yaml.Node) (*yaml.Node, error) {
	s := steps[0]
	if n.Kind == yaml.AliasNode {
		return nil, errShared
	}
	if n.Kind == 0 || n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!null" || n.Value == "") {
		*n = yaml.Node{Kind: yaml.MappingNode, HeadComment: n.HeadComment, LineComment: n.LineComment, FootComment: n.FootComment}
		if s.list {
			n.Kind = yaml.SequenceNode
		}
	}
	at := child(n, s)
	switch {
	case at != nil:
	case s.list && n.Kind == yaml.SequenceNode && s.index == len(n.Content):
		at = &yaml.Node{}
		n.Content = append(n.Content, at)
	case s.list && n.Kind == yaml.SequenceNode:
		return nil, fmt.Errorf("the list has %d entries: use [%d] to add one", len(n.Content), len(n.Content))
	case !s.list && n.Kind == yaml.MappingNode:
		at = &yaml.Node{}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: s.key}, at)
		if n.Style&yaml.FlowStyle != 0 && len(n.Content) == 2 {
			n.Style &^= yaml.FlowStyle // {} becomes lines
		}
	default:
		return nil, errors.New("the file has a value of another kind at this path: change the file yourself")
	}
	if len(steps) > 1 {
		return put(at, steps[1:], value)
	}
	if at.Kind == yaml.AliasNode {
		return nil, errShared
	}
	fresh := *value
	fresh.HeadComment, fresh.LineComment, fresh.FootComment = at.HeadComment, at.LineComment, at.FootComment
	*at = fresh
	return at, nil
}

// remove removes a path, and the sections that become empty.
func remove(n *yaml.Node, steps []step) error {
	s := steps[0]
	if n.Kind == yaml.AliasNode {
		return errShared
	}
	at := child(n, s)
	if at == nil {
		return errNothing
	}
	if len(steps) > 1 {
		if err := remove(at, steps[1:]); err != nil {
			return err
		}
		if len(at.Content) > 0 || at.Kind == yaml.SequenceNode {
			return nil
		}
		if s.list { // an entry of a list stays, because the entries after it would move
			return nil
		}
	}
	if s.list {
		n.Content = append(n.Content[:s.index], n.Content[s.index+1:]...)
		return nil
	}
	i := keyAt(n, s.key)
	n.Content = append(n.Content[:i], n.Content[i+2:]...)
	return nil
}

// extent returns the lines of a top-level section: from its key, with the comment above it, to before the next section. Both
// are 0 if the section is missing, or if the file is not one section after the other.
func extent(root *yaml.Node, key string, text []byte) (first, last int) {
	i := keyAt(root, key)
	if i < 0 || root.Style&yaml.FlowStyle != 0 {
		return 0, 0
	}
	lines := strings.SplitAfter(string(text), "\n")
	first, last = root.Content[i].Line, len(lines)
	if i+2 < len(root.Content) {
		last = root.Content[i+2].Line - 1
	}
	for last > first && quiet(lines[last-1]) { // the comment above the next section belongs to that section
		last--
	}
	return first, last
}

func quiet(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || strings.HasPrefix(line, "#")
}

// splice replaces a top-level section in its place.
func splice(text []byte, root *yaml.Node, key string, first, last int) ([]byte, error) {
	i := keyAt(root, key)
	if root.Style&yaml.FlowStyle != 0 {
		return encode(root)
	}
	var fresh []byte
	if i >= 0 {
		name, value := *root.Content[i], *root.Content[i+1]
		name.HeadComment, name.FootComment, value.FootComment = "", "", ""
		var err error
		if fresh, err = encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&name, &value}}); err != nil {
			return nil, err
		}
	}
	lines := strings.SplitAfter(string(text), "\n")
	if first == 0 {
		before := strings.TrimRight(string(text), "\n")
		if before != "" {
			before += "\n"
		}
		return append([]byte(before), fresh...), nil
	}
	tail := strings.Join(lines[last:], "")
	return []byte(strings.Join(lines[:first-1], "") + string(fresh) + tail), nil
}

// encode writes a node in the style of the gateway's own files.
func encode(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out.Bytes(), nil
}
