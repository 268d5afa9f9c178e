package doctor

import (
	"cmp"
	"errors"
	"fmt"

	"sluice/internal/cli/terminal"
	"sluice/internal/config"
)

// checked is the result of a check as JSON.
type checked struct {
	File     string   `json:"file"` // empty: there is no file, and the defaults are used
	OK       bool     `json:"ok"`
	Faults   []fault  `json:"faults"`
	Warnings []string `json:"warnings"`
}

// fault is a mistake and its place.
type fault struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Path   string `json:"path,omitempty"`
	Text   string `json:"text"`
}

// CheckConfig lists the mistakes of a configuration, and returns them as its error, too.
func CheckConfig(screen terminal.Screen, loader config.Loader, given string, asJSON bool) error {
	path, err := loader.Find(given)
	if err != nil {
		return terminal.UsageError{Text: err.Error()}
	}
	cfg, err := loader.Load(path)
	if faults, ok := errors.AsType[config.Faults](err); ok && asJSON {
		return cmp.Or(screen.Object(checked{File: path, Faults: places(faults), Warnings: []string{}}), err)
	}
	if err != nil {
		return err
	}
	found := checked{File: path, OK: true, Faults: []fault{}, Warnings: []string{}}
	if path == "" {
		return screen.Result(asJSON, found, "No configuration file: the defaults are used. Create one with: sluice init")
	}
	if mode, exposed := ExposedSecrets(path, cfg); exposed {
		warning := fmt.Sprintf("%s contains secrets and other users can read it (mode %04o): chmod 600 %s", path, mode, path)
		found.Warnings = append(found.Warnings, warning)
		fmt.Fprintln(screen.Err, warning)
	}
	return screen.Result(asJSON, found, path+": ok")
}

func places(of config.Faults) []fault {
	all := make([]fault, len(of))
	for i, f := range of {
		all[i] = fault{File: f.File, Line: f.Line, Column: f.Column, Path: f.Path, Text: f.Text}
	}
	return all
}
