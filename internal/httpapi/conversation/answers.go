package conversation

import (
	"context"
	"errors"
	"slices"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/disclose"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// Gate decides what may be said. Whatever shows the answer of a run asks it: the turn itself, whole or as events, those who
// follow the session, the run's row and the history. It decides as it does for the answer's delivery.
type Gate interface {
	// Disclose asks about a run's answer.
	Disclose(ctx context.Context, run sessions.Run, reader flow.Level) (disclose.Told, error)
	// Teller asks about everything that a run has said.
	Teller(ctx context.Context, run sessions.Run, reader flow.Level) (disclose.Teller, error)
}

// SendPermissions says what sessions may say.
type SendPermissions interface {
	// SendPermission says what a session may say on a route.
	SendPermission(ctx context.Context, record sessions.Record, route sessions.Route) (outbound.SendPermission, error)
}

// Answers asks the gate what callers may read of the agents' answers.
type Answers struct {
	Visible *view.Visibility
	Gate    Gate
	Runs    RunRows
	Channel string // of what is asked over the API
}

// aboveText replaces an answer that its own asker may not see.
const aboveText = "The reply is above your level and is not shown."

// withheldCode says for programs why an answer is withheld.
type withheldCode string

const (
	withheldLevel    withheldCode = "level"       // the session has learnt something above the caller, or above the place
	withheldPolicy   withheldCode = "send_policy" // the send policy, or /send off
	withheldRule     withheldCode = "rule"        // a rule of policy.rules blocks it, or a person denied it
	withheldApproval withheldCode = "approval"    // a person can still allow it
)

// withheldRecord says that an answer is withheld.
type withheldRecord struct {
	Code     withheldCode      `json:"code" enum:"level,send_policy,rule,approval" doc:"level: the reply is above the caller's or the place's level; send_policy: sending is off; rule: a rule or a person forbids it; approval: a person can still allow it"`
	Message  string            `json:"message" doc:"the same for people, with what the owner can do"`
	Delivery ledger.DeliveryID `json:"delivery,omitempty" doc:"the reply's delivery, which keeps the decision; absent once it is no longer kept"`
	Approval ledger.ApprovalID `json:"approval,omitempty" doc:"of code approval: what waits for a decision"`
	Decision *policy.Decision  `json:"decision,omitempty" doc:"what the gate decided, with every rule that it checked; absent if the reply is above the caller's level"`
}

// withheldOf is what a caller learns about a withheld answer. The decision names levels: only who may see the answer reads it.
func withheldOf(w *disclose.Withheld, seen bool) *withheldRecord {
	r := &withheldRecord{Code: withheldRule, Message: w.Message(), Delivery: w.Delivery, Approval: w.Approval}
	switch d := &w.Decision; {
	case d.AbovePlace():
		r.Code = withheldLevel
	case d.Action == policy.Hold:
		r.Code = withheldApproval
	case d.SendDenied():
		r.Code = withheldPolicy
	}
	if seen {
		r.Decision = &w.Decision
	}
	return r
}

// ending is how a run has ended, as its asker learns it.
type ending struct {
	text     string
	seen     bool // the caller may see everything about it
	withheld *withheldRecord
	calls    []sessions.ClientCall
}

// ending is how a caller's own turn has ended: the answer as the gate lets it out, or the notice that it is withheld.
func (a *Answers) ending(ctx context.Context, run sessions.Run) (ending, error) {
	who := auth.CallerOf(ctx)
	taint, err := a.Visible.Taint(ctx, who, run.Session)
	if err != nil {
		return ending{}, err
	}
	answer := denials.Object{Kind: "answer", ID: string(run.ID), Session: run.Session, Label: run.Label.Join(taint)}
	seen := who.Sees(answer.Label)
	switch {
	case !seen && !who.OnPage():
		a.Visible.Denials.Hidden(ctx, answer, denials.AboveLevel)
		return ending{text: aboveText, withheld: &withheldRecord{Code: withheldLevel, Message: aboveText}}, nil
	case run.Status != sessions.RunDone:
		return ending{text: run.Error, seen: seen}, nil
	}
	told, err := a.Gate.Disclose(ctx, run, flow.Level{})
	if err != nil {
		return ending{}, err
	}
	out := ending{text: told.Text, seen: seen, calls: told.Calls}
	if told.Withheld != nil {
		a.Visible.Denials.Hidden(ctx, answer, denials.HeldByGate)
		out.withheld = withheldOf(told.Withheld, seen)
		out.text = out.withheld.Message
	}
	return out, nil
}

// eventFor is an event as those who follow its session read it. The end of a run comes from the bus as it was decided then,
// so the gate is asked again.
func (a *Answers) eventFor(ctx context.Context, e sessions.Event) (EventRecord, error) {
	out := EventRecord{Event: e}
	if e.Type != sessions.EventDone {
		return out, nil
	}
	run, err := a.Runs.Run(ctx, e.Run)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && (run.Kind.Step() || run.Status != sessions.RunDone) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	told, err := a.Gate.Disclose(ctx, run, flow.Level{})
	if err != nil {
		return out, err
	}
	out.Text, out.Calls = told.Text, told.Calls
	if told.Withheld != nil {
		out.withhold(withheldOf(told.Withheld, true))
	}
	return out, nil
}

// record is a run as the caller may read it.
func (a *Answers) record(ctx context.Context, run sessions.Run) (runRecord, error) {
	out := runOf(run)
	told, err := a.Gate.Disclose(ctx, a.placed(run), auth.CallerOf(ctx).Level)
	if err != nil {
		return out, err
	}
	if out.Reply, out.Calls = told.Text, told.Calls; told.Withheld != nil {
		out.Withheld = withheldOf(told.Withheld, true)
	}
	return out, nil
}

// placed is a run at the place where the gate decides about what it has said. What was asked over the API is answered over the API,
// wherever it is read. What was said on another channel has passed that channel's gate; here only the caller's level counts.
func (a *Answers) placed(run sessions.Run) sessions.Run {
	if run.Route.Channel != a.Channel {
		run.Route = sessions.Route{}
	}
	return run
}

// filterHistory removes from a session's history those answers of the agent that the gate withholds.
func (a *Answers) filterHistory(ctx context.Context, of sessions.Record, messages []messageRecord) error {
	tellers := map[sessions.RunID]disclose.Teller{}
	for i := range messages {
		m := &messages[i]
		if m.Role != string(sessions.RoleAssistant) || m.Run == "" {
			continue
		}
		tell := tellers[m.Run]
		if tell == nil {
			var err error
			if tell, err = a.discloserOf(ctx, of, m.Run); err != nil {
				return err
			}
			tellers[m.Run] = tell
		}
		if err := m.filter(ctx, tell); err != nil {
			return err
		}
	}
	return nil
}

// discloserOf finds what a run may disclose, by its id. If the run is no longer kept, its session provides the place and the
// label.
func (a *Answers) discloserOf(ctx context.Context, of sessions.Record, id sessions.RunID) (disclose.Teller, error) {
	run, err := a.Runs.Run(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		run, err = sessions.Run{ID: id, Session: of.ID, Kind: sessions.KindMessage, Route: of.Route, Label: of.Taint}, nil
	}
	if err != nil {
		return nil, err
	}
	return a.Gate.Teller(ctx, a.placed(run), auth.CallerOf(ctx).Level)
}

// isAgentText reports whether a part is something that the agent has said or thought.
func isAgentText(p sessions.Part) bool {
	return p.Type == sessions.PartText || p.Type == sessions.PartThinking
}

// filter keeps of a message what may be read.
func (m *messageRecord) filter(ctx context.Context, tell disclose.Teller) error {
	if !slices.ContainsFunc(m.Parts, isAgentText) {
		return nil
	}
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		if !isAgentText(p) {
			continue
		}
		told, err := tell(ctx, p.Text)
		if err != nil {
			return err
		}
		if told.Withheld != nil {
			m.Text, m.Withheld = "", withheldOf(told.Withheld, true)
			m.Parts = slices.DeleteFunc(parts, isAgentText)
			return nil
		}
		parts[i].Text = told.Text
	}
	m.Parts, m.Text = parts, sessions.Message{Parts: parts}.Text()
	return nil
}
