package telegram

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"golang.org/x/time/rate"

	"sluice/adapters"
	"sluice/sessions"
)

const channelName = "telegram"

// Adapter is one Telegram bot.
type Adapter struct {
	cfg    Config
	state  *state
	api    *api
	bot    *identity
	sender *sender
	intake *intake
	typing *rate.Limiter
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

// New creates the adapter of one bot. It does not call Telegram. Its error names every fault of the configuration.
func New(config Config) (*Adapter, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure telegram account %s: %w", cfg.Account, err)
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register telegram metrics: %w", err)
	}
	s := newState(cfg)
	w, err := newAPI(cfg, m, s)
	if err != nil {
		return nil, err
	}
	who, own := &identity{api: w, state: s}, newOwnMessages()
	return &Adapter{
		cfg: cfg, state: s, api: w, bot: who, typing: newTypingLimit(),
		sender: &sender{cfg: cfg, api: w, own: own},
		intake: &intake{cfg: cfg, metrics: m, state: s, api: w, bot: who, own: own},
	}, nil
}

// Channel is "telegram".
func (a *Adapter) Channel() string { return channelName }

// Account is the account's name in the configuration.
func (a *Adapter) Account() string { return a.cfg.Account }

// State returns the state of the account.
func (a *Adapter) State() adapters.State { return a.state.State() }

// Run receives updates until ctx ends: it polls, or in webhook mode it keeps the webhook set while
// [Adapter.ServeCallback] accepts the updates.
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

func (a *Adapter) run(ctx context.Context, in adapters.Acceptor) error {
	if err := a.bot.connect(ctx); err != nil {
		return err
	}
	if a.cfg.Mode == Webhook {
		return a.keepWebhook(ctx)
	}
	return (&poller{cfg: a.cfg, state: a.state, api: a.api, bot: a.bot, intake: a.intake, in: in}).run(ctx)
}

// Probe asks Telegram for the bot's profile.
func (a *Adapter) Probe(ctx context.Context) (sessions.Peer, error) {
	me, err := a.bot.getMe(ctx)
	if err != nil {
		return sessions.Peer{}, err
	}
	return peerOf(*me), nil
}

// Backlog asks Telegram how many updates wait and, in webhook mode, why the last delivery failed.
func (a *Adapter) Backlog(ctx context.Context) (waiting int, detail string, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	info, err := a.api.sdk.GetWebhookInfo(ctx)
	if err != nil {
		return 0, "", a.api.failure("getWebhookInfo", err)
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
	if _, err := a.api.sdk.SetMyCommands(ctx, params); err != nil {
		return a.api.failure("setMyCommands", err)
	}
	return nil
}

var errNoAnswer = errors.New("no answer from Telegram")

// Close drops the idle connections. Call it when the adapter is no longer used.
func (a *Adapter) Close() { a.api.client.closeIdle() }
