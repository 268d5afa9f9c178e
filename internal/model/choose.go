package model

import (
	"fmt"
	"slices"
	"strings"

	"sluice/internal/model/offline"
	"sluice/policy/flow"
)

// AnyModel in a provider's list of models stands for whatever name somebody gives.
const AnyModel = "*"

// choicesMax is how many models an error names at most.
const choicesMax = 20

// Choose says whether a session may be given a model, by a person or an agent: one that its provider's list has, or that the
// configuration itself uses. A name is a text like any other, which somebody else is then shown and a provider is told, so it is not
// anybody's to write. The error names the models whose provider may be told what is of the level knows.
func (r *Registry) Choose(name string, knows flow.Level) error {
	provider, model, ok := strings.Cut(name, "/")
	if ok && model != "" && r.listed(provider, model) {
		return nil
	}
	return fmt.Errorf("the model %q can't be chosen: want %s (see models.providers.<provider>.models in the configuration)", name, r.choices(knows))
}

func (r *Registry) listed(provider, model string) bool {
	list := r.lists[provider]
	if provider == Offline {
		list = append(offline.Names(), list...)
	}
	return slices.Contains(list, model) || slices.Contains(list, AnyModel)
}

// choices are the models that a session may be given that knows what is of a level, in words.
func (r *Registry) choices(knows flow.Level) string {
	var names []string
	for _, provider := range r.Providers() {
		level, list := flow.Restricted, r.lists[provider]
		if p, ok := r.providers[provider]; ok {
			level = p.Level()
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
		return "one that may see what this conversation has learnt, but none is configured"
	case len(names) > choicesMax:
		return fmt.Sprintf("one of %s and %d others", strings.Join(names[:choicesMax], ", "), len(names)-choicesMax)
	}
	return "one of " + strings.Join(names, ", ")
}
