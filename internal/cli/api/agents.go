package api

import "time"

// AgentList lists agents.
type AgentList struct {
	Agents []Agent `json:"agents"`
}

// Agent is an agent of the configuration.
type Agent struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Default        bool       `json:"default"`
	Kind           string     `json:"kind"`
	Model          string     `json:"model"`
	Classification string     `json:"classification"`
	Instances      []Instance `json:"instances"`
	Tools          []Tool     `json:"tools"`
}

// Tool is a tool that sessions of an agent have.
type Tool struct {
	Name       string `json:"name"`
	Permission string `json:"permission"`
	Source     string `json:"source"`
	Sink       string `json:"sink"`
}

// Instance is a program on the bus.
type Instance struct {
	ID      string    `json:"id"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Turns   int       `json:"turns"`
}
