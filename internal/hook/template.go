package hook

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"
)

const (
	templateMax = 32 << 10 // bytes of a template
	loopsMax    = 2        // ranges inside each other
	roundsMax   = 1000     // elements of a list that a range shows
)

// text is a compiled template.
type text struct {
	template *template.Template
	most     int // bytes of its result
}

// newText compiles a template. Its values are shown by show, which gets the value of each action.
func newText(source string, most int, show func(v any) (string, error)) (*text, error) {
	if len(source) > templateMax {
		return nil, fmt.Errorf("is %d bytes long, the maximum is %d", len(source), templateMax)
	}
	functions := template.FuncMap{
		"show": show, "field": field, "each": each, "json": asJSON, "default": fallback, "truncate": truncate, "join": join,
		"lower": strings.ToLower, "upper": strings.ToUpper, "call": noCall,
	}
	t, err := template.New("template").Funcs(functions).Parse(source)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("defines a template: write everything in one")
	}
	if t.Tree == nil { // an empty text
		return &text{template.Must(template.New("template").Parse(" ")), most}, nil
	}
	if err := rewrite(t.Root, 0); err != nil {
		return nil, err
	}
	return &text{t, most}, nil
}

// constant is the text of a template before its first action.
func constant(source string) string {
	before, _, _ := strings.Cut(source, "{{")
	return before
}

// errEnough ends a template whose result is long enough.
var errEnough = errors.New("the result is long enough")

// bounded keeps the beginning of what is written.
type bounded struct {
	b    strings.Builder
	most int
}

// Write implements [io.Writer].
func (w *bounded) Write(p []byte) (int, error) {
	n := min(len(p), w.most-w.b.Len())
	w.b.Write(p[:n])
	if n < len(p) {
		return n, errEnough
	}
	return n, nil
}

// render gives the template's text. A text that is too long ends with a note.
func (t *text) render(vars Variables) (string, error) {
	w := &bounded{most: t.most}
	err := t.template.Execute(w, map[string]any(vars))
	out := w.b.String()
	switch {
	case errors.Is(err, errEnough):
		for len(out) > 0 && !utf8.ValidString(out[max(0, len(out)-utf8.UTFMax):]) {
			out = out[:len(out)-1]
		}
		return out + "\n[The rest is left out: the text is longer than " + strconv.Itoa(t.most) + " bytes.]", nil
	case err != nil:
		return "", errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	return out, nil
}

// rewrite changes a template so that fields are read by the function field, which knows missing ones, lists of ranges by each, and
// what is written by show.
func rewrite(list *parse.ListNode, loops int) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		var err error
		switch n := n.(type) {
		case *parse.ActionNode:
			if err = fields(n.Pipe); len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, command(n.Pos, "show"))
			}
		case *parse.IfNode:
			err = branch(&n.BranchNode, loops)
		case *parse.WithNode:
			err = branch(&n.BranchNode, loops)
		case *parse.RangeNode:
			if err = branch(&n.BranchNode, loops+1); err == nil && loops == loopsMax {
				err = fmt.Errorf("line %d: has more than %d ranges inside each other", n.Line, loopsMax)
			}
			n.Pipe.Cmds = append(n.Pipe.Cmds, command(n.Pos, "each"))
		case *parse.TemplateNode:
			err = fmt.Errorf("line %d: uses another template: write everything in one", n.Line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func branch(n *parse.BranchNode, loops int) error {
	return errors.Join(fields(n.Pipe), rewrite(n.List, loops), rewrite(n.ElseList, loops))
}

func command(pos parse.Pos, function string, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{parse.NewIdentifier(function).SetPos(pos)}, args...)}
}

// fields replaces the fields in a pipeline.
func fields(p *parse.PipeNode) error {
	if p == nil {
		return nil
	}
	for _, c := range p.Cmds {
		for i, arg := range c.Args {
			replaced, err := reading(arg)
			if err != nil {
				return err
			}
			c.Args[i] = replaced
		}
	}
	return nil
}

// reading is a node that reads a field, as a call of the function field.
func reading(n parse.Node) (parse.Node, error) {
	switch n := n.(type) {
	case *parse.FieldNode:
		return lookUp(n.Pos, &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, n.Ident), nil
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			return lookUp(n.Pos, &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}, n.Ident[1:]), nil
		}
	case *parse.ChainNode:
		inner, err := reading(n.Node)
		return lookUp(n.Pos, inner, n.Field), err
	case *parse.PipeNode:
		return n, fields(n)
	}
	return n, nil
}

func lookUp(pos parse.Pos, of parse.Node, names []string) parse.Node {
	args := []parse.Node{of}
	for _, name := range names {
		args = append(args, &parse.StringNode{NodeType: parse.NodeString, Pos: pos, Quoted: fmt.Sprintf("%q", name), Text: name})
	}
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{command(pos, "field", args...)}}
}

// field returns a field of a value, or nil if the value lacks it.
func field(of any, names ...string) any {
	for _, name := range names {
		m, ok := of.(map[string]any)
		if !ok {
			return nil
		}
		of = m[name]
	}
	return of
}

// each is what a range goes over: a list or an object. A number or a text would otherwise count as one.
func each(v any) any {
	switch v := v.(type) {
	case []any:
		return v[:min(len(v), roundsMax)]
	case map[string]any:
		if len(v) <= roundsMax {
			return v
		}
	}
	return nil
}

// noCall stands for the built-in function of this name: no value can be called.
func noCall(...any) (any, error) { return nil, errors.New("call is not available") }

// fallback is a value, or another if it is missing or empty.
func fallback(other, v any) any {
	if v == nil || reflect.ValueOf(v).IsZero() {
		return other
	}
	return v
}

// truncate is the beginning of a text.
func truncate(most int, v any) string {
	runes := []rune(plainText(v))
	if most < 0 || len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "…"
}

// join puts the elements of a list into one text.
func join(between string, v any) string {
	list, ok := v.([]any)
	if !ok {
		return plainText(v)
	}
	var parts []string
	for _, e := range list {
		parts = append(parts, plainText(e))
	}
	return strings.Join(parts, between)
}
