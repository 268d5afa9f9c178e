package child

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// APIToken is the access token of every gateway that a [Config] describes.
const APIToken = "token-of-the-gateway-under-test"

// LimitedToken is the access token of an operator who sees what is INTERNAL.
const LimitedToken = "token-of-a-limited-operator"

// Config is the part of the gateway's configuration that the tests choose.
type Config struct {
	State    string // folder, created if missing; the configuration and the log are next to it
	Listen   string // host:port
	Channels string // lines below "channels:", for example from [Telegram]
	Model    string // "<provider>/<model>"
	// ModelURL is the address of a Chat Completions server, configured as provider "openai"; may be empty.
	ModelURL  string
	QueueMode string        // followup or collect
	Debounce  time.Duration // for collect
	StoreURL  string        // empty for the embedded store
	BusURL    string        // empty for the embedded bus
	BusListen string        // where the embedded bus accepts programs; may be empty
	Owners    []string      // "<channel>:<user id>"
	// Visibility is which sessions agents may access; empty for the gateway's default.
	Visibility string
	Extra      string // top-level lines of the configuration
}

// Telegram configures a Telegram bot that polls and accepts messages from everybody.
func Telegram(apiBase, token string) string {
	return fmt.Sprintf(`  telegram:
    dmPolicy: open
    accounts:
      default: { token: %q, apiBase: %q, mode: polling }
`, token, apiBase)
}

// path returns the path of the configuration file.
func (c Config) path() string { return c.State + ".yaml" }

// write creates the state folder and writes the configuration file.
func (c Config) write() error {
	if err := os.MkdirAll(c.State, 0o700); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	if err := os.WriteFile(filepath.Clean(c.path()), []byte(c.yaml()), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

func (c Config) yaml() string {
	text := fmt.Sprintf(`gateway: { listen: %q, token: %q, tokens: [ { name: limited, token: %q, role: operator, classification: INTERNAL } ] }
state: %q
store: { url: %q }
bus: { url: %q, listen: %q }
owners: [%s]
channels:
%ssession:
  dmScope: per-channel-peer
  queue: { mode: %s, cap: 100, debounceMs: %d }
limits: { runAttempts: 100 } # kills are no reason to give up on a message
models:
  default: %s
`, c.Listen, APIToken, LimitedToken, c.State, c.StoreURL, c.BusURL, c.BusListen, strings.Join(c.Owners, ", "), c.Channels, c.QueueMode, c.Debounce.Milliseconds(), c.Model)
	if c.Visibility != "" {
		text = "tools: { sessions: { visibility: " + c.Visibility + " } }\n" + text
	}
	if c.ModelURL != "" {
		text += fmt.Sprintf("  providers:\n    openai: { kind: openai, apiKey: none, baseURL: %q }\n", c.ModelURL)
	}
	return text + c.Extra
}
