package httpapi

import (
	"context"
	"errors"
	"slices"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Whatever shows the answer of a run asks here: the turn itself, whole or as events, those who follow the session, the run's
// row and the session's history. The gate decides for all of them as it does for the answer's delivery.

// aboveText stands for what a caller may not see of the answer to their own words.
const aboveText = "The answer is above your level and is not shown."

// withheldCode says for programs why an answer is withheld.
type withheldCode string

const (
	withheldLevel    withheldCode = "level"       // what the session has learnt is above the caller, or above the place
	withheldPolicy   withheldCode = "send_policy" // the send policy, or /send off
	withheldRule     withheldCode = "rule"        // a rule of policy.rules blocks it, or somebody has denied it
	withheldApproval withheldCode = "approval"    // somebody can still allow it
)

// withheldRecord says that an answer is withheld.
type withheldRecord struct {
	Code     withheldCode      `json:"code" enum:"level,send_policy,rule,approval" doc:"level: the answer is above the caller or the place; send_policy: sending is off; rule: a rule or a person forbids it; approval: somebody can still allow it"`
	Message  string            `json:"message" doc:"the same for people, with what the owner can do"`
	Delivery ledger.DeliveryID `json:"delivery,omitempty" doc:"the answer's delivery, which keeps the decision; absent once it is no longer kept"`
	Approval ledger.ApprovalID `json:"approval,omitempty" doc:"of code approval: what waits for somebody's decision"`
	Decision *policy.Decision  `json:"decision,omitempty" doc:"what the gate decided, with every rule that it looked at; absent where the answer is above the caller's level"`
}

// withheld is what a caller is told of an answer that the gate withholds. The decision names levels: only who may see the answer reads it.
func withheld(w *router.Withheld, seen bool) *withheldRecord {
	r := &withheldRecord{Code: withheldRule, Message: w.Message(), Delivery: w.Delivery, Approval: w.Approval}
	switch d := &w.Decision; {
	case d.AbovePlace():
		r.Code = withheldLevel
	case d.Action == policy.Hold:
		r.Code = withheldApproval
	case d.Unsent():
		r.Code = withheldPolicy
	}
	if seen {
		r.Decision = &w.Decision
	}
	return r
}

// ending is how a run has ended, as a caller is told.
type ending struct {
	text     string
	seen     bool // the caller may see all of it
	withheld *withheldRecord
}

// told is how their own turn has ended for a caller: the answer as the gate lets it out, or what says that it is withheld.
func (s *Server) told(ctx context.Context, run sessions.Run) (ending, error) {
	answer, seen, err := s.answer(ctx, run)
	switch {
	case err != nil:
		return ending{}, err
	case !seen && !onPage(ctx):
		s.denied(ctx, answer, whyAbove)
		return ending{text: aboveText, withheld: &withheldRecord{Code: withheldLevel, Message: aboveText}}, nil
	case run.Status != sessions.RunDone:
		return ending{text: run.Error, seen: seen}, nil
	}
	told, err := s.cfg.Router.Told(ctx, run, flow.Level{})
	if err != nil {
		return ending{}, err
	}
	out := ending{text: told.Text, seen: seen}
	if told.Withheld != nil {
		s.denied(ctx, answer, whyHeld)
		out.withheld = withheld(told.Withheld, seen)
		out.text = out.withheld.Message
	}
	return out, nil
}

// answer is what became of a caller's own turn, and whether they may see it.
func (s *Server) answer(ctx context.Context, run sessions.Run) (o object, seen bool, err error) {
	who := callerOf(ctx)
	taint, err := s.taintFor(ctx, who, run.Session)
	if err != nil {
		return o, false, err
	}
	o = object{"answer", string(run.ID), run.Session, run.Label.Join(taint)}
	return o, who.sees(o.label), nil
}

// followed is the end of a run as those are told who follow its session. The bus has it as it was decided then.
func (s *Server) followed(ctx context.Context, e sessions.Event) (eventRecord, error) {
	out := eventRecord{Event: e}
	if e.Type != sessions.EventDone {
		return out, nil
	}
	run, err := s.cfg.Store.Run(ctx, e.Run)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && (run.Kind.Step() || run.Status != sessions.RunDone) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	told, err := s.cfg.Router.Told(ctx, run, flow.Level{})
	if err != nil {
		return out, err
	}
	out.Text = told.Text
	if told.Withheld != nil {
		out.withhold(withheld(told.Withheld, true))
	}
	return out, nil
}

// runRecord is a run as the caller may read it.
func (s *Server) runRecord(ctx context.Context, run sessions.Run) (runRecord, error) {
	out := runOf(run)
	t, err := s.teller(ctx, run)
	if err != nil {
		return out, err
	}
	told, err := t(ctx, run.Reply)
	if err != nil {
		return out, err
	}
	if out.Reply = told.Text; told.Withheld != nil {
		out.Withheld = withheld(told.Withheld, true)
	}
	return out, nil
}

// teller asks the gate about what a run has said. What was asked for over the API was said over the API, wherever it is read. What was
// said on another channel passed that channel's gate; here it is a record, which the caller's level alone decides about.
func (s *Server) teller(ctx context.Context, run sessions.Run) (router.Teller, error) {
	if run.Route.Channel != s.cfg.PageRoute.Channel {
		run.Route = sessions.Route{}
	}
	return s.cfg.Router.Teller(ctx, run, callerOf(ctx).Level)
}

// tellHistory takes out of a session's history what the gate withholds of the agent's answers.
// Of a run that is not kept any more, the session says where it was spoken to and what was known.
func (s *Server) tellHistory(ctx context.Context, of sessions.Record, messages []messageRecord) error {
	tellers := map[sessions.RunID]router.Teller{}
	for i := range messages {
		m := &messages[i]
		if m.Role != string(sessions.RoleAssistant) || m.Run == "" {
			continue
		}
		t := tellers[m.Run]
		if t == nil {
			run, err := s.cfg.Store.Run(ctx, m.Run)
			if errors.Is(err, sessions.ErrNotFound) {
				run, err = sessions.Run{ID: m.Run, Session: of.ID, Kind: sessions.KindMessage, Route: of.Route, Label: of.Taint}, nil
			}
			if err != nil {
				return err
			}
			if t, err = s.teller(ctx, run); err != nil {
				return err
			}
			tellers[m.Run] = t
		}
		if err := m.tell(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// isWords reports whether a part is what the agent has said or thought.
func isWords(p sessions.Part) bool {
	return p.Type == sessions.PartText || p.Type == sessions.PartThinking
}

// tell leaves of a message what may be told of it.
func (m *messageRecord) tell(ctx context.Context, t router.Teller) error {
	if !slices.ContainsFunc(m.Parts, isWords) {
		return nil
	}
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		if !isWords(p) {
			continue
		}
		told, err := t(ctx, p.Text)
		if err != nil {
			return err
		}
		if told.Withheld != nil {
			m.Text, m.Withheld = "", withheld(told.Withheld, true)
			m.Parts = slices.DeleteFunc(parts, isWords)
			return nil
		}
		parts[i].Text = told.Text
	}
	m.Parts, m.Text = parts, sessions.Message{Parts: parts}.Text()
	return nil
}
