// Package providers has the handlers for the providers of models: they list them, say which keys and models do not work, and
// let a person use these again.
package providers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/internal/model/chain"
	"sluice/internal/model/cooldown"
	"sluice/policy/flow"
	"sluice/sessions"
)

// API serves the providers.
type API struct {
	Providers func() []chain.Provider // of the current configuration
	Board     *cooldown.Board
	Audit     func(ctx context.Context, entry sessions.AuditEntry) error
	Now       func() time.Time
}

// Provider is a provider of the configuration.
type Provider struct {
	Name           string          `json:"name"`
	Kind           string          `json:"kind" enum:"anthropic,openai"`
	Classification string          `json:"classification" doc:"highest level that may be sent to it"`
	Region         string          `json:"region,omitempty" doc:"the note of the configuration"`
	Host           string          `json:"host" doc:"of its API"`
	Limits         *ProviderLimits `json:"limits,omitempty" doc:"of each key, in each gateway process"`
	Keys           []ProviderKey   `json:"keys"`
	Models         []ProviderModel `json:"models" doc:"those that the configuration names"`
}

// ProviderLimits are those of each key.
type ProviderLimits struct {
	Requests   string `json:"requests,omitempty"`
	Tokens     string `json:"tokens,omitempty"`
	Concurrent int    `json:"concurrent,omitempty"`
}

// ProviderKey is an API key, by its place in the configuration.
type ProviderKey struct {
	Name    string            `json:"name"`
	Problem *ProviderProblem  `json:"problem,omitempty" doc:"why it is not used, with any model"`
	Models  []ProviderProblem `json:"models,omitempty" doc:"models that do not work with it"`
}

// ProviderProblem is why a key or a model is not asked.
type ProviderProblem struct {
	Model   string     `json:"model,omitempty"`
	Kind    string     `json:"kind" doc:"of the failure, such as overloaded, rate_limited, auth or billing"`
	Text    string     `json:"text"`
	Since   time.Time  `json:"since"`
	Until   *time.Time `json:"until,omitempty" doc:"when it is tried again; absent: only after a person has cleared it"`
	Attempt int        `json:"attempt" doc:"failures in a row"`
}

// ProviderModel is a model that the configuration names.
type ProviderModel struct {
	Name          string   `json:"name" doc:"<provider>/<model>"`
	ContextWindow int      `json:"context_window,omitempty" doc:"tokens; left out if it is not known"`
	Has           []string `json:"has" doc:"what it can do"`
	Lacks         []string `json:"lacks" doc:"what it can't do; an ability in neither list is tried"`
}

type providerList struct {
	Providers []Provider `json:"providers"`
}

// List lists the providers whose level the caller sees: what fails there depends on what was sent there.
func (a *API) List(ctx context.Context, _ *struct{}) (*wire.Body[providerList], error) {
	out := providerList{Providers: []Provider{}}
	states := a.Board.List()
	for _, p := range a.visible(ctx) {
		out.Providers = append(out.Providers, record(&p, states))
	}
	return wire.NewBody(out), nil
}

func (a *API) visible(ctx context.Context) (all []chain.Provider) {
	who := auth.CallerOf(ctx)
	for _, p := range a.Providers() {
		if who.Sees(flow.NewLabel(p.Level, flow.Trusted)) {
			all = append(all, p)
		}
	}
	return all
}

// find is a provider that the caller sees.
func (a *API) find(ctx context.Context, name string) (chain.Provider, error) {
	for _, p := range a.visible(ctx) {
		if p.Name == name {
			return p, nil
		}
	}
	return chain.Provider{}, wire.ErrNotFound
}

func record(p *chain.Provider, states []cooldown.State) Provider {
	out := Provider{Name: p.Name, Kind: p.Kind, Classification: p.Level.String(), Region: p.Region, Host: p.Host, Keys: []ProviderKey{}, Models: []ProviderModel{}}
	if p.Limits != (chain.Limits{}) {
		out.Limits = &ProviderLimits{p.Limits.Requests.String(), p.Limits.Tokens.String(), p.Limits.Concurrent}
	}
	for _, name := range p.Keys {
		k := ProviderKey{Name: name}
		for i := range states {
			s := &states[i]
			switch {
			case s.Provider != p.Name || s.Key != name:
			case s.Model == "":
				k.Problem = problem(s)
			default:
				k.Models = append(k.Models, *problem(s))
			}
		}
		out.Keys = append(out.Keys, k)
	}
	for _, m := range p.Models {
		out.Models = append(out.Models, ProviderModel{m.Name, m.Can.Window, m.Can.Has.Names(), m.Can.Lacks.Names()})
	}
	return out
}

func problem(s *cooldown.State) *ProviderProblem {
	p := &ProviderProblem{Model: s.Model, Kind: string(s.Kind), Text: s.Why(), Since: s.Since, Attempt: s.Step}
	if !s.Blocked() {
		p.Until = &s.Until
	}
	return p
}

type clearInput struct {
	Provider string `path:"provider" maxLength:"64" doc:"its name"`
	Key      string `query:"key" doc:"the name of a key; default: all"`
}

type providerCleared struct {
	Cleared []string `json:"cleared" doc:"keys and models that are used again"`
}

// Clear ends what keeps a provider's keys and models from being asked.
func (a *API) Clear(ctx context.Context, in *clearInput) (*wire.Body[providerCleared], error) {
	p, err := a.find(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	states, err := a.Board.Clear(ctx, func(at cooldown.Place) bool {
		return at.Provider == p.Name && (in.Key == "" || at.Key == in.Key)
	})
	if err != nil {
		return nil, err
	}
	out := providerCleared{Cleared: []string{}}
	for _, s := range states {
		out.Cleared = append(out.Cleared, s.Place.String())
	}
	if len(states) == 0 {
		return wire.NewBody(out), nil
	}
	return wire.NewBody(out), a.Audit(ctx, sessions.AuditEntry{
		At: a.Now(), Actor: auth.CallerOf(ctx).Actor(), Action: "model.clear", Object: p.Name, Label: flow.NewLabel(p.Level, flow.Trusted),
		Detail: map[string]string{"cleared": strings.Join(out.Cleared, ", ")},
	})
}

// Times and sizes of a check.
const (
	checkTime   = 60 * time.Second
	checkTokens = 16
)

type checkInput struct {
	Provider string `path:"provider" maxLength:"64" doc:"its name"`
	Model    string `query:"model" doc:"the provider's name for a model that the configuration names; default: the first"`
}

// ProviderResult is what a key answered.
type ProviderResult struct {
	Key    string `json:"key"`
	Model  string `json:"model"`
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
	Millis int64  `json:"milliseconds"`
}

type providerCheck struct {
	Results []ProviderResult `json:"results"`
}

// Check asks a provider's model for a word, with each key. What answers is used again.
func (a *API) Check(ctx context.Context, in *checkInput) (*wire.Body[providerCheck], error) {
	p, err := a.find(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	entry := pick(&p, in.Model)
	if entry == nil {
		return nil, wire.NewError(http.StatusNotFound, "not_found", "the configuration names no such model of this provider: see models.providers."+p.Name+".models")
	}
	out := providerCheck{Results: []ProviderResult{}}
	for _, l := range entry.Links {
		out.Results = append(out.Results, a.ask(ctx, entry, l))
	}
	return wire.NewBody(out), nil
}

func pick(p *chain.Provider, model string) *chain.Entry {
	for _, e := range p.Models {
		if model == "" || e.Name == p.Name+"/"+model {
			return e
		}
	}
	return nil
}

// ask asks with one key.
func (a *API) ask(ctx context.Context, e *chain.Entry, l *chain.Link) ProviderResult {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	started := a.Now()
	_, err := l.Ask.Complete(ctx, sessions.Request{
		MaxTokens: checkTokens, Label: flow.NewLabel(flow.Public, flow.Trusted),
		Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("Answer with one word: ready", flow.NewLabel(flow.Public, flow.Trusted))}}},
	}, func(sessions.Chunk) {})
	r := ProviderResult{Key: l.Key, Model: e.Name, OK: err == nil, Millis: a.Now().Sub(started).Milliseconds()}
	if err == nil {
		a.Board.Worked(ctx, l.Place())
		return r
	}
	r.Error = err.Error()
	if me, ok := errors.AsType[*sessions.ModelError](err); ok && ctx.Err() == nil && chain.Moves(me.Kind) { // a caller who has gone says nothing about the model
		a.Board.Failed(ctx, l.Place(), l.Mark, me)
	}
	return r
}
