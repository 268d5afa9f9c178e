package app

import (
	"context"
	"fmt"
	"sync/atomic"

	"sluice/internal/config"
	"sluice/internal/configfile"
	"sluice/internal/model"
	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

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

// prepared is a configuration whose gate, monitor, models and secrets have been made. Nothing of it is in effect.
type prepared struct {
	cfg     *config.Config
	rules   *policy.Rules
	gate    *policy.Gate
	monitor *policy.Monitor
	models  *model.Registry
	secrets *policy.Secrets
}

// prepare makes what a configuration consists of. token is the gateway's own.
func (a *App) prepare(cfg *config.Config, token string) (p prepared, err error) {
	p.cfg = cfg
	if p.rules, err = condition.NewRules(cfg.Policy.PolicyRules()); err != nil {
		return p, fmt.Errorf("configure rules: %w", err)
	}
	p.rules.Continue(a.rules.Load())
	if p.gate, err = newGate(cfg, p.rules, a.nodes.level); err != nil {
		return p, fmt.Errorf("configure gate: %w", err)
	}
	if p.models, err = newModels(a, cfg); err != nil {
		return p, fmt.Errorf("configure models: %w", err)
	}
	if p.secrets, err = newSecrets(cfg, token); err != nil {
		return p, fmt.Errorf("configure secrets: %w", err)
	}
	p.monitor, err = policy.NewMonitor(policy.MonitorConfig{
		Rules: p.rules, Secrets: p.secrets, SinkLevel: p.gate.SinkLevel, Escalation: policy.Escalation(cfg.Policy.Escalation), Now: a.now,
	})
	if err != nil {
		return p, fmt.Errorf("configure policy: %w", err)
	}
	return p, nil
}

// adopt puts a prepared configuration into effect.
func (a *App) adopt(p prepared) {
	a.rules.Store(p.rules)
	a.gate.Store(p.gate.Hiding(p.secrets))
	a.monitor.Store(p.monitor)
	a.secrets.Store(p.secrets)
	if was := a.models.Swap(p.models); was != nil {
		was.ReplacedBy(p.models)
	}
	a.meter.Configure(meterSettings(p.cfg))
	a.voices.Configure(p.cfg.Media)
	a.limits.Store(&p.cfg.Limits)
	a.notify.Store(&p.cfg.A2A.Push)
	keys := nkeysOf(p.cfg)
	a.nkeys.Store(&keys)
}

// Reload applies a checked configuration at once. It returns the changed keys that need a restart.
func (a *App) Reload(cfg *config.Config) (waiting []string, err error) { return a.file.Apply(cfg) }

// apply puts a checked configuration into effect, or changes nothing: all that can fail comes first.
func (a *App) apply(cfg *config.Config) error {
	if !a.up.Load() { // the start goes on with the configuration that it has read
		return fmt.Errorf("try again in a moment: %w", errStarting)
	}
	token, err := apiToken(cfg)
	if err != nil {
		return err
	}
	access, err := accessOf(cfg, token)
	if err != nil {
		return err
	}
	accounts, err := configured(a.channels, a, cfg)
	if err != nil {
		return fmt.Errorf("configure channels: %w", err)
	}
	next, err := a.prepare(cfg, token)
	if err != nil {
		return err
	}
	if was := a.file.Running().Gateway.Listen; was != cfg.Gateway.Listen {
		if err := a.http.Move(context.Background(), cfg.Gateway.Listen); err != nil {
			return err
		}
		a.log.Info("the gateway listens on another address", "was", was, "is", a.Addr().String())
	}
	a.setToken(cfg, token)
	a.adopt(next)
	a.http.Configure(context.Background(), access)
	a.bus.Agents.Recheck()
	a.roster.Configure(agentSettings(cfg, a.monitor.Load(), a.carriers))
	a.router.Configure(routerSettings(cfg))
	a.channels.Put(accounts, a.supervisor)
	a.router.JobSource().Configure(cfg.Jobs(), cfg)
	a.router.Hooks().Configure(cfg.ReadHooks(func(string, string) {}))
	a.checks.Configure(cfg.CompiledChecks(nil))
	a.router.Alerts().Configure(cfg.AlertPlan())
	a.mcp.Configure(mcpServers(cfg))
	a.others.describe(cfg)
	return nil
}

// newFile connects the configuration with its file.
func newFile(a *App) *configfile.File {
	return configfile.New(a.Source, a.cfg, configfile.Gateway{
		Apply: a.apply, Warn: a.warnShared, Now: a.now, Log: a.log,
		Redact: func(text string) string { return a.secrets.Load().Redact(text) },
		Audit: func(ctx context.Context, by, action, object string, detail any) error {
			entry := sessions.AuditEntry{At: a.now(), Actor: by, Action: action, Object: object, Label: flow.Top(), Detail: detail}
			return a.store.Commit(ctx, ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{entry}}})
		},
	})
}
