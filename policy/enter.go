package policy

import (
	"fmt"
	"strings"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Entry is a text that is about to become part of a session's thread.
type Entry struct {
	ID     string // names it for ever
	Record sessions.Record
	Route  sessions.Route // of its run
	Label  flow.Label
	Source string // message, agent, note, memory or skill
	User   string // the sender, as a principal
	Owner  bool
	Texts  []string
}

// Enter decides about a text that is about to become part of a session's thread. Redacted returns what may enter.
func (m *Monitor) Enter(e Entry) Decision {
	d := allowedDecision()
	who := SubjectOf(e.Record)
	ok := who.MayLearn(CheckInput, e.Label)
	d.addCheck(RuleClearance, !ok, Block, "text "+e.Label.Level().String()+", clearance "+who.Clearance.String())
	if !ok {
		d.tighten(Block, fmt.Sprintf("it is %s, and this conversation's clearance is %s; an owner can start a conversation with the clearance of policy.clearance by sending /new", e.Label.Level(), who.Clearance))
	}
	in := Input{ID: e.ID, Hook: PreContextInjection, Now: m.now(), Session: SessionOf(e.Record), Text: strings.Join(e.Texts, "\n"), Parts: e.Texts, Source: e.Source}
	in.Session.SpokenTo(e.Route, e.User, e.Owner)
	m.askRules(CheckRules, &in, &d, true)
	d.hideIn(m.secrets, in.Text, false)
	return d
}

// MayRise reports whether a session may rise to a label without anybody asking for it: either it could still answer
// in its own conversation, or policy.escalation is auto.
func (m *Monitor) MayRise(record sessions.Record, route sessions.Route, label flow.Label) bool {
	if m.escalation == EscalationAuto || CheckReport.skipped() {
		return true
	}
	above, _ := m.rises(SubjectOf(record), route, label)
	return !above
}

// Reset decides whether a session may be replaced by an empty one, or deleted. who is a principal, "operator", or
// "gateway" for expired sessions and finished sub-agents; the gateway does not count as an owner. Every end of a
// session is checked.
func (m *Monitor) Reset(record sessions.Record, who string, owner bool) Decision {
	d := allowedDecision()
	in := Input{ID: string(record.ID), Hook: SessionReset, Now: m.now(), Session: SessionOf(record)}
	in.Session.SpokenTo(sessions.Route{}, who, owner)
	m.askRules(CheckReset, &in, &d, true)
	return d
}

// Invocation is a text of one session that another one is about to work on.
type Invocation struct {
	ID   string // names the step for ever
	From sessions.Record
	To   sessions.Record
	Kind string // see [AgentInput]
	Text string
}

// Invoke decides about a step of an exchange. A step that would need approval is blocked, because nobody waits for
// it.
func (m *Monitor) Invoke(v Invocation) Decision {
	d := allowedDecision()
	in := Input{ID: v.ID, Hook: AgentInvocation, Now: m.now(), Session: SessionOf(v.From), Text: v.Text, Agent: AgentInput{Kind: v.Kind, To: string(v.To.Key)}}
	m.askRules(CheckInvocation, &in, &d, true)
	if d.Action == Hold {
		d.Action = Block
	}
	return d
}
