package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"sluice/announce"
	"sluice/internal/agent/summarize"
	"sluice/internal/aside"
	"sluice/internal/model/chain"
	"sluice/internal/pause"
	"sluice/internal/program"
	"sluice/internal/spending"
	"sluice/router/ledger"
	runs "sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/port"
)

const (
	stepsMax       = 50 // completions of one run
	compactionsMax = 3  // of one run
	firstRetry     = time.Second
	retryMax       = 30 * time.Second
	// nearlyFull is the share of a model's context at which the thread is shortened before the model complains.
	nearlyFull = 0.85
)

// truncated is appended to an answer that reached the model's limit.
const truncated = "\n\n_(The reply ends here because it reached the model's limit.)_"

// work is the work on one run. One goroutine uses it.
type work struct {
	parts
	session     *sessions.Session
	run         *sessions.Run
	emit        func(sessions.Event)
	inbox       runs.Inbox // nil for none
	approver    runs.Approver
	usage       summarize.Tally
	compactions int
	usedTools   bool
	attached    bool             // whether the reply may have files
	cut         bool             // whether the last answer reached the model's limit
	program     *program.Program // works the run; nil: the model does

	// Of a run whose client has functions.
	given  map[string]json.RawMessage // arguments that the client gets, by the model's id of the call
	handed []sessions.ClientCall      // with which the run ends
	asks   sessions.Message           // the answer with them
}

// Work implements [runs.Agent].
func (l *Loop) Work(ctx context.Context, a *runs.Assignment) (*runs.Answer, error) {
	w := l.newWork(a)
	if p, ok := a.Session.Model().(*program.Program); ok {
		var end func()
		ctx, end = w.entrust(ctx, p, l.programFolder(a.Session, p))
		defer end()
	}
	port.BeginTurn(w.session.Model())
	w.session.SetSkip(w.skip)
	defer w.session.SetSkip(nil)
	var err error
	var counted context.Context
	aside.Do(func() {
		w.event(sessions.Event{Type: sessions.EventStarted})
		counted = spending.With(ctx, ledger.OriginOf(w.run, w.session.Record().Agent)) //nolint:fatcontext // it is set once
		err = w.prepare(counted)
	})
	defer w.session.SetMonitor(nil)
	if err == nil {
		err = w.perform(counted)
	}
	if err != nil {
		return nil, w.ended(counted, err)
	}
	return w.answer(counted)
}

func (l *Loop) newWork(a *runs.Assignment) *work {
	return &work{parts: l.parts, session: a.Session, run: a.Run, emit: a.Emit, inbox: a.Inbox, approver: a.Approver}
}

// perform works the run with the functions of its client.
func (w *work) perform(ctx context.Context) error {
	withdraw, err := w.offer()
	defer withdraw()
	if err != nil {
		return err
	}
	return w.steps(ctx)
}

// prepare gives the session what the run brings.
func (w *work) prepare(ctx context.Context) error {
	if err := w.tools.Refresh(ctx, w.session); err != nil {
		return err
	}
	if err := w.receive(ctx); err != nil {
		return err
	}
	report, err := w.brief(ctx)
	if err != nil {
		return err
	}
	w.monitor(report)
	return nil
}

// steps asks the model and runs the tools that it calls, until it answers or calls functions of the client.
func (w *work) steps(ctx context.Context) error {
	if err := w.resume(ctx); err != nil {
		return err
	}
	if handed, err := w.handOver(); handed || err != nil {
		return err
	}
	for range stepsMax {
		if err := w.listen(ctx); err != nil {
			return err
		}
		if err := w.complete(ctx); err != nil {
			return err
		}
		if len(w.session.PendingToolCalls()) == 0 {
			return nil
		}
		if err := w.executeOpen(ctx); err != nil {
			return err
		}
		if handed, err := w.handOver(); handed || err != nil {
			return err
		}
	}
	return failed(fmt.Errorf("no final reply after %d completions", stepsMax),
		"I kept using my tools without reaching an answer, and gave up. Please rephrase the question.")
}

// event emits an event of the run. Events are large, so that they get a frame of their own.
//
//go:noinline
func (w *work) event(e sessions.Event) {
	e.Session, e.Run, e.At = w.run.Session, w.run.ID, w.now()
	w.emit(e)
}

// brief tells the model which skills it has, what it remembers about the topic and, in a step of an exchange, what the step is about. It
// returns the route on which a sub-agent's work is reported.
func (w *work) brief(ctx context.Context) (report sessions.Route, err error) {
	told, err := w.skills.Brief(ctx, w.session, w.run)
	if err != nil {
		return report, err
	}
	remembered, err := w.recall(ctx)
	if err != nil {
		return report, err
	}
	if told != "" {
		remembered = strings.TrimSpace(told + "\n\n" + remembered)
	}
	if !w.run.Kind.Step() {
		w.session.SetBriefing(remembered)
		return report, nil
	}
	x, err := w.exchanges.Exchange(ctx, w.run.Exchange)
	if err != nil {
		return report, fmt.Errorf("read exchange: %w", err)
	}
	w.session.SetBriefing(strings.TrimSpace(remembered + "\n\n" + announce.Brief(x.Exchange)))
	return x.Route, nil
}

// recall is the part of the prompt about memories.
func (w *work) recall(ctx context.Context) (string, error) {
	if !w.memories.Recalls(w.session) {
		return "", nil
	}
	audience, err := w.audiences.Of(ctx, w.session.Record(), w.run)
	if err != nil {
		return "", err
	}
	return w.memories.Recall(ctx, w.session, w.run, audience)
}

// complete finishes one completion: it retries failures, and shortens a thread that is too long. Thousands of
// goroutines wait for their models below this function, so it must use little stack.
func (w *work) complete(ctx context.Context) error {
	full := w.nearlyFull()
	var tries retries
	for {
		err := w.try(ctx, &full)
		if err == nil {
			return nil
		}
		if err := tries.await(ctx, w, err); err != nil {
			return err
		}
	}
}

// retries are those of one completion.
type retries struct {
	count  int
	waits  *backoff.ExponentialBackOff
	giveUp time.Time
}

// await waits until a failed completion may be tried again. It returns an error if it may not.
func (r *retries) await(ctx context.Context, w *work, err error) error {
	me, ok := errors.AsType[*sessions.ModelError](err)
	if !ok || ctx.Err() != nil || !me.Retryable() {
		return err
	}
	if r.waits == nil {
		r.waits = backoff.NewExponentialBackOff()
		r.waits.InitialInterval, r.waits.MaxInterval = firstRetry, retryMax
		r.giveUp = w.now().Add(w.budget)
	}
	wait := max(r.waits.NextBackOff(), me.RetryAfter)
	if w.now().Add(wait).After(r.giveUp) {
		return err
	}
	r.count++
	w.log.Warn("model failed; trying again", "run", string(w.run.ID), "attempt", r.count, "retry_in", wait.String(), "err", me)
	w.event(sessions.Event{Type: sessions.EventRetrying, Attempt: r.count})
	return pause.Wait(ctx, wait)
}

// try asks the model once. It shortens the thread first if it is nearly full, and again whenever the model says that
// it is too long. A summary may fail like any completion.
func (w *work) try(ctx context.Context, full *bool) error {
	if *full {
		if err := w.compact(ctx); err != nil && !errors.Is(err, sessions.ErrNothingToCompact) {
			return err
		}
		*full = false
	}
	for {
		err := w.step(ctx)
		me, ok := errors.AsType[*sessions.ModelError](err)
		if !ok || me.Kind != sessions.ModelOverflow || ctx.Err() != nil {
			return err
		}
		if err := w.shorten(ctx, me); err != nil {
			return err
		}
	}
}

// step asks the model once and emits its answer. What follows the wait for the model has a frame of its own.
func (w *work) step(ctx context.Context) error {
	model, started := w.session.Model().Name(), w.now()
	completion, err := w.session.Complete(ctx, w.hear)
	w.observe(model, started, &completion, err)
	return err
}

// hear emits a chunk of the answer.
func (w *work) hear(c sessions.Chunk) {
	switch {
	case c.Void:
		w.event(sessions.Event{Type: sessions.EventRetrying, Attempt: 1})
	case c.Type == sessions.PartText:
		w.event(sessions.Event{Type: sessions.EventDelta, Text: c.Text})
	case c.Type == sessions.PartThinking:
		w.event(sessions.Event{Type: sessions.EventThinking, Text: c.Text})
	}
}

// observe counts a completion.
func (w *work) observe(model string, started time.Time, c *sessions.Completion, err error) {
	w.metrics.seconds.WithLabelValues(model).Observe(w.now().Sub(started).Seconds())
	if err != nil {
		w.metrics.completions.WithLabelValues(model, failureKind(err)).Inc()
		return
	}
	model = cmp.Or(c.Model, model)
	w.metrics.completions.WithLabelValues(model, "ok").Inc()
	w.cut = c.Truncated
	w.usage.Add(c.Usage)
	w.metrics.tokens.WithLabelValues(model, "input").Add(float64(c.Usage.InputTokens))
	w.metrics.tokens.WithLabelValues(model, "output").Add(float64(c.Usage.OutputTokens))
}

func failureKind(err error) string {
	if me, ok := errors.AsType[*sessions.ModelError](err); ok {
		return string(me.Kind)
	}
	return "not_asked"
}

// mayBeSilent reports whether an empty reply in a run of this kind means silence. Where somebody waits for it, it is a failure.
func mayBeSilent(k sessions.RunKind) bool {
	return k == sessions.KindTrigger || k == sessions.KindReply || k == sessions.KindAnnounce
}

// answer is the run's result: the last message is a plain answer, or the client has calls to work on.
func (w *work) answer(ctx context.Context) (*runs.Answer, error) {
	if len(w.handed) > 0 {
		return &runs.Answer{Text: w.asks.Text(), Model: w.asks.Model, Usage: w.usage.Get(), Calls: w.handed}, nil
	}
	last := w.session.Last()
	text := last.Text()
	if strings.TrimSpace(text) == "" && !w.usedTools && (w.cut || !mayBeSilent(w.run.Kind)) {
		if w.program != nil {
			return nil, failed(errors.New("the program's reply is empty"), "The program that answers here gave an empty reply. Please ask again.")
		}
		return nil, failed(errors.New("the reply is empty"), "My model gave an empty reply. Please ask again.")
	}
	if w.cut {
		text += truncated
	}
	answer := &runs.Answer{Text: text, Model: last.Model, Usage: w.usage.Get()}
	w.attach(ctx, answer)
	return answer, nil
}

// ended describes the run's failure for the person who waits and for the operator.
func (w *work) ended(ctx context.Context, err error) error {
	if known, ok := errors.AsType[*sessions.WorkError](err); ok {
		return known
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &sessions.WorkError{Status: sessions.RunTimeout, Err: err, Public: "I ran out of time for this. Please ask for less at once, or try again."}
	}
	if errors.Is(err, sessions.ErrModelLevel) {
		if w.program != nil {
			return failed(err, "The program that answers here is not allowed to see this conversation. My owner can raise its classification in agents.list, or start over with /new.")
		}
		return failed(err, "My model is not allowed to see this conversation. My owner can raise "+levelSettings(w)+", or start over with /new.")
	}
	if reached, ok := errors.AsType[*spending.Reached](err); ok {
		return overBudget(ctx, w, reached, err)
	}
	me, ok := errors.AsType[*sessions.ModelError](err)
	if !ok {
		return err
	}
	if errors.Is(err, port.ErrDeclined) {
		return failed(err, "My model declined to answer this.")
	}
	if w.program != nil {
		return programFailed(me)
	}
	switch me.Kind {
	case sessions.ModelAuth, port.ModelForbidden:
		return failed(err, "The model refused my access. My owner needs to check its API key.")
	case port.ModelBilling:
		return failed(err, "The account of my model has no money left. My owner needs to add credit.")
	case port.ModelMissing:
		return failed(err, "My model does not exist at its provider. My owner needs to correct its name.")
	case sessions.ModelOverflow:
		return failed(err, "This is too long for my model, and I could not shorten it. Please send less at once, or start over with /new.")
	case sessions.ModelRefused:
		return failed(err, "The model did not accept this request. My owner can see why with `sluice runs list --status failed`.")
	default:
		return failed(err, fmt.Sprintf("My model is not responding (%s), even after several attempts. Please try again later.", summarize.Trouble(me.Kind)))
	}
}

// overBudget ends the run, unless it waits for an owner's answer about a higher limit. Nobody is asked for unattended work.
func overBudget(ctx context.Context, w *work, reached *spending.Reached, err error) error {
	if reached.Budget.AtLimit != spending.RuleAsk || spending.OriginOf(ctx).Unattended {
		return failed(err, reached.Public())
	}
	if err := w.session.Persist(ctx); err != nil {
		return err
	}
	sentence, asked := w.approver.Raise(ctx, reached)
	if asked != nil {
		return asked
	}
	return failed(err, sentence)
}

// levelSettings are the settings of which one has to be higher, so that a model may see the conversation. Models that were
// set for the session are not named: their names may be secret.
func levelSettings(w *work) string {
	settings := []string{"models.providers.<provider>.classification"}
	if d, ok := w.roster.Definition(w.session.Record().Agent); ok && w.session.Record().Model.Empty() {
		var own []string
		for _, name := range chain.Names(d.Model) {
			provider, _, _ := strings.Cut(name, "/")
			if setting := "models.providers." + provider + ".classification"; !slices.Contains(own, setting) {
				own = append(own, setting)
			}
		}
		settings = own
	}
	return strings.Join(settings, " or ")
}
