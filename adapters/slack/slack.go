package slack

import (
	"context"
	"fmt"

	"sluice/adapters"
	"sluice/sessions"
)

const channelName = "slack"

// Adapter is one Slack app in one workspace.
type Adapter struct {
	cfg       Config
	state     *adapters.Tracker
	web       *web
	bot       *identity
	reader    *reader
	intake    *intake
	directory *directory
	uploads   *uploads
	life      *life
}

var (
	_ adapters.Adapter      = (*Adapter)(nil)
	_ adapters.Splitter     = (*Adapter)(nil)
	_ adapters.Editor       = (*Adapter)(nil)
	_ adapters.Deleter      = (*Adapter)(nil)
	_ adapters.Reactor      = (*Adapter)(nil)
	_ adapters.Buttoner     = (*Adapter)(nil)
	_ adapters.FileSender   = (*Adapter)(nil)
	_ adapters.FileFetcher  = (*Adapter)(nil)
	_ adapters.Reconciler   = (*Adapter)(nil)
	_ adapters.ThreadReader = (*Adapter)(nil)
	_ adapters.Directory    = (*Adapter)(nil)
	_ adapters.Callback     = (*Adapter)(nil)
	_ adapters.Prober       = (*Adapter)(nil)
	_ adapters.Previewer    = (*Adapter)(nil)
	_ adapters.Stater       = (*Adapter)(nil)

	_ adapters.ConversationTyper = (*Adapter)(nil)
)

// New makes the adapter of one app. It does not call Slack. Its error names all errors of the configuration.
func New(config Config) (*Adapter, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure slack account %s: %w", cfg.Account, err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register slack metrics: %w", err)
	}
	s := adapters.NewTracker(channelName, cfg.Account, cfg.Now)
	w := newWeb(cfg, m, s)
	bot := &identity{web: w, state: s}
	r := &reader{cfg: cfg, names: newNames(w)}
	return &Adapter{
		cfg: cfg, state: s, web: w, bot: bot, reader: r,
		intake:    &intake{cfg: cfg, state: s, metrics: m, lanes: newLanes(), web: w, bot: bot, reader: r},
		directory: &directory{web: w, reader: r},
		uploads:   &uploads{web: w},
		life:      newLife(),
	}, nil
}

// Channel is "slack".
func (a *Adapter) Channel() string { return channelName }

// Account is the account's name in the configuration.
func (a *Adapter) Account() string { return a.cfg.Account }

// State returns the state of the account.
func (a *Adapter) State() adapters.State { return a.state.State() }

// Run receives events over WebSockets until ctx ends. In mode http, [Adapter.ServeCallback] receives the events, and Run only
// checks the token.
func (a *Adapter) Run(ctx context.Context, in adapters.Acceptor) error {
	a.state.Set(adapters.Connecting, "")
	err := a.run(ctx, in)
	if ctx.Err() != nil {
		a.life.end()
		a.state.Set(adapters.Stopped, "")
		return nil //nolint:nilerr // the end of ctx is the cause of whatever failed
	}
	if err != nil {
		a.state.Fail(adapters.AsFailure(err))
	}
	return err
}

func (a *Adapter) run(ctx context.Context, in adapters.Acceptor) error {
	if err := a.web.retry(ctx, methodIdentity, a.bot.identify, a.state.Fail); err != nil {
		return err
	}
	if a.cfg.Mode == Socket {
		return a.receive(ctx, in)
	}
	connected := func() { a.state.Set(adapters.Connected, "") }
	connected()
	return a.bot.keepIdentity(ctx, connected)
}

// Probe asks Slack for the bot's identity.
func (a *Adapter) Probe(ctx context.Context) (sessions.Peer, error) {
	me, err := a.bot.authTest(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	return me.peer(), nil
}

// Close closes idle connections. Call it when the adapter is no longer used.
func (a *Adapter) Close() {
	a.web.client.closeIdle()
	a.web.files.closeIdle()
}
