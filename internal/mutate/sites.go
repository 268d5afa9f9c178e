package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// kind is a way to break code.
type kind string

const (
	kindNot   kind = "negate"            // a condition or a returned boolean
	kindLess  kind = "move the boundary" // < and <=, > and >=
	kindLogic kind = "swap && and ||"
	kindMath  kind = "swap + and -"
	kindError kind = "return no error"
	kindSkip  kind = "skip the statement"
)

// site is a place where a package can be broken.
type site struct {
	key  string // stable while the code around the place does not change: file, function, kind, source text
	kind kind
	line int
	file string
	id   int
}

// String returns the position and the key, for developers.
func (s site) String() string {
	path := s.file
	if wd, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(wd, path); err == nil {
			path = relative
		}
	}
	return fmt.Sprintf("%s:%d: %s", path, s.line, s.key)
}

// edit inserts a text into a file, or replaces a part of it.
type edit struct {
	at, end int // byte offsets; end > at replaces
	text    string
	depth   int // of the syntax node: at the same offset, outer prefixes come before inner ones, and inner suffixes before outer ones
	suffix  bool
}

// finder collects the sites of one file.
type finder struct {
	fset   *token.FileSet
	info   *types.Info
	source []byte
	file   string
	next   func() int

	function string
	results  *types.Tuple
	depth    int
	sites    []site
	edits    []edit
}

// find walks a file's functions.
func (f *finder) find(file *ast.File) {
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f.function = fn.Name.Name
		if signature, ok := f.info.Defs[fn.Name].Type().(*types.Signature); ok {
			f.results = signature.Results()
		}
		f.walk(fn.Body)
	}
}

// walk visits a node and all below it.
func (f *finder) walk(n ast.Node) {
	if !f.visit(n) {
		return
	}
	f.depth++
	ast.Inspect(n, func(child ast.Node) bool {
		if child == nil || child == n {
			return true
		}
		f.walk(child)
		return false
	})
	f.depth--
}

// visit records the sites of a node, and reports whether to visit its children.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.FuncLit:
		outer := f.results
		if signature, ok := f.info.TypeOf(n).(*types.Signature); ok {
			f.results = signature.Results()
		}
		f.walk(n.Body)
		f.results = outer
		return false
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.ReturnStmt:
		f.returns(n)
	case *ast.BinaryExpr:
		f.binary(n)
	}
	return true
}

// statements records the statements of a block that can be skipped.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); !ok || harmless(call) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || blank(s.Lhs) {
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		f.wrap(kindSkip, s, "if !mutantOn(%d) { ", " }")
	}
}

// unobserved are calls whose absence shows only as a hang, in a log, or in nothing that a test should check.
var unobserved = map[string]bool{
	"panic": true, "Lock": true, "Unlock": true, "RLock": true, "RUnlock": true, "Done": true, "Close": true, "Stop": true, "Helper": true,
	"Debug": true, "Info": true, "Warn": true, "Error": true, "Log": true, "Observe": true, "Inc": true, "Hit": true,
}

func harmless(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return unobserved[fun.Name]
	case *ast.SelectorExpr:
		return unobserved[fun.Sel.Name]
	}
	return false
}

func blank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

func (f *finder) returns(n *ast.ReturnStmt) {
	if f.results == nil || len(n.Results) != f.results.Len() {
		return
	}
	for i, e := range n.Results {
		switch want := f.results.At(i).Type(); {
		case plainBool(want):
			f.negate(e)
		case want == types.Universe.Lookup("error").Type() && !f.info.Types[e].IsNil():
			f.wrap(kindError, e, "mutantError(%d, ", ")")
		}
	}
}

func (f *finder) negate(e ast.Expr) {
	if plainBool(f.info.TypeOf(e)) {
		f.wrap(kindNot, e, "mutantNot(%d, ", ")")
	}
}

// Comparisons and sums become calls of the helpers in helper.go.txt.
var operators = map[token.Token]string{token.LSS: "Less", token.LEQ: "LessOrEqual", token.GTR: "Greater", token.GEQ: "GreaterOrEqual", token.ADD: "Add", token.SUB: "Subtract"}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.info.Types[n].Value != nil { // a constant
		return
	}
	switch operand := f.info.TypeOf(n.X); n.Op {
	case token.LAND, token.LOR:
		if plainBool(f.info.TypeOf(n)) {
			f.operator(kindLogic, n, map[token.Token]string{token.LAND: "And", token.LOR: "Or"}[n.Op], ", func() bool { return (", ") })")
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if is(operand, types.IsOrdered) {
			f.operator(kindLess, n, operators[n.Op], ", ", ")")
		}
	case token.ADD, token.SUB:
		if is(operand, types.IsNumeric) {
			f.operator(kindMath, n, operators[n.Op], ", ", ")")
		}
	}
}

// operator replaces x op y by a call.
func (f *finder) operator(k kind, n *ast.BinaryExpr, helper, between, end string) {
	f.wrap(k, n, "mutant"+helper+"(%d, ", end)
	at := f.fset.Position(n.OpPos).Offset
	f.edits = append(f.edits, edit{at: at, end: at + len(n.Op.String()), text: between})
}

// wrap records a site at a node and inserts texts before and after it.
func (f *finder) wrap(k kind, n ast.Node, before, behind string) {
	from, to := f.fset.Position(n.Pos()), f.fset.Position(n.End())
	text := strings.Join(strings.Fields(string(f.source[from.Offset:to.Offset])), " ")
	if len(text) > 80 {
		text = text[:80]
	}
	s := site{
		id: f.next(), kind: k, file: f.file, line: from.Line,
		key: fmt.Sprintf("%s %s: %s: %s", filepath.Base(f.file), f.function, k, strings.ToValidUTF8(text, "")),
	}
	f.sites = append(f.sites, s)
	f.edits = append(f.edits,
		edit{at: from.Offset, end: from.Offset, text: fmt.Sprintf(before, s.id), depth: 2*f.depth + nesting(k)},
		edit{at: to.Offset, end: to.Offset, text: behind, depth: 2*f.depth + nesting(k), suffix: true})
}

// nesting orders two sites at one node: text around a condition is outside of text around its operator.
func nesting(k kind) int {
	if k == kindLess || k == kindLogic || k == kindMath {
		return 1
	}
	return 0
}

func plainBool(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func is(t types.Type, info types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}
