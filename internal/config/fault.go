package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/internal/config/given"
)

// Place is a position in a file; both numbers start at 1.
type Place struct{ Line, Column int }

// Fault is one error in a configuration.
type Fault struct {
	File string
	Place
	Path string // for example "channels.telegram.accounts.default.token"; empty for the file as a whole
	Text string // what is wrong, and what to do
}

// String is "file:line:column: path: what is wrong, what to do".
func (f Fault) String() string {
	s := f.File
	if f.Line > 0 {
		s += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	if f.Path != "" {
		s += ": " + f.Path
	}
	return strings.TrimPrefix(s+": "+f.Text, ": ")
}

// Faults are all errors of a configuration, in the order of their positions.
type Faults []Fault

// Error lists the faults, one per line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// report collects faults and knows the position of each path.
type report struct {
	file   string
	lines  []string // of the file
	places map[string]Place
	faults Faults
	faulty map[string]bool // paths with a fault
}

func newReport(file string) *report {
	return &report{file: file, places: map[string]Place{"": {}}, faulty: map[string]bool{}}
}

// add records a fault at a path, or at the nearest parent that was read.
func (r *report) add(path, format string, args ...any) {
	r.addAt(r.place(path), path, format, args...)
}

func (r *report) addAt(at Place, path, format string, args ...any) {
	r.faults = append(r.faults, Fault{File: r.file, Place: at, Path: path, Text: fmt.Sprintf(format, args...)})
	r.faulty[path] = true
}

func (r *report) place(path string) Place {
	for p := path; p != ""; p = parent(p) {
		if at, ok := r.places[p]; ok {
			return at
		}
	}
	return r.places[""]
}

func parent(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

// err returns nil if there are no faults. They show references in the place of what those gave.
func (r *report) err(gave *given.Values) error {
	if len(r.faults) == 0 {
		return nil
	}
	for i := range r.faults {
		r.faults[i].Text = gave.Hide(r.faults[i].Text)
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.faults
}
