// Command pagebase makes the module /base.js of the console from the modules of internal/console/base, so that a browser needs one
// request for what every view builds on. go generate runs it.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pagebase:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: pagebase FOLDER FILE")
	}
	folder, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	sum, err := sumOf(folder)
	if err != nil {
		return err
	}
	lib := func(name string) string { return filepath.Join(folder, "lib", name) }
	made := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(folder, "base.js")},
		Alias:       map[string]string{"preact": lib("preact.mjs"), "preact/hooks": lib("preact-hooks.mjs"), "htm": lib("htm.mjs")},
		Plugins:     []api.Plugin{{Name: "later", Setup: later}},
		Bundle:      true, Format: api.FormatESModule, Target: api.ES2022,
		MinifyWhitespace: true, MinifySyntax: true, // names stay, for those who look for a fault
		Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		Banner: map[string]string{"js": fmt.Sprintf("// Made by go generate from internal/console/base (%x): do not edit.", sum)},
	})
	for _, m := range append(made.Errors, made.Warnings...) {
		err = errors.Join(err, errors.New(m.Text))
	}
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], made.OutputFiles[0].Contents, 0o600)
}

// later leaves alone what the page imports by its address when it is needed.
func later(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: "^/"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: args.Path, External: args.Kind == api.ResolveJSDynamicImport}, nil
	})
}

// sumOf is the checksum of all modules of a folder. A test of internal/console computes it in the same way.
func sumOf(folder string) ([]byte, error) {
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".js" && filepath.Ext(name) != ".mjs" {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(relative), len(content), content)
		return err
	})
	return sum.Sum(nil), err
}
