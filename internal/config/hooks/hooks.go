// Package hooks has the configuration of hooks: the requests of other programs that the gateway takes in.
package hooks

import (
	"cmp"
	"maps"
	"slices"

	"sluice/adapters"
	"sluice/internal/config/automation"
	"sluice/internal/config/scalar"
	"sluice/internal/hook"
	"sluice/internal/hook/signature"
	"sluice/internal/pattern"
	"sluice/policy/flow"
	routing "sluice/router/hook"
)

// Hooks are the hooks by name.
type Hooks map[string]Hook

// Hook is what happens with the requests to one address, POST /hooks/<name>.
type Hook struct {
	Preset         string             `yaml:"preset" enum:"alertmanager,generic,github,gitlab,grafana,sentry,standard,stripe" doc:"The kind of sender. It decides how requests are signed, where their id is, and the defaults of filter, session and prompt. Default: generic."`
	Signature      string             `yaml:"signature" enum:"standard,svix,github,gitlab,slack,stripe,sentry,grafana,bearer,basic" doc:"How requests prove who sent them. Default: the preset's; for generic and alertmanager bearer."`
	Secrets        []adapters.Secret  `yaml:"secrets" doc:"Required. The secret that the sender knows too, for example ${GITHUB_HOOK_SECRET}. Several while one is replaced. standard and svix: whsec_… or whpk_…; basic: user:password; else at least 16 characters."`
	Classification flow.Level         `yaml:"classification,omitempty" doc:"Level of what the requests say. A session that the hook begins may learn at most this. Default: INTERNAL."`
	Filter         string             `yaml:"filter" doc:"CEL expression over payload, headers and query. Requests for which it is false, or that lack a field that it names, are listed and go no further."`
	Session        string             `yaml:"session" doc:"Key of the session, a template that begins with hook:. A request without one of its values gets a session of its own. Default: the preset's, else hook:<uuid>."`
	Agent          string             `yaml:"agent" doc:"Agent that is asked. Default: the default agent."`
	Prompt         string             `yaml:"prompt" doc:"What the agent is asked, a template over payload, headers, query and hook: docs/hooks.md."`
	Deliver        automation.Deliver `yaml:"deliver" doc:"Where the agent's reply is sent. Default: the first owner's direct chat."`
	Timeout        scalar.Duration    `yaml:"timeout" doc:"Longest time that the agent may work on one request. Default: agents.defaults.timeout."`
	Alert          Alert              `yaml:"alert,omitempty" doc:"Requests become alerts: no agent is asked. Needs alerts. alert: {} is enough for alertmanager, grafana, sentry, generic and standard: docs/hooks.md."`
}

var name = pattern.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Reader turns the settings into hooks. Report gets each fault with the key where it is.
type Reader struct {
	Hooks   Hooks
	Places  automation.Reader // reads where replies go
	Default string            // the default agent
	Alerts  bool              // alerts are on
	Report  func(path, text string)
}

// Read reads all hooks. Faulty ones are reported.
func (r Reader) Read() []routing.Hook {
	var all []routing.Hook
	for _, called := range slices.Sorted(maps.Keys(r.Hooks)) {
		h := r.Hooks[called]
		path := "hooks." + called
		if !name.MatchString(called) {
			r.Report(path, "want a name of a-z 0-9 _ -")
		}
		all = append(all, r.read(path, called, h))
	}
	return all
}

func (r Reader) read(path, called string, h Hook) routing.Hook {
	out := routing.Hook{Level: h.Classification, Timeout: h.Timeout.Std()}
	if !out.Level.Valid() {
		out.Level = flow.Internal
	}
	spec := hook.Spec{
		Name: called, Preset: h.Preset, Signature: signature.Scheme(h.Signature), Secrets: reveal(h.Secrets), Filter: h.Filter, Session: h.Session, Prompt: h.Prompt,
	}
	if h.Alert.given {
		r.checkAlert(path, h)
		spec.Alert = h.Alert.spec()
	} else {
		out.Agent = cmp.Or(h.Agent, r.Default)
		if h.Agent != "" {
			if err := r.Places.Agent(h.Agent); err != nil {
				r.Report(path+".agent", err.Error())
			}
		}
		out.Deliver = r.Places.Delivery(path+".deliver", h.Deliver)
	}
	out.Mapping = hook.Compile(spec, func(setting, text string) { r.Report(path+"."+setting, text) })
	return out
}

func reveal(secrets []adapters.Secret) []string {
	var plain []string
	for _, s := range secrets {
		plain = append(plain, s.Reveal())
	}
	return plain
}
