package outbound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"sluice/internal/visible"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// A held text waits outside its lane and does not block it. Its approval's id is derived from the delivery and the
// rules that hold it: an approved text passes these rules on every attempt, but no other rule.

const (
	asksMax   = 10  // how often a person may be asked about one delivery that is retried
	heldBatch = 100 // held deliveries per sweep
)

// HeldStore is the part of the store that held deliveries need.
type HeldStore interface {
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	// HeldDeliveries reads the deliveries in status held whose next try is due, oldest first, at most limit.
	HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error)
}

// HeldDeliveries asks people about deliveries that a rule holds. All fields are required.
type HeldDeliveries struct {
	Store    HeldStore
	Composer *Composer
	Routes   *Routes
	Lanes    Committer
	Now      func() time.Time
	Log      *slog.Logger
}

// ApprovalOf is the newest approval of a held delivery; without a status if it is not stored yet.
func (h *HeldDeliveries) ApprovalOf(ctx context.Context, d ledger.Delivery) (ledger.Approval, error) {
	var p ledger.Approval
	for n := range asksMax {
		id := heldID(d, n)
		found, err := h.Store.Approval(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			return ledger.Approval{ID: id}, nil
		case err != nil:
			return p, fmt.Errorf("read approval: %w", err)
		case found.Status != ledger.ApprovalDenied:
			return found, nil
		}
		p = found
	}
	return p, nil
}

func heldID(d ledger.Delivery, n int) ledger.ApprovalID {
	return ledger.ApprovalIDOf(append([]string{string(d.ID), strconv.Itoa(n)}, d.Decision.Holding()...)...)
}

// AllowedBefore lets a delivery pass the rules that hold it if somebody has allowed it. The rest of the gate's
// decision still applies.
func (h *HeldDeliveries) AllowedBefore(ctx context.Context, d ledger.Delivery, decision *policy.Decision) error {
	d.Decision = decision
	p, err := h.ApprovalOf(ctx, d)
	switch {
	case err != nil:
		return err
	case p.Status == ledger.ApprovalAllowed:
		decision.Approve(p.By)
	case p.Status == ledger.ApprovalDenied:
		decision.Action, decision.Reason = policy.Block, "it was denied, and the gateway asks no more questions about it"
	case d.Revises != "":
		decision.Action, decision.Reason = policy.Block, "a rule holds it, and the final edit of a question can't wait for approval"
	case d.Asks != "":
		decision.Action, decision.Reason = policy.Block, "a rule holds it, and a question can't wait for approval; "+ShownBy(ledger.ApprovalID(d.Asks))+" what it is about"
	}
	return nil
}

// hold sets a delivery aside until somebody has decided about it.
func (w *worker) hold(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, judged []sessions.AuditEntry) error {
	p, err := w.out.Held.ApprovalOf(ctx, d)
	if err != nil {
		return err
	}
	change := ledger.Change{Change: sessions.Change{Audit: judged}}
	if p.Status == "" {
		texts, err := w.out.Composer.Texts(ctx, d)
		if err != nil {
			return err
		}
		for i := range texts { // part by part, as it is sent: the approver sees exactly what leaves
			texts[i] = d.Decision.Redacted(texts[i])
		}
		said := strings.Join(texts, "\n")
		if p, err = w.out.Held.newHeld(p.ID, d, said); err != nil {
			return err
		}
		change.Ask = []ledger.Approval{p}
		if change.Deliver, err = w.out.Held.askAbout(ctx, d, p, said); err != nil {
			return err
		}
	}
	if w.out.Composer.deletable(d) {
		change.Deliver = append(change.Deliver, w.out.Composer.withdrawal(d))
		d.PreviewID = ""
	}
	d.Status, d.NextTry, d.LastError = ledger.DeliveryHeld, p.Expires, d.Decision.Reason
	change.Deliveries = []ledger.DeliveryMove{{From: from, Delivery: d}}
	if err := w.out.Lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("store held delivery: %w", err)
	}
	w.out.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryHeld)).Inc()
	return nil
}

// newHeld creates the approval of a held delivery.
func (h *HeldDeliveries) newHeld(id ledger.ApprovalID, d ledger.Delivery, said string) (ledger.Approval, error) {
	args, err := json.Marshal(map[string]any{"channel": d.Route.Channel, "account": d.Route.Account, "to": d.Route.Conversation, "thread": d.Route.Thread, "kind": d.Kind, "text": said})
	if err != nil {
		return ledger.Approval{}, fmt.Errorf("write approval: %w", err)
	}
	terms := *d.Decision.Terms
	terms.Level = d.Label.Level()
	now := h.Now()
	expires := now.Add(terms.Timeout)
	if d.Expires.Before(expires) {
		expires = d.Expires
	}
	return ledger.Approval{
		ID: id, Session: d.Session, Channel: d.Route.Channel, Delivery: d.ID, Args: args, Label: d.Label, Why: d.Decision.Reason, Status: ledger.ApprovalPending, Created: now, Expires: expires,
		Terms: terms,
	}, nil
}

// askAbout creates the question to the first approver who can be asked. It shows the text if the gate allows that; if
// no approver may be sent anything, the approval is only listed.
func (h *HeldDeliveries) askAbout(ctx context.Context, d ledger.Delivery, p ledger.Approval, said string) ([]ledger.Delivery, error) {
	whole, bare := heldQuestion(d, p, "\n\n"+Shown(p.ID, said)), heldQuestion(d, p, " "+NotShown(p.ID))
	return h.AskDeciders(ctx, p, d.Route.Channel, whole, bare)
}

// AskDeciders creates a question to the first approver who can be asked, those on the channel first. If the gate
// allows it, the question is whole and has the approval's label; otherwise it is bare and reveals nothing. A message
// is shown exactly as it will be sent or not at all: readers would mistake redactions of the question for redactions
// of the message.
func (h *HeldDeliveries) AskDeciders(ctx context.Context, p ledger.Approval, channel, whole, bare string) ([]ledger.Delivery, error) {
	c := h.Composer.pinned()
	s := c.Settings()
	for _, who := range decider.Among(s.Owners, p.Terms, channel) {
		channel, id, _ := sessions.ParsePrincipal(who)
		route, err := h.Routes.Find(ctx, s, Proactive{Channel: channel, To: string(id)})
		if err != nil || route.ChatType != sessions.Direct {
			continue
		}
		for i, q := range []ledger.Delivery{c.Delivery(ledger.KindNotice, route, whole, p.Label), c.Notice(route, bare)} {
			q.Session, q.Run = p.Session, p.Run
			q.AskAbout(p)
			decision, err := c.Decide(ctx, q, sessions.Record{})
			if err != nil {
				return nil, fmt.Errorf("ask the gate about a question: %w", err)
			}
			if redacted := decision.Action == policy.Redact; decision.Passes() && !(redacted && i == 0 && p.Delivery != "") {
				return []ledger.Delivery{q}, nil
			}
		}
	}
	h.Log.Warn("no approver can be reached; sluice approvals list shows the question", "approval", string(p.ID), "session", string(p.Session), "delivery", string(p.Delivery))
	return nil, nil
}

func heldQuestion(d ledger.Delivery, p ledger.Approval, text string) string {
	return fmt.Sprintf("May I send a message to %s %s? %s.%s\n\n%s", d.Route.Channel, visible.CodeSpan(string(d.Route.Conversation)), strings.TrimSuffix(visible.Line(p.Why), "."), text, SilenceMeans(p))
}

// Decide adds the effect of a decision on its held delivery to a change.
func (h *HeldDeliveries) Decide(ctx context.Context, change *ledger.Change, p ledger.Approval, allow bool, reason flow.Text) error {
	if p.Delivery == "" {
		return nil
	}
	d, err := h.Store.Delivery(ctx, p.Delivery)
	if err != nil {
		return fmt.Errorf("read delivery: %w", err)
	}
	if d.Status != ledger.DeliveryHeld {
		return &request.Error{Text: fmt.Sprintf("the message no longer waits for a decision: it is %s", d.Status)}
	}
	d.Epoch, d.NextTry, d.LastError = 0, h.Now(), ""
	d.Status = ledger.DeliveryQueued
	if !allow {
		d.Status, d.Finished, d.LastError = ledger.DeliveryBlocked, h.Now(), "it was denied; "+ShownBy(p.ID)+" why"
		if reason.Label().FlowsTo(d.Label.Level()) { // readers of the delivery may see the reason
			d.LastError = reason.Raw()
		}
		if d.Kind == ledger.KindReply {
			change.Deliver = append(change.Deliver, h.Composer.WithheldNotice(d))
		}
	}
	change.Deliveries = append(change.Deliveries, ledger.DeliveryMove{From: ledger.DeliveryHeld, Delivery: d})
	return nil
}

// ExpireAll ends deliveries that have waited too long for a decision.
func (h *HeldDeliveries) ExpireAll(ctx context.Context) {
	due, err := h.Store.HeldDeliveries(ctx, h.Now(), heldBatch)
	if err != nil && ctx.Err() == nil {
		h.Log.Error("held deliveries not read", "err", err)
	}
	for _, d := range due {
		if err := h.expire(ctx, d); err != nil && !errors.Is(err, sessions.ErrConflict) && ctx.Err() == nil {
			h.Log.Error("held delivery not decided", "delivery", string(d.ID), "err", err)
		}
	}
}

// expire ends a delivery without a decision: it expires with its life, otherwise the rule says what a timeout means.
func (h *HeldDeliveries) expire(ctx context.Context, d ledger.Delivery) error {
	p, err := h.ApprovalOf(ctx, d)
	if err != nil {
		return err
	}
	now := h.Now()
	allow := p.Terms.AllowOnTimeout && d.Expires.After(now)
	to, reason := ledger.ApprovalDenied, ledger.GatewaySays(ledger.TooLate)
	if allow {
		to, reason = ledger.ApprovalAllowed, ledger.GatewaySays("")
	}
	var change ledger.Change
	if p.Status == ledger.ApprovalPending {
		change.Approvals = []ledger.ApprovalMove{p.Move(to, reason, ledger.ByGateway, now)}
	}
	p.Session, p.Label, p.Delivery = d.Session, d.Label, d.ID // even if nobody could be asked and the approval is not stored
	change.Audit = []sessions.AuditEntry{p.AuditEntry(to, ledger.ByGateway, reason, now)}
	if err := h.Decide(ctx, &change, p, allow, ledger.GatewaySays(ledger.TooLate)); err != nil {
		return err
	}
	if moved := &change.Deliveries[0].Delivery; !d.Expires.After(now) {
		moved.Status = ledger.DeliveryExpired
	}
	return h.Lanes.Commit(ctx, change)
}
