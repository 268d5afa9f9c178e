package app

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"sluice/internal/config"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// watchEvery is how often the configuration file is checked.
const watchEvery = 2 * time.Second

// liveGate is the gate of the current configuration.
type liveGate struct{ atomic.Pointer[policy.Gate] }

// Decide implements the router's gate.
func (g *liveGate) Decide(e policy.Egress) policy.Decision { return g.Load().Decide(e) }

// Carries implements the router's gate.
func (g *liveGate) Carries(e policy.Egress) flow.Level { return g.Load().Carries(e) }

// SinkLevel implements the router's gate.
func (g *liveGate) SinkLevel(route sessions.Route) flow.Level { return g.Load().SinkLevel(route) }

// liveMonitor is the monitor of the current configuration.
type liveMonitor struct{ atomic.Pointer[policy.Monitor] }

// Enter implements the router's monitor.
func (m *liveMonitor) Enter(e policy.Entry) policy.Decision { return m.Load().Enter(e) }

// MayRise implements the router's monitor.
func (m *liveMonitor) MayRise(record sessions.Record, route sessions.Route, label flow.Label) bool {
	return m.Load().MayRise(record, route, label)
}

// Reset implements the router's monitor.
func (m *liveMonitor) Reset(record sessions.Record, who string, owner bool) policy.Decision {
	return m.Load().Reset(record, who, owner)
}

// Invoke implements the router's monitor.
func (m *liveMonitor) Invoke(v policy.Invocation) policy.Decision { return m.Load().Invoke(v) }

// model finds a model of the current configuration.
func (a *App) model(name string) (sessions.Model, error) { return a.models.Load().Model(name) }

// chooseModel checks whether a session may use a model under the current configuration.
func (a *App) chooseModel(name string, knows flow.Level) error {
	return a.models.Load().Choose(name, knows)
}

// maxTemperature returns the highest temperature that a model accepts. Without a model, any is accepted.
func (a *App) maxTemperature(name string) float32 {
	m, err := a.model(name)
	if err != nil {
		return sessions.TemperatureMax
	}
	return sessions.MaxTemperature(m)
}

// adopt applies a configuration's gate and models, or neither.
func (a *App) adopt(cfg *config.Config) error {
	rules, err := policy.NewRules(cfg.Policy.PolicyRules())
	if err != nil {
		return fmt.Errorf("configure rules: %w", err)
	}
	rules.Continue(a.rules.Load())
	gate, err := newGate(cfg, rules, a.nodes.level)
	if err != nil {
		return fmt.Errorf("configure gate: %w", err)
	}
	models, err := newModels(a, cfg)
	if err != nil {
		return fmt.Errorf("configure models: %w", err)
	}
	secrets, err := newSecrets(cfg, a.token)
	if err != nil {
		return fmt.Errorf("configure secrets: %w", err)
	}
	monitor, err := policy.NewMonitor(policy.MonitorConfig{
		Rules: rules, Secrets: secrets, SinkLevel: gate.SinkLevel, Escalation: policy.Escalation(cfg.Policy.Escalation), Now: a.now,
	})
	if err != nil {
		return fmt.Errorf("configure policy: %w", err)
	}
	a.rules.Store(rules)
	a.gate.Store(gate.Hiding(secrets))
	a.monitor.Store(monitor)
	a.secrets.Store(secrets)
	a.models.Store(models)
	a.meter.Configure(meterSettings(cfg))
	a.voices.Configure(cfg.Media)
	a.limits.Store(&cfg.Limits)
	a.notify.Store(&cfg.A2A.Push)
	keys := nkeysOf(cfg)
	a.nkeys.Store(&keys)
	return nil
}

// Reload applies a checked configuration at once: access, policy, agents, models, MCP servers and queues. It returns
// the changed keys that need a restart.
func (a *App) Reload(cfg *config.Config) (waiting []string, err error) {
	if err := a.adopt(cfg); err != nil {
		return nil, err
	}
	a.bus.Agents.Recheck()
	a.roster.Configure(agentSettings(cfg, a.monitor.Load(), a.carriers))
	a.router.Configure(routerSettings(cfg))
	a.router.JobSource().Configure(cfg.Jobs(), cfg)
	a.router.Hooks().Configure(cfg.ReadHooks(func(string, string) {}))
	a.checks.Configure(cfg.CompiledChecks(nil))
	a.router.Alerts().Configure(cfg.AlertPlan())
	a.mcp.Configure(mcpServers(cfg))
	return waitsForRestart(a.cfg, cfg), nil
}

// waitsForRestart returns the changed keys among those that are read only at the start.
func waitsForRestart(old, next *config.Config) []string {
	var keys []string
	for _, k := range []struct {
		key       string
		old, next any
	}{
		{"gateway", old.Gateway, next.Gateway},
		{"state", old.State, next.State},
		{"store", old.Store, next.Store},
		{"bus", old.Bus, next.Bus},
		{"log", old.Log, next.Log},
		{"channels.telegram.accounts", old.Channels.Telegram.Accounts, next.Channels.Telegram.Accounts},
		{"channels.slack.accounts", old.Channels.Slack.Accounts, next.Channels.Slack.Accounts},
		{"channels.discord.accounts", old.Channels.Discord.Accounts, next.Channels.Discord.Accounts},
		{"channels.webchat.enabled", old.Channels.Webchat.Enabled, next.Channels.Webchat.Enabled},
		{"limits.partitions", old.Limits.Partitions, next.Limits.Partitions},
		{"alerts (tools of agents)", old.Alerts.Route.Receiver == "", next.Alerts.Route.Receiver == ""},
		{"limits.maxMessageBytes", old.Limits.MaxMessageBytes, next.Limits.MaxMessageBytes},
	} {
		if !reflect.DeepEqual(k.old, k.next) {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// watch applies the configuration file whenever it differs from the version seen last, until ctx ends. A file with faults
// changes nothing: the last good configuration stays in effect.
func (a *App) watch(ctx context.Context, path string, seen fileState, load func() (*config.Config, error)) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := stateOf(path); now != seen {
			seen = now
			a.reloadFile(ctx, path, load)
		}
	}
}

// fileState tells one version of a file from another.
type fileState struct {
	size     int64
	modified time.Time
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{} // between an editor's two renames
	}
	return fileState{info.Size(), info.ModTime()}
}

func (a *App) reloadFile(ctx context.Context, path string, load func() (*config.Config, error)) {
	cfg, err := load()
	if err == nil {
		var waiting []string
		if waiting, err = a.Reload(cfg); err == nil {
			a.log.Info("configuration applied", "file", path, "wait_for_restart", waiting)
			a.warnShared(ctx, cfg)
			return
		}
	}
	a.log.Error("configuration not applied; the last good one stays in effect", "file", path, "err", err)
}
