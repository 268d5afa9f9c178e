package attacks_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// inProgram reports whether a pattern is found in the program, besides the declarations of its checkpoints.
func inProgram(pattern string) bool {
	re := regexp.MustCompile(pattern)
	for path, text := range program() {
		if path != "policy/checkpoint.go" && re.MatchString(text) {
			return true
		}
	}
	return false
}
