package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/internal/pattern"
)

// DefaultAPIBase is Discord's own REST API in the version that this package speaks.
const DefaultAPIBase = "https://discord.com/api/v10"

// DefaultCallTimeout bounds one REST call.
const DefaultCallTimeout = 30 * time.Second

// MaxShards is the most shards that a configuration may ask for.
const MaxShards = 1000

// Cursors keeps for one account, across restarts, up to where its events are
// durable. Names and values are opaque texts of at most 400 bytes: a channel's id with
// the id of the last message that was accepted from it, and "session/<shard>/<shards>" with what a
// gateway session is resumed by (it is a credential of that session: keep it like one).
type Cursors interface {
	// Load gives all that was saved. It is called once at the start of each Run.
	Load(ctx context.Context) (map[string]string, error)
	// Save replaces the value of one name. It is called from many goroutines, for one
	// name from one at a time. An error at a channel's first message is retried before the message is
	// accepted; any other is logged, and made up for by the next save.
	Save(ctx context.Context, channel, lastID string) error
}

// Config is what one bot needs. Only Token is required.
type Config struct {
	Account    string          // name in the configuration; empty for "default"
	Token      adapters.Secret // from the developer portal, without "Bot "
	APIBase    string          // empty for DefaultAPIBase
	GatewayURL string          // websocket address; empty for what Discord says (GET /gateway/bot)
	Shards     int             // 0 for as many as Discord recommends
	FileHosts  []string        // hosts that attachments may come from besides Discord's and APIBase's own, for example "cdn.example.org"

	// Cursors makes up for the time that no process was connected; nil for no making up.
	Cursors Cursors

	CallTimeout time.Duration         // of one REST call; 0 for DefaultCallTimeout
	Now         func() time.Time      // nil for time.Now
	Log         *slog.Logger          // nil for slog.Default
	Registerer  prometheus.Registerer // nil for no metrics

	pace pace // zero for defaultPace; tests are faster
}

// pace is how long the adapter waits where Discord or good manners ask for it.
type pace struct {
	identify    time.Duration // between two identifies of one bucket
	invalid     time.Duration // the least wait after an invalid session; at most five times that
	handshake   time.Duration // till Hello, and from identify to Ready
	firstPause  time.Duration // before the second try of anything
	longest     time.Duration // between two tries
	saveSession time.Duration // the least time between two saves of a session's position
}

// defaultPace is Discord's: an identify each 5 seconds, with half a second for what the network
// makes of it, and 1 to 5 seconds after an invalid session.
var defaultPace = pace{
	identify: 5500 * time.Millisecond, invalid: time.Second, handshake: 30 * time.Second,
	firstPause: 500 * time.Millisecond, longest: 30 * time.Second, saveSession: time.Second,
}

// tokenShape is deliberately wide: Discord has changed the form of its tokens before.
var tokenShape = pattern.New(`^[A-Za-z0-9._-]{20,}$`)

// maxToken bounds a token: it goes into a header of every call.
const maxToken = 4096

// complete checks the configuration, all faults at once, and fills in defaults.
func (c Config) complete() (Config, error) {
	c.Account = or(c.Account, "default")
	c.APIBase = strings.TrimSuffix(or(c.APIBase, DefaultAPIBase), "/")
	c.CallTimeout = or(c.CallTimeout, DefaultCallTimeout)
	c.pace = or(c.pace, defaultPace)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Log = c.Log.With("channel", channelName, "account", c.Account)
	var faults []error
	if len(c.Token) > maxToken || !tokenShape.MatchString(string(c.Token)) {
		faults = append(faults, errors.New(`token: want the bot token of the developer portal (Bot → Token), without "Bot " before it`))
	}
	if !isURL(c.APIBase, "https", "http") {
		faults = append(faults, fmt.Errorf("apiBase %q: want an http or https URL", c.APIBase))
	}
	if c.GatewayURL != "" && !isURL(c.GatewayURL, "wss", "ws") {
		faults = append(faults, fmt.Errorf("gatewayURL %q: want a ws or wss URL", c.GatewayURL))
	}
	if c.Shards < 0 || c.Shards > MaxShards {
		faults = append(faults, fmt.Errorf("shards %d: want 0 to %d", c.Shards, MaxShards))
	}
	return c, errors.Join(append(faults, hostFaults(c.FileHosts)...)...)
}

func hostFaults(hosts []string) []error {
	var faults []error
	for _, h := range hosts {
		if h == "" || strings.ContainsAny(h, "/@ *") {
			faults = append(faults, fmt.Errorf("fileHosts %q: want a host name, with a port if it has one", h))
		}
	}
	return faults
}

func isURL(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return false
	}
	for _, s := range schemes {
		if u.Scheme == s {
			return true
		}
	}
	return false
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
