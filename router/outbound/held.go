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

// A text that a rule holds waits outside its lane, so that others go on. Its approval's id is made of the delivery and
// of the rules that hold it: what was allowed once passes these rules, whenever it is tried, and no others.

const (
	asksMax   = 10  // how often a person may be asked about one delivery, as somebody retries it
	heldBatch = 100 // held deliveries looked at in one sweep
)

// HoldStore is what held deliveries need of the store.
type HoldStore interface {
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	// HeldDeliveries reads the deliveries in status held whose next try is not after now, the oldest first, at most limit.
	HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error)
}

// Holds asks people about deliveries that a rule holds. All fields are required.
type Holds struct {
	Store    HoldStore
	Composer *Composer
	Routes   *Routes
	Lanes    Committer
	Now      func() time.Time
	Log      *slog.Logger
}

// ApprovalOf is the approval of what holds a delivery: the newest one, or one that is not stored yet, without a status.
func (h *Holds) ApprovalOf(ctx context.Context, d ledger.Delivery) (ledger.Approval, error) {
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

// allowedBefore lets a delivery pass what holds it, where somebody has allowed that. What else the gate says holds.
func (h *Holds) allowedBefore(ctx context.Context, d ledger.Delivery, decision *policy.Decision) error {
	d.Decision = decision
	p, err := h.ApprovalOf(ctx, d)
	switch {
	case err != nil:
		return err
	case p.Status == ledger.ApprovalAllowed:
		decision.Approve(p.By)
	case p.Status == ledger.ApprovalDenied:
		decision.Action, decision.Reason = policy.Block, "it was denied, and the limit of questions about it is reached"
	case d.Revises != "":
		decision.Action, decision.Reason = policy.Block, "a rule holds it, and the last change of a question can't wait for approval"
	case d.Asks != "":
		decision.Action, decision.Reason = policy.Block, "a rule holds it, and a question can't wait for approval; "+ShownBy(ledger.ApprovalID(d.Asks))+" what it is about"
	}
	return nil
}

// hold lays a delivery aside until somebody has decided about it.
func (w *worker) hold(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, judged []sessions.AuditEntry) error {
	p, err := w.out.Holds.ApprovalOf(ctx, d)
	if err != nil {
		return err
	}
	change := ledger.Change{Change: sessions.Change{Audit: judged}}
	if p.Status == "" {
		texts, err := w.out.Composer.Texts(ctx, d)
		if err != nil {
			return err
		}
		for i := range texts { // each by itself, as it is sent: what is shown is what is allowed
			texts[i] = d.Decision.Redacted(texts[i])
		}
		said := strings.Join(texts, "\n")
		if p, err = w.out.Holds.newHeld(p.ID, d, said); err != nil {
			return err
		}
		change.Ask = []ledger.Approval{p}
		if change.Deliver, err = w.out.Holds.askAbout(ctx, d, p, said); err != nil {
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

// newHeld is the approval that a delivery waits for.
func (h *Holds) newHeld(id ledger.ApprovalID, d ledger.Delivery, said string) (ledger.Approval, error) {
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
		ID: id, Session: d.Session, Delivery: d.ID, Args: args, Label: d.Label, Why: d.Decision.Reason, Status: ledger.ApprovalPending, Created: now, Expires: expires,
		Terms: terms,
	}, nil
}

// askAbout is the question to the first of those who may decide who can be asked. The text is shown where the gate lets it
// out; where nothing may be said to any of them the approval is only listed.
func (h *Holds) askAbout(ctx context.Context, d ledger.Delivery, p ledger.Approval, said string) ([]ledger.Delivery, error) {
	whole, bare := heldQuestion(d, p, "\n\n"+Shown(p.ID, said)), heldQuestion(d, p, " "+NotShown(p.ID))
	return h.AskDeciders(ctx, p, d.Route.Channel, whole, bare)
}

// AskDeciders is a question to the first of those who may decide who can be asked, whoever is on the channel first: whole, which
// has the approval's label, where the gate lets it out, else bare, which tells nothing of what it is about. A message is shown as it is
// sent or not at all: what a rule took out of the question alone would be taken for what is taken out of the message.
func (h *Holds) AskDeciders(ctx context.Context, p ledger.Approval, channel, whole, bare string) ([]ledger.Delivery, error) {
	s := h.Composer.Settings()
	for _, who := range decider.Among(s.Owners, p.Terms, channel) {
		channel, id, _ := sessions.ParsePrincipal(who)
		route, err := h.Routes.Find(ctx, Proactive{Channel: channel, To: string(id)})
		if err != nil || route.ChatType != sessions.Direct {
			continue
		}
		for i, q := range []ledger.Delivery{h.Composer.Delivery(ledger.KindNotice, route, whole, p.Label), h.Composer.Notice(route, bare)} {
			q.Session, q.Run = p.Session, p.Run
			q.AskAbout(p.ID)
			leaving, err := h.Composer.Egress(ctx, q, sessions.Record{})
			if err != nil {
				return nil, fmt.Errorf("ask the gate about a question: %w", err)
			}
			decision := h.Composer.Gate.Decide(leaving)
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

// Decide adds to a change what a decision makes of the delivery that waits for it.
func (h *Holds) Decide(ctx context.Context, change *ledger.Change, p ledger.Approval, allow bool, reason flow.Text) error {
	if p.Delivery == "" {
		return nil
	}
	d, err := h.Store.Delivery(ctx, p.Delivery)
	if err != nil {
		return fmt.Errorf("read delivery: %w", err)
	}
	if d.Status != ledger.DeliveryHeld {
		return &request.Error{Text: fmt.Sprintf("the message is %s: it no longer waits for a decision", d.Status)}
	}
	d.Epoch, d.NextTry, d.LastError = 0, h.Now(), ""
	d.Status = ledger.DeliveryQueued
	if !allow {
		d.Status, d.Finished, d.LastError = ledger.DeliveryBlocked, h.Now(), "it was denied; "+ShownBy(p.ID)+" why"
		if reason.Label().FlowsTo(d.Label.Level()) { // who may see the delivery may see it
			d.LastError = reason.Raw()
		}
		if d.Kind == ledger.KindReply {
			change.Deliver = append(change.Deliver, h.Composer.WithheldNotice(d))
		}
	}
	change.Deliveries = append(change.Deliveries, ledger.DeliveryMove{From: ledger.DeliveryHeld, Delivery: d})
	return nil
}

// ExpireAll ends the waiting of deliveries whose time to decide is over.
func (h *Holds) ExpireAll(ctx context.Context) {
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

// expire decides about a delivery that no one has decided about: it expires with its life, else the rule says what silence means.
func (h *Holds) expire(ctx context.Context, d ledger.Delivery) error {
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
	p.Session, p.Label, p.Delivery = d.Session, d.Label, d.ID // also where nobody could be asked and it is not stored
	change.Audit = []sessions.AuditEntry{p.AuditEntry(to, ledger.ByGateway, reason, now)}
	if err := h.Decide(ctx, &change, p, allow, ledger.GatewaySays(ledger.TooLate)); err != nil {
		return err
	}
	if moved := &change.Deliveries[0].Delivery; !d.Expires.After(now) {
		moved.Status = ledger.DeliveryExpired
	}
	return h.Lanes.Commit(ctx, change)
}
