package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"sluice/internal/config/given"
	"sluice/internal/pattern"
)

const maxSecretFileBytes = 64 << 10

// expander replaces ${VAR}, ${file:/path} and ${credential:name}, which systemd gives to a service; $${ stands for a literal ${.
type expander struct {
	getenv func(name string) (string, bool)
	dir    string          // base of relative paths
	files  map[string]bool // that were read
	gave   *given.Values   // the values of the references
	off    bool            // nothing is expanded: the authors of the text may not read the gateway's environment and files
}

// reference matches an escaped brace, a complete reference, or an unterminated one.
var reference = pattern.New(`\$\$\{|\$\{[^}]*\}?`)

// value expands a text. The error is a sentence for the author of the configuration.
func (e expander) value(text string) (string, error) {
	if e.off {
		return text, nil
	}
	var failed error
	out := reference.Regexp().ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$${" {
			return "${"
		}
		if failed != nil {
			return ""
		}
		value, err := e.lookup(ref)
		if err == nil {
			err = e.gave.Add(value, ref)
		}
		failed = err
		return value
	})
	return out, failed
}

var variableName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (e expander) lookup(ref string) (string, error) {
	name, closed := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
	if !closed {
		return "", fmt.Errorf("%s has no }: close it, or write $${ for a plain ${", ref)
	}
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		return e.file(path)
	}
	if name, ok := strings.CutPrefix(name, "credential:"); ok {
		folder, there := e.getenv("CREDENTIALS_DIRECTORY")
		if !there || !filepath.IsLocal(name) {
			return "", fmt.Errorf("%s: systemd has no such credential: set LoadCredential=%s:/path in the unit of the gateway", ref, name)
		}
		return e.file(filepath.Join(folder, name))
	}
	if !variableName.MatchString(name) {
		return "", fmt.Errorf("%s: want ${NAME}, ${file:/path} or ${credential:name}", ref)
	}
	value, ok := e.getenv(name)
	if !ok {
		return "", &unsetError{name}
	}
	return value, nil
}

// unsetError is the error of a reference to a variable that is not set.
type unsetError struct{ name string }

func (e *unsetError) Error() string {
	return fmt.Sprintf("the environment variable %s is not set: set it, or remove ${%s}", e.name, e.name)
}

// file reads a file without its trailing line ends.
func (e expander) file(path string) (string, error) {
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(e.dir, path)
	}
	if e.files != nil {
		e.files[path] = true
	}
	data, err := readBounded(path, maxSecretFileBytes)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %s", path, reason(err))
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
