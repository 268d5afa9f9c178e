package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/internal/config/address"
)

// Environment variables that choose a gateway.
const (
	EnvURL   = "SLUICE_URL"
	EnvToken = "SLUICE_TOKEN"
)

// Locator finds the gateway that commands talk to: in the environment, else
// where the configuration says, else at the default address.
type Locator struct {
	Loader config.Loader
	Config string // the configuration file, as given; empty: the usual places are searched
	HTTP   *http.Client
}

// Connect returns a client of the gateway. It sends nothing.
func (l *Locator) Connect() (*Client, error) {
	base, _ := l.Loader.Getenv(EnvURL)
	token, _ := l.Loader.Getenv(EnvToken)
	if base != "" && token != "" {
		return New(l.HTTP, base, token)
	}
	cfg, err := l.Load()
	if _, faulty := errors.AsType[config.Faults](err); faulty { // such as a variable that only the gateway has
		return nil, fmt.Errorf("%w\nTo reach the gateway without this file, set %s and %s", err, EnvURL, EnvToken)
	}
	if err != nil {
		return nil, err
	}
	if token == "" {
		if token, err = tokenOf(cfg); err != nil {
			return nil, err
		}
	}
	return New(l.HTTP, l.Address(cfg), token)
}

// Ready fails unless the gateway answers that it is ready. It needs no token.
func (l *Locator) Ready(ctx context.Context) error {
	base, _ := l.Loader.Getenv(EnvURL)
	if base == "" {
		cfg, err := l.Load()
		if err != nil {
			return err
		}
		base = l.Address(cfg)
	}
	c, err := New(l.HTTP, base, "")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	status, _, err := c.Ready(ctx)
	switch {
	case err != nil:
		return c.unreachable(ctx, err)
	case status != http.StatusOK:
		return fmt.Errorf("the gateway at %s is not ready: sluice status says why", base)
	}
	return nil
}

// readyWait is how long a gateway may take to say whether it is ready.
const readyWait = 5 * time.Second

// Load reads the configuration. Without a file it returns the defaults.
func (l *Locator) Load() (*config.Config, error) {
	path, loader, err := l.Find()
	if err != nil {
		return nil, terminal.UsageError{Text: err.Error()}
	}
	cfg, err := loader.Load(path)
	if _, unreadable := os.ReadFile(filepath.Clean(path)); err != nil && l.Config == "" && errors.Is(unreadable, fs.ErrPermission) {
		return nil, fmt.Errorf("%s can't be read: run the command with sudo, or set %s and %s", path, EnvURL, EnvToken)
	}
	return cfg, err
}

// Address is where a gateway with a configuration is expected.
func (l *Locator) Address(cfg *config.Config) string {
	if base, _ := l.Loader.Getenv(EnvURL); base != "" {
		return strings.TrimSuffix(base, "/")
	}
	return address.Local(cfg.Gateway.Listen)
}

// New returns a client of the gateway at an address.
func New(client *http.Client, base, token string) (*Client, error) {
	if u, err := url.Parse(base); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, terminal.Usagef("%s is %q: set it to an address such as http://%s", EnvURL, base, config.DefaultListen)
	}
	return &Client{http: client, base: strings.TrimSuffix(base, "/"), token: token}, nil
}

// TokenPath is the file in which a gateway keeps the token that it generated.
func TokenPath(cfg *config.Config) string { return filepath.Join(cfg.State, "token") }

func tokenOf(cfg *config.Config) (string, error) {
	if cfg.Gateway.Token != "" {
		return cfg.Gateway.Token.Reveal(), nil
	}
	path := TokenPath(cfg)
	data, err := os.ReadFile(filepath.Clean(path))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("no access token: %s does not exist. Start the gateway with `sluice serve`, or set %s", path, EnvToken)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("the access token in %s can't be read: run the command as the user of the gateway, for example with sudo, or set %s", path, EnvToken)
	case err != nil:
		return "", fmt.Errorf("read the access token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
