package telegram

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
	"sluice/internal/pattern"
)

// DefaultAPIBase is Telegram's own Bot API server.
const DefaultAPIBase = "https://api.telegram.org"

// Default durations of a Config.
const (
	DefaultPollTimeout = 45 * time.Second
	DefaultPollSlack   = 15 * time.Second
	DefaultPollFloor   = time.Second

	DefaultWebhookCheck = 10 * time.Minute
	DefaultCallTimeout  = 30 * time.Second
)

// Mode is the way in which updates arrive.
type Mode string

// The modes.
const (
	Polling Mode = "polling" // default: the adapter calls getUpdates
	Webhook Mode = "webhook" // Telegram posts to a public URL
)

// RichMode says whether answers are sent as native rich messages (Bot API 10.1).
type RichMode string

// The rich message modes. The default is RichAuto: HTML looks the same in every Telegram client, including old ones,
// so a rich message is used only for structure that HTML can't express. A server without rich messages gets HTML in
// every mode.
const (
	RichOff  RichMode = "off"  // always HTML
	RichAuto RichMode = "auto" // default: rich only if HTML would lose structure: tables and nested lists
	RichOn   RichMode = "on"   // rich whenever the server supports it
)

// Config configures one bot. Only Token is required.
type Config struct {
	Account       string          // name in the configuration; empty: "default"
	Token         adapters.Secret // from BotFather, "<bot id>:<secret>"
	APIBase       string          // empty: DefaultAPIBase
	Mode          Mode            // empty: Polling
	WebhookURL    string          // public https URL of ServeCallback; required for Webhook
	WebhookSecret adapters.Secret // value of Telegram's secret header; required for Webhook
	RichMessages  RichMode        // empty: RichAuto
	LinkPreviews  bool            // show previews of links in answers; off by default

	PollTimeout time.Duration // how long one getUpdates waits; 0: DefaultPollTimeout
	PollSlack   time.Duration // how much longer it may take before the connection counts as dead; 0: DefaultPollSlack
	PollFloor   time.Duration // minimum time from a getUpdates without news to the next; 0: DefaultPollFloor
	// WebhookCheck is how often the webhook is set again, in case somebody has removed it; this also reveals a
	// revoked token. 0: DefaultWebhookCheck.
	WebhookCheck time.Duration
	CallTimeout  time.Duration // for every other call; 0: DefaultCallTimeout

	Now        func() time.Time      // nil: time.Now
	Log        *slog.Logger          // nil: slog.Default
	Registerer prometheus.Registerer // nil: no metrics
}

var (
	tokenShape  = pattern.New(`^[0-9]+:[A-Za-z0-9_-]+$`)
	secretShape = pattern.New(`^[A-Za-z0-9_-]{1,256}$`)
)

// complete checks the configuration, reports all faults at once, and fills in defaults.
func (c Config) complete() (Config, error) {
	c.Account = cmp.Or(c.Account, "default")
	c.APIBase = strings.TrimSuffix(cmp.Or(c.APIBase, DefaultAPIBase), "/")
	c.Mode = cmp.Or(c.Mode, Polling)
	c.RichMessages = cmp.Or(c.RichMessages, RichAuto)
	c.PollTimeout = cmp.Or(c.PollTimeout, DefaultPollTimeout)
	c.PollSlack = cmp.Or(c.PollSlack, DefaultPollSlack)
	c.PollFloor = cmp.Or(c.PollFloor, DefaultPollFloor)
	c.WebhookCheck = cmp.Or(c.WebhookCheck, DefaultWebhookCheck)
	c.CallTimeout = cmp.Or(c.CallTimeout, DefaultCallTimeout)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Log = c.Log.With("channel", channelName, "account", c.Account)
	var faults []error
	if !tokenShape.MatchString(string(c.Token)) {
		faults = append(faults, errors.New("token: want <bot id>:<secret> as BotFather gives it"))
	}
	if u, err := url.Parse(c.APIBase); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		faults = append(faults, fmt.Errorf("apiBase %q: want an http or https URL", c.APIBase))
	}
	switch c.RichMessages {
	case RichOff, RichAuto, RichOn:
	default:
		faults = append(faults, fmt.Errorf("richMessages %q: want off, auto or on", c.RichMessages))
	}
	return c, errors.Join(append(faults, c.modeFaults()...)...)
}

func (c Config) modeFaults() []error {
	var faults []error
	switch c.Mode {
	case Polling:
	case Webhook:
		if u, err := url.Parse(c.WebhookURL); err != nil || u.Host == "" {
			faults = append(faults, fmt.Errorf("webhookURL %q: mode webhook needs the public URL of this gateway", c.WebhookURL))
		}
		if !secretShape.MatchString(string(c.WebhookSecret)) {
			faults = append(faults, errors.New("webhookSecret: mode webhook needs 1 to 256 characters of A-Z a-z 0-9 _ -"))
		}
	default:
		faults = append(faults, fmt.Errorf("mode %q: want polling or webhook", c.Mode))
	}
	return faults
}
