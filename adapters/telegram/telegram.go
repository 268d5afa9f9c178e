package telegram

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"golang.org/x/time/rate"

	"sluice/adapters"
	"sluice/sessions"
)

const channelName = "telegram"

// Adapter is one Telegram bot.
type Adapter struct {
	cfg     Config
	client  *client
	sdk     *bot.Bot // for the rare calls, over client
	state   *state
	metrics *metrics

	self atomic.Pointer[models.User] // set by the first getMe that succeeds
	ask  sync.Mutex                  // one getMe at a time

	typing *rate.Limiter
	own    *ownMessages // for reactions: Telegram does not say whose message it is
	noRich atomic.Bool  // the server does not know sendRichMessage
}

var (
	_ adapters.Adapter       = (*Adapter)(nil)
	_ adapters.Splitter      = (*Adapter)(nil)
	_ adapters.Editor        = (*Adapter)(nil)
	_ adapters.Typer         = (*Adapter)(nil)
	_ adapters.Callback      = (*Adapter)(nil)
	_ adapters.CommandSetter = (*Adapter)(nil)
	_ adapters.Prober        = (*Adapter)(nil)
	_ adapters.Previewer     = (*Adapter)(nil)
	_ adapters.Stater        = (*Adapter)(nil)

	_ adapters.Deleter           = (*Adapter)(nil)
	_ adapters.Reactor           = (*Adapter)(nil)
	_ adapters.Buttoner          = (*Adapter)(nil)
	_ adapters.FileSender        = (*Adapter)(nil)
	_ adapters.FileFetcher       = (*Adapter)(nil)
	_ adapters.Directory         = (*Adapter)(nil)
	_ adapters.ConversationTyper = (*Adapter)(nil)
)

// New makes the adapter of one bot. It does not call Telegram. An error names
// every fault of the configuration.
func New(config Config) (*Adapter, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure telegram account %s: %w", cfg.Account, err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register telegram metrics: %w", err)
	}
	a := &Adapter{cfg: cfg, client: newClient(cfg, m), metrics: m, state: newState(cfg), typing: newTypingLimit(), own: newOwnMessages()}
	a.sdk, err = bot.New(string(cfg.Token), bot.WithServerURL(cfg.APIBase), bot.WithSkipGetMe(),
		bot.WithHTTPClient(cfg.CallTimeout, a.client), bot.WithErrorsHandler(a.sdkError))
	if err != nil {
		return nil, fmt.Errorf("make telegram client of account %s: %w", cfg.Account, a.client.redact(err))
	}
	return a, nil
}

// sdkError takes what the library can't return: failures to close pipes and bodies.
func (a *Adapter) sdkError(err error) {
	a.cfg.Log.Debug("telegram library reported", "error", a.client.redact(err))
}

// Channel is "telegram".
func (a *Adapter) Channel() string { return channelName }

// Account is the account's name in the configuration.
func (a *Adapter) Account() string { return a.cfg.Account }

// State tells how the account is doing.
func (a *Adapter) State() adapters.State { return a.state.read() }

// Run receives updates until ctx ends: it polls, or in webhook mode keeps the
// webhook set while [Adapter.ServeCallback] takes the updates.
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
	if err := a.connect(ctx); err != nil {
		return err
	}
	if a.cfg.Mode == Webhook {
		return a.keepWebhook(ctx)
	}
	return (&poller{Adapter: a, in: in}).run(ctx)
}

// connect learns who the bot is, trying until it knows.
func (a *Adapter) connect(ctx context.Context) error {
	return a.retry(ctx, "getMe", func(ctx context.Context) error {
		_, err := a.whoami(ctx)
		return err
	})
}

// whoami is the bot itself, asked for once.
func (a *Adapter) whoami(ctx context.Context) (*models.User, error) {
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
	a.self.Store(me)
	a.state.identify(peerOf(*me))
	return me, nil
}

func (a *Adapter) getMe(ctx context.Context) (*models.User, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	me, err := a.sdk.GetMe(ctx)
	if err != nil {
		return nil, a.failure("getMe", err)
	}
	return me, nil
}

// Probe asks Telegram who the bot is.
func (a *Adapter) Probe(ctx context.Context) (sessions.Peer, error) {
	me, err := a.getMe(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	return peerOf(*me), nil
}

// Backlog asks Telegram how many updates wait, and in webhook mode what went wrong with the last one that it posted.
func (a *Adapter) Backlog(ctx context.Context) (waiting int, detail string, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	info, err := a.sdk.GetWebhookInfo(ctx)
	if err != nil {
		return 0, "", a.failure("getWebhookInfo", err)
	}
	if a.cfg.Mode == Webhook {
		detail = valid(info.LastErrorMessage)
	}
	return info.PendingUpdateCount, detail, nil
}

// SetCommands publishes the commands in Telegram's menu for every chat.
func (a *Adapter) SetCommands(ctx context.Context, commands []adapters.Command) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	params := &bot.SetMyCommandsParams{}
	for _, c := range commands {
		params.Commands = append(params.Commands, models.BotCommand{Command: c.Name, Description: c.Description})
	}
	if _, err := a.sdk.SetMyCommands(ctx, params); err != nil {
		return a.failure("setMyCommands", err)
	}
	return nil
}

// failure maps a call's error for the port, and remembers a revoked token.
func (a *Adapter) failure(method string, err error) error {
	f := asFailure(method, a.client.redact(err))
	if f.Kind == adapters.Auth {
		a.state.fail(f)
	}
	return f
}

var errNoAnswer = errors.New("no answer from Telegram")

// Close drops the idle connections. Call it when the adapter is not used any more.
func (a *Adapter) Close() { a.client.closeIdle() }
