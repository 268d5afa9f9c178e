package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed helper.go.txt
var helper string

// pack is a package to mutate.
type pack struct {
	path    string // its import path
	dir     string
	sites   []site
	overlay string // the file for go build -overlay
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
}

// openPack finds the sites of a package and writes its mutated sources into dir.
func openPack(ctx context.Context, pattern, dir string) (*pack, error) {
	all, err := goList(ctx, "-export", "-deps", pattern)
	if err != nil {
		return nil, err
	}
	self := all[len(all)-1] // dependencies come first
	exports := make(map[string]string, len(all))
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	p := &pack{path: self.ImportPath, dir: self.Dir, overlay: filepath.Join(dir, "overlay.json")}
	fset := token.NewFileSet()
	files := make([]*ast.File, 0, len(self.GoFiles))
	for _, name := range self.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(self.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read package %s: %w", self.ImportPath, err)
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if _, err := config.Check(self.ImportPath, fset, files, info); err != nil {
		return nil, fmt.Errorf("check package %s: %w", self.ImportPath, err)
	}
	return p, p.breakAll(fset, info, files, self.Name, dir)
}

// breakAll writes the overlay: each file with all its mutants, and the helpers that switch them.
func (p *pack) breakAll(fset *token.FileSet, info *types.Info, files []*ast.File, name, dir string) error {
	replace := map[string]string{}
	write := func(path, text string) error {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		return os.WriteFile(replace[path], []byte(text), 0o600)
	}
	count := 0
	next := func() int { count++; return count }
	for _, file := range files {
		path := fset.Position(file.Pos()).Filename
		source, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return fmt.Errorf("read source: %w", err)
		}
		f := &finder{fset: fset, info: info, source: source, file: path, next: next}
		f.find(file)
		p.sites = append(p.sites, f.sites...)
		if err := write(path, apply(source, f.edits)); err != nil {
			return fmt.Errorf("write source: %w", err)
		}
	}
	number(p.sites)
	if err := write(filepath.Join(p.dir, "mutants_generated.go"), "package "+name+"\n\n"+helper); err != nil {
		return fmt.Errorf("write helpers: %w", err)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return fmt.Errorf("encode overlay: %w", err)
	}
	return os.WriteFile(p.overlay, text, 0o600)
}

// number makes the keys of similar sites unique.
func number(sites []site) {
	seen := map[string]int{}
	for i, s := range sites {
		seen[s.key]++
		if n := seen[s.key]; n > 1 {
			sites[i].key = fmt.Sprintf("%s (%d)", s.key, n)
		}
	}
}

// apply applies all edits of a file.
func apply(source []byte, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.suffix != b.suffix: // an end comes before a beginning at the same place
			if a.suffix {
				return -1
			}
			return 1
		case a.suffix:
			return b.depth - a.depth
		default:
			return a.depth - b.depth
		}
	})
	var out strings.Builder
	at := 0
	for _, e := range edits {
		out.Write(source[at:e.at])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(source[at:])
	return out.String()
}

// goList asks the go command about packages.
func goList(ctx context.Context, args ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Dir,Name,Export,GoFiles"}, args...)...) //nolint:gosec // a developer's own packages
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var l listed
		if err := decoder.Decode(&l); err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		all = append(all, l)
	}
	return all, nil
}
