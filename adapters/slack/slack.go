package slack

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/sessions"
)

const (
	channelName    = "slack"
	methodIdentity = "auth.test"
)

// identityCheck is how often Slack is asked whether the token still holds.
const identityCheck = 10 * time.Minute

// Adapter is one Slack app in one workspace.
type Adapter struct {
	cfg     Config
	client  *client
	files   *client          // for uploads and downloads, which take longer
	api     *slackapi.Client // over client
	state   *state
	metrics *metrics
	names   *names
	lanes   *lanes
	pacer   *pacer

	self atomic.Pointer[self] // set by the first auth.test that succeeds
	ask  sync.Mutex           // one auth.test at a time
	gone chan struct{}        // capacity 1: somebody doubts that the token holds
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

// self is who the bot is.
type self struct {
	User sessions.UserID // of the bot user, "U…"
	Bot  string          // of the bot, "B…"
	Team string          // the workspace, "T…"
	Name string
}

func (s self) peer() sessions.Peer {
	return sessions.Peer{ID: s.User, Name: s.Name, Username: s.Name, Bot: true}
}

// New makes the adapter of one app. It does not call Slack. An error names every
// fault of the configuration.
func New(config Config) (*Adapter, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure slack account %s: %w", cfg.Account, err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register slack metrics: %w", err)
	}
	c := newClient(cfg, m, cfg.CallTimeout)
	a := &Adapter{
		cfg: cfg, client: c, files: newClient(cfg, m, uploadTimeout), api: newAPI(cfg, c), metrics: m, state: newState(cfg),
		lanes: newLanes(), pacer: newPacer(cfg.Now), gone: make(chan struct{}, 1),
	}
	a.names = newNames(a)
	return a, nil
}

// Channel is "slack".
func (a *Adapter) Channel() string { return channelName }

// Account is the account's name in the configuration.
func (a *Adapter) Account() string { return a.cfg.Account }

// State tells how the account is doing.
func (a *Adapter) State() adapters.State { return a.state.read() }

// Run receives events until ctx ends: over WebSockets, or in mode http it looks after
// the token while [Adapter.ServeCallback] takes the events.
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

func (a *Adapter) run(ctx context.Context, in adapters.Acceptor) error {
	if err := a.retry(ctx, methodIdentity, a.identify, a.state.fail); err != nil {
		return err
	}
	if a.cfg.Mode == Socket {
		return a.receive(ctx, in)
	}
	connected := func() { a.state.set(adapters.Connected, "") }
	connected()
	return a.keepIdentity(ctx, connected)
}

// keepIdentity asks whether the token still holds, from time to time and when Slack says
// that the app was removed, until ctx ends or it holds no more. It calls holds if it does.
func (a *Adapter) keepIdentity(ctx context.Context, holds func()) error {
	ticker := time.NewTicker(identityCheck)
	defer ticker.Stop()
	for {
		select {
		case <-a.gone:
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if err := a.retry(ctx, methodIdentity, a.identify, a.state.fail); err != nil {
			return ignoreEnd(ctx, err)
		}
		holds()
	}
}

// identify asks Slack who the bot is and remembers it.
func (a *Adapter) identify(ctx context.Context) error {
	me, err := a.authTest(ctx)
	if err != nil {
		return err
	}
	a.state.heard()
	a.self.Store(me)
	a.state.identify(me.peer())
	return nil
}

// whoami is the bot itself, asked for once.
func (a *Adapter) whoami(ctx context.Context) (*self, error) {
	if me := a.self.Load(); me != nil {
		return me, nil
	}
	a.ask.Lock()
	defer a.ask.Unlock()
	if me := a.self.Load(); me != nil {
		return me, nil
	}
	if err := a.identify(ctx); err != nil {
		return nil, err
	}
	return a.self.Load(), nil
}

func (a *Adapter) authTest(ctx context.Context) (*self, error) {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	who, err := a.api.AuthTestContext(ctx)
	if err != nil {
		return nil, a.failure(methodIdentity, err)
	}
	return &self{User: sessions.UserID(who.UserID), Bot: who.BotID, Team: who.TeamID, Name: who.User}, nil
}

// Probe asks Slack who the bot is.
func (a *Adapter) Probe(ctx context.Context) (sessions.Peer, error) {
	me, err := a.authTest(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	return me.peer(), nil
}

// Close drops the idle connections. Call it when the adapter is not used any more.
func (a *Adapter) Close() {
	a.client.closeIdle()
	a.files.closeIdle()
}
