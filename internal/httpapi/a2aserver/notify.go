package a2aserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/conversation"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/trigger"
	"sluice/sessions"
)

const (
	// pushesAtOnce is how many notifications are sent at the same time, and pushTime how long one may take.
	pushesAtOnce, pushTime = 32, 15 * time.Second
	// pushTries is how often a notification is tried. The pause between two tries doubles from the first to the longest.
	pushTries, firstPause, longestPause = 10, 2 * time.Second, 5 * time.Minute
	// A run that goes on is looked at again after a part of its age, within these bounds.
	agePart               = 10
	soonestLook, lastLook = 500 * time.Millisecond, 30 * time.Second
	// sentLook is when the outcome of a try is looked at, and busyLook when there may be room for one.
	sentLook, busyLook = 500 * time.Millisecond, time.Second
	// outcomeKept is how long the outcome of a try is kept that nobody takes, because its notification was deleted.
	outcomeKept = 10 * time.Minute
)

// Notifier notifies clients of the ends of their tasks. It is the source of the triggers of [Push].
//
// Goroutines: one for each notification that is being sent; Stop waits for them.
type Notifier struct {
	api *API

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu    sync.Mutex
	tries map[string]*try // by the trigger's key, until their outcome was taken
}

// try is one attempt to send a notification.
type try struct {
	push  ledger.TriggerPushes
	over  bool
	at    time.Time // of its end
	tries int       // with this one
	err   error
}

var _ trigger.Source = (*Notifier)(nil)

// NewNotifier makes the Notifier of an API.
func NewNotifier(api *API) *Notifier {
	n := &Notifier{api: api, tries: map[string]*try{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Stop ends what is being sent; it is sent again by whoever works its partition next.
func (n *Notifier) Stop() {
	n.mu.Lock() // no goroutine starts after this
	n.cancel()
	n.mu.Unlock()
	n.work.Wait()
}

// Fire implements [trigger.Source].
func (n *Notifier) Fire(ctx context.Context, t *ledger.Trigger) (trigger.Effect, error) {
	if t.Push == nil {
		return trigger.Effect{End: ledger.TriggerWithdrawn, Why: "it has no address"}, nil
	}
	done, err := n.outcome(t)
	if done != nil {
		return n.settle(t, done)
	}
	if err != nil {
		return trigger.Effect{Wait: sentLook}, nil //nolint:nilerr // it goes on
	}
	run, err := n.api.Turns.Runs.Run(ctx, sessions.RunID(t.Subject))
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return trigger.Effect{End: ledger.TriggerWithdrawn, Why: "the task is no longer kept"}, nil
	case err != nil:
		return trigger.Effect{}, fmt.Errorf("read run: %w", err)
	case !run.Status.Terminal():
		age := n.api.Push.Now().Sub(run.Accepted)
		return trigger.Effect{Wait: min(max(age/agePart, soonestLook), lastLook)}, nil
	}
	who, why, err := n.reader(ctx, t.Push)
	if err != nil {
		return trigger.Effect{}, err
	}
	if why != "" {
		return trigger.Effect{End: ledger.TriggerWithdrawn, Why: why}, nil
	}
	if n.busy() {
		return trigger.Effect{Wait: busyLook}, nil
	}
	body, err := n.body(ctx, who, run)
	if err != nil {
		return trigger.Effect{}, err
	}
	t.Attempts++
	next, key := &try{push: *t.Push, tries: t.Attempts}, t.Key
	return trigger.Effect{Wait: sentLook, Stored: func() { n.send(key, next, body) }}, nil
}

// reader is who the notification is for, or says why it has no reader. It is the caller who has registered it, with
// the rights that they have now, and those that an address has.
func (n *Notifier) reader(ctx context.Context, p *ledger.TriggerPushes) (who auth.Caller, why string, err error) {
	settings := n.api.Push.Settings()
	if why := n.api.Push.refused(p.URL); why != "" {
		return who, why, nil
	}
	if _, gone := n.api.agent(p.Agent); gone != nil {
		return who, "the agent is no longer published (agents.list[].publish.a2a)", nil //nolint:nilerr // it says why
	}
	who, err = n.api.Push.Tokens.Named(ctx, p.Caller)
	level, bad := flow.ParseLevel(p.Level)
	switch {
	case errors.Is(err, auth.ErrUnknown), bad != nil:
		return who, "the token that has registered it exists no more", nil //nolint:nilerr // it says why
	case err != nil:
		return who, "", err
	}
	who.Level = flow.Min(flow.Min(who.Level, level), settings.Level)
	return who, "", nil
}

// withheldLevel is in the metadata of a task that is notified without its text.
const withheldLevel = "level"

// body is the task as its reader may know it: as tasks/get shows it, or its state alone.
func (n *Notifier) body(ctx context.Context, who auth.Caller, run sessions.Run) ([]byte, error) {
	ctx = auth.As(ctx, who)
	info := task{TaskID: a2a.TaskID(run.ID), ContextID: string(run.Session)}
	taint, err := n.api.Face.Visible.Taint(ctx, who, run.Session)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	var out *a2a.Task
	if who.Sees(run.Label.Join(taint)) {
		end, err := n.api.Turns.Past(ctx, run)
		if err != nil {
			return nil, fmt.Errorf("read reply: %w", err)
		}
		out = taskOf(info, end)
	} else {
		out = &a2a.Task{ID: info.TaskID, ContextID: info.ContextID, Status: a2a.TaskStatus{State: state(conversation.End{Status: run.Status})}, Metadata: map[string]any{"withheld": withheldLevel}}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode task: %w", err)
	}
	return text, nil
}

var errGoesOn = errors.New("it is being sent")

// outcome takes the outcome of the latest try of a trigger; its error says that a try goes on.
func (n *Notifier) outcome(of *ledger.Trigger) (*try, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.tries[of.Key]
	switch {
	case t == nil:
		return nil, nil
	case !t.over:
		return nil, errGoesOn
	}
	delete(n.tries, of.Key)
	if t.tries != of.Attempts || t.push != *of.Push { // of what was registered before
		return nil, nil
	}
	return t, nil
}

// busy reports whether as many notifications are being sent as may be. Workers of several partitions may exceed that by one each.
func (n *Notifier) busy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	sending, now := 0, n.api.Push.Now()
	for key, t := range n.tries {
		switch {
		case !t.over:
			sending++
		case now.Sub(t.at) > outcomeKept:
			delete(n.tries, key)
		}
	}
	return sending >= pushesAtOnce
}

// statusError is a response that is not a success.
type statusError int

// Error implements error.
func (e statusError) Error() string {
	return fmt.Sprintf("it answers %d %s", int(e), http.StatusText(int(e)))
}

// final reports whether the same request would fail again.
func (e statusError) final() bool {
	switch int(e) {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return e < http.StatusInternalServerError
}

// send sends a notification on a goroutine of its own.
func (n *Notifier) send(key string, next *try, body []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return
	}
	n.tries[key] = next
	n.work.Go(func() {
		err := errors.New("it could not be sent")
		defer func() {
			if failed := recover(); failed != nil {
				n.api.Log.Error("notification of a task panicked", "trigger", key, "err", failed)
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			next.over, next.at, next.err = true, n.api.Push.Now(), err
		}()
		ctx, cancel := context.WithTimeout(n.ctx, pushTime)
		defer cancel()
		err = n.post(ctx, key, &next.push, body)
	})
}

func (n *Notifier) post(ctx context.Context, key string, p *ledger.TriggerPushes, body []byte) error {
	sum := sha256.Sum256([]byte(key))
	header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {hex.EncodeToString(sum[:16])}}
	if p.Token != "" {
		header.Set("X-A2A-Notification-Token", p.Token)
	}
	if p.Credentials != "" {
		header.Set("Authorization", p.Scheme+" "+p.Credentials)
	}
	poster := n.api.Push.Public
	if n.api.Push.Settings().Private {
		poster = n.api.Push.Private
	}
	status, err := poster.Post(ctx, p.URL, header, body)
	if err == nil && (status < http.StatusOK || status >= http.StatusMultipleChoices) {
		err = statusError(status)
	}
	return err
}

// settle stores the outcome of a try: the end, or the next try.
func (n *Notifier) settle(t *ledger.Trigger, done *try) (trigger.Effect, error) {
	host := "?"
	if u, err := url.Parse(t.Push.URL); err == nil {
		host = u.Host
	}
	now := n.api.Push.Now()
	said := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: now, Actor: (auth.Caller{Name: t.Push.Caller}).Actor(), Action: "task.notify", Object: t.Subject, Label: t.Label, Detail: map[string]any{"host": host, "tries": t.Attempts},
	}}}}
	t.Sends = []ledger.TriggerSend{{Target: host, At: now}}
	if done.err == nil {
		return trigger.Effect{End: ledger.TriggerOK, Change: said}, nil
	}
	why := done.err.Error()
	t.Sends[0].Error, t.Why = why, why
	answer, isAnswer := errors.AsType[statusError](done.err)
	if isAnswer && answer.final() || t.Attempts >= pushTries {
		said.Audit[0].Action = "task.notify.failed"
		return trigger.Effect{End: ledger.TriggerUndelivered, Why: why, Change: said}, nil
	}
	return trigger.Effect{Wait: min(firstPause<<(t.Attempts-1), longestPause)}, nil
}
