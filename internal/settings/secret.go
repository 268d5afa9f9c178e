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

// SecretsDir is the folder next to the configuration that holds a file for each secret.
const SecretsDir = "sluice-secrets"

// SecretBytesMax is the limit of the configuration for the file of a secret.
const SecretBytesMax = 64 << 10

var odd = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// secretName names the file of a secret after its key and the time.
func secretName(path string, at time.Time) string {
	name := strings.Trim(odd.ReplaceAllString(path, "-"), "-")
	if len(name) > 100 {
		name = name[len(name)-100:]
	}
	return name + "." + at.UTC().Format("20060102T150405.000000")
}

var ofSave = regexp.MustCompile(`\.\d{8}T\d{6}\.\d{6}$`)

// sweep removes the secrets of earlier saves that no version of the history names.
func (s *Settings) sweep(current []byte) error {
	folder := filepath.Join(filepath.Dir(s.file()), SecretsDir)
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	versions, failed := s.history.list()
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("remove unused secrets: %w", err)
	}
	for _, f := range files {
		used := bytes.Contains(current, []byte(f.Name())) || slices.ContainsFunc(versions, func(v Version) bool { return bytes.Contains(v.Text, []byte(f.Name())) })
		if used || !ofSave.MatchString(f.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, f.Name())); err != nil {
			return fmt.Errorf("remove an unused secret: %w", err)
		}
	}
	return nil
}

// anyName stands for any name in a pattern.
const anyName = "<name>"

// Shapes find the pattern of a path.
type Shapes []shape

type shape struct {
	Pattern
	steps []step
}

// ShapesOf returns the shapes of patterns.
func ShapesOf(patterns []Pattern) (out Shapes) {
	for _, p := range patterns {
		if steps, err := stepsOf(strings.ReplaceAll(p.Path, "[]", "[0]")); err == nil {
			out = append(out, shape{p, steps})
		}
	}
	return out
}

// Find returns the pattern of a path in any notation.
func (s Shapes) Find(path string) (Pattern, bool) {
	steps, err := stepsOf(path)
	if err != nil {
		return Pattern{}, false
	}
	for _, one := range s {
		if slices.EqualFunc(one.steps, steps, func(p, s step) bool {
			return p.list == s.list && (p.list || p.key == s.key || p.key == anyName)
		}) {
			return one.Pattern, true
		}
	}
	return Pattern{}, false
}

// Replace replaces each secret in a JSON value for a path. References to secrets stay.
func (s Shapes) Replace(path string, value any, with func(path, secret string) (string, error)) (any, error) {
	var err error
	if digits, ok := value.(json.Number); ok { // a secret without quotes
		if of, ok := s.Find(path); ok && of.Kind == Hidden {
			return with(path, digits.String())
		}
	}
	switch v := value.(type) {
	case string:
		reference := strings.HasPrefix(v, "${") && strings.HasSuffix(v, "}")
		if of, ok := s.Find(path); ok && of.Kind == Hidden && v != "" && !reference {
			return with(path, v)
		}
	case []any:
		for i := range v {
			if v[i], err = s.Replace(fmt.Sprintf("%s[%d]", path, i), v[i], with); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key], err = s.Replace(hint.Join(path, key), v[key], with); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// flat splits sections in edits, so that each edit changes one key.
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

// keepSecrets stores the secrets of edits in files of their own, and replaces them by references. Each secret gets a new
// file, so that an older version finds its older secret.
func (s *Settings) keepSecrets(edits []Edit) (out []Edit, written []string, err error) {
	shapes := ShapesOf(PatternsOf(s.gateway.Running()))
	for _, e := range edits {
		if e.Remove {
			out = append(out, e)
			continue
		}
		value, err := decoded(e.Value)
		if err != nil {
			return nil, written, Faults{{Path: e.Path, Text: err.Error()}}
		}
		before := len(written)
		value, err = shapes.Replace(e.Path, value, func(path, secret string) (string, error) {
			name, file, err := s.keepSecret(path, secret, written)
			written = append(written, file...)
			return "${file:" + SecretsDir + "/" + name + "}", err
		})
		if err != nil {
			return nil, written, err
		}
		if len(written) > before {
			if e.Value, err = json.Marshal(value); err != nil {
				return nil, written, fmt.Errorf("%s: %w", e.Path, err)
			}
		}
		out = append(out, e)
	}
	return out, written, nil
}

// keepSecret stores a secret in a file that none of the others has.
func (s *Settings) keepSecret(path, secret string, others []string) (name string, written []string, err error) {
	if len(secret) > SecretBytesMax {
		return "", nil, Faults{{Path: path, Text: fmt.Sprintf("the secret has %d bytes, the maximum is %d", len(secret), SecretBytesMax)}}
	}
	folder := filepath.Join(filepath.Dir(s.file()), SecretsDir)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", nil, &WriteError{fmt.Errorf("make folder for secrets: %w", err)}
	}
	at := s.now()
	name = secretName(path, at)
	for n := 2; slices.Contains(others, filepath.Join(folder, name)); n++ {
		name = secretName(fmt.Sprintf("%s-%d", path, n), at)
	}
	file := filepath.Join(folder, name)
	if err := writeFile(file, []byte(secret+"\n")); err != nil {
		return "", nil, &WriteError{fmt.Errorf("write secret: %w", err)}
	}
	return name, []string{file}, nil
}

func removeAll(paths []string) error {
	var errs []error
	for _, p := range paths {
		errs = append(errs, os.Remove(p))
	}
	return errors.Join(errs...)
}
