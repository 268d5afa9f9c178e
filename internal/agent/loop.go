package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools/alerting"
	"sluice/internal/agent/tools/files"
	"sluice/internal/agent/tools/memory"
	"sluice/internal/agent/tools/schedule"
	"sluice/internal/agent/tools/session"
	"sluice/internal/agent/tools/skills"
	"sluice/internal/agent/tools/talk"
	"sluice/internal/agent/tools/todo"
	"sluice/internal/agent/tools/webfetch"
	"sluice/internal/agent/toolset"
	"sluice/internal/agent/visibility"
	"sluice/internal/model/chain"
	"sluice/internal/sandbox"
	"sluice/internal/skill"
	"sluice/internal/spending/standing"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	runs "sluice/router/work"
	"sluice/sessions"
)

// Models finds a model by its name "<provider>/<model>". Its error names what to configure.
type Models func(name string) (sessions.Model, error)

// Store is the database as the loop and its tools use it for sessions.
type Store interface {
	sessions.Store
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	ListSessions(ctx context.Context, q ledger.SessionQuery) ([]sessions.Record, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
}

// Sender queues a proactive message.
type Sender func(ctx context.Context, p outbound.Proactive) (ledger.Delivery, error)

// Exchanges starts exchanges with other sessions, see [exchange.Exchanges].
type Exchanges interface {
	talk.Exchanges
	NewAgentSession(agent string) sessions.Record
}

// Config has the dependencies of a Loop. All fields but Jobs, Alerts, Media, Archived, RetryBudget, Sandbox, Remote, Pages, Files, Skills, MediaMax and
// CommandLimits are required.
type Config struct {
	Roster     *roster.Roster
	Store      Store
	Memories   memory.Store
	Todos      todo.Store
	Models     Models
	Send       Sender
	Exchanges  Exchanges
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer

	Jobs   schedule.Jobs   // nil: agents can't make jobs
	Alerts alerting.Alerts // nil: agents have no tools for alerts
	// Media reads the content of an attached file; nil: models see no pictures.
	Media func(ctx context.Context, id sessions.MediaID) ([]byte, error)
	// Archived finds the archived session of a sub-agent by its key; nil: tools find archived sessions by their ids alone.
	Archived    func(ctx context.Context, key sessions.Key) (sessions.Record, error)
	RetryBudget time.Duration // how long a failing model is retried; default 5 minutes
	// Target finds the place of a configured target; nil if no targets are configured.
	Target func(name string) (outbound.Proactive, bool)
	// CheckPolicy returns the gate's decision without effects, see [outbound.Sender.CheckPolicy]; required.
	CheckPolicy func(ctx context.Context, c outbound.Check) (policy.Decision, error)
	Sandbox     files.Sandbox // runs the commands of the tool exec; may be nil
	// Remote are the current tools of external servers; nil: none. A run uses the tools at its start.
	Remote func() []sessions.Tool
	// Choose returns an error for a model that no session may use. The error names the models that a session with
	// data of the level may use. Nil: any model that Models finds.
	Choose func(name string, knows flow.Level) error
	// Spending reads the cost of model calls and what is left of budgets; nil: agents do not see either.
	Spending *standing.Reader
	Pages    webfetch.Pages    // fetches pages for web_fetch; nil: the tool does not exist
	Files    *workspace.Opener // opens the files of sessions; nil: without limits and marks
	Skills   *skill.Keeper     // keeps skills; nil: agents have none
	// MediaMax is the maximum size of a file that is sent, in bytes; nil or 0: that of a file that tools read.
	MediaMax func() int64
	// CommandLimits are the current limits of a command of the tool exec; nil: those of a zero [sandbox.Limits].
	CommandLimits func() sandbox.Limits
	// CommandGroups limit the commands of a session together; nil: each is limited by itself.
	CommandGroups *sandbox.Groups
}

func (c *Config) check() error {
	switch {
	case c.Roster == nil, c.Store == nil, c.Memories == nil, c.Todos == nil, c.Models == nil, c.Send == nil, c.CheckPolicy == nil, c.Exchanges == nil, c.Now == nil, c.Log == nil, c.Registerer == nil:
		return errors.New("a required field is not set")
	case c.Roster.Settings().Monitor == nil:
		return errors.New("there is no monitor")
	}
	return nil
}

// checkModel returns an error for a model that a session with data of the level may not use.
func (c *Config) checkModel(name string, knows flow.Level) error {
	if c.Choose != nil {
		return c.Choose(name, knows)
	}
	_, err := c.Models(name)
	return err
}

// Loop works the runs of all agents. It is safe for concurrent use.
type Loop struct {
	parts
	store   sessions.Store
	models  Models
	sandbox files.Sandbox
	media   func(ctx context.Context, id sessions.MediaID) ([]byte, error)
}

// parts are what the work on a run needs.
type parts struct {
	roster    *roster.Roster
	tools     *toolset.Toolset
	memories  *memory.Tools
	skills    *skills.Tools
	audiences *memory.Audiences
	exchanges exchangeReader
	keeper    keeper
	give      giver
	now       func() time.Time
	log       *slog.Logger
	metrics   *metrics
	budget    time.Duration
	find      Models
}

// exchangeReader reads an exchange by its id.
type exchangeReader interface {
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
}

var _ runs.Agent = (*Loop)(nil)

// New creates a Loop.
func New(c Config) (*Loop, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("new agent loop: %w", err)
	}
	if c.CommandLimits == nil {
		c.CommandLimits = func() sandbox.Limits { return sandbox.Limits{} }
	}
	agents := c.Roster
	own := newTools(&c, agents)
	all := own.all()
	if c.Jobs != nil {
		all = append(all, own.jobs.All()...)
	}
	if c.Alerts != nil {
		all = append(all, own.alerts.All()...)
	}
	set, err := toolset.New(toolset.Config{
		Roster: agents, Store: c.Store, Own: all, Web: own.web.All, Remote: c.Remote, Skills: own.skills.Of, IsSkill: skills.Is, Now: c.Now, Log: c.Log, Registerer: c.Registerer,
	})
	if err != nil {
		return nil, fmt.Errorf("new agent loop: %w", err)
	}
	return &Loop{
		parts: parts{
			roster: agents, tools: set, memories: &own.memory, skills: &own.skills, audiences: &memory.Audiences{Store: c.Store, Roster: agents}, exchanges: c.Store,
			keeper: keeper{read: c.Media, keep: own.files.Keep}, give: own.talk.Take,
			now: c.Now, log: c.Log, metrics: newMetrics(c.Registerer), budget: cmp.Or(c.RetryBudget, 5*time.Minute), find: c.Models,
		},
		store: c.Store, models: c.Models, sandbox: c.Sandbox, media: c.Media,
	}, nil
}

// ownTools are the tools of every agent, by purpose.
type ownTools struct {
	files   files.Tools
	memory  memory.Tools
	todo    todo.Tools
	web     webfetch.Tools
	session session.Tools
	talk    talk.Tools
	jobs    schedule.Tools
	alerts  alerting.Tools
	skills  skills.Tools
}

func newTools(c *Config, agents *roster.Roster) *ownTools {
	view := &visibility.Checker{Store: c.Store, Archived: c.Archived, Roster: agents, NewSession: c.Exchanges.NewAgentSession, Now: c.Now}
	own := &ownTools{
		files:  files.Tools{Store: c.Store, Roster: agents, Files: cmp.Or(c.Files, new(workspace.Opener)), Sandbox: c.Sandbox, Limits: c.CommandLimits, Groups: c.CommandGroups, Log: c.Log},
		memory: memory.Tools{Store: c.Memories, Roster: agents, Now: c.Now},
		todo:   todo.Tools{Store: c.Todos, Now: c.Now},
		web:    webfetch.Tools{Pages: c.Pages, Roster: agents, Log: c.Log},
		session: session.Tools{
			Store: c.Store, Sight: view, Roster: agents, Models: c.Models, CheckModel: c.checkModel, Spending: c.Spending, Now: c.Now,
		},
		talk: talk.Tools{
			Store: c.Store, Sight: view, Roster: agents, Exchanges: c.Exchanges, Send: c.Send, Target: c.Target, CheckPolicy: c.CheckPolicy, Models: c.Models, CheckModel: c.checkModel,
			FileMax: c.MediaMax, Now: c.Now, Log: c.Log,
		},
		jobs:   schedule.Tools{Jobs: c.Jobs, Now: c.Now},
		alerts: alerting.Tools{Alerts: c.Alerts, Now: c.Now},
		skills: skills.Tools{Keeper: c.Skills, Roster: agents, Now: c.Now, Log: c.Log},
	}
	own.talk.Files = own.files.Open
	own.skills.Run = func(ctx context.Context, caller sessions.Caller, s skills.Script) (sessions.ToolResult, error) {
		return own.files.RunScript(ctx, caller, files.Script(s))
	}
	return own
}

// all gives the tools that need no configuration.
func (o *ownTools) all() []sessions.Tool {
	return slices.Concat(o.session.All(), o.talk.All(), o.todo.All(), o.memory.All(), o.files.All())
}

// ToolNames are the names of the built-in tools, whatever is configured.
func ToolNames() []string {
	names := []string{webfetch.Name, toolset.SimulateName}
	none := &ownTools{}
	for _, tool := range slices.Concat(none.all(), none.jobs.All(), none.alerts.All(), none.skills.All()) {
		names = append(names, tool.Spec.Name)
	}
	return names
}

// Simulate returns the decision about a session's call, see [toolset.Toolset.Simulate].
func (l *Loop) Simulate(ctx context.Context, record sessions.Record, caller sessions.Caller, tool string, args json.RawMessage) (policy.Simulation, error) {
	return l.tools.Simulate(ctx, record, caller, tool, args)
}

// Open implements [runs.Agent].
func (l *Loop) Open(ctx context.Context, record sessions.Record) (*sessions.Session, error) {
	d, ok := l.roster.Definition(record.Agent)
	if !ok {
		return nil, failed(fmt.Errorf("agent %q is not in the configuration", record.Agent),
			"The agent of this conversation no longer exists. My owner can add it to agents.list again.")
	}
	model, err := l.modelOf(record, d)
	if err != nil { // the name is as secret as the session that set it
		return nil, failed(err, "My model is not configured. If it was set for this conversation, an owner can reset it with `/model default`. Otherwise my owner can see why with `sluice doctor`.")
	}
	s, err := sessions.LoadSession(ctx, l.store, record, l.now)
	if err != nil {
		return nil, err
	}
	if err := l.equip(ctx, s, d); err != nil {
		return nil, err
	}
	if l.media != nil && d.Program == nil {
		model = &seeing{Model: model, read: l.media, log: l.log}
	}
	s.SetModel(model)
	return s, nil
}

// modelOf is what answers in a session. A program replaces any model that was set for the session.
func (l *Loop) modelOf(record sessions.Record, d roster.Definition) (sessions.Model, error) {
	if d.Program != nil {
		return d.Program, nil
	}
	return l.models(chain.Expand(cmp.Or(record.Model.Raw(), d.Model), d.Model))
}

func failed(err error, public string) *sessions.WorkError {
	return &sessions.WorkError{Status: sessions.RunFailed, Public: public, Err: err}
}
