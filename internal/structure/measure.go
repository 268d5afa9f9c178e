package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// program is the package from which all production packages are imported.
const program = "cmd/sluice"

// module reads the sources of a module and of the standard library.
type module struct {
	root, name string
	sources    build.Context
	files      *token.FileSet
	packages   map[string]*source // by import path
}

// source is the source code of one package.
type source struct {
	path        string // its import path
	lines, code int
	imports     []string
	methods     map[string]int          // of each type
	types       map[string]*declaration // by name
}

// declaration is a type and the file that declares it, whose imports give its names a meaning.
type declaration struct {
	spec *ast.TypeSpec
	file *ast.File
}

// measure counts what the program below root consists of.
func measure(root string) ([]figure, error) {
	mod, err := os.ReadFile(filepath.Join(filepath.Clean(root), "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read the module's name (run this at the root of the repository): %w", err)
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	name, ok := strings.CutPrefix(first, "module ")
	if !ok {
		return nil, errors.New("go.mod begins with no module line")
	}
	m := &module{root: root, name: strings.TrimSpace(name), sources: build.Default, files: token.NewFileSet(), packages: map[string]*source{}}
	m.sources.GOOS, m.sources.GOARCH, m.sources.CgoEnabled, m.sources.BuildTags = "linux", "amd64", false, nil
	if err := m.readAll(); err != nil {
		return nil, err
	}
	var figures []figure
	for _, p := range m.own() {
		found, err := m.figures(p)
		if err != nil {
			return nil, err
		}
		figures = append(figures, found...)
	}
	largestFirst(figures)
	return figures, nil
}

// readAll reads the program and every package of the module that it imports.
func (m *module) readAll() error {
	queue := []string{m.name + "/" + program}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if _, known := m.packages[next]; known {
			continue
		}
		p, err := m.read(next)
		if err != nil {
			return err
		}
		for _, imported := range p.imports {
			if strings.HasPrefix(imported, m.name+"/") {
				queue = append(queue, imported)
			}
		}
	}
	return nil
}

// own returns the packages of the module, without those of the standard library that were read.
func (m *module) own() []*source {
	var own []*source
	for _, p := range m.packages {
		if strings.HasPrefix(p.path, m.name+"/") {
			own = append(own, p)
		}
	}
	return own
}

// read reads a package of the module or of the standard library, once.
func (m *module) read(importPath string) (*source, error) {
	if p, ok := m.packages[importPath]; ok {
		return p, nil
	}
	dir := filepath.Join(m.sources.GOROOT, "src", filepath.FromSlash(importPath))
	if inside, ok := strings.CutPrefix(importPath, m.name+"/"); ok {
		dir = filepath.Join(m.root, filepath.FromSlash(inside))
	}
	found, err := m.sources.ImportDir(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", importPath, err)
	}
	p := &source{path: importPath, imports: found.Imports, methods: map[string]int{}, types: map[string]*declaration{}}
	m.packages[importPath] = p
	for _, name := range found.GoFiles {
		if err := m.readFile(p, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (m *module) readFile(p *source, name string) error {
	text, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	file, err := parser.ParseFile(m.files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse source: %w", err)
	}
	p.lines += bytes.Count(text, []byte("\n"))
	p.code += codeLines(text)
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				p.methods[receiver(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					p.types[t.Name.Name] = &declaration{t, file}
				}
			}
		}
	}
	return nil
}

// codeLines counts the lines with a token, including all lines of a multi-line text.
func codeLines(text []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		for n := range strings.Count(literal, "\n") + 1 {
			lines[file.Line(pos)+n] = true
		}
	}
}

// receiver returns the name of a method's receiver type.
func receiver(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// figures returns the counts of one package.
func (m *module) figures(p *source) ([]figure, error) {
	inside := strings.TrimPrefix(p.path, m.name+"/")
	figures := []figure{{kindPackage, inside, p.lines, p.code}}
	for name, count := range p.methods {
		figures = append(figures, figure{kind: kindType, name: inside + "." + name, count: count})
	}
	for name, d := range p.types {
		if _, ok := d.spec.Type.(*ast.InterfaceType); !ok || d.spec.Assign.IsValid() {
			continue
		}
		methods := map[string]bool{}
		if err := m.collect(p, d.file, d.spec.Type, methods); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", inside, name, err)
		}
		figures = append(figures, figure{kind: kindInterface, name: inside + "." + name, count: len(methods)})
	}
	return figures, nil
}

// collect gathers the methods of an interface: its own and those of embedded interfaces.
func (m *module) collect(p *source, file *ast.File, e ast.Expr, methods map[string]bool) error {
	switch t := e.(type) {
	case *ast.InterfaceType:
		for _, field := range t.Methods.List {
			for _, name := range field.Names {
				methods[name.Name] = true
			}
			if len(field.Names) == 0 {
				if err := m.collect(p, file, field.Type, methods); err != nil {
					return err
				}
			}
		}
	case *ast.Ident:
		if d, ok := p.types[t.Name]; ok {
			return m.collect(p, d.file, d.spec.Type, methods)
		}
		if t.Name == "error" {
			methods["Error"] = true
		}
	case *ast.IndexExpr:
		return m.collect(p, file, t.X, methods)
	case *ast.SelectorExpr:
		return m.collectImported(file, t, methods)
	}
	return nil // a union or a basic type, as in a constraint: no methods
}

var errNotRead = errors.New("it is neither of this module nor of the standard library, so its methods can't be counted")

func (m *module) collectImported(file *ast.File, t *ast.SelectorExpr, methods map[string]bool) error {
	name, ok := t.X.(*ast.Ident)
	if !ok {
		return fmt.Errorf("embedded interface %s: %w", t.Sel.Name, errNotRead)
	}
	imported := ""
	for _, spec := range file.Imports {
		at, err := strconv.Unquote(spec.Path.Value)
		if err == nil && (spec.Name != nil && spec.Name.Name == name.Name || spec.Name == nil && path.Base(at) == name.Name) {
			imported = at
		}
	}
	first, _, _ := strings.Cut(imported, "/")
	if imported == "" || strings.Contains(first, ".") {
		return fmt.Errorf("embedded interface %s.%s: %w", name.Name, t.Sel.Name, errNotRead)
	}
	p, err := m.read(imported)
	if err != nil {
		return err
	}
	d, ok := p.types[t.Sel.Name]
	if !ok {
		return fmt.Errorf("embedded interface %s.%s: not declared", name.Name, t.Sel.Name)
	}
	return m.collect(p, d.file, d.spec.Type, methods)
}
