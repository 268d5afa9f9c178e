package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/sandbox"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Definition is one configured agent.
type Definition struct {
	ID           string
	Name         string // how it calls itself; empty: the id
	SystemPrompt string // template, see [sessions.ParsePrompt]; empty: a plain assistant's
	Model        string // "<provider>/<model>"
	Workspace    string // its folder, an absolute path; empty: its sessions have no files
	Thinking     sessions.ThinkingLevel
	Verbose      sessions.VerboseLevel
	Permission   sessions.PermissionMode // empty is auto
	Sandbox      sessions.SandboxMode    // empty is off
	// SeesAll lifts, for its sessions with a sandbox, the clamp to what they have started.
	SeesAll bool
	Tools   ToolFilter
	// FileLevel is that of its sessions' files; invalid: they are as secret as the session, which alone has them.
	FileLevel flow.Level
	Memory    MemorySettings
	// AllowAgents are the agents that it may start as sub-agents besides itself; "*" is any.
	AllowAgents []string

	prompt  *sessions.Prompt // of SystemPrompt
	unclear error            // why there is no prompt
}

// Settings is what the configuration says to the loop.
type Settings struct {
	Agents     []Definition
	Keyer      sessions.Keyer
	Owners     []string // principals, "<channel>:<user id>"
	Visibility Visibility
	// AgentToAgent says which agents may speak to each other.
	AgentToAgent AgentToAgent
	// SubagentTools are the tools of sub-agents: all but those of sessions, unless Allow names them, and but for Deny.
	SubagentTools ToolFilter
	Web           Web
	// Monitor judges what their tools read and write; required.
	Monitor *policy.Monitor
}

// Models finds a model by its name "<provider>/<model>". Its error names what to configure.
type Models func(name string) (sessions.Model, error)

// Store is what the loop and its tools read and write.
type Store interface {
	sessions.Store
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	ListSessions(ctx context.Context, q ledger.SessionQuery) ([]sessions.Record, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
	// Todos reads the items of a session, the oldest first.
	Todos(ctx context.Context, session sessions.ID) ([]sessions.Todo, error)
	// ChangeTodos applies a change to the items of a session in one transaction.
	ChangeTodos(ctx context.Context, c sessions.TodoChange) error
	// SaveMemory applies a save in one transaction.
	SaveMemory(ctx context.Context, s sessions.MemorySave) error
	// DeleteMemory applies a deletion in one transaction.
	DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error
	// MemoriesByKey reads what is in a scope under a key: one at most of each audience, the newest first.
	MemoriesByKey(ctx context.Context, s sessions.MemoryScope, key string) ([]sessions.Memory, error)
	// Memories lists what is in a scope.
	Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error)
	// SearchMemories finds memories by words, the best first and of equals the newest.
	SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error)
}

// Sender queues a proactive message.
type Sender func(ctx context.Context, p router.Proactive) (ledger.Delivery, error)

// Exchanges begins exchanges with other sessions, see [router.Router].
type Exchanges interface {
	StartExchange(ctx context.Context, a exchange.Ask) (ledger.Exchange, error)
	WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error)
	NewSubAgent(parent sessions.Record, agent, model, name string, label flow.Label) sessions.Record
	NewAgentSession(agent string) sessions.Record
}

// Config is what a Loop is made of. All fields but Media, RetryBudget, Sandbox, Remote, Pages, Quota and CommandLimits are required.
type Config struct {
	Settings   Settings
	Store      Store
	Models     Models
	Send       Sender
	Exchanges  Exchanges
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer

	// Media reads the content of a file that came with a message; nil: models are shown none.
	Media       func(ctx context.Context, id sessions.MediaID) ([]byte, error)
	RetryBudget time.Duration // for a model that fails, from its first failure; default 5 minutes
	// CheckPolicy says what the gate would decide, see [router.Router]; required.
	CheckPolicy func(ctx context.Context, c router.Check) (policy.Decision, error)
	Sandbox     Sandbox // runs the commands of the tool exec; nil: there is none
	// Remote are the tools of servers outside the gateway as they are now; nil: none. A run has those of its beginning.
	Remote func() []sessions.Tool
	// Choose gives an error for a model that no session may be given. It names those that a session may be given that knows
	// what is of a level. Nil: any that Models finds.
	Choose func(name string, knows flow.Level) error
	Pages  Pages            // gets the pages of web_fetch; nil: there is no such tool
	Quota  *workspace.Quota // bounds the files of sessions; nil: nothing does
	// CommandLimits are what a command of the tool exec may use as it is configured now; nil: [sandbox.Limits] at its zero value.
	CommandLimits func() sandbox.Limits
}

// Loop works the runs of all agents. It is safe for concurrent use.
type Loop struct {
	settings    atomic.Pointer[Settings]
	store       Store
	models      Models
	choose      func(name string, knows flow.Level) error
	send        Sender
	checkPolicy func(ctx context.Context, c router.Check) (policy.Decision, error)
	exchanges   Exchanges
	now         func() time.Time
	log         *slog.Logger
	metrics     *metrics
	budget      time.Duration
	media       func(ctx context.Context, id sessions.MediaID) ([]byte, error)
	sandbox     Sandbox
	tools       []sessions.Tool
	remote      func() []sessions.Tool
	pages       Pages
	leftovers   *leftovers
	quota       *workspace.Quota
	limits      func() sandbox.Limits
}

var _ router.Agent = (*Loop)(nil)

// New makes a Loop.
func New(c Config) (*Loop, error) {
	if c.Store == nil || c.Models == nil || c.Send == nil || c.CheckPolicy == nil || c.Exchanges == nil || c.Now == nil || c.Log == nil || c.Registerer == nil {
		return nil, errors.New("new agent loop: a required field is not set")
	}
	l := &Loop{
		store: c.Store, models: c.Models, send: c.Send, checkPolicy: c.CheckPolicy, exchanges: c.Exchanges, now: c.Now, log: c.Log,
		choose: c.Choose, metrics: newMetrics(c.Registerer), budget: c.RetryBudget, media: c.Media, sandbox: c.Sandbox, remote: c.Remote, pages: c.Pages,
		quota: c.Quota, limits: c.CommandLimits,
	}
	if c.Settings.Monitor == nil {
		return nil, errors.New("new agent loop: there is no monitor")
	}
	if l.limits == nil {
		l.limits = func() sandbox.Limits { return sandbox.Limits{} }
	}
	l.leftovers = newLeftovers(c.Log, c.Now, l.metrics)
	l.Configure(c.Settings)
	if l.budget == 0 {
		l.budget = 5 * time.Minute
	}
	l.tools = l.newTools()
	if err := checkTools(l.tools); err != nil {
		return nil, fmt.Errorf("new agent loop: %w", err)
	}
	return l, nil
}

// Configure gives the loop new settings. Sessions that are open keep the old ones until they are opened again.
func (l *Loop) Configure(s Settings) {
	s.Agents = slices.Clone(s.Agents)
	for i := range s.Agents {
		s.Agents[i].parse()
	}
	l.settings.Store(&s)
}

// ModelName implements [router.Agent].
func (l *Loop) ModelName(agent string) string {
	d, _ := l.definition(agent)
	return d.Model
}

func (l *Loop) definition(agent string) (Definition, bool) {
	for _, d := range l.settings.Load().Agents {
		if d.ID == agent {
			return d, true
		}
	}
	return Definition{}, false
}

// Open implements [router.Agent].
func (l *Loop) Open(ctx context.Context, record sessions.Record) (*sessions.Session, error) {
	d, ok := l.definition(record.Agent)
	if !ok {
		return nil, failed(fmt.Errorf("agent %q is not in the configuration", record.Agent),
			"The agent of this conversation is not there any more. My owner can put it back into agents.list.")
	}
	model, err := l.models(cmp.Or(record.Model.Raw(), d.Model))
	if err != nil { // its name is as secret as who has set it
		return nil, failed(err, "My model is not configured. Where it was set for this conversation, an owner can take it back with `/model default`; else my owner can see why with `sluice doctor`.")
	}
	s, err := sessions.LoadSession(ctx, l.store, record, l.now)
	if err != nil {
		return nil, err
	}
	if err := l.equip(ctx, s, d); err != nil {
		return nil, err
	}
	if l.media != nil {
		model = &seeing{Model: model, read: l.media, log: l.log}
	}
	s.SetModel(model)
	return s, nil
}

func failed(err error, public string) *sessions.WorkError {
	return &sessions.WorkError{Status: sessions.RunFailed, Public: public, Err: err}
}
