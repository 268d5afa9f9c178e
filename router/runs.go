package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/internal/faultpoint"
	"sluice/policy"
	"sluice/sessions"
)

// errAborted is the cause with which a run is cancelled that somebody stopped.
var errAborted = errors.New("stopped by a person")

// silentReply is the exact answer with which an agent says that it has nothing to say.
const silentReply = "NO_REPLY"

// conflictsMost is how many conflicts in a row are only a reason to look again at once; more are a fault.
const conflictsMost = 5

// opensMost is how often a session is opened in vain before its message ends without an answer. A store
// that says that it is not available doesn't count.
const opensMost = 8

// settleTimeout bounds the writes that a worker still makes when its own context has ended.
const settleTimeout = 3 * time.Second

// sessionWorker works the runs of one session, one after the other. It is used by its lane's goroutine alone.
type sessionWorker struct {
	*Router
	owner *ownership
	lane  *lane
	id    sessions.ID
	busy  bool // a run has just ended here: the queue mode may want quiet before the next

	conflicts int // in a row
}

// turn works the next run of the session, if any.
func (w *sessionWorker) turn() (rest, error) {
	ctx := w.owner.ctx
	waiting, err := w.store.WaitingRuns(ctx, w.id, waitingMax)
	if err != nil {
		return rest{}, fmt.Errorf("read queue: %w", err)
	}
	batch, wait := pick(w.settings.Load().Queue, waiting, w.now(), w.busy)
	if len(batch) == 0 {
		w.busy = wait > 0
		return rest{wait: wait}, nil
	}
	w.busy = true
	more := len(batch) < len(waiting)
	job, err := w.claim(ctx, batch)
	if err != nil || job == nil {
		return w.after(more, err)
	}
	return rest{then: func() (rest, error) { return w.after(more, w.drive(ctx, job)) }}, nil
}

// after says what follows when a batch has ended, or could not be worked.
func (w *sessionWorker) after(more bool, err error) (rest, error) {
	if errors.Is(err, sessions.ErrConflict) {
		w.cache.remove(w.id) // somebody else wrote: look again with fresh eyes
		w.conflicts++
		if w.conflicts < conflictsMost {
			return rest{again: true}, nil
		}
	} else {
		w.conflicts = 0
	}
	return rest{again: more}, err
}

// job is a batch of runs that has been started, the first of which leads.
type job struct {
	session *sessions.Session // nil while it could not be opened
	record  sessions.Record
	batch   []sessions.Run
	resumed bool // a worker before this one has started it
}

// claim starts a batch of runs. The job is nil if the batch has ended instead, or on an error.
func (w *sessionWorker) claim(ctx context.Context, batch []sessions.Run) (*job, error) {
	record, err := w.store.Session(ctx, w.id)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	j := &job{record: record, batch: batch, resumed: batch[0].Status == sessions.RunRunning}
	session, err := w.open(ctx, record)
	if why, ok := errors.AsType[*sessions.WorkError](err); ok {
		return nil, w.finishFailed(ctx, j, why)
	}
	if err != nil && (w.lane.failures < opensMost || errors.Is(err, sessions.ErrUnavailable) || ctx.Err() != nil) {
		return nil, fmt.Errorf("open session: %w", err)
	}
	if err != nil { // rows that can't be read any more: who waits must not wait for ever
		return nil, w.finishFailed(ctx, j, asWorkError(fmt.Errorf("open session: %w", err)))
	}
	j.session = session
	if limit := w.settings.Load().MaxRunAttempt; limit > 0 && batch[0].Attempts >= limit {
		preview := w.newShow(ctx, j).close() // of the last try
		return nil, w.finishFailed(ctx, j, &sessions.WorkError{
			Status: sessions.RunFailed,
			Public: "I could not finish this: my process ended each time I tried. I have given up on that message.",
			Err:    fmt.Errorf("run was started %d times and never ended", batch[0].Attempts),
		}, preview...)
	}
	return j, w.start(ctx, session, batch)
}

// open gives the session from the cache if nobody wrote to it since.
func (w *sessionWorker) open(ctx context.Context, record sessions.Record) (*sessions.Session, error) {
	if s, ok := w.cache.get(record.ID); ok {
		if cached := s.Record(); cached.Revision == record.Revision && cached.Model == record.Model {
			return s, nil
		}
	}
	s, err := w.agent.Open(ctx, record)
	if err != nil {
		return nil, err
	}
	w.cache.put(record.ID, s)
	return s, nil
}

// start marks the batch as running and stores its messages, in one transaction.
func (w *sessionWorker) start(ctx context.Context, session *sessions.Session, batch []sessions.Run) error {
	known := map[sessions.RunID]bool{}
	if batch[0].Status == sessions.RunRunning {
		for _, m := range session.Messages() {
			known[m.Run] = true
		}
	}
	now := w.now()
	moves := make([]sessions.RunMove, len(batch))
	for i := range batch {
		run := &batch[i]
		if !known[run.ID] {
			session.Append(userMessage(*run))
		}
		from := run.Status
		run.Status, run.Epoch, run.Started = sessions.RunRunning, w.owner.epoch, now
		run.Attempts++
		if i > 0 {
			run.Leader = batch[0].ID
		}
		moves[i] = sessions.RunMove{From: from, Run: *run}
	}
	change := session.Pending()
	change.Runs = moves
	faultpoint.Hit(faultpoint.ClaimBeforeCommit)
	if err := w.store.CommitSession(ctx, change); err != nil {
		w.cache.remove(w.id)
		return fmt.Errorf("start run: %w", err)
	}
	session.Saved(change)
	faultpoint.Hit(faultpoint.ClaimAfterCommit)
	w.metrics.queueSeconds.Observe(now.Sub(batch[0].Accepted).Seconds())
	return nil
}

// drive lets the agent work and stores how it ended. Most of a run's time, and so
// most of the goroutines of a busy gateway, is spent here: what it needs is
// passed by reference, to keep the stack small.
func (w *sessionWorker) drive(ctx context.Context, j *job) error {
	run := &j.batch[0]
	runCtx, cancel := w.runContext(ctx, run.ID)
	defer cancel(nil)
	if err := w.abortedBefore(ctx, j, cancel); err != nil {
		return err
	}
	show := w.newShow(ctx, j)
	whole := false
	defer func() {
		if !whole { // a panic: nobody types any more, and what is half done is forgotten
			w.endAbort()
			show.close()
			w.cache.remove(w.id)
		}
	}()
	show.begin()
	answer, err := Answer{}, context.Cause(runCtx)
	if err == nil {
		answer, err = w.agent.Work(runCtx, j.session, run, show.emit)
	}
	w.endAbort()
	err = w.conclude(ctx, runCtx, j, answer, err, show)
	whole = true
	return err
}

// conclude stores what the agent's work has come to.
func (w *sessionWorker) conclude(ctx, runCtx context.Context, j *job, answer Answer, err error, show *show) error {
	preview := show.close()
	if ctx.Err() != nil {
		return w.handBack(j.batch, context.Cause(ctx))
	}
	if errors.Is(err, sessions.ErrUnavailable) && runCtx.Err() == nil {
		w.cache.remove(w.id)
		return fmt.Errorf("work run: %w", err) // it is gone on with once the store is back
	}
	w.metrics.runSeconds.Observe(w.now().Sub(j.batch[0].Started).Seconds())
	if err != nil {
		return w.finishFailed(ctx, j, w.workError(runCtx, err), preview...)
	}
	return w.finish(ctx, j.session, j.batch, answer, show, preview)
}

// abortedBefore cancels a run that somebody has stopped when nobody listened: before
// its last worker's end, or between its start and now.
func (w *sessionWorker) abortedBefore(ctx context.Context, j *job, cancel context.CancelCauseFunc) error {
	w.owner.mu.Lock()
	look := w.lane.asked || j.resumed
	w.lane.asked = false
	w.owner.mu.Unlock()
	if !look {
		return nil
	}
	asked, err := w.store.AbortRequested(ctx, j.batch[0].ID)
	if asked {
		cancel(errAborted)
	}
	if err != nil {
		w.endAbort()
		return fmt.Errorf("look for an abort: %w", err)
	}
	return nil
}

// runContext is a run's context: it ends with the partition, with the run's own deadline, or when somebody stops it.
func (w *sessionWorker) runContext(ctx context.Context, id sessions.RunID) (context.Context, context.CancelCauseFunc) {
	timeout := w.settings.Load().RunTimeout
	stop := context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, timeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w.owner.mu.Lock()
	w.lane.run, w.lane.abort = id, cancel
	w.owner.mu.Unlock()
	return ctx, func(cause error) { cancel(cause); stop() }
}

func (w *sessionWorker) endAbort() {
	w.owner.mu.Lock()
	w.lane.run, w.lane.abort = "", nil
	w.owner.mu.Unlock()
}

// workError says how a failed run ended, as a run's status and a sentence.
func (w *sessionWorker) workError(ctx context.Context, err error) *sessions.WorkError {
	if errors.Is(context.Cause(ctx), errAborted) {
		return &sessions.WorkError{Status: sessions.RunAborted, Public: "Stopped.", Err: errAborted}
	}
	return asWorkError(err)
}

func asWorkError(err error) *sessions.WorkError {
	if known, ok := errors.AsType[*sessions.WorkError](err); ok {
		return known
	}
	return &sessions.WorkError{
		Status: sessions.RunFailed, Err: err,
		Public: "Something went wrong on my side, and I could not answer. My owner can see why with `sluice runs list --status failed`.",
	}
}

// finish stores the last message, the end of the runs and the delivery of the answer, in one transaction.
func (w *sessionWorker) finish(ctx context.Context, session *sessions.Session, batch []sessions.Run, answer Answer, show *show, preview []DeliveryMove) error {
	last := batch[len(batch)-1]
	change := Change{Change: session.Pending()}
	w.touch(&change, last.Route)
	for _, run := range batch {
		run.Status, run.Finished, run.Reply, run.Model, run.Label = sessions.RunDone, w.now(), answer.Text, answer.Model, session.Taint()
		if run.Leader == "" {
			run.Usage = answer.Usage
		}
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunRunning, Run: run})
	}
	if !silent(answer.Text) && !last.Route.IsZero() {
		w.deliver(&change, w.reply(last, KindReply, answer.Text, session), preview)
	} else {
		change.Deliveries = discardPreview(preview, w.now())
	}
	if err := w.commitEnd(ctx, change); err != nil {
		return err
	}
	session.Saved(change.Change)
	w.metrics.runs.WithLabelValues(string(sessions.RunDone)).Inc()
	text := answer.Text
	if !show.allowed || silent(text) {
		text = ""
	}
	w.emitEnd(batch, sessions.Event{Type: sessions.EventDone, Text: text, Usage: &answer.Usage})
	return nil
}

func silent(text string) bool {
	t := strings.TrimSpace(text)
	return t == "" || t == silentReply
}

// reply makes the delivery of a run's answer.
func (w *sessionWorker) reply(run sessions.Run, kind DeliveryKind, text string, session *sessions.Session) Delivery {
	label := noticeLabel()
	if session != nil && kind == KindReply {
		label = session.Taint()
	}
	d := w.newDelivery(w.settings.Load(), kind, run.Route, text, label)
	d.Session, d.Run = run.Session, run.ID
	return d
}

// deliver adds a delivery to the change: as a new one, or as the final text of the preview that shows already.
func (w *sessionWorker) deliver(change *Change, d Delivery, preview []DeliveryMove) {
	if len(preview) == 0 {
		change.Deliver = append(change.Deliver, d)
		return
	}
	move := preview[0]
	move.Delivery.Text, move.Delivery.Label, move.Delivery.Kind = d.Text, d.Label, d.Kind
	move.Delivery.Status, move.Delivery.NextTry, move.Delivery.Expires = DeliveryQueued, d.NextTry, d.Expires
	move.Delivery.Epoch = 0
	change.Deliveries = append(change.Deliveries, move)
}

func discardPreview(preview []DeliveryMove, now time.Time) []DeliveryMove {
	for i := range preview {
		preview[i].Delivery.Status, preview[i].Delivery.Finished = DeliveryDiscarded, now
	}
	return preview
}

// finishFailed stores that the runs ended without an answer and tells the person who waits.
func (w *sessionWorker) finishFailed(ctx context.Context, j *job, why *sessions.WorkError, preview ...DeliveryMove) error {
	batch, session := j.batch, j.session
	w.log.Warn("run ended without an answer", "run", string(batch[0].ID), "session", string(w.id), "status", string(why.Status), "err", why.Err)
	w.metrics.runs.WithLabelValues(string(why.Status)).Inc()
	var change Change
	if session != nil {
		session.ResolveInterrupted()
		change.Change = session.Pending()
		w.touch(&change, batch[len(batch)-1].Route)
	}
	for _, run := range batch {
		from := run.Status
		run.Status, run.Finished, run.Error, run.Epoch = why.Status, w.now(), why.Public, w.owner.epoch
		change.Runs = append(change.Runs, sessions.RunMove{From: from, Run: run})
	}
	last := batch[len(batch)-1]
	switch {
	case last.Route.IsZero():
	case why.Status == sessions.RunAborted:
		change.Deliveries = discardPreview(preview, w.now()) // /stop has answered already
	default:
		w.deliver(&change, w.reply(last, KindNotice, why.Public, session), preview)
	}
	change.Audit = append(change.Audit, policy.AuditEntry{
		At: w.now(), Actor: "agent:" + j.record.Agent, Action: "run." + string(why.Status), Object: string(batch[0].ID),
		Session: w.id, Label: j.record.Taint, Detail: map[string]string{"error": why.Err.Error()},
	})
	if err := w.commitEnd(ctx, change); err != nil {
		return err
	}
	if session != nil {
		session.Saved(change.Change)
	}
	event := sessions.Event{Type: sessions.EventFailed, Text: why.Public}
	if why.Status == sessions.RunAborted {
		event.Type = sessions.EventAborted
	}
	w.emitEnd(batch, event)
	return nil
}

// touch writes where and when the session was last active.
func (w *sessionWorker) touch(change *Change, route sessions.Route) {
	for i := range change.Save {
		route.ReplyTo = ""
		change.Save[i].Route, change.Save[i].LastActivity = route, w.now()
	}
}

func (w *sessionWorker) commitEnd(ctx context.Context, change Change) error {
	faultpoint.Hit(faultpoint.FinishBeforeCommit)
	err := w.store.Commit(ctx, change)
	if err == nil {
		faultpoint.Hit(faultpoint.FinishAfterCommit)
	}
	// Woken is also after an error: a commit whose answer was lost may stand.
	for _, d := range change.Deliver {
		w.wake(d.Partition, d.Lane)
	}
	for _, m := range change.Deliveries {
		w.wake(m.Delivery.Partition, m.Delivery.Lane)
	}
	if err != nil {
		w.cache.remove(w.id)
		return fmt.Errorf("end run: %w", err)
	}
	return nil
}

func (w *sessionWorker) emitEnd(batch []sessions.Run, event sessions.Event) {
	for _, run := range batch {
		event.Session, event.Run, event.At = w.id, run.ID, w.now()
		w.bus.Emit(event)
	}
}

// handBack returns the runs to the queue because the partition goes elsewhere. It counts no attempt.
func (w *sessionWorker) handBack(batch []sessions.Run, cause error) error {
	w.cache.remove(w.id)
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	var change sessions.Change
	for _, run := range batch {
		run.Attempts--
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunRunning, Run: run})
	}
	if err := w.store.CommitSession(ctx, change); err != nil {
		return fmt.Errorf("hand run back (%w): %w", cause, err)
	}
	return nil
}

// userMessage is what the agent sees of a run's input.
func userMessage(run sessions.Run) sessions.Message {
	in := run.Input
	m := sessions.Message{Run: run.ID, Role: sessions.RoleUser, Sender: in.Sender, Label: run.Label}
	add := func(text string) { m.Parts = append(m.Parts, sessions.TextPart(text, run.Label)) }
	if len(in.History) > 0 {
		var b strings.Builder
		b.WriteString("[Said here since your last answer, not to you]")
		for _, l := range in.History {
			fmt.Fprintf(&b, "\n%s: %s", speaker(l.Sender), l.Text)
		}
		add(b.String())
	}
	if in.Quoted != "" {
		add("[In reply to] " + in.Quoted)
	}
	text := in.Text
	if run.Route.ChatType != sessions.Direct && text != "" {
		text = speaker(in.Sender) + ": " + text
	}
	if text != "" {
		add(text)
	}
	for _, a := range in.Attachments {
		m.Parts = append(m.Parts, sessions.Part{Type: sessions.PartAttachment, Attachment: &a, Label: run.Label})
	}
	return m
}

func speaker(p sessions.Peer) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Username != "":
		return p.Username
	}
	return string(p.ID)
}
