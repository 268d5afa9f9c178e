package settings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// NoFile is the version of a configuration without a file.
const NoFile = "none"

// faultsMax is how many errors are told.
const faultsMax = 100

// Errors of a save.
var (
	// ErrChanged means that the file is not the one that was read.
	ErrChanged = errors.New("the configuration file has changed since you read it: read it again, and make your changes there")
	// ErrNoVersion means that the history does not have the version.
	ErrNoVersion = errors.New("the history does not have this version of the configuration")
)

// Fault is one error of a text.
type Fault struct {
	Line, Column int
	Path         string
	Text         string // what is wrong, and what to do
}

// Faults are all errors of a text.
type Faults []Fault

// Error lists the faults.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = strings.TrimPrefix(one.Path+": "+one.Text, ": ")
	}
	return strings.Join(lines, "; ")
}

// WriteError says why the file could not be written.
type WriteError struct{ error }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.error }

// Gateway is the running gateway. All fields are required.
type Gateway struct {
	// Parse reads and checks a text as the gateway would at its start. The error is Faults.
	Parse func(file string, text []byte) (config any, err error)
	// Running is the configuration in effect. Started is the configuration at the start; its keys that need a restart are
	// still in effect.
	Running, Started func() any
	// Apply puts a configuration from Parse into effect.
	Apply func(ctx context.Context, config any) error
	// Overrides returns the keys of a configuration whose values do not come from the file.
	Overrides func(config any) map[string]Source
	// Waits reports whether a change needs a restart.
	Waits func(c Change) bool
	// Audit stores an entry of the audit trail.
	Audit func(ctx context.Context, by, action, object string, detail any) error
	// Redact removes the known secrets from a text.
	Redact func(text string) string
}

// Settings are the settings of a gateway. Safe for concurrent use.
type Settings struct {
	gateway Gateway
	places  []string // without a file, a save creates it in the first writable place
	history history
	now     func() time.Time

	mu   sync.Mutex
	path string // empty: there is no file
}

// New makes Settings. The folder of the state keeps the history. path is the file of the configuration; empty if there is none.
func New(gateway Gateway, path string, places []string, state string, now func() time.Time) *Settings {
	return &Settings{gateway: gateway, path: path, places: places, history: history{filepath.Join(state, "config-history")}, now: now}
}

// Path is the file of the configuration; empty if there is none.
func (s *Settings) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// State is the configuration in effect.
type State struct {
	File    string // empty: none
	Makes   string // without a file: the file that the first save creates
	Print   string // version of the file, for a save
	Keys    []Key
	Faults  Faults   // of the file, which is therefore not in effect
	Waiting []string // changed keys that need a restart
}

// Read returns the configuration in effect.
func (s *Settings) Read() (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, tag, err := s.text()
	if err != nil {
		return State{}, err
	}
	out := State{File: s.path, Print: tag, Keys: KeysOf(s.gateway.Running())}
	if s.path == "" && len(s.places) > 0 {
		out.Makes = s.places[0]
	}
	switch parsed, err := s.gateway.Parse(s.path, text); {
	case err != nil:
		out.Faults = s.faults(err)
	default:
		if err := Locate(out.Keys, text, s.gateway.Overrides(parsed)); err != nil {
			return State{}, err
		}
	}
	for i := range out.Keys {
		out.Keys[i].Restart = s.gateway.Waits(Change{Path: out.Keys[i].Path, Was: true})
	}
	out.Waiting = s.waiting(out.Keys)
	return out, nil
}

// Patterns lists the keys that can be set.
func (s *Settings) Patterns() []Pattern { return PatternsOf(s.gateway.Running()) }

func (s *Settings) waiting(keys []Key) (out []string) {
	for _, c := range Diff(KeysOf(s.gateway.Started()), keys) {
		if s.gateway.Waits(c) {
			out = append(out, c.Path)
		}
	}
	return out
}

// text reads the file and its version.
func (s *Settings) text() ([]byte, string, error) {
	if s.path == "" {
		return nil, NoFile, nil
	}
	text, err := os.ReadFile(filepath.Clean(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NoFile, nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read configuration: %w", err)
	}
	return text, printOf(text), nil
}

func printOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// file is the name of the file in errors, from which relative paths start.
func (s *Settings) file() string {
	if s.path == "" && len(s.places) > 0 {
		return s.places[0]
	}
	return s.path
}

func (s *Settings) faults(err error) Faults {
	faults, ok := errors.AsType[Faults](err)
	if !ok {
		faults = Faults{{Text: err.Error()}}
	}
	if more := len(faults) - faultsMax; more > 0 {
		faults = append(faults[:faultsMax:faultsMax], Fault{Text: fmt.Sprintf("and %d more errors", more)})
	}
	for i := range faults {
		faults[i].Text = s.gateway.Redact(faults[i].Text)
	}
	return faults
}

// History lists the versions that are kept, newest first.
func (s *Settings) History() ([]Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.list()
}
