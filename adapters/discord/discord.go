package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"sluice/adapters"
	"sluice/sessions"
)

const channelName = "discord"

// Adapter is one Discord bot.
type Adapter struct {
	cfg     Config
	client  *client
	state   *state
	metrics *metrics
	places  *places
	posted  *posted
	acks    *acks

	ask  sync.Mutex // one question who the bot is at a time
	self atomic.Pointer[user]
	app  atomic.Pointer[application]
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

// New makes the adapter of one bot. It does not call Discord. An error names
// every fault of the configuration.
func New(config Config) (*Adapter, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure discord account %s: %w", cfg.Account, err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register discord metrics: %w", err)
	}
	return &Adapter{
		cfg: cfg, client: newClient(cfg, m), metrics: m, state: newState(cfg),
		places: newPlaces(), posted: newPosted(), acks: newAcks(),
	}, nil
}

// Channel is "discord".
func (a *Adapter) Channel() string { return channelName }

// Account is the account's name in the configuration.
func (a *Adapter) Account() string { return a.cfg.Account }

// State tells how the account is doing.
func (a *Adapter) State() adapters.State { return a.state.read() }

// Close drops the idle connections. Call it when the adapter is not used any more.
func (a *Adapter) Close() { a.client.closeIdle() }

// Run holds the gateway connections until ctx ends. A Failure of kind Auth says
// what a person must change: the token, the intents or the shards.
func (a *Adapter) Run(ctx context.Context, in adapters.Acceptor) error {
	a.state.set(adapters.Connecting, "")
	err := a.run(ctx, in)
	if ctx.Err() != nil {
		a.state.set(adapters.Stopped, "")
		return nil //nolint:nilerr // the end of ctx is the cause of whatever failed
	}
	if err != nil {
		a.state.fail(adapters.AsFailure(err))
	}
	return err
}

// call makes a REST call and gives its error as a Failure.
func (a *Adapter) call(ctx context.Context, req request, result any) error {
	err := a.client.call(ctx, req, result)
	if err == nil {
		return nil
	}
	f := asFailure(req, err)
	if f.Kind == adapters.Auth {
		a.state.refused(f)
	}
	return f
}

// whoami is the bot itself, asked for once.
func (a *Adapter) whoami(ctx context.Context) (*user, error) {
	if me := a.self.Load(); me != nil {
		return me, nil
	}
	a.ask.Lock()
	defer a.ask.Unlock()
	if me := a.self.Load(); me != nil {
		return me, nil
	}
	me, err := a.getMe(ctx)
	if err != nil {
		return nil, err
	}
	a.know(me)
	return me, nil
}

func (a *Adapter) know(me *user) {
	a.self.Store(me)
	a.state.identify(peer(me, nil))
}

var errNobody = errors.New("discord did not say who the bot is")

func (a *Adapter) getMe(ctx context.Context) (*user, error) {
	var me user
	if err := a.call(ctx, request{method: http.MethodGet, path: at("/users/@me")}, &me); err != nil {
		return nil, err
	}
	if me.ID == "" {
		return nil, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: errNobody}
	}
	return &me, nil
}

// application is the bot's application, asked for once. Its id is the bot's own
// for young bots only.
func (a *Adapter) application(ctx context.Context) (*application, error) {
	if app := a.app.Load(); app != nil {
		return app, nil
	}
	app, err := a.getApplication(ctx)
	if err == nil {
		a.app.Store(app)
	}
	return app, err
}

func (a *Adapter) getApplication(ctx context.Context) (*application, error) {
	var app application
	err := a.call(ctx, request{method: http.MethodGet, path: at("/applications/@me")}, &app)
	return &app, err
}

// The application's flags that say that it may see what is written: approved, or a bot in few guilds.
const contentFlags = 1<<18 | 1<<19

// noContent is what to do about messages that come without their text.
const noContent = "the Message Content intent is off, so that the bot sees only what mentions it: switch it on in the developer portal (Bot → Privileged Gateway Intents → Message Content Intent)"

// Probe asks Discord who the bot is, and whether it may read what people write.
func (a *Adapter) Probe(ctx context.Context) (sessions.Peer, error) {
	me, err := a.getMe(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	app, err := a.getApplication(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	if app.Flags&contentFlags == 0 {
		return sessions.Peer{}, &adapters.Failure{Kind: adapters.Auth, Certain: true, Err: errors.New(noContent)}
	}
	return peer(me, nil), nil
}
