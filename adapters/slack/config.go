package slack

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
)

// DefaultAPIBase is Slack's own Web API.
const DefaultAPIBase = "https://slack.com/api/"

// The defaults of a Config's times.
const (
	DefaultCallTimeout = 30 * time.Second
	DefaultPingTimeout = 30 * time.Second
)

// DefaultCommand is the slash command whose text is a command of the gateway: "/sluice help".
const DefaultCommand = "sluice"

// Mode is how events come in.
type Mode string

// The modes.
const (
	Socket Mode = "socket" // default: the adapter opens WebSockets (Socket Mode)
	HTTP   Mode = "http"   // Slack posts to a public URL (Events API)
)

// Config configures one installation of an app in one workspace.
type Config struct {
	Account       string          // name in the configuration; empty for "default"
	BotToken      adapters.Secret // "xoxb-…", from OAuth & Permissions. Required
	AppToken      adapters.Secret // "xapp-…" with connections:write; required for Socket
	SigningSecret adapters.Secret // from Basic Information; required for HTTP
	Mode          Mode            // empty for Socket
	APIBase       string          // empty for DefaultAPIBase
	// ReplyInThread answers a mention at the top level of a channel in a thread below it.
	ReplyInThread bool
	// Command is the slash command whose text is a command: empty for DefaultCommand. Any
	// other slash command of the app is the command of its own name.
	Command string

	CallTimeout time.Duration // for one call of the Web API; 0 for DefaultCallTimeout
	// PingTimeout is how long a WebSocket may be silent before it counts as dead; 0 for DefaultPingTimeout. Slack and the
	// adapter both send pings more often.
	PingTimeout time.Duration

	Now        func() time.Time      // nil for time.Now
	Log        *slog.Logger          // nil for slog.Default
	Registerer prometheus.Registerer // nil for no metrics
}

// complete fills in defaults and checks the configuration. It reports all errors at once.
func (c Config) complete() (Config, error) {
	c.Account = cmp.Or(c.Account, "default")
	c.APIBase = strings.TrimSuffix(cmp.Or(c.APIBase, DefaultAPIBase), "/") + "/" // the library joins base and method as they are
	c.Mode = cmp.Or(c.Mode, Socket)
	c.Command = strings.TrimPrefix(cmp.Or(c.Command, DefaultCommand), "/")
	c.CallTimeout = cmp.Or(c.CallTimeout, DefaultCallTimeout)
	c.PingTimeout = cmp.Or(c.PingTimeout, DefaultPingTimeout)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Log = c.Log.With("channel", channelName, "account", c.Account)
	var faults []error
	if !strings.HasPrefix(string(c.BotToken), "xoxb-") {
		faults = append(faults, errors.New("botToken: want the Bot User OAuth Token; it begins with xoxb-"))
	}
	if u, err := url.Parse(c.APIBase); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		faults = append(faults, fmt.Errorf("apiBase %q: want an http or https URL", c.APIBase))
	}
	return c, errors.Join(append(faults, c.modeFaults()...)...)
}

func (c Config) modeFaults() []error {
	switch c.Mode {
	case Socket:
		if !strings.HasPrefix(string(c.AppToken), "xapp-") {
			return []error{errors.New("appToken: mode socket needs an app-level token with connections:write; it begins with xapp-")}
		}
	case HTTP:
		if c.SigningSecret == "" {
			return []error{errors.New("signingSecret: mode http needs the app's signing secret")}
		}
	default:
		return []error{fmt.Errorf("mode %q: want socket or http", c.Mode)}
	}
	return nil
}
