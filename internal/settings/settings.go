package settings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// SecretsDir is the folder next to the configuration that holds a file for each secret.
const SecretsDir = "sluice-secrets"

// NoFile is the version of a configuration without a file.
const NoFile = "none"

// SecretBytesMax and fileBytesMax are the limits of the configuration for its files.
const (
	SecretBytesMax = 64 << 10
	fileBytesMax   = 1 << 20
)

// editsMax is how many keys one change may have, with those of the sections in it; faultsMax how many errors it is told.
const (
	editsMax  = 1000
	faultsMax = 100
)

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
	places  []string // where a file is created if there is none: the first writable one
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

// Draft is a wanted configuration: edits of the file, a whole text, or a version of the history.
type Draft struct {
	Edits   []Edit
	Text    *string
	Version int
}

// Account is what a change does to an account.
type Account struct {
	Channel, Account string
	Effect           string // starts, stops or restarts
}

// Effects are what a draft would change.
type Effects struct {
	Print    string // version of the file that the draft changes
	Faults   Faults
	Changes  []Change
	Accounts []Account
	Waiting  []string // keys that would need a restart
}

// Check says what a draft would do; nothing changes.
func (s *Settings) Check(d Draft) (Effects, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.plan(d, false)
	if err != nil {
		return Effects{}, err
	}
	return p.Effects, nil
}

// plan is a checked draft.
type plan struct {
	Effects
	text    []byte
	config  any
	secrets []string // files that were written for it
}

// plan checks a draft. With keep, it stores the secrets of the draft in files of their own.
func (s *Settings) plan(d Draft, keep bool) (p plan, err error) {
	old, tag, err := s.text()
	if err != nil {
		return p, err
	}
	p.Print = tag
	switch {
	case d.Text != nil:
		p.text = []byte(*d.Text)
	case d.Version > 0:
		v, err := s.history.get(d.Version)
		if errors.Is(err, fs.ErrNotExist) {
			return p, ErrNoVersion
		}
		if err != nil {
			return p, err
		}
		p.text = v.Text
	default:
		edits := flat(d.Edits)
		if len(edits) > editsMax {
			p.Faults = Faults{{Text: fmt.Sprintf("the change has %d keys, the maximum is %d: change the file, or make several changes", len(edits), editsMax)}}
			return p, nil
		}
		if keep {
			if edits, p.secrets, err = s.keepSecrets(edits); err != nil {
				return p, err
			}
		}
		if p.text, err = edited(old, edits); err != nil {
			p.Faults = Faults{{Text: s.gateway.Redact(err.Error())}}
			return p, nil
		}
	}
	if len(p.text) > fileBytesMax {
		p.Faults = Faults{{Text: fmt.Sprintf("the file would have %d bytes, the maximum is %d", len(p.text), fileBytesMax)}}
		return p, nil
	}
	if p.config, err = s.gateway.Parse(s.file(), p.text); err != nil {
		p.Faults = s.faults(err)
		return p, nil
	}
	keys, running := KeysOf(p.config), KeysOf(s.gateway.Running())
	if err := errors.Join(Locate(keys, p.text, s.gateway.Overrides(p.config)), locateOld(running, old, s.gateway)); err != nil {
		return p, err
	}
	p.Changes = Diff(running, keys)
	p.Accounts = accounts(running, keys, p.Changes)
	for _, c := range p.Changes {
		if s.gateway.Waits(c) {
			p.Waiting = append(p.Waiting, c.Path)
		}
	}
	return p, nil
}

// locateOld hides values from the environment in the running configuration. If the file has faults now, the running
// configuration does not come from it.
func locateOld(keys []Key, text []byte, g Gateway) error {
	if _, err := document(text); err != nil {
		return nil //nolint:nilerr // the draft repairs the file
	}
	return Locate(keys, text, g.Overrides(g.Running()))
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

var accountPath = regexp.MustCompile(`^channels\.([a-z]+)\.accounts\.([A-Za-z0-9_-]+)\.`)

// accounts says what happens to the accounts whose keys change.
func accounts(before, after []Key, changes []Change) []Account {
	had, has := accountsOf(before), accountsOf(after)
	var out []Account
	for _, c := range changes {
		m := accountPath.FindStringSubmatch(c.Path)
		if m == nil {
			continue
		}
		one := Account{Channel: m[1], Account: m[2], Effect: "restarts"}
		switch at := [2]string{m[1], m[2]}; {
		case !had[at]:
			one.Effect = "starts"
		case !has[at]:
			one.Effect = "stops"
		}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

func accountsOf(keys []Key) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, k := range keys {
		if m := accountPath.FindStringSubmatch(k.Path); m != nil {
			out[[2]string{m[1], m[2]}] = true
		}
	}
	return out
}

// Saved is the result of a save.
type Saved struct {
	Effects
	Print string // of the new file
	ID    int    // of the version
}

// Save writes a draft and puts it into effect. tag is the version of the file that the draft is based on; ErrChanged if the
// file has changed since. A draft with faults changes nothing: the faults are in the effects.
func (s *Settings) Save(ctx context.Context, d Draft, tag, by string) (out Saved, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, now, err := s.text()
	if err != nil {
		return out, err
	}
	if now != tag {
		return out, ErrChanged
	}
	if p, err := s.plan(d, false); err != nil || len(p.Faults) > 0 {
		return Saved{Effects: p.Effects}, err // before a file is written
	}
	p, err := s.plan(d, true)
	if err != nil || len(p.Faults) > 0 {
		return Saved{Effects: p.Effects}, errors.Join(err, removeAll(p.secrets))
	}
	before := s.path
	if s.path, err = s.write(before, p.text); err != nil {
		s.path = before
		return out, errors.Join(err, removeAll(p.secrets))
	}
	if err := s.gateway.Apply(ctx, p.config); err != nil { // it was checked; for example the new address is in use
		p.Faults = s.faults(err)
		err = errors.Join(s.undo(old, now), removeAll(p.secrets))
		s.path = before
		return Saved{Effects: p.Effects}, err
	}
	v, err := s.keep(old, now, Version{At: s.now(), By: by, Back: d.Version, Changes: p.Changes, Text: p.text})
	if err == nil {
		err = s.sweep(p.text)
	}
	out = Saved{Effects: p.Effects, Print: printOf(p.text), ID: v.ID}
	return out, errors.Join(err, s.gateway.Audit(ctx, by, "config.save", s.path, map[string]any{"version": v.ID, "back_to": d.Version, "keys": pathsOf(p.Changes)}))
}

func pathsOf(changes []Change) []string {
	const auditMax = 100
	out := []string{}
	for _, c := range changes {
		if len(out) == auditMax {
			return append(out, fmt.Sprintf("and %d more", len(changes)-auditMax))
		}
		out = append(out, c.Path)
	}
	return out
}

// write writes the file, or creates one at the first writable place.
func (s *Settings) write(path string, text []byte) (string, error) {
	places := s.places
	if path != "" {
		places = []string{path}
	}
	err := errors.New("there is no place to create a configuration file: start the gateway with --config FILE")
	for _, place := range places {
		if path == "" {
			if err = os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
				continue
			}
		}
		if err = writeFile(place, text); err == nil {
			return place, nil
		}
	}
	return "", &WriteError{fmt.Errorf("the gateway can't write its configuration file: %w; change the file yourself, or give the gateway's user write permission", err)}
}

// undo restores the old file.
func (s *Settings) undo(old []byte, tag string) error {
	if tag == NoFile {
		return os.Remove(s.path)
	}
	return writeFile(s.path, old)
}

// keep adds a version to the history, and before it the old file if somebody has changed it outside the gateway.
func (s *Settings) keep(old []byte, tag string, v Version) (Version, error) {
	ids, err := s.history.ids()
	if err != nil {
		return v, err
	}
	var last Version
	if len(ids) > 0 {
		if last, err = s.history.get(ids[len(ids)-1]); err != nil {
			return v, err
		}
	}
	if tag != NoFile && !bytes.Equal(last.Text, old) {
		found := Version{At: v.At, Text: old, Changes: []Change{}}
		if info, err := os.Stat(s.path); err == nil {
			found.At = info.ModTime()
		}
		if _, err := s.history.add(found); err != nil {
			return v, err
		}
	}
	return s.history.add(v)
}

// History lists the versions that are kept, newest first.
func (s *Settings) History() ([]Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.list()
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
