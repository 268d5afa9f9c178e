package api

import "time"

// ProviderList lists the providers of models.
type ProviderList struct {
	Providers []Provider `json:"providers"`
}

// Provider is a provider of models.
type Provider struct {
	Name           string        `json:"name"`
	Kind           string        `json:"kind"`
	Classification string        `json:"classification"`
	Region         string        `json:"region"`
	Host           string        `json:"host"`
	Keys           []ProviderKey `json:"keys"`
	Models         []struct {
		Name          string   `json:"name"`
		ContextWindow int      `json:"context_window"`
		Has           []string `json:"has"`
		Lacks         []string `json:"lacks"`
	} `json:"models"`
}

// ProviderKey is a key of a provider.
type ProviderKey struct {
	Name    string            `json:"name"`
	Problem *ProviderProblem  `json:"problem"`
	Models  []ProviderProblem `json:"models"`
}

// ProviderProblem is why a key or a model is not asked.
type ProviderProblem struct {
	Model string    `json:"model"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // zero: until a person has cleared it
}

// ProviderCheck is what the keys of a provider answered.
type ProviderCheck struct {
	Results []struct {
		Key    string `json:"key"`
		Model  string `json:"model"`
		OK     bool   `json:"ok"`
		Error  string `json:"error"`
		Millis int64  `json:"milliseconds"`
	} `json:"results"`
}

// Cleared lists what is asked again.
type Cleared struct {
	Cleared []string `json:"cleared"`
}
