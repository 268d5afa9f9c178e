package trigger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// said is the text of a trigger.
type said struct {
	text    string
	label   flow.Label
	session sessions.ID // that said it; empty for a fixed text
}

// send adds the messages of a trigger to a change. Without a target, or if the text is the same as before and only changes are
// delivered, this is the trigger's end.
func (w *worker) send(ctx context.Context, t ledger.Trigger, what said, change *ledger.Change) (ledger.Trigger, error) {
	sum := sha256.Sum256([]byte(what.text))
	t.Digest = hex.EncodeToString(sum[:])
	switch same, err := w.unchanged(ctx, &t); {
	case err != nil:
		return t, err
	case same:
		return w.ended(t, ledger.TriggerOK, "the text is the same as the last one that was sent"), nil
	case len(t.Deliver.To) == 0:
		return w.ended(t, ledger.TriggerOK, "it is delivered nowhere"), nil
	}
	t.Status, t.Due = ledger.TriggerDelivering, w.all.Now().Add(firstLook)
	for _, target := range t.Deliver.To {
		if err := w.sendTo(ctx, &t, target, what, change); err != nil {
			return t, err
		}
	}
	return t, nil
}

// historyMax is how many earlier triggers are looked through for the last text that was delivered. longHistoryMax is the same for
// texts that are repeated after a time: one a minute for a day, most of which said nothing.
const (
	historyMax     = 50
	longHistoryMax = 1500
)

// unchanged reports whether a text must differ from the last one that was delivered or is on its way, and does not.
func (w *worker) unchanged(ctx context.Context, t *ledger.Trigger) (bool, error) {
	if !t.Deliver.Changed {
		return false, nil
	}
	open, err := w.all.Store.OpenTriggersOf(ctx, t.Source, []string{t.Subject})
	if err != nil {
		return false, fmt.Errorf("read open triggers: %w", err)
	}
	if slices.ContainsFunc(open, func(o ledger.Trigger) bool {
		return o.Status == ledger.TriggerDelivering && o.Key != t.Key && o.Digest == t.Digest
	}) {
		return true, nil
	}
	limit := historyMax
	if t.Deliver.ChangedFor > 0 {
		limit = longHistoryMax
	}
	before, err := w.all.Store.EndedTriggers(ctx, ledger.EndedTriggers{Source: t.Source, Subject: t.Subject, Limit: limit})
	if err != nil {
		return false, fmt.Errorf("read earlier triggers: %w", err)
	}
	for _, b := range before {
		said := b.Said
		if len(b.Sends) > 0 {
			said = b.Ended
		}
		if b.Status == ledger.TriggerOK && !said.IsZero() {
			t.Said = said
			old := t.Deliver.ChangedFor > 0 && w.all.Now().Sub(said) > t.Deliver.ChangedFor
			return b.Digest == t.Digest && !old, nil
		}
	}
	return false, nil
}

// sendTo adds the message to one target.
func (w *worker) sendTo(ctx context.Context, t *ledger.Trigger, target ledger.TriggerTarget, what said, change *ledger.Change) error {
	sent := ledger.TriggerSend{Target: target.Name, At: w.all.Now()}
	route, err := w.route(ctx, target)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		sent.Error = err.Error()
	} else {
		d := w.all.Composer.Delivery(ledger.KindMessage, route, what.text, what.label)
		d.Session = what.session
		sent.Delivery = d.ID
		change.Deliver = append(change.Deliver, d)
		change.Audit = append(change.Audit, sessions.AuditEntry{
			At: d.Created, Actor: t.Actor(), Action: "message.send", Object: string(d.ID), Session: d.Session, Label: d.Label,
			Detail: map[string]string{"channel": route.Channel, "conversation": string(route.Conversation)},
		})
	}
	t.Sends = append(t.Sends, sent)
	return nil
}

// saidBy is what a trigger has to say: the reply of its run, or its own text.
func (w *worker) saidBy(ctx context.Context, t *ledger.Trigger) (said, error) {
	if t.Run == "" {
		return said{text: t.Text, label: t.Label}, nil
	}
	run, err := w.all.Store.Run(ctx, t.Run)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return said{}, errGone
	case err != nil:
		return said{}, fmt.Errorf("read run: %w", err)
	}
	return said{text: run.Reply, label: run.Label, session: run.Session}, nil
}

// route finds the conversation of a target. "owner" without a channel is the direct chat with an owner.
func (w *worker) route(ctx context.Context, target ledger.TriggerTarget) (sessions.Route, error) {
	return w.all.Routes.Target(ctx, w.all.Settings(), outbound.Proactive{Channel: target.Channel, Account: target.Account, To: target.To, Thread: target.Thread})
}

// The pauses between two looks at the receipts.
const (
	firstLook = 2 * time.Second
	lastLook  = time.Minute
)

// follow looks for the receipts of a trigger's messages, and sends to fallbacks in place of targets without one.
func (w *worker) follow(ctx context.Context, t ledger.Trigger) error {
	var change ledger.Change
	received, pending := 0, 0
	targets := len(t.Sends) - t.Replaced
	t.Sends = slices.Clone(t.Sends)
	for i := range len(t.Sends) {
		state, err := w.stateOf(ctx, &t, i)
		switch {
		case err != nil:
			return err
		case state == stateReceived:
			received++
		case state == statePending:
			pending++
		case !t.Sends[i].Replaced && t.Replaced < len(t.Deliver.Fallback):
			switch err := w.replace(ctx, &t, i, &change); {
			case errors.Is(err, errGone):
				t.Sends[i].Error = strings.TrimSuffix(t.Sends[i].Error, gone) + gone
			case err != nil:
				return err
			default:
				pending++
			}
		}
	}
	now := w.all.Now()
	switch {
	case pending > 0:
		t.Due = now.Add(min(max(now.Sub(t.Sends[0].At), firstLook), lastLook))
		change.Triggers = append(change.Triggers, t)
		return w.commit(ctx, change)
	case received >= targets:
		return w.end(ctx, t, ledger.TriggerOK, "")
	}
	return w.end(ctx, t, ledger.TriggerUndelivered, fmt.Sprintf("%d of %d targets have no receipt", targets-received, targets))
}

// errGone says that the text of a trigger is no longer stored.
var errGone = errors.New("its run is no longer stored")

const gone = "; its text is no longer stored, so no fallback is tried"

// replace sends to the next fallback in place of a target without a receipt.
func (w *worker) replace(ctx context.Context, t *ledger.Trigger, i int, change *ledger.Change) error {
	what, err := w.saidBy(ctx, t)
	if err != nil {
		return err
	}
	target := t.Deliver.Fallback[t.Replaced]
	t.Sends[i].Replaced = true
	t.Replaced++
	return w.sendTo(ctx, t, target, what, change)
}

// state is what is known of a message.
type state int

const (
	stateFailed state = iota
	stateReceived
	statePending
)

// stateOf finds out whether a message has arrived, and notes why not.
func (w *worker) stateOf(ctx context.Context, t *ledger.Trigger, i int) (state, error) {
	s := &t.Sends[i]
	if s.Delivery == "" || s.Error != "" {
		return stateFailed, nil
	}
	d, err := w.all.Store.Delivery(ctx, s.Delivery)
	if errors.Is(err, sessions.ErrNotFound) {
		s.Error = "its delivery is no longer stored"
		return stateFailed, nil
	}
	if err != nil {
		return stateFailed, fmt.Errorf("read delivery: %w", err)
	}
	within := cmp.Or(t.Deliver.Within, defaultWithin)
	switch d.Status {
	case ledger.DeliverySent:
		s.Received = true
		return stateReceived, nil
	case ledger.DeliveryQueued, ledger.DeliverySending, ledger.DeliveryHeld, ledger.DeliveryPreview:
		if w.all.Now().Sub(s.At) < within {
			return statePending, nil
		}
		s.Error = "no receipt within " + within.String()
		return stateFailed, nil
	}
	s.Error = "the delivery is " + string(d.Status)
	return stateFailed, nil
}

// defaultWithin is for a trigger whose source does not say how long to wait for receipts.
const defaultWithin = 10 * time.Minute

// nouns are what people call the triggers of a source.
var nouns = map[ledger.TriggerSource]string{ledger.TriggerCron: "job", ledger.TriggerHook: "hook", ledger.TriggerPush: "notification of task"}

// tellOwner adds a notice to the owner that a trigger has failed. As a rule, it adds no second notice if the previous trigger failed too.
func (w *worker) tellOwner(ctx context.Context, t *ledger.Trigger, tell Tell, change *ledger.Change) error {
	w.all.Log.Warn("trigger failed", "trigger", t.Key, "status", string(t.Status), "why", t.Why)
	before, err := w.all.Store.EndedTriggers(ctx, ledger.EndedTriggers{Source: t.Source, Subject: t.Subject, Limit: 1})
	if err != nil {
		return fmt.Errorf("read earlier triggers: %w", err)
	}
	if tell == TellUsual && len(before) > 0 && before[0].Status.Bad() {
		return nil
	}
	route, err := w.route(ctx, ledger.TriggerTarget{To: outbound.ToOwner})
	if err != nil {
		w.all.Log.Warn("could not notify the owner about a failure", "trigger", t.Key, "err", err)
		return nil
	}
	notice := w.all.Composer.Notice(route, failureText(t))
	if t.Names.Valid() {
		notice.Label = notice.Label.Join(t.Names)
	}
	change.Deliver = append(change.Deliver, notice)
	return nil
}

// failureText is what the owner reads about a trigger that has failed. It says nothing that a run or its session has learned.
func failureText(t *ledger.Trigger) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The %s `%s`", cmp.Or(nouns[t.Source], string(t.Source)), t.Subject)
	if !t.Instant.IsZero() {
		fmt.Fprintf(&b, " of %s", t.Instant.Format(time.RFC3339))
	}
	switch {
	case t.Status == ledger.TriggerFailed && t.Run != "":
		fmt.Fprintf(&b, " has failed: run `%s`. `sluice runs list --status failed` says why.", t.Run)
	case t.Status == ledger.TriggerFailed:
		fmt.Fprintf(&b, " has failed before an agent was asked. `sluice %ss list %s` says why.", cmp.Or(nouns[t.Source], string(t.Source)), t.Subject)
	default:
		b.WriteString(" could not deliver its text:")
		for _, s := range t.Sends {
			if s.Error != "" {
				fmt.Fprintf(&b, "\n- to `%s`: %s", s.Target, s.Error)
			}
		}
		b.WriteString("\n`sluice deliveries list` shows the deliveries.")
	}
	b.WriteString(" You are notified again only after it has worked in between.")
	return b.String()
}
