package httpapi

import (
	"context"

	"sluice/internal/alert/intake"
	"sluice/internal/httpapi/a2aserver"
	"sluice/internal/httpapi/alerts"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/files"
	"sluice/internal/httpapi/hooks"
	"sluice/internal/httpapi/live"
	"sluice/internal/httpapi/nodes"
	"sluice/internal/httpapi/openai"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/overview"
	"sluice/internal/httpapi/people"
	"sluice/internal/httpapi/policies"
	"sluice/internal/httpapi/providers"
	"sluice/internal/httpapi/senders"
	"sluice/internal/httpapi/settings"
	"sluice/internal/httpapi/signin"
	"sluice/internal/httpapi/skills"
	"sluice/internal/httpapi/usage"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/why"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
)

// handlers are the groups of handlers.
type handlers struct {
	cfg *Config

	sessions  *conversation.SessionAPI
	history   *conversation.HistoryAPI
	turns     *conversation.TurnAPI
	wakes     *conversation.WakeAPI
	events    *conversation.EventAPI
	runs      *conversation.RunAPI
	exchanges *conversation.ExchangeAPI
	steps     *conversation.StepAPI
	files     *files.API

	deliveries *operator.DeliveryAPI
	media      *operator.MediaAPI
	approvals  *operator.ApprovalAPI
	allow      *operator.AllowAPI
	policy     *operator.PolicyAPI
	policies   *policies.API
	memories   *operator.MemoryAPI
	pairings   *operator.PairingAPI
	audit      *operator.AuditAPI
	logs       *operator.LogAPI
	jobs       *operator.JobAPI
	status     *operator.StatusAPI
	checks     *operator.CheckAPI
	agents     *operator.AgentAPI
	settings   *settings.API
	providers  *providers.API
	usage      *usage.API

	notify    *senders.NotifyAPI
	reporting *reporting // nil: alerts are not taken in

	signin   *signin.API
	overview *overview.API
	live     *live.API
	why      *why.API
	people   *people.API

	alerts *alerts.API
	hooks  *hooks.API
	nodes  *nodes.API
	skills *skills.API
	intake *hooks.Intake
	openai *openai.API
	a2a    *a2aserver.API
}

// reporting are the ways in for alerts.
type reporting struct {
	alertmanager *senders.AlertmanagerAPI
	pagerduty    *senders.PagerDutyAPI
	notes        *senders.NoteAPI
}

func newReporting(cfg *Config, visible *view.Visibility, tokens *auth.Tokens, pace *senders.Pace, bodies *wire.Unknown) *reporting {
	to := cfg.Alerting
	if to == nil {
		return nil
	}
	problem := problems{cfg.Log}.of
	defaults := func() intake.Defaults {
		return intake.Defaults{Now: cfg.Now(), ResolveTimeout: to.Tree().ResolveTimeout}
	}
	return &reporting{
		alertmanager: &senders.AlertmanagerAPI{
			Visible: visible, Alerts: to.Alerts, Silences: to.Silences, Tree: to.Tree, Pace: pace, Problem: problem,
			Version: cfg.Version, Started: cfg.Now(), Now: cfg.Now,
		},
		pagerduty: &senders.PagerDutyAPI{Alerts: to.Alerts, Tokens: tokens, Denials: visible.Denials, Pace: pace, Bodies: bodies, Problem: problem, Defaults: defaults},
		notes:     &senders.NoteAPI{Alerts: to.Alerts, Pace: pace, Defaults: defaults},
	}
}

// newHandlers wires the groups. Streams and waits end with ctx.
func newHandlers(ctx context.Context, cfg *Config, tokens *auth.Tokens, trail *denials.Trail) *handlers {
	gw, rows := &cfg.Gateway, &cfg.Rows
	visible := &view.Visibility{Resolver: gw.Resolver, Rows: rows.Sessions, SinkLevel: cfg.SinkLevel, Denials: trail}
	who := view.Identity{Route: cfg.PageRoute, Person: cfg.PagePerson}
	names := view.FileNames{Rows: rows.Media}
	cursors := wire.NewCursors(tokens.Secret())
	jobs := &operator.JobAPI{Visible: visible, Jobs: gw.Jobs, Rows: rows.Overview, Now: cfg.Now}
	answers := &conversation.Answers{Visible: visible, Gate: gw.Gate, Runs: rows.Runs, Channel: cfg.PageRoute.Channel}
	events := &conversation.EventAPI{Visible: visible, Events: gw.Events, Answers: answers, Cursors: cursors, Ending: ctx, Log: cfg.Log}
	turns := &conversation.TurnAPI{Visible: visible, Turns: gw.Turns, Work: gw.Work, Events: events, Runs: rows.Runs, Notices: rows.Deliveries, Answers: answers, Identity: who, Now: cfg.Now, Log: cfg.Log}
	runs := &conversation.RunAPI{Visible: visible, Work: gw.Work, Rows: rows.Runs, Calls: rows.Usage, Answers: answers, Ending: ctx}
	push := cfg.Push
	push.Tokens, push.Now = tokens, cfg.Now
	face := func(name string) *conversation.Face {
		return &conversation.Face{Name: name, Visible: visible, Runs: rows.Runs, Keeper: gw.Sessions}
	}
	pace, bodies := senders.NewPace(cfg.Now), wire.NewUnknown()
	status := &operator.StatusAPI{
		Visible: visible, Parts: cfg.Parts, Accounts: cfg.Accounts, Deliveries: rows.Deliveries, Refusals: rows.Why, Tokens: tokens, Denials: trail,
		Version: cfg.Version, Commands: cfg.Commands, Started: cfg.Now(), Now: cfg.Now,
	}
	asked := &operator.ApprovalAPI{Visible: visible, Rows: rows.Approvals, Approver: gw.Approver, Identity: who, Now: cfg.Now}
	return &handlers{
		cfg: cfg,

		sessions:  &conversation.SessionAPI{Visible: visible, Keeper: gw.Sessions, SendPermissions: gw.SendPermissions, Rows: rows.Sessions, Exchanges: rows.Exchanges, Models: cfg.Models, Now: cfg.Now},
		history:   &conversation.HistoryAPI{Visible: visible, Rows: rows.Sessions, Tree: rows.Tree, Notices: rows.Deliveries, Names: names, Answers: answers, Channel: cfg.PageRoute.Channel},
		turns:     turns,
		wakes:     &conversation.WakeAPI{Turns: turns, Heartbeats: gw.Heartbeats},
		events:    events,
		runs:      runs,
		exchanges: &conversation.ExchangeAPI{Visible: visible, Rows: rows.Exchanges, Tasks: gw.Tasks, Models: cfg.Models, Route: cfg.PageRoute},
		steps:     &conversation.StepAPI{Visible: visible, Steps: gw.Steps, Ending: ctx, Log: cfg.Log},
		files:     &files.API{Visible: visible, Keeper: gw.Sessions, Files: cfg.Files},

		deliveries: &operator.DeliveryAPI{Visible: visible, Outbox: gw.Outbox, Directory: gw.Directory, Keeper: gw.Deliveries, Rows: rows.Deliveries, Names: names, Identity: who},
		media:      &operator.MediaAPI{Visible: visible, Rows: rows.Media},
		approvals:  asked,
		allow:      &operator.AllowAPI{Approvals: asked, Keeper: gw.Always, Rows: rows.Allow},
		policy:     &operator.PolicyAPI{Visible: visible, Checker: gw.Checker, Simulator: gw.Simulator, Identity: who},
		policies:   &policies.API{Visible: visible, Checker: gw.Checker, Rules: cfg.Rules, Parse: cfg.Proposal, Past: gw.Past, Rows: rows.Policies},
		memories:   &operator.MemoryAPI{Visible: visible, Rows: rows.Memories, Writer: gw.Memories, Identity: who, Now: cfg.Now},
		pairings:   &operator.PairingAPI{Visible: visible, Pairings: gw.Pairings, Rows: rows.Pairings, Now: cfg.Now},
		jobs:       jobs,
		logs:       &operator.LogAPI{Logs: cfg.Logs},
		audit:      &operator.AuditAPI{Visible: visible, Rows: rows.Audit, Cursors: cursors},
		signin: signin.New(signin.Config{
			Tokens: tokens, Store: rows.Access, Denials: trail, PageLevel: func() flow.Level { return cfg.SinkLevel(cfg.PageRoute) }, PublicURL: cfg.PublicURL, Now: cfg.Now,
		}),
		alerts: &alerts.API{Visible: visible, Alerts: gw.Alerts, Deliveries: rows.Deliveries, Now: cfg.Now},
		hooks:  &hooks.API{Visible: visible, Keeper: gw.Hooks, Rows: rows.Hooks, Now: cfg.Now},
		nodes:  &nodes.API{Visible: visible, Nodes: gw.Nodes, Now: cfg.Now},
		skills: &skills.API{Visible: visible, Keeper: cfg.Skills.Keeper, Agent: cfg.Skills.Agent, Agents: cfg.Skills.Agents},
		a2a: &a2aserver.API{
			Face: face("a2a"), Turns: turns, Runs: runs, Agents: cfg.Peers, Push: &push, URL: cfg.PublicURL, Problem: problems{cfg.Log}.of, Version: cfg.Version, Log: cfg.Log,
		},
		openai: &openai.API{Face: face("openai"), Turns: turns, Agents: cfg.Published, Problem: problems{cfg.Log}.of, Started: cfg.Now(), Now: cfg.Now},
		intake: hooks.NewIntake(gw.Hooks, trail, bodies, cfg.Now),
		people: &people.API{Visible: visible, Rights: gw.Places, Settings: gw.PlaceSettings, Rows: rows.People, Page: cfg.PageRoute.Channel},
		why:    &why.API{Visible: visible, Rows: rows.Why, Memories: rows.Memories, Notes: rows.Notes, Alerts: gw.Alerts, Jobs: jobs, Cursors: cursors},
		live:   &live.API{Lines: cfg.Logs, Events: gw.Live, Sessions: events, Rows: rows.Live, Cursors: cursors, Ending: ctx, Log: cfg.Log},
		status: status, overview: &overview.API{Visible: visible, Status: status, Jobs: jobs, Rows: rows.Overview, Now: cfg.Now},

		checks:    &operator.CheckAPI{Checks: cfg.Checks},
		agents:    &operator.AgentAPI{Agents: cfg.Agents, Calls: rows.Usage, Now: cfg.Now},
		settings:  &settings.API{Keeper: cfg.Settings, Tokens: tokens},
		providers: cfg.Providers,
		usage:     &usage.API{Visible: visible, Ledger: rows.Usage, Standings: cfg.Budgets, Now: cfg.Now},
		notify:    &senders.NotifyAPI{Visible: visible, Targets: cfg.Targets, Outbox: gw.Outbox, Pace: pace},
		reporting: newReporting(cfg, visible, tokens, pace, bodies),
	}
}
