// Package configfile connects the configuration file with the running gateway. It applies changes of the file and of the files
// with secrets that the file names, and lets the owner read and change the configuration (package settings).
//
// It starts no goroutines; the caller runs Watch.
package configfile

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"sluice/internal/config"
	"sluice/internal/pause"
	"sluice/internal/settings"
)

// every is how often the files are checked.
const every = 2 * time.Second

// Source is where the configuration comes from. The zero value is a gateway without a file, and without a place for one.
type Source struct {
	Loader config.Loader
	Path   string // empty: no file
}

// Gateway is what the package needs of the running gateway. All fields are required.
type Gateway struct {
	Apply  func(c *config.Config) error // puts a checked configuration into effect, or changes nothing
	Warn   func(ctx context.Context, c *config.Config)
	Audit  func(ctx context.Context, by, action, object string, detail any) error
	Redact func(text string) string
	Now    func() time.Time
	Log    *slog.Logger
}

// File is the configuration of a running gateway. Safe for concurrent use.
type File struct {
	*settings.Settings
	source  Source
	gateway Gateway
	started *config.Config

	applying sync.Mutex // one configuration at a time
	stopped  bool       // guarded by applying
	mu       sync.Mutex
	running  *config.Config
}

// New makes the File of a gateway that is being started with a configuration.
func New(source Source, started *config.Config, gateway Gateway) *File {
	f := &File{source: source, gateway: gateway, started: started, running: started}
	var places []string
	if source.Loader.Getenv == nil {
		f.source.Loader.Getenv = os.LookupEnv
	} else {
		places = source.Loader.Places()
	}
	f.Settings = settings.New(settings.Gateway{
		Parse:   f.parse,
		Running: func() any { return f.Running() },
		Started: func() any { return started },
		Apply: func(ctx context.Context, c any) error {
			return f.save(ctx, c.(*config.Config)) //nolint:forcetypeassert // it comes from parse
		},
		Overrides: f.overrides,
		Waits:     Waits, Audit: gateway.Audit, Redact: gateway.Redact,
	}, source.Path, places, started.State, gateway.Now)
	return f
}

// Running is the configuration in effect.
func (f *File) Running() *config.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running
}

func (f *File) parse(file string, text []byte) (any, error) {
	c, err := f.source.Loader.Parse(file, text)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		out := make(settings.Faults, len(faults))
		for i, one := range faults {
			out[i] = settings.Fault{Line: one.Line, Column: one.Column, Path: one.Path, Text: one.Text}
		}
		return nil, out
	}
	return c, err
}

// overrides are the keys whose values come from the environment, the command line or the gateway itself.
func (f *File) overrides(c any) map[string]settings.Source {
	out := map[string]settings.Source{}
	if state, _ := f.source.Loader.Getenv(config.EnvState); state != "" {
		out["state"] = settings.Source{From: settings.Environment, Name: config.EnvState}
	}
	if f.source.Loader.Listen != "" {
		out["gateway.listen"] = settings.Source{From: settings.Flag, Name: "--listen"}
	}
	if c, ok := c.(*config.Config); ok && c.Gateway.Token == "" {
		out["gateway.token"] = settings.Source{From: settings.Made, Name: "token"}
	}
	return out
}

// Apply puts a checked configuration into effect, and returns the changed keys that need a restart.
func (f *File) Apply(c *config.Config) (waiting []string, err error) {
	f.applying.Lock()
	defer f.applying.Unlock()
	return f.apply(c)
}

// Stop waits for a configuration that is being applied. No other one is applied afterwards.
func (f *File) Stop() {
	f.applying.Lock()
	defer f.applying.Unlock()
	f.stopped = true
}

var errStopped = errors.New("the gateway is stopping: it is applied at the next start")

func (f *File) apply(c *config.Config) (waiting []string, err error) {
	if f.stopped {
		return nil, errStopped
	}
	if err := f.gateway.Apply(c); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.running = c
	f.mu.Unlock()
	for _, change := range settings.Diff(settings.KeysOf(f.started), settings.KeysOf(c)) {
		if Waits(change) {
			waiting = append(waiting, change.Path)
		}
	}
	return waiting, nil
}

// save applies what the owner has saved.
func (f *File) save(ctx context.Context, c *config.Config) error {
	waiting, err := f.Apply(c)
	if err != nil {
		return err
	}
	f.gateway.Log.Info("configuration saved and applied", "wait_for_restart", waiting)
	f.gateway.Warn(ctx, c)
	return nil
}

// Watch applies the file whenever it or a file that it names changes, until ctx ends. A file with faults changes nothing: the
// last valid configuration stays in effect, and Watch tries the file again, because only a file that it names may be missing.
// seen is the state of the files before they were read for the start.
func (f *File) Watch(ctx context.Context, seen Stamps) {
	failed := ""
	pause.Rounds(ctx, every, every, f.gateway.Log, func(ctx context.Context) {
		path := f.Path()
		now := StampsOf(path, f.Running().FilesRead()...)
		if path == "" || maps.Equal(now, seen) && failed == "" {
			return
		}
		seen = now
		err := f.read(ctx, path)
		switch {
		case err == nil:
			failed = ""
		case err.Error() != failed:
			failed = err.Error()
			f.gateway.Log.Error("configuration not applied; the last valid one stays in effect", "file", path, "err", err)
		}
	})
}

// errEmptied: the file has lost its content while the gateway runs.
var errEmptied = errors.New("the file is empty: restore it, or write a comment into it to use the defaults")

// read applies the file if its configuration differs from the running one.
func (f *File) read(ctx context.Context, path string) error {
	f.applying.Lock()
	defer f.applying.Unlock()
	c, err := f.source.Loader.Load(path)
	if err != nil || len(settings.Diff(settings.KeysOf(f.Running()), settings.KeysOf(c))) == 0 {
		return err
	}
	if c.Blank() { // an editor or a full disk has truncated it; an empty file does not ask for the defaults
		return errEmptied
	}
	waiting, err := f.apply(c)
	if err != nil {
		return err
	}
	f.gateway.Log.Info("configuration applied", "file", path, "wait_for_restart", waiting)
	f.gateway.Warn(ctx, c)
	return nil
}

// Stamps identify a version of files.
type Stamps map[string]stamp

type stamp struct {
	size     int64
	modified time.Time
}

// StampsOf returns the stamps of files. A missing file, for example between two renames of an editor, has none.
func StampsOf(path string, others ...string) Stamps {
	out := Stamps{}
	for _, p := range append(others, path) {
		if info, err := os.Stat(p); err == nil {
			out[p] = stamp{info.Size(), info.ModTime()}
		}
	}
	return out
}

// atStart are the keys that, with everything below them, are read only at the start.
var atStart = []string{
	"gateway.publicURL", "state", "store", "bus", "log", "telemetry", "channels.webchat.enabled", "limits.partitions", "limits.maxMessageBytes",
}

// alerting is the key whose presence at the start gives agents their tools for alerts.
const alerting = "alerts.route.receiver"

// Waits reports whether a change takes effect only at the next start.
func Waits(c settings.Change) bool {
	if c.Path == alerting {
		return c.Was != c.Is
	}
	return slices.ContainsFunc(atStart, func(key string) bool { return settings.Below(c.Path, key) })
}
