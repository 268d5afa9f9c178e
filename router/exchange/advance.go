package exchange

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"sluice/announce"
	"sluice/internal/spending"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// End is the end of an exchange's step.
type End struct {
	Run    *sessions.Run
	Taint  flow.Label // of its session: the reply is as secret
	Result announce.Result
}

// Advance records the end of a step in its exchange. It adds to the change of the run's end: the next step, or the
// end of the exchange with its effects. It returns the text that people see; may be empty. While the database is
// unavailable it waits and keeps the agent's answer, so that the agent is not asked twice.
func (e *Exchanges) Advance(ctx context.Context, change *ledger.Change, end End) (say string, err error) {
	err = lanes.Patiently(ctx, func() (err error) {
		next := *change // without the additions of a failed attempt
		if say, err = e.advance(ctx, &next, end); err == nil {
			*change = next
		}
		return err
	})
	return say, err
}

// advance is one attempt of Advance.
func (e *Exchanges) advance(ctx context.Context, change *ledger.Change, end End) (say string, err error) {
	x, err := e.store.Exchange(ctx, end.Run.Exchange)
	if err != nil {
		return "", fmt.Errorf("read exchange: %w", err)
	}
	if x.Run != end.Run.ID || x.Phase == announce.Ended {
		return "", nil // stopped in the meantime
	}
	x.Revision++
	x.Label = x.Label.Join(end.Taint)
	use := ledger.ChainUse{ID: x.Chain.ID, Tokens: end.Result.Usage.InputTokens + end.Result.Usage.OutputTokens, Started: x.Started}
	if x.Kind == announce.Spawn && x.Phase == announce.Asking { // its report says what it has cost
		if end.Result.Cost, err = e.costOf(ctx, change, end.Run); err != nil {
			return "", err
		}
	}
	var step *announce.Step
	x.Exchange, step = announce.Next(x.Exchange, end.Result, e.now())
	next, err := e.nextStep(ctx, change, &x, step, end)
	if err != nil {
		return "", err
	}
	if next != nil {
		x.Run = next.ID
		use.Steps = 1
		change.Enqueue = append(change.Enqueue, *next)
	} else {
		if say, err = e.endExchange(ctx, change, x, end); err != nil {
			return "", err
		}
		if say != "" && end.Run.Route.IsZero() { // a report that no later run delivers
			change.Deliver = append(change.Deliver, e.lateReport(x, end, say))
			say = ""
		}
	}
	change.Exchanges = append(change.Exchanges, x)
	change.Chains = append(change.Chains, use)
	return say, nil
}

// costOf is what the calls of a run have cost: those that are stored, and those that the change stores.
func (e *Exchanges) costOf(ctx context.Context, change *ledger.Change, run *sessions.Run) (string, error) {
	if e.spending == nil {
		return "", nil
	}
	sums, err := e.spending.RunCost(ctx, run.Session, run.ID)
	if err != nil {
		return "", fmt.Errorf("read the cost of a task: %w", err)
	}
	for _, p := range change.Postings {
		if c := &p.Call; c.Session == run.Session && c.Run == run.ID {
			sums = spending.Counted(sums, c)
		}
	}
	return spending.CostOf(sums), nil
}

// nextStep is the run of the next step, after all checks; nil if the exchange has ended.
func (e *Exchanges) nextStep(ctx context.Context, change *ledger.Change, x *ledger.Exchange, step *announce.Step, end End) (*sessions.Run, error) {
	if step != nil {
		use, err := e.store.Chain(ctx, x.Chain.ID)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read chain: %w", err)
		}
		if why := e.settings().Exchanges.Spent(use, e.now()); why != "" {
			if x.Kind == announce.Spawn { // only its report is left, which costs no step
				x.Detail = why
				x.Exchange, _ = announce.Next(x.Exchange, leftOut(*x), e.now())
			} else {
				x.Exchange = announce.Stop(x.Exchange, why, e.now())
			}
			return nil, nil
		}
	}
	for step != nil {
		record, err := e.party(ctx, step.Party)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read session: %w", err)
		}
		if record.ID == end.Run.Session {
			record.Taint = end.Taint // the label that the ending step reached is stored with it
		}
		label := end.Taint
		if step.Phase == announce.Announcing {
			label = x.Label // it reads everything that was said
		}
		run := e.stepRun(*x, *step, record, label)
		why := e.skipReason(change, x, step, &run, record, end)
		if why == "" {
			return &run, nil
		}
		x.Detail = why
		x.Exchange, step = announce.Next(x.Exchange, leftOut(*x), e.now())
	}
	return nil, nil
}

// leftOut is the result of a skipped step: nothing is said. A task is still reported if somebody can read the report,
// without further words of the sub-agent.
func leftOut(x ledger.Exchange) announce.Result {
	r := announce.Result{Status: sessions.RunDone, Text: sessions.AnnounceSkip}
	if x.Kind == announce.Spawn && !x.Route.IsZero() {
		r.Text = ""
	}
	return r
}

// lateReport is the delivery of a task's report if the sub-agent can no longer report itself.
func (e *Exchanges) lateReport(x ledger.Exchange, end End, text string) ledger.Delivery {
	d := e.delivery(ledger.KindAnnounce, x.Route, text, x.Label)
	d.Session, d.Run = end.Run.Session, end.Run.ID
	return d
}

// skipReason says why a step must be skipped. Text that a rule redacts is also removed from the exchange.
func (e *Exchanges) skipReason(change *ledger.Change, x *ledger.Exchange, step *announce.Step, run *sessions.Run, record sessions.Record, end End) string {
	switch {
	case record.ID == "":
		return "one of the two sessions has ended"
	case !(policy.Subject{Taint: run.Label}).MayTell(policy.CheckExchangeStep, record.Taint.Level()):
		return "one side has learned something that is above the other's clearance"
	case step.Phase == announce.Announcing && run.Route.IsZero():
		return "that session has no conversation on a channel"
	}
	from := sessions.Record{ID: end.Run.Session, Key: x.Requester.Key, Agent: x.Requester.Agent, Taint: end.Taint}
	if from.ID == x.Target.Session {
		from.Key, from.Agent = x.Target.Key, x.Target.Agent
	}
	text := run.Input.Text
	if step.Phase == announce.Announcing && from.ID != record.ID {
		text = x.Latest // its brief contains this
	}
	d := e.invoke(policy.Invocation{ID: run.EventKey, From: from, To: record, Kind: string(run.Kind), Text: text})
	change.Audit = append(change.Audit, sessions.AuditEntry{
		At: e.now(), Actor: "agent:" + from.Agent, Action: "invocation." + string(d.Action), Object: x.ID, Session: record.ID, Label: run.Label, Detail: d,
	})
	if d.Action == policy.Block {
		return "a rule forbids it: " + d.Reason
	}
	run.Input.Text, x.Latest = d.Redacted(run.Input.Text), d.Redacted(x.Latest)
	return ""
}

// party is the session of one side: the original one, or the one that has replaced it under the same key. If neither
// exists, it returns ErrNotFound.
func (e *Exchanges) party(ctx context.Context, p announce.Party) (sessions.Record, error) {
	record, err := e.store.Session(ctx, p.Session)
	if err == nil && record.Ended.IsZero() {
		return record, nil
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return sessions.Record{}, err
	}
	return e.store.SessionByKey(ctx, p.Key)
}

// endExchange adds the effects of an exchange's end: a note for the requester of a task, the end of the sub-agent's
// session, and an audit entry.
func (e *Exchanges) endExchange(ctx context.Context, change *ledger.Change, x ledger.Exchange, end End) (say string, err error) {
	change.Audit = append(change.Audit, sessions.AuditEntry{
		At: e.now(), Actor: "agent:" + x.Target.Agent, Action: "exchange.ended", Object: x.ID, Session: x.Target.Session, Label: x.Label,
		Detail: map[string]string{"outcome": string(x.Outcome), "detail": x.Detail, "turns": strconv.Itoa(x.Turn)},
	})
	e.ended.WithLabelValues(string(x.Kind), string(x.Outcome)).Inc()
	if x.Kind != announce.Spawn {
		if x.Outcome != announce.Announced {
			return "", nil
		}
		return sessions.VisibleText(end.Result.Text), nil
	}
	if err := e.endTask(ctx, change, x, end); err != nil {
		return "", err
	}
	report := announce.ReportOf(x.Exchange, sessions.VisibleText(end.Result.Text)).Text()
	requester, err := e.party(ctx, x.Requester)
	switch {
	case err == nil:
		change.Enqueue = append(change.Enqueue, e.noteRun(requester, x, report, x.Label))
	case !errors.Is(err, sessions.ErrNotFound):
		return "", fmt.Errorf("read session: %w", err)
	}
	if x.Outcome != announce.Announced {
		return "", nil
	}
	return report, nil
}

// endTask ends a sub-agent's session, at once or after a while, unless it has ended already or a rule keeps it.
func (e *Exchanges) endTask(ctx context.Context, change *ledger.Change, x ledger.Exchange, end End) error {
	child, err := e.party(ctx, x.Target)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	if child.ID == end.Run.Session {
		child.Taint = end.Taint // the label that the ending step reached is stored with it
	}
	after := e.settings().Exchanges.ArchiveAfter
	switch {
	case x.Discard:
		entry, kept := e.places.MayEnd(child, "gateway", false)
		change.Audit = append(change.Audit, entry)
		if kept == "" {
			change.End = append(change.End, sessions.End{ID: child.ID, At: e.now()})
		}
	case after > 0:
		ttl := e.now().Sub(child.Created) + after
		change.Patch = append(change.Patch, sessions.Patch{ID: child.ID, TTL: &ttl})
	}
	return nil
}

// noteRun puts a task's report into the requester's transcript, so that its agent knows it at the next message. The
// note is queued like every input, because a session has one writer.
func (e *Exchanges) noteRun(to sessions.Record, x ledger.Exchange, report string, label flow.Label) sessions.Run {
	return sessions.Run{
		ID: sessions.NewRunID(), Session: to.ID, Partition: to.Partition, Kind: sessions.KindNote, Status: sessions.RunQueued,
		Input: sessions.Input{Text: report, Sender: sessions.Peer{ID: sessions.UserID(x.Target.Key), Name: x.Target.Agent, Bot: true}},
		Label: label, Chain: x.Chain, Accepted: e.now(), EventKey: "exchange/" + x.ID + "/note",
	}
}
