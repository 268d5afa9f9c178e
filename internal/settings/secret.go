package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/internal/config/hint"
)

// secretValue is the text of an edit that may be a secret: neither a reference nor empty.
func secretValue(e Edit) (string, bool) {
	var text string
	if e.Remove || json.Unmarshal(e.Value, &text) != nil {
		return "", false
	}
	if strings.HasPrefix(text, "${") && strings.HasSuffix(text, "}") {
		return "", false
	}
	return text, text != ""
}

var odd = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// secretName names the file of a secret: after its key, and the time.
func secretName(path string, at time.Time) string {
	name := strings.Trim(odd.ReplaceAllString(path, "-"), "-")
	if len(name) > 100 {
		name = name[len(name)-100:]
	}
	return name + "." + at.UTC().Format("20060102T150405.000000")
}

var ofSave = regexp.MustCompile(`\.\d{8}T\d{6}\.\d{6}$`)

// sweep removes the secrets of earlier saves that no kept version names.
func (s *Settings) sweep(current []byte) error {
	folder := filepath.Join(filepath.Dir(s.file()), SecretsDir)
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	versions, failed := s.history.list()
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("remove secrets that nothing uses: %w", err)
	}
	for _, f := range files {
		used := bytes.Contains(current, []byte(f.Name())) || slices.ContainsFunc(versions, func(v Version) bool { return bytes.Contains(v.Text, []byte(f.Name())) })
		if used || !ofSave.MatchString(f.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, f.Name())); err != nil {
			return fmt.Errorf("remove a secret that nothing uses: %w", err)
		}
	}
	return nil
}

// isSecret reports whether a path names a secret.
func isSecret(patterns [][]step, path string) bool {
	steps, err := stepsOf(path)
	return err == nil && slices.ContainsFunc(patterns, func(p []step) bool {
		return slices.EqualFunc(p, steps, func(p, s step) bool {
			return p.list == s.list && (p.list || p.key == s.key || p.key == anyName)
		})
	})
}

// anyName stands for a key of one's choice in a pattern.
const anyName = "<name>"

// secretsOf are the places of secrets in a configuration.
func secretsOf(config any) (out [][]step) {
	for _, p := range PatternsOf(config) {
		if steps, err := stepsOf(strings.ReplaceAll(p.Path, "[]", "[0]")); err == nil && p.Kind == Hidden {
			out = append(out, steps)
		}
	}
	return out
}

// flat takes the sections in edits apart, so that each edit is about one key.
func flat(edits []Edit) (out []Edit) {
	for _, e := range edits {
		var section map[string]json.RawMessage
		if e.Remove || json.Unmarshal(e.Value, &section) != nil || len(section) == 0 {
			out = append(out, e)
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(section)) {
			out = append(out, flat([]Edit{{Path: hint.Join(e.Path, key), Value: section[key]}})...)
		}
	}
	return out
}
