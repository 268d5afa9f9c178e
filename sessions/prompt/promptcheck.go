package prompt

import (
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
)

func templateData() reflect.Type { return reflect.TypeFor[TemplateData]() }

// fieldCheck walks a template and collects the fields that its data lacks. Executing the
// template would not find those in a branch that is not taken.
type fieldCheck struct {
	tree *parse.Tree
	used map[string]bool // what chains begin with
	errs []error
}

// list checks nodes whose dot has a type; nil where that is not known.
func (c *fieldCheck) list(list *parse.ListNode, dot reflect.Type) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		c.node(n, dot)
	}
}

func (c *fieldCheck) node(n parse.Node, dot reflect.Type) {
	switch n := n.(type) {
	case *parse.ActionNode:
		c.pipe(n.Pipe, dot)
	case *parse.IfNode:
		c.pipe(n.Pipe, dot)
		c.list(n.List, dot)
		c.list(n.ElseList, dot)
	case *parse.WithNode:
		c.changed(&n.BranchNode, dot)
	case *parse.RangeNode:
		c.changed(&n.BranchNode, dot)
	case *parse.TemplateNode:
		c.pipe(n.Pipe, dot)
	}
}

// changed checks a branch in which dot is something else.
func (c *fieldCheck) changed(n *parse.BranchNode, dot reflect.Type) {
	c.pipe(n.Pipe, dot)
	c.list(n.List, nil)
	c.list(n.ElseList, dot)
}

func (c *fieldCheck) pipe(p *parse.PipeNode, dot reflect.Type) {
	if p == nil {
		return
	}
	for _, cmd := range p.Cmds {
		for _, arg := range cmd.Args {
			c.arg(arg, dot)
		}
	}
}

func (c *fieldCheck) arg(n parse.Node, dot reflect.Type) {
	switch n := n.(type) {
	case *parse.FieldNode:
		c.fields(n, n.Ident, dot)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			c.fields(n, n.Ident[1:], templateData())
		}
	case *parse.ChainNode:
		c.arg(n.Node, dot)
	case *parse.PipeNode:
		c.pipe(n, dot)
	case *parse.DotNode:
		c.fields(n, nil, dot)
	}
}

// fields checks a chain like .Agent.Name, up to a method: what that gives is not looked at.
func (c *fieldCheck) fields(n parse.Node, chain []string, in reflect.Type) {
	if len(chain) > 0 {
		c.used[chain[0]] = true // in a branch whose dot is not known too
	} else {
		c.used["Instructions"], c.used["Spine"] = true, true // all of the data is shown, or passed on
	}
	for i, name := range chain {
		if in == nil {
			return
		}
		if _, ok := in.MethodByName(name); ok {
			return
		}
		if in.Kind() == reflect.Struct {
			if field, ok := in.FieldByName(name); ok && field.IsExported() {
				in = field.Type
				continue
			}
		}
		place, _ := c.tree.ErrorContext(n)
		c.errs = append(c.errs, fmt.Errorf("%s: there is no .%s%s", place, strings.Join(chain[:i+1], "."), known(in)))
		return
	}
}

// known says what there is instead.
func known(in reflect.Type) string {
	if in.Kind() != reflect.Struct {
		return ""
	}
	var names []string
	for field := range in.Fields() {
		if field.IsExported() {
			names = append(names, field.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}
