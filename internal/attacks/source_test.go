package attacks_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// root is the repository's.
var root = filepath.Join("..", "..")

// program are the program's own sources: path to text.
func program() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		panic(err)
	}
	return all
}

// sources are a folder's own files: path to text.
func sources(dir string) map[string]string {
	all := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, dir, e.Name()))
		if err != nil {
			panic(err)
		}
		all[dir+"/"+e.Name()] = string(text)
	}
	return all
}
