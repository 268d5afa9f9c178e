package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"sluice/internal/alert"
	"sluice/internal/config/alerts"
	"sluice/internal/config/automation"
	"sluice/internal/config/hint"
	"sluice/internal/config/hooks"
	"sluice/internal/config/tags"
	"sluice/router/hook"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/router/request"
)

// Jobs are the configured jobs; the configuration was checked.
func (c *Config) Jobs() []job.Job { return c.automation(func(string, string) {}).Jobs() }

// AlertPlan says who is notified about alerts; nil: alerts are off. The configuration was checked.
func (c *Config) AlertPlan() *alert.Plan {
	return alerts.Plan(c.Alerts, c.automation(func(string, string) {}))
}

func (c *Config) automation(report func(path, text string)) automation.Reader {
	var agents []string
	var beats []automation.AgentHeartbeat
	for _, a := range c.Agents.List {
		agents, beats = append(agents, a.ID), append(beats, automation.AgentHeartbeat{Agent: a.ID, Heartbeat: a.Heartbeat})
	}
	return automation.Reader{
		Cron: c.Cron, Targets: c.Targets, Channel: oneOf("no channel %q", tags.Of(reflect.TypeFor[Channels]()).Names()), Agent: oneOf("no agent %q in agents.list", agents),
		Check: oneOf("no check %q in checks", slices.Sorted(maps.Keys(c.Checks))), Heartbeats: beats, Report: report,
		Model: func(path, ref string) {
			c.Models.Reference(path, ref, func(path, format string, args ...any) { report(path, fmt.Sprintf(format, args...)) })
		},
	}
}

// oneOf gives an error for all names but some. The text has a %q for the name.
func oneOf(text string, known []string) func(name string) error {
	return func(name string) error {
		if slices.Contains(known, name) {
			return nil
		}
		if len(known) == 0 {
			return fmt.Errorf(text+": none is configured", name)
		}
		return fmt.Errorf(text+": %s", name, hint.For(name, known))
	}
}

// ReadJob implements [job.Reader]. The texts of a job made at run time are taken literally, also ${NAME}.
func (c *Config) ReadJob(row ledger.Job) (job.Job, error) {
	r := newReport("")
	reader := c.automation(func(path, text string) { r.add(path, "%s", text) })
	d := decoder{report: r, expand: expander{off: true}}
	read := reader.Made(row, func(n *yaml.Node, into *automation.Job) {
		d.value(n, reflect.ValueOf(into).Elem(), tags.Field{}, automation.MadePath)
	})
	if len(r.faults) > 0 {
		return read, &request.Error{Field: r.faults[0].Path, Text: r.faults[0].Text}
	}
	return read, nil
}

// ReadHooks reads the hooks and reports what is wrong with them.
func (c *Config) ReadHooks(report func(path, text string)) []hook.Hook {
	return hooks.Reader{Hooks: c.Hooks, Places: c.automation(report), Default: c.DefaultAgent().ID, Alerts: c.Alerts.Route.Receiver != "", Report: report}.Read()
}

// ModelsInUse returns the models and chains that the configuration names.
func (c *Config) ModelsInUse() []string {
	names := []string{c.Models.Default, c.Agents.Defaults.Model}
	for _, a := range c.Agents.List {
		names = append(names, a.Model, a.Compaction.Model)
	}
	for _, j := range c.Jobs() { // heartbeats are jobs too
		names = append(names, j.Model)
	}
	return names
}
