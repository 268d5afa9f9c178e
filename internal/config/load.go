package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/config/bare"
	"sluice/internal/config/given"
	"sluice/internal/hostos"

	"go.yaml.in/yaml/v3"
)

// The environment variables that are read besides those in ${…}.
const (
	EnvConfig = "SLUICE_CONFIG" // the file
	EnvState  = "SLUICE_STATE"  // overrides the key state
)

// FileName is the configuration's default name.
const FileName = "sluice.yaml"

const maxFileBytes = 1 << 20

// Loader reads configurations. Its fields describe the machine.
type Loader struct {
	Getenv func(name string) (string, bool)
	Home   string // home folder; may be empty
	Dir    string // folder that is searched for sluice.yaml
	Listen string // overrides gateway.listen before the check; empty: no override

	System string // folder with the configuration of the machine's gateway, which only commands look at; empty: none
}

// System returns the loader for this process.
func System() Loader {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // a fault is reported if the configuration needs it
	}
	system, _ := hostos.SystemFolders(os.LookupEnv)
	return Loader{Getenv: os.LookupEnv, Home: home, Dir: ".", System: system}
}

// Find returns the configuration file to use: the explicit one, $SLUICE_CONFIG, ./sluice.yaml or
// $XDG_CONFIG_HOME/sluice/sluice.yaml, or an empty path. A file that was named must exist.
func Find(explicit string) (string, error) { return System().Find(explicit) }

// Find is like the package function, for this loader's machine.
func (l Loader) Find(explicit string) (string, error) {
	named := explicit
	if named == "" {
		named, _ = l.Getenv(EnvConfig)
	}
	if named != "" {
		_, err := os.Stat(named)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("the configuration file %s does not exist: check its name, or create it with `sluice init --config %s`", named, named)
		case err != nil:
			return "", fmt.Errorf("find configuration: %w", err)
		}
		return named, nil
	}
	for _, path := range l.Places() {
		_, err := os.Stat(path)
		switch {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("find configuration: %w", err)
		}
	}
	return "", nil
}

// Places returns the paths where a configuration is searched if none was named.
func (l Loader) Places() []string {
	places := []string{filepath.Join(l.Dir, FileName)}
	if dir := hostos.ConfigFolder(l.Getenv, l.Home); dir != "" {
		places = append(places, filepath.Join(dir, FileName))
	}
	return places
}

// Load is like the package function, for this loader's machine.
func (l Loader) Load(path string) (*Config, error) {
	if path == "" {
		return l.Parse("", nil)
	}
	data, err := readBounded(path, maxFileBytes)
	if err != nil {
		return nil, Faults{{File: path, Text: "cannot be read: " + reason(err)}}
	}
	return l.Parse(path, data)
}

// Parse reads a configuration's text. file is its name in error messages, and relative paths in ${file:…} start at
// its folder.
func (l Loader) Parse(file string, data []byte) (*Config, error) {
	r := newReport(file)
	r.lines = strings.Split(string(data), "\n")
	c, gave := Default(), given.New()
	if root := parse(r, data); root != nil {
		r.places[""] = Place{root.Line, root.Column}
		d := decoder{report: r, written: map[string]string{}, expand: expander{getenv: l.Getenv, dir: filepath.Dir(file), files: map[string]bool{}, gave: gave}}
		d.root(root, c)
		if d.nodes > maxNodes {
			return nil, r.err(gave) // the rest would take long, and says nothing more
		}
		c.read, c.written = slices.Sorted(maps.Keys(d.expand.files)), d.written
	}
	c.blank = len(bytes.TrimSpace(data)) == 0
	if state, _ := l.Getenv(EnvState); state != "" {
		c.State = state
	}
	if l.Listen != "" {
		c.Gateway.Listen = l.Listen
	}
	c.complete(l.Home)
	check(r, c)
	if err := r.err(gave); err != nil {
		return nil, err
	}
	return c, nil
}

// parse returns the root of the document, or nil for an empty document or invalid YAML.
func parse(r *report, data []byte) *yaml.Node {
	text, hid := bare.Hide(string(data))
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		r.addAt(placeOf(err), "", "is not YAML: %s", plain(err))
		return nil
	case len(document.Content) == 0:
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		r.addAt(Place{second.Line, second.Column}, "", "has a second document: keep one")
	} else if !errors.Is(err, io.EOF) {
		r.addAt(placeOf(err), "", "is not YAML: %s", plain(err))
	}
	if hid {
		bare.ShowAll(document.Content[0])
	}
	return document.Content[0]
}

// placeOf reads the position from the text of the YAML library's error, which has no other form of it.
func placeOf(err error) Place {
	if m := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error()); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			return Place{line, 1}
		}
	}
	return Place{1, 1}
}

func plain(err error) string {
	return bare.Show(regexp.MustCompile(`^(yaml: )?(line \d+: )?`).ReplaceAllString(err.Error(), ""))
}

// readBounded reads a regular file of at most limit bytes. Reading anything else, such as a pipe, could block
// forever.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("it has %d bytes, the maximum is %d", info.Size(), limit)
	}
	return os.ReadFile(filepath.Clean(path))
}

// reason returns an error's cause without the path, which the message already contains.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
