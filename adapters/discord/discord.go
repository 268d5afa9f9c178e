package discord

import (
	"context"
	"errors"
	"fmt"

	"sluice/adapters"
	"sluice/sessions"
)

const channelName = "discord"

// Adapter is one Discord bot.
type Adapter struct {
	cfg       Config
	state     *state
	metrics   *metrics
	api       *api
	bot       *identity
	lookup    *lookup
	messages  *messages
	sender    *sender
	directory *directory
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
	_ adapters.Typer        = (*Adapter)(nil)
	_ adapters.Directory    = (*Adapter)(nil)
	_ adapters.Reconciler   = (*Adapter)(nil)
	_ adapters.ThreadReader = (*Adapter)(nil)
	_ adapters.Prober       = (*Adapter)(nil)
	_ adapters.Previewer    = (*Adapter)(nil)
	_ adapters.Stater       = (*Adapter)(nil)

	_ adapters.CommandSetter = (*Adapter)(nil)
)

// New makes the adapter of one bot. It does not call Discord. Its error names all errors of the configuration.
func New(config Config) (*Adapter, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure discord account %s: %w", cfg.Account, err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register discord metrics: %w", err)
	}
	s := newState(cfg)
	c := &api{cfg: cfg, client: newClient(cfg, m), state: s}
	bot := &identity{api: c, state: s}
	l := &lookup{cfg: cfg, api: c, places: newPlaces()}
	return &Adapter{
		cfg: cfg, state: s, metrics: m, api: c, bot: bot, lookup: l,
		messages:  &messages{cfg: cfg, metrics: m, state: s, api: c, bot: bot, lookup: l},
		sender:    &sender{cfg: cfg, api: c, posted: newPosted(), acks: newAcks()},
		directory: &directory{api: c, lookup: l},
	}, nil
}

// Channel is "discord".
func (a *Adapter) Channel() string { return channelName }

// Account is the account's name in the configuration.
func (a *Adapter) Account() string { return a.cfg.Account }

// State returns the state of the account.
func (a *Adapter) State() adapters.State { return a.state.State() }

// Close closes idle connections. Call it when the adapter is no longer used.
func (a *Adapter) Close() { a.api.client.closeIdle() }

// Run keeps the gateway connections open until ctx ends. A Failure of kind Auth names what a person must change: the token,
// the intents or the shards.
func (a *Adapter) Run(ctx context.Context, in adapters.Acceptor) error {
	a.state.Set(adapters.Connecting, "")
	err := a.run(ctx, in)
	if ctx.Err() != nil {
		a.state.Set(adapters.Stopped, "")
		return nil //nolint:nilerr // the end of ctx is the cause of whatever failed
	}
	if err != nil {
		a.state.Fail(adapters.AsFailure(err))
	}
	return err
}

// The flags of an application that may read messages: it is approved, or in few guilds.
const contentFlags = 1<<18 | 1<<19

// noContent suggests what to do if messages arrive without their text.
const noContent = "the Message Content intent is off, so that the bot sees only what mentions it: switch it on in the developer portal (Bot → Privileged Gateway Intents → Message Content Intent)"

// Probe asks Discord for the bot's identity, and whether the bot may read messages.
func (a *Adapter) Probe(ctx context.Context) (sessions.Peer, error) {
	me, err := a.bot.getMe(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	app, err := a.bot.getApplication(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	if app.Flags&contentFlags == 0 {
		return sessions.Peer{}, &adapters.Failure{Kind: adapters.Auth, Certain: true, Err: errors.New(noContent)}
	}
	return peer(me, nil), nil
}
