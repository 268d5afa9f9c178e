package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"sluice/internal/config"
	"sluice/internal/configfile"
	"sluice/internal/footprint"
)

// Options say how to run a gateway.
type Options struct {
	ConfigPath string // as given on the command line; empty: the usual places are searched
	Listen     string // overrides gateway.listen; empty: no override
	Version    string
	Stdout     io.Writer // for the gateway's address
	Private    bool      // only a person reads Stdout, and nothing stores it: the address may contain the token
	Stderr     io.Writer // the log
}

// Run serves until ctx ends, then stops in an orderly way. A configuration error is a [config.Faults].
func Run(ctx context.Context, o Options) error {
	path, err := config.Find(o.ConfigPath)
	if err != nil {
		return err
	}
	loader := config.System()
	loader.Listen = o.Listen
	// Taken before anything is read, and without the files that the configuration names, which Watch therefore reads again
	// at once: a change during the start is applied later.
	seen := configfile.StampsOf(path)
	cfg, err := loader.Load(path)
	if err != nil {
		return err
	}
	var secrets liveSecrets
	known, err := newSecrets(cfg, "")
	if err != nil {
		return err
	}
	secrets.Store(known)
	log, err := newLogger(cfg.Log, cleanWriter{o.Stderr, &secrets})
	if err != nil {
		return err
	}
	ownSettings := os.Getenv("GOGC") == "" // otherwise the operator has set it
	if ownSettings {
		footprint.Starting()
	}
	a := New(cfg, o.Version, log)
	a.secrets, log = &secrets, a.log
	// The lines of libraries, such as net/http's about a server that breaks the protocol, are records of the log too.
	slog.SetDefault(log)
	a.Source = configfile.Source{Loader: loader, Path: path}
	if err := a.Start(ctx); err != nil {
		if ctx.Err() != nil {
			log.Info("stopped while it was starting")
			return nil
		}
		return err
	}
	a.greet(o, path)
	if ownSettings {
		defer footprint.CollectRarely()()
		debug.FreeOSMemory() // return the memory that the start has used
	}
	if err := footprint.UnmapProgram(); err != nil {
		log.Debug("program code that only the start needed stays in memory", "err", err)
	}
	a.file.Watch(ctx, seen)
	log.Info("stopping")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if !endsWithin(stopTimeout+stopSpare, func() { a.Stop(stopping) }) {
		log.Error("stopped without waiting for unfinished work; nothing is lost: the next start continues with what is stored")
		return nil
	}
	log.Info("stopped")
	return nil
}

// stopSpare is how much longer than stopTimeout a stop may take before the process ends anyway.
const stopSpare = 2 * closeTimeout

// endsWithin reports whether end returns within d. Its goroutine ends with it, or with the process.
func endsWithin(d time.Duration, end func()) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

func newLogger(c config.Log, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		return nil, fmt.Errorf("log.level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

// greet prints the gateway's address to standard output, for people and scripts. It prints the token only if the
// output is not stored.
func (a *App) greet(o Options, path string) {
	where := "no configuration file: everything embedded, offline demonstration model"
	if path != "" {
		where = "configuration " + path
	}
	fmt.Fprintf(o.Stdout, "Sluice %s is ready (%s, state in %s).\n\n", a.version, where, a.cfg.State)
	if o.Private {
		fmt.Fprintf(o.Stdout, "  Open  %s#token=%s\n\n", a.pageURL(), *a.token.Load()) // browsers do not send the fragment to servers
		return
	}
	token := "it is gateway.token in the configuration"
	if a.cfg.Gateway.Token == "" {
		token = "it is in the file " + filepath.Join(a.cfg.State, tokenFile)
	}
	fmt.Fprintf(o.Stdout, "  Open  %s\n  The page asks for the token: %s.\n\n", a.pageURL(), token)
}

// pageURL returns the page's address.
func (a *App) pageURL() string {
	host, port, err := net.SplitHostPort(a.Addr().String())
	if err != nil {
		return "http://" + a.Addr().String() + "/"
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}
