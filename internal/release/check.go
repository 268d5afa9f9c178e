package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is a package as `go list` describes it.
type source struct {
	ImportPath, Name, Dir string
	GoFiles               []string
	ImportMap             map[string]string // what an import in its files means
	Module                *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// own reports whether the package belongs to this repository.
func (s *source) own() bool { return s.Module != nil && s.Module.Main }

// check finds what does not compile for a target, without compiling: it reads the program and all that it imports, and
// checks the types, of what belongs to other modules only the declarations. A constant that is too large for 32 bits and a
// name that a system does not have are found in seconds, where the compiler would first translate the whole database.
// The tests of the program's packages are checked as well.
func (t target) check(ctx context.Context, dir, program string) error {
	own, err := t.list(ctx, dir, "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", program)
	if err != nil {
		return err
	}
	out, err := t.list(ctx, dir, append([]string{"-e", "-deps", "-test", "-json=ImportPath,Name,Dir,GoFiles,ImportMap,Module,Error"}, strings.Fields(string(own))...)...)
	if err != nil {
		return err
	}
	c := checker{sizes: types.SizesFor("gc", t.goarch()), files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var s source
		err := decoder.Decode(&s) // dependencies come first
		if errors.Is(err, io.EOF) {
			return errors.Join(c.faults...)
		}
		if err != nil {
			return fmt.Errorf("list packages: %w", err)
		}
		if err := c.add(&s); err != nil {
			return err
		}
	}
}

// list runs `go list` for the target.
func (t target) list(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...) //nolint:gosec // the arguments are this program's own
	cmd.Env = append(os.Environ(), t.environment()...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return out, nil
}

// checker checks the types of packages.
type checker struct {
	sizes  types.Sizes
	files  *token.FileSet
	done   map[string]*types.Package
	faults []error
}

func (c *checker) add(s *source) error {
	if s.Error != nil {
		return fmt.Errorf("%s: %s", s.ImportPath, s.Error.Err)
	}
	if s.ImportPath == "unsafe" || s.Name == "main" && strings.HasSuffix(s.ImportPath, ".test") { // the go command generates the main package of a test
		return nil
	}
	files := make([]*ast.File, len(s.GoFiles))
	for i, name := range s.GoFiles {
		f, err := parser.ParseFile(c.files, filepath.Join(s.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files[i] = f
	}
	config := types.Config{
		Sizes: c.sizes, IgnoreFuncBodies: !s.own(), Importer: imports{c.done, s.ImportMap},
		Error: func(err error) { c.faults = append(c.faults, err) },
	}
	if s.Module != nil && s.Module.GoVersion != "" {
		config.GoVersion = "go" + s.Module.GoVersion
	}
	c.done[s.ImportPath], _ = config.Check(s.ImportPath, c.files, files, nil) // Error has the faults
	return nil
}

// imports finds the packages that a package imports.
type imports struct {
	done map[string]*types.Package
	as   map[string]string
}

func (i imports) Import(path string) (*types.Package, error) {
	if as := i.as[path]; as != "" {
		path = as
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s was not listed", path)
}
