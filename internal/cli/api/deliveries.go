package api

import (
	"encoding/json"
	"time"
)

// Route is where a delivery goes.
type Route struct {
	Channel      string `json:"channel"`
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Thread       string `json:"thread"`
	Title        string `json:"title"`
}

// String is "<channel>/<account> <conversation>", with "#<thread>" in a thread.
func (r Route) String() string {
	if r.Channel == "" {
		return ""
	}
	s := r.Channel + "/" + r.Account + " " + r.Conversation
	if r.Thread != "" {
		s += "#" + r.Thread
	}
	return s
}

// Decision is what the gate decided.
type Decision struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Rules  []Rule `json:"rules"`
}

// Rule is a rule that was checked for a decision.
type Rule struct {
	Rule    string `json:"rule"`
	Matched bool   `json:"matched"`
	Action  string `json:"action"`
	Detail  string `json:"detail"`
}

// Simulation is what would happen to a tool call.
type Simulation struct {
	Tool           string `json:"tool_name"`
	Decision       string `json:"decision"`
	Reason         string `json:"reason"`
	Level          string `json:"level"`
	ResultingLevel string `json:"resulting_level"`
	Rules          []Rule `json:"rules"`
}

// DeliveryList is a page of deliveries, with the number of all deliveries by status.
type DeliveryList struct {
	Deliveries []Delivery     `json:"deliveries"`
	Counts     map[string]int `json:"counts"`
}

// Delivery is a message on its way out.
type Delivery struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Route  Route  `json:"route"`
	Text   string `json:"text"`
	Files  []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"files"`
	Label    json.RawMessage `json:"label"`
	Session  string          `json:"session"`
	Run      string          `json:"run"`
	ResendOf string          `json:"resend_of"`
	Attempts int             `json:"attempts"`
	Error    string          `json:"error"`
	Decision *Decision       `json:"decision"`
	Created  time.Time       `json:"created"`
}

// Settled reports whether the delivery has reached a final status.
func (d Delivery) Settled() bool {
	return d.Status != "queued" && d.Status != "held" && d.Status != "sending"
}

// Expected is the delivery's status, or the one that it will have when the gate's decision is carried out.
func (d Delivery) Expected() string {
	if d.Status != "queued" || d.Decision == nil {
		return d.Status
	}
	switch d.Decision.Action {
	case "block":
		return "blocked"
	case "hold":
		return "held"
	}
	return d.Status
}
