package model

import (
	"fmt"
	"slices"
	"strings"

	"sluice/internal/model/chain"
	"sluice/internal/model/offline"
	"sluice/policy/flow"
)

// AnyModel in a provider's list allows every model name.
const AnyModel = "*"

// choicesMax is the maximum number of models named in an error.
const choicesMax = 20

// Choose checks whether a person or an agent may set a session's model: the provider's list must have it, or the
// configuration itself must use it. A name is shown to others and sent to a provider, so arbitrary texts are not
// allowed. The error names the models whose provider may get data of the level knows.
func (r *Registry) Choose(name string, knows flow.Level) error {
	names := chain.Names(name)
	if len(names) > chain.Max {
		return fmt.Errorf("%d models can't follow one another: name at most %d", len(names), chain.Max)
	}
	for i, one := range names {
		if one == chain.Auto && i == len(names)-1 && i > 0 {
			continue // the models of its agent
		}
		if provider, model, ok := strings.Cut(one, "/"); !ok || model == "" || !r.listed(provider, model) {
			return fmt.Errorf("the model %q can't be chosen: want %s (see models.providers.<provider>.models in the configuration)", one, r.choices(knows))
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("no model is named: want %s", r.choices(knows))
	}
	return nil
}

func (r *Registry) listed(provider, model string) bool {
	list := r.lists[provider]
	if provider == Offline {
		list = append(offline.Names(), list...)
	}
	return slices.Contains(list, model) || slices.Contains(list, AnyModel)
}

// choices describes the models for a session that knows data of a level.
func (r *Registry) choices(knows flow.Level) string {
	var names []string
	for _, provider := range r.Providers() {
		level, list := flow.Restricted, r.lists[provider]
		if p, ok := r.providers[provider]; ok {
			level = p.Classification
		} else {
			list = append(offline.Names(), list...)
		}
		if !flow.CanFlow(knows, level) {
			continue
		}
		for _, model := range slices.Sorted(slices.Values(list)) {
			if model == AnyModel {
				model = "<any name>"
			}
			names = append(names, provider+"/"+model)
		}
	}
	switch {
	case len(names) == 0:
		return "one that may see what this conversation has learned, but none is configured"
	case len(names) > choicesMax:
		return fmt.Sprintf("one of %s and %d others", strings.Join(names[:choicesMax], ", "), len(names)-choicesMax)
	}
	return "one of " + strings.Join(names, ", ")
}
