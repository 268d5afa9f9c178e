package router

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"sluice/announce"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// stepEnd is how a step of an exchange ended.
type stepEnd struct {
	run    *sessions.Run
	taint  flow.Label // of its session: what was said there is as secret
	result announce.Result
}

// advancePatiently is advance while the database is away: what an agent has said is kept meanwhile, so that it is asked once.
func (w *sessionWorker) advancePatiently(ctx context.Context, change *ledger.Change, end stepEnd) (say string, err error) {
	err = lanes.Patiently(ctx, func() (err error) {
		next := *change // without what a try that failed has added
		if say, err = w.advance(ctx, &next, end); err == nil {
			*change = next
		}
		return err
	})
	return say, err
}

// advance takes a step's end into its exchange. It adds to the change, which is
// that of the run's end, whatever follows: the next step, or the end and what it leaves. It
// returns what people shall hear; empty for nothing.
func (w *sessionWorker) advance(ctx context.Context, change *ledger.Change, end stepEnd) (say string, err error) {
	x, err := w.store.Exchange(ctx, end.run.Exchange)
	if err != nil {
		return "", fmt.Errorf("read exchange: %w", err)
	}
	if x.Run != end.run.ID || x.Phase == announce.Ended {
		return "", nil // stopped meanwhile
	}
	x.Revision++
	x.Label = x.Label.Join(end.taint)
	use := ledger.ChainUse{ID: x.Chain.ID, Tokens: end.result.Usage.InputTokens + end.result.Usage.OutputTokens, Started: x.Started}
	var step *announce.Step
	x.Exchange, step = announce.Next(x.Exchange, end.result, w.now())
	next, err := w.nextStep(ctx, change, &x, step, end)
	if err != nil {
		return "", err
	}
	if next != nil {
		x.Run = next.ID
		use.Steps = 1
		change.Enqueue = append(change.Enqueue, *next)
	} else {
		if say, err = w.endExchange(ctx, change, x, end); err != nil {
			return "", err
		}
		if say != "" && end.run.Route.IsZero() { // a report that no run of its own brings there
			change.Deliver = append(change.Deliver, w.lateReport(x, end, say))
			say = ""
		}
	}
	change.Exchanges = append(change.Exchanges, x)
	change.Chains = append(change.Chains, use)
	return say, nil
}

// nextStep is the run of the step that follows, after all that may hinder it; nil if the exchange has ended.
func (w *sessionWorker) nextStep(ctx context.Context, change *ledger.Change, x *ledger.Exchange, step *announce.Step, end stepEnd) (*sessions.Run, error) {
	if step != nil {
		use, err := w.store.Chain(ctx, x.Chain.ID)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read chain: %w", err)
		}
		if why := w.settings.Load().Exchanges.Spent(use, w.now()); why != "" {
			if x.Kind == announce.Spawn { // its report, which is all that is left, costs no step
				x.Detail = why
				x.Exchange, _ = announce.Next(x.Exchange, leftOut(*x), w.now())
			} else {
				x.Exchange = announce.Stop(x.Exchange, why, w.now())
			}
			return nil, nil
		}
	}
	for step != nil {
		record, err := w.party(ctx, step.Party)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return nil, fmt.Errorf("read session: %w", err)
		}
		if record.ID == end.run.Session {
			record.Taint = end.taint // what it has learnt in the step that ends is stored with it
		}
		label := end.taint
		if step.Phase == announce.Announcing {
			label = x.Label // it is told all that was said
		}
		run := w.stepRun(*x, *step, record, label)
		why := w.hindrance(change, x, step, &run, record, end)
		if why == "" {
			return &run, nil
		}
		x.Detail = why
		x.Exchange, step = announce.Next(x.Exchange, leftOut(*x), w.now())
	}
	return nil, nil
}

// leftOut is the result of a step that can't be taken: nothing is said. A task is
// reported all the same where there is somebody to hear it, without further words of the sub-agent.
func leftOut(x ledger.Exchange) announce.Result {
	r := announce.Result{Status: sessions.RunDone, Text: sessions.AnnounceSkip}
	if x.Kind == announce.Spawn && !x.Route.IsZero() {
		r.Text = ""
	}
	return r
}

// lateReport is the delivery of a task's report where the sub-agent can't say anything for it any more.
func (w *sessionWorker) lateReport(x ledger.Exchange, end stepEnd, text string) ledger.Delivery {
	d := w.compose.Delivery(ledger.KindAnnounce, x.Route, text, x.Label)
	d.Session, d.Run = end.run.Session, end.run.ID
	return d
}

// hindrance says why a step can't be taken; it is then left out. What a rule takes out of what it is told goes out of the exchange, too.
func (w *sessionWorker) hindrance(change *ledger.Change, x *ledger.Exchange, step *announce.Step, run *sessions.Run, record sessions.Record, end stepEnd) string {
	switch {
	case record.ID == "":
		return "one of the two sessions has ended"
	case !(policy.Subject{Taint: run.Label}).MayTell(policy.CheckExchangeStep, record.Taint.Level()):
		return "one side had learnt what the other may not be told"
	case step.Phase == announce.Announcing && run.Route.IsZero():
		return "nobody speaks to that session on a channel"
	}
	from := sessions.Record{ID: end.run.Session, Key: x.Requester.Key, Agent: x.Requester.Agent, Taint: end.taint}
	if from.ID == x.Target.Session {
		from.Key, from.Agent = x.Target.Key, x.Target.Agent
	}
	text := run.Input.Text
	if step.Phase == announce.Announcing && from.ID != record.ID {
		text = x.Latest // which its brief tells
	}
	d := w.monitor.Invoke(policy.Invocation{ID: run.EventKey, From: from, To: record, Kind: string(run.Kind), Text: text})
	change.Audit = append(change.Audit, sessions.AuditEntry{
		At: w.now(), Actor: "agent:" + from.Agent, Action: "invocation." + string(d.Action), Object: x.ID, Session: record.ID, Label: run.Label, Detail: d,
	})
	if d.Action == policy.Block {
		return "a rule forbids it: " + d.Reason
	}
	run.Input.Text, x.Latest = d.Redacted(run.Input.Text), d.Redacted(x.Latest)
	return ""
}

// party is the session of one side: the one that was there at the beginning, or
// the one that was begun under its key since; a zero one with ErrNotFound if there is neither.
func (w *sessionWorker) party(ctx context.Context, p announce.Party) (sessions.Record, error) {
	record, err := w.store.Session(ctx, p.Session)
	if err == nil && record.Ended.IsZero() {
		return record, nil
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return sessions.Record{}, err
	}
	return w.store.SessionByKey(ctx, p.Key)
}

// endExchange adds what an exchange's end leaves: the requester of a task gets a
// note, the sub-agent's session has done its work, and the audit trail says how it ended.
func (w *sessionWorker) endExchange(ctx context.Context, change *ledger.Change, x ledger.Exchange, end stepEnd) (say string, err error) {
	change.Audit = append(change.Audit, sessions.AuditEntry{
		At: w.now(), Actor: "agent:" + x.Target.Agent, Action: "exchange.ended", Object: x.ID, Session: x.Target.Session, Label: x.Label,
		Detail: map[string]string{"outcome": string(x.Outcome), "detail": x.Detail, "turns": strconv.Itoa(x.Turn)},
	})
	w.metrics.exchanges.WithLabelValues(string(x.Kind), string(x.Outcome)).Inc()
	if x.Kind != announce.Spawn {
		if x.Outcome != announce.Announced {
			return "", nil
		}
		return sessions.Shown(end.result.Text), nil
	}
	if err := w.endTask(ctx, change, x, end); err != nil {
		return "", err
	}
	report := announce.ReportOf(x.Exchange, sessions.Shown(end.result.Text)).Text()
	requester, err := w.party(ctx, x.Requester)
	switch {
	case err == nil:
		change.Enqueue = append(change.Enqueue, w.noteRun(requester, x, report, x.Label))
	case !errors.Is(err, sessions.ErrNotFound):
		return "", fmt.Errorf("read session: %w", err)
	}
	if x.Outcome != announce.Announced {
		return "", nil
	}
	return report, nil
}

// endTask lets a sub-agent's session end, if nobody has ended it already and no rule keeps it: at once, or some time after.
func (w *sessionWorker) endTask(ctx context.Context, change *ledger.Change, x ledger.Exchange, end stepEnd) error {
	child, err := w.party(ctx, x.Target)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	if child.ID == end.run.Session {
		child.Taint = end.taint // what it has learnt in the step that ends is stored with it
	}
	after := w.settings.Load().Exchanges.ArchiveAfter
	switch {
	case x.Discard:
		entry, kept := w.places.MayEnd(child, "gateway", false)
		change.Audit = append(change.Audit, entry)
		if kept == "" {
			change.End = append(change.End, sessions.End{ID: child.ID, At: w.now()})
		}
	case after > 0:
		ttl := w.now().Sub(child.Created) + after
		change.Patch = append(change.Patch, sessions.Patch{ID: child.ID, TTL: &ttl})
	}
	return nil
}
