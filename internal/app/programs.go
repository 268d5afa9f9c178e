package app

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sluice/internal/agent"
	"sluice/internal/agent/roster"
	"sluice/internal/bus"
	"sluice/internal/config"
	"sluice/internal/config/agents"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/wire"
	"sluice/internal/program"
	"sluice/internal/program/command"
	"sluice/internal/program/peer"
	"sluice/internal/sandbox"
	"sluice/policy/flow"
	"sluice/sessions"
)

// carriers bring turns to the programs that are agents.
type carriers struct {
	bus      *bus.Agents
	commands *command.Commands
	peers    *peer.Peers
	now      func() time.Time
}

func newCarriers(a *App) carriers {
	return carriers{a.bus.Agents, command.New(command.Config{Sandbox: a.sandbox, Host: sandbox.Host{}, Limits: a.commandLimits}), peer.New(a.now), a.now}
}

// stop ends connections that no run uses.
func (c carriers) stop() {
	if c.peers != nil {
		c.peers.Close()
	}
}

// program is what works an agent's runs; nil: its model does.
func (c carriers) program(a config.Agent) *program.Program {
	p := &program.Program{Config: program.Config{
		Agent: a.ID, Kind: a.Kind, Classification: a.Program.Classification, Untrusted: a.Trust == "untrusted" || a.Trust == "" && a.Kind == agents.KindA2A, Timeout: a.Timeout.Std(),
		OwnProcess: a.Kind == agents.KindCommand, Now: c.now,
	}}
	switch a.Kind {
	case agents.KindNATS:
		p.Carrier = c.bus
	case agents.KindCommand:
		p.Carrier = c.commands.For(a.Command, a.Sandbox.Mode != "off")
	case agents.KindA2A:
		p.Carrier = c.peers.For(a.URL, a.Auth.Reveal())
	default:
		return nil
	}
	return p
}

// nkeysOf are the ids of the agents whose programs may connect to the embedded bus, by their public keys.
func nkeysOf(c *config.Config) map[string]string {
	ids := map[string]string{}
	for _, a := range c.Agents.List {
		if a.Nkey != "" {
			ids[a.Nkey] = a.ID
		}
	}
	return ids
}

// agentOf returns whose public nkey this is, see [bus.Config].
func (a *App) agentOf(nkey string) (id string, ok bool) {
	if known := a.nkeys.Load(); known != nil {
		id, ok = (*known)[nkey]
	}
	return id, ok
}

// listedAgents are the agents as the API shows them.
type listedAgents struct {
	roster *roster.Roster
	loop   *agent.Loop
	bus    *bus.Agents
	log    *slog.Logger
}

// Agents implements [operator.Agents].
func (l listedAgents) Agents(ctx context.Context) ([]operator.Agent, error) {
	settings := l.roster.Settings()
	instances := map[string][]operator.Instance{}
	if slices.ContainsFunc(settings.Agents, func(d roster.Definition) bool { return d.Program != nil && d.Program.Kind == agents.KindNATS }) {
		found, err := l.bus.Instances(ctx)
		if err != nil {
			l.log.Warn("cannot list the programs on the bus", "err", err)
			return nil, wire.Unavailable("the programs on the bus can't be listed at the moment; try again")
		}
		for _, i := range found {
			instances[i.Agent] = append(instances[i.Agent], operator.Instance{ID: i.ID, Version: i.Version, Started: i.Started, Turns: i.Turns})
		}
	}
	var all []operator.Agent
	for _, d := range settings.Agents {
		a := operator.Agent{ID: d.ID, Name: d.Name, Default: d.Default, Kind: agents.KindLoop, Model: d.Model, Instances: instances[d.ID]}
		if d.Program != nil {
			a.Kind, a.Model, a.Classification = d.Program.Kind, "", sessions.ModelLevel(d.Program).String()
		}
		all = append(all, a)
	}
	return all, nil
}

// Tools implements [operator.Agents].
func (l listedAgents) Tools(ctx context.Context, id string, reader flow.Level) ([]operator.AgentTool, error) {
	kit, ok, err := l.loop.ToolsOf(ctx, id, reader)
	if err != nil || !ok {
		return nil, err
	}
	words := map[sessions.Ruling]string{sessions.RulingRun: "allow", sessions.RulingAsk: "ask", sessions.RulingRefuse: "deny"}
	all := make([]operator.AgentTool, len(kit.Tools))
	for i := range kit.Tools {
		t := &kit.Tools[i]
		all[i] = operator.AgentTool{
			Name: t.Spec.Name, Description: t.Spec.Description, Reads: string(t.Flow.Reads), Writes: string(t.Flow.Writes), Permission: words[kit.Permission.Ruling(*t)],
		}
		if t.Remote != nil {
			all[i].Server = t.Remote.Server
		}
		if t.Flow.Reads == sessions.FlowOutside {
			all[i].Source = t.Flow.Source.String()
		}
		if t.Flow.Writes == sessions.FlowOutside {
			all[i].Sink = t.Flow.Sink.String()
		}
	}
	return all, nil
}
