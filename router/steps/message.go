package steps

import (
	"encoding/json"
	"time"

	"sluice/announce"
	"sluice/internal/telemetry"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// The types of messages, by what the step asks its agent for.
const (
	TypeAsk      = "sluice.exchange.ask"      // work on a request or a task
	TypeReply    = "sluice.exchange.reply"    // answer the other side
	TypeAnnounce = "sluice.exchange.announce" // tell the people of the session the result
	TypeReport   = "sluice.exchange.report"   // report a task to who gave it
)

// Message is a step on the bus: a CloudEvent 1.0 in JSON. docs/bus.schema.json describes it for other programs. It names
// texts by their run and does not contain them: who reads the bus reads no conversation.
type Message struct {
	SpecVersion string    `json:"specversion"` // always "1.0"
	ID          string    `json:"id"`          // of the run: the same each time the step is published
	Source      string    `json:"source"`      // "/sessions/<id>" of the side that made the step, or "/exchanges/<id>" for a person or program
	Type        string    `json:"type"`
	Subject     string    `json:"subject"` // id of the session that works the step
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`       // always "application/json"
	TraceParent string    `json:"traceparent,omitempty"` // of the exchange, if traces are on: CloudEvents' extension for distributed tracing
	Data        StepData  `json:"data"`
}

// StepData is what a message says about its step.
type StepData struct {
	Exchange string         `json:"exchange"`
	Chain    string         `json:"chain"`
	Phase    announce.Phase `json:"phase"`
	Turn     int            `json:"turn"`          // of phase replying, from 1; otherwise that of the last reply
	From     announce.Party `json:"from,omitzero"` // zero for a person or program
	To       announce.Party `json:"to"`
	Run      sessions.RunID `json:"run"`
	Label    flow.Label     `json:"label"`             // of the step's text
	Deadline time.Time      `json:"deadline,omitzero"` // when the work is cancelled if it starts at once
}

// encode makes the message of a step. limit is how long a run may take; 0: any time.
func encode(run sessions.Run, x ledger.Exchange, limit time.Duration, tracer *telemetry.Tracer) ([]byte, error) {
	to, from := x.Target, x.Requester
	if run.Session == x.Requester.Session && run.Kind == sessions.KindReply {
		to, from = from, to
	}
	to.Session = run.Session // another session may have replaced the party's under the same key
	m := Message{
		SpecVersion: "1.0", ID: string(run.ID), Source: "/exchanges/" + x.ID, Type: typeOf(run.Kind), Subject: string(run.Session),
		Time: run.Accepted.UTC(), ContentType: "application/json",
		Data: StepData{
			Exchange: x.ID, Chain: run.Chain.ID, Phase: x.Phase, Turn: x.Turn, From: from, To: to, Run: run.ID, Label: run.Label,
		},
	}
	if trace := telemetry.TraceOf(string(run.ID), run.Chain.ID); tracer.On() {
		m.TraceParent = tracer.Header(tracer.Exchange(trace, x.ID))
	}
	if from.Session != "" {
		m.Source = "/sessions/" + string(from.Session)
	}
	if run.Timeout > 0 {
		limit = run.Timeout
	}
	if limit > 0 {
		m.Data.Deadline = run.Accepted.Add(limit).UTC()
	}
	return json.Marshal(m)
}

func typeOf(kind sessions.RunKind) string {
	switch kind {
	case sessions.KindReply:
		return TypeReply
	case sessions.KindAnnounce:
		return TypeAnnounce
	case sessions.KindReport:
		return TypeReport
	}
	return TypeAsk
}
