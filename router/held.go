package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/visible"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// A text that a rule holds waits outside its lane, so that others go on. Its approval's id is made of the delivery and
// of the rules that hold it: what was allowed once passes these rules, whenever it is tried, and no others.

const (
	asksMost  = 10  // how often a person may be asked about one delivery, as somebody retries it
	heldBatch = 100 // held deliveries looked at in one sweep
)

// approvalOf is the approval of what holds a delivery: the newest one, or one that is not stored yet, without a status.
func (r *Router) approvalOf(ctx context.Context, d ledger.Delivery) (ledger.Approval, error) {
	var p ledger.Approval
	for n := range asksMost {
		id := heldID(d, n)
		found, err := r.store.Approval(ctx, id)
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
func (r *Router) allowedBefore(ctx context.Context, d ledger.Delivery, decision *policy.Decision) error {
	d.Decision = decision
	p, err := r.approvalOf(ctx, d)
	switch {
	case err != nil:
		return err
	case p.Status == ledger.ApprovalAllowed:
		decision.Approve(p.By)
	case p.Status == ledger.ApprovalDenied:
		decision.Action, decision.Reason = policy.Block, "it was asked about often enough, and denied"
	case d.Revises != "":
		decision.Action, decision.Reason = policy.Block, "nobody is asked about the end of a question"
	case d.Asks != "":
		decision.Action, decision.Reason = policy.Block, "nobody is asked about a question; "+shows(ledger.ApprovalID(d.Asks))+" what it is about"
	}
	return nil
}

// hold lays a delivery aside until somebody has decided about it.
func (w *outboxWorker) hold(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, judged []sessions.AuditEntry) error {
	p, err := w.approvalOf(ctx, d)
	if err != nil {
		return err
	}
	change := ledger.Change{Change: sessions.Change{Audit: judged}}
	if p.Status == "" {
		texts, err := w.compose.Texts(ctx, d)
		if err != nil {
			return err
		}
		for i := range texts { // each by itself, as it is sent: what is shown is what is allowed
			texts[i] = d.Decision.Redacted(texts[i])
		}
		said := strings.Join(texts, "\n")
		if p, err = w.newHeld(p.ID, d, said); err != nil {
			return err
		}
		change.Ask = []ledger.Approval{p}
		if change.Deliver, err = w.askAbout(ctx, d, p, said); err != nil {
			return err
		}
	}
	if w.deletable(d) {
		change.Deliver = append(change.Deliver, w.withdrawal(d))
		d.PreviewID = ""
	}
	d.Status, d.NextTry, d.LastError = ledger.DeliveryHeld, p.Expires, d.Decision.Reason
	change.Deliveries = []ledger.DeliveryMove{{From: from, Delivery: d}}
	if err := w.lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("store held delivery: %w", err)
	}
	w.metrics.deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryHeld)).Inc()
	return nil
}

// newHeld is the approval that a delivery waits for.
func (w *outboxWorker) newHeld(id ledger.ApprovalID, d ledger.Delivery, said string) (ledger.Approval, error) {
	args, err := json.Marshal(map[string]any{"channel": d.Route.Channel, "account": d.Route.Account, "to": d.Route.Conversation, "thread": d.Route.Thread, "kind": d.Kind, "text": said})
	if err != nil {
		return ledger.Approval{}, fmt.Errorf("write approval: %w", err)
	}
	terms := *d.Decision.Terms
	terms.Level = d.Label.Level()
	now := w.now()
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
func (w *outboxWorker) askAbout(ctx context.Context, d ledger.Delivery, p ledger.Approval, said string) ([]ledger.Delivery, error) {
	whole, bare := heldQuestion(d, p, "\n\n"+shown(p.ID, said)), heldQuestion(d, p, " "+notShown(p.ID))
	return w.askDeciders(ctx, p, d.Route.Channel, whole, bare)
}

// notShown stands in a question for what may not be said where it is asked.
func notShown(id ledger.ApprovalID) string { return "It can't be shown here: " + shows(id) + " it." }

// shows names the command that shows all of what an approval is about.
func shows(id ledger.ApprovalID) string { return "`sluice approvals show " + string(id) + "` shows" }

// askDeciders is a question to the first of those who may decide who can be asked, whoever is on the channel first: whole, which
// has the approval's label, where the gate lets it out, else bare, which tells nothing of what it is about. A message is shown as it is
// sent or not at all: what a rule took out of the question alone would be taken for what is taken out of the message.
func (r *Router) askDeciders(ctx context.Context, p ledger.Approval, channel, whole, bare string) ([]ledger.Delivery, error) {
	s := r.settings.Load()
	for _, who := range deciders(s, p.Terms, channel) {
		channel, id, _ := sessions.ParsePrincipal(who)
		route, err := r.proactiveRoute(ctx, s, Proactive{Channel: channel, To: string(id)})
		if err != nil || route.ChatType != sessions.Direct {
			continue
		}
		for i, q := range []ledger.Delivery{r.compose.Delivery(ledger.KindNotice, route, whole, p.Label), r.compose.Notice(route, bare)} {
			q.Session, q.Run = p.Session, p.Run
			q.AskAbout(p.ID)
			leaving, err := r.compose.Egress(ctx, q, sessions.Record{})
			if err != nil {
				return nil, fmt.Errorf("ask the gate about a question: %w", err)
			}
			decision := r.gate.Decide(leaving)
			if redacted := decision.Action == policy.Redact; decision.Passes() && !(redacted && i == 0 && p.Delivery != "") {
				return []ledger.Delivery{q}, nil
			}
		}
	}
	r.log.Warn("nobody of those who may decide can be asked; sluice approvals list shows it", "approval", string(p.ID), "session", string(p.Session), "delivery", string(p.Delivery))
	return nil, nil
}

func heldQuestion(d ledger.Delivery, p ledger.Approval, text string) string {
	return fmt.Sprintf("May I say something in %s %s? %s.%s\n\n%s", d.Route.Channel, visible.CodeSpan(string(d.Route.Conversation)), strings.TrimSuffix(visible.Line(p.Why), "."), text, silence(p))
}

// decideHeld adds what a decision makes of the delivery that waits for it.
func (r *Router) decideHeld(ctx context.Context, change *ledger.Change, p ledger.Approval, allow bool, reason flow.Text) error {
	if p.Delivery == "" {
		return nil
	}
	d, err := r.store.Delivery(ctx, p.Delivery)
	if err != nil {
		return fmt.Errorf("read delivery: %w", err)
	}
	if d.Status != ledger.DeliveryHeld {
		return &request.Error{Text: fmt.Sprintf("the message is %s: it waits for nothing any more", d.Status)}
	}
	d.Epoch, d.NextTry, d.LastError = 0, r.now(), ""
	d.Status = ledger.DeliveryQueued
	if !allow {
		d.Status, d.Finished, d.LastError = ledger.DeliveryBlocked, r.now(), "it was denied; "+shows(p.ID)+" why"
		if reason.Label().FlowsTo(d.Label.Level()) { // who may see the delivery may see it
			d.LastError = reason.Raw()
		}
		if d.Kind == ledger.KindReply {
			change.Deliver = append(change.Deliver, r.withheldNotice(d))
		}
	}
	change.Deliveries = append(change.Deliveries, ledger.DeliveryMove{From: ledger.DeliveryHeld, Delivery: d})
	return nil
}

// lapseHeld ends the waiting of deliveries about which nobody has decided in time.
func (r *Router) lapseHeld(ctx context.Context) {
	due, err := r.store.HeldDeliveries(ctx, r.now(), heldBatch)
	if err != nil && ctx.Err() == nil {
		r.log.Error("held deliveries not read", "err", err)
	}
	for _, d := range due {
		if err := r.lapse(ctx, d); err != nil && !errors.Is(err, sessions.ErrConflict) && ctx.Err() == nil {
			r.log.Error("held delivery not decided", "delivery", string(d.ID), "err", err)
		}
	}
}

// lapse decides about a delivery in nobody's stead: its life may be over, else the rule says what silence means.
func (r *Router) lapse(ctx context.Context, d ledger.Delivery) error {
	p, err := r.approvalOf(ctx, d)
	if err != nil {
		return err
	}
	now := r.now()
	allow := p.Terms.Lapse && d.Expires.After(now)
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
	if err := r.decideHeld(ctx, &change, p, allow, ledger.GatewaySays(ledger.TooLate)); err != nil {
		return err
	}
	if moved := &change.Deliveries[0].Delivery; !d.Expires.After(now) {
		moved.Status = ledger.DeliveryExpired
	}
	return r.lanes.Commit(ctx, change)
}

// deciders are those who may decide alone, whoever is on the channel first.
func deciders(s *place.Settings, terms sessions.Terms, channel string) []string {
	all := slices.Clone(s.Owners)
	for _, list := range terms.Approvers {
		all = append(all, list...)
	}
	var here, elsewhere []string
	for _, who := range all {
		switch on, id, _ := sessions.ParsePrincipal(who); {
		case strings.HasPrefix(string(id), decider.TokenPrefix): // it has no chat in which it could be asked
		case !(decider.Verdict{Actor: who, Owner: slices.Contains(s.Owners, who)}).May(terms):
		case on == channel:
			here = append(here, who)
		default:
			elsewhere = append(elsewhere, who)
		}
	}
	return append(here, elsewhere...)
}
