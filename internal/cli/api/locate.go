package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"sluice/internal/cli/terminal"
	"sluice/internal/config"
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

// Load reads the configuration. Without a file it returns the defaults.
func (l *Locator) Load() (*config.Config, error) {
	path, err := l.Loader.Find(l.Config)
	if err != nil {
		return nil, terminal.UsageError{Text: err.Error()}
	}
	return l.Loader.Load(path)
}

// Address is where a gateway with a configuration is expected.
func (l *Locator) Address(cfg *config.Config) string {
	if base, _ := l.Loader.Getenv(EnvURL); base != "" {
		return strings.TrimSuffix(base, "/")
	}
	return "http://" + dialAddress(cfg.Gateway.Listen)
}

// New returns a client of the gateway at an address.
func New(client *http.Client, base, token string) (*Client, error) {
	if u, err := url.Parse(base); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, terminal.Usagef("%s is %q: set it to an address such as http://%s", EnvURL, base, config.DefaultListen)
	}
	return &Client{http: client, base: strings.TrimSuffix(base, "/"), token: token}, nil
}

// dialAddress is where this machine reaches a gateway that listens on an address.
func dialAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
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
	case err != nil:
		return "", fmt.Errorf("read the access token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
