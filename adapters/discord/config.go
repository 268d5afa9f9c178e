package discord

import (
	"cmp"
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

// DefaultAPIBase is Discord's REST API in the version that this package uses.
const DefaultAPIBase = "https://discord.com/api/v10"

// DefaultCallTimeout bounds one REST call.
const DefaultCallTimeout = 30 * time.Second

// MaxShards is the maximum number of shards in a configuration.
const MaxShards = 1000

// Cursors stores the positions of one account across restarts. Names and values are opaque texts of at most 400 bytes: the
// id of a channel with the id of its last accepted message, and "session/<shard>/<shards>" with the data that resumes a
// gateway session. That data is a credential of the session: store it as one.
type Cursors interface {
	// Load returns all saved positions. It is called once at the start of each Run.
	Load(ctx context.Context) (map[string]string, error)
	// Save replaces the value of one name. Many goroutines call it, but for one name only one at a time. After an error at a
	// channel's first message, Save is called again before the message is accepted. Any other error is logged, and the next
	// save makes up for it.
	Save(ctx context.Context, channel, lastID string) error
}

// Config configures one bot. Only Token is required.
type Config struct {
	Account    string          // name in the configuration; empty for "default"
	Token      adapters.Secret // from the developer portal, without "Bot "
	APIBase    string          // empty for DefaultAPIBase
	GatewayURL string          // websocket address; empty for the one that Discord returns (GET /gateway/bot)
	Shards     int             // 0 for as many as Discord recommends
	FileHosts  []string        // hosts that attachments may come from besides Discord's and APIBase's own, for example "cdn.example.org"

	// Cursors lets the adapter catch up on the time without a connected process; nil: it does not catch up.
	Cursors Cursors

	CallTimeout time.Duration         // of one REST call; 0 for DefaultCallTimeout
	Now         func() time.Time      // nil for time.Now
	Log         *slog.Logger          // nil for slog.Default
	Registerer  prometheus.Registerer // nil for no metrics

	pace pace // zero for defaultPace; tests are faster
}

// pace has the waits that Discord requires or recommends.
type pace struct {
	identify    time.Duration // between two identifies of one bucket
	invalid     time.Duration // the minimum wait after an invalid session; the maximum is five times that
	handshake   time.Duration // until Hello, and from identify to Ready
	firstPause  time.Duration // before the second try of anything
	longest     time.Duration // between two tries
	saveSession time.Duration // the minimum time between two saves of a session's position
}

// defaultPace has Discord's values: one identify every 5 seconds, plus half a second for delays of the network, and 1 to 5
// seconds after an invalid session.
var defaultPace = pace{
	identify: 5500 * time.Millisecond, invalid: time.Second, handshake: 30 * time.Second,
	firstPause: 500 * time.Millisecond, longest: 30 * time.Second, saveSession: time.Second,
}

// tokenShape is deliberately wide: Discord has changed the form of its tokens before.
var tokenShape = pattern.New(`^[A-Za-z0-9._-]{20,}$`)

// maxToken bounds a token: it goes into a header of every call.
const maxToken = 4096

// complete fills in defaults and checks the configuration. It reports all errors at once.
func (c Config) complete() (Config, error) {
	c.Account = cmp.Or(c.Account, "default")
	c.APIBase = strings.TrimSuffix(cmp.Or(c.APIBase, DefaultAPIBase), "/")
	c.CallTimeout = cmp.Or(c.CallTimeout, DefaultCallTimeout)
	c.pace = cmp.Or(c.pace, defaultPace)
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
