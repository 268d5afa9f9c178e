package router

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

const (
	pairingLife       = time.Hour
	pairingPendingMax = 3 // a channel account
	// A denied person may ask again after this time: people err, and there is no code left to approve.
	pairingDeniedLife = 24 * time.Hour
	// wrongCodesMost within pairingLife lock all pairing. A code has 32^8 values; this is against scripts and typing in the dark.
	wrongCodesMost = 10
	auditWrongCode = "pairing.wrong"
	// directoryWithin bounds the questions for the owners' direct chats: Slack waits three seconds for an event to be taken.
	directoryWithin   = 2 * time.Second
	pairingCodeLength = 8
	// pairingAlphabet leaves out what people confuse: 0 O 1 I.
	pairingAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
)

// requestPairing gives an unknown person a code, once; while it is valid the
// person is not told again. Nothing of what was said is kept.
func (r *Router) requestPairing(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	now := r.now()
	route := in.Route
	old, err := r.store.PairingOf(ctx, route.Channel, route.Account, in.Sender.ID)
	if err == nil && (old.Status == ledger.PairingRevoked || old.Expires.After(now)) {
		return r.pairingPending(ctx, s, in)
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return Admitted{}, fmt.Errorf("read pairing: %w", err)
	}
	pending, err := r.store.ListPairings(ctx, route.Channel, route.Account, ledger.PairingPending)
	if err != nil {
		return Admitted{}, fmt.Errorf("list pairings: %w", err)
	}
	if countPending(pending, now) >= pairingPendingMax {
		r.metrics.ignored.WithLabelValues(route.Channel, "pairing_full").Inc()
		return r.pairingPending(ctx, s, in)
	}
	p := ledger.Pairing{
		Channel: route.Channel, Account: route.Account, User: in.Sender, Conversation: route.Conversation,
		Code: newPairingCode(), Status: ledger.PairingPending, Created: now, Expires: now.Add(pairingLife),
	}
	asked := r.tellOwners(ctx, s, p)
	text := "I don't know you yet. Ask my owner to run"
	if len(asked) > 0 {
		text = "I don't know you yet. I have asked my owner, who may also run"
	}
	text += fmt.Sprintf("\n\n`sluice pairing approve %s`\n\nwithin an hour.", p.Code)
	notice := r.compose.Notice(in.Route, text)
	notice.Label = r.pairingLabel(p)
	err = r.commitEvent(ctx, in, ledger.OutcomePairing, ledger.Change{
		Requests: []ledger.Pairing{p}, // a conflict with another first message of the person is looked at again
		Deliver:  append([]ledger.Delivery{notice}, asked...),
		Change: sessions.Change{Audit: []sessions.AuditEntry{{
			At: now, Actor: in.speaker(), Action: "pairing.request",
			Object: string(in.Sender.ID), Label: notice.Label,
		}}},
	})
	return Admitted{Outcome: ledger.OutcomePairing, Notice: text, NoticeID: notice.ID}, err
}

// pairingPending says nothing to who was told before, but for what the platform's own menu must have.
func (r *Router) pairingPending(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	if !fromMenu(in) {
		return Admitted{Outcome: ledger.OutcomePairing}, nil
	}
	return r.answerEvent(ctx, s, in, ledger.OutcomePairing, "I don't know you yet. My owner can admit you.")
}

// tellOwners asks the owners on a person's channel, in their direct chats, whether to admit the person.
func (r *Router) tellOwners(ctx context.Context, s *place.Settings, p ledger.Pairing) []ledger.Delivery {
	a, ok := r.adapter(p.Channel, p.Account)
	if !ok {
		return nil
	}
	approve := ledger.Control{Label: "Approve", Command: "pair", Args: "approve " + p.Code}
	deny := ledger.Control{Label: "Deny", Command: "pair", Args: "deny " + p.Code}
	text := fmt.Sprintf("%s (`%s`) asks to talk to me. The code is `%s`; it holds for an hour.",
		visible.CodeSpan(cmp.Or(p.User.Name, p.User.Username, "Somebody")), sessions.Principal(p.Channel, p.User.ID), p.Code)
	text = s.WarnShared(text)
	var controls []ledger.Control
	if b, ok := a.(adapters.Buttoner); ok && b.MaxButtons() >= 2 {
		controls = []ledger.Control{approve, deny}
	} else {
		text += fmt.Sprintf("\n\nSay `%s` or `%s`.", approve.CommandLine(), deny.CommandLine())
	}
	ctx, cancel := context.WithTimeout(ctx, directoryWithin)
	defer cancel()
	var told []ledger.Delivery
	for _, owner := range s.OwnersOn(p.Channel) {
		d := r.compose.Notice(r.Routes.Direct(ctx, a, owner), text)
		d.Controls, d.Label = controls, r.pairingLabel(p)
		if len(controls) > 0 {
			d.Asks = p.Question()
		}
		told = append(told, d)
	}
	return told
}

// pairingLabel is the label of what tells of a pairing: who asks is heard on their channel.
func (r *Router) pairingLabel(p ledger.Pairing) flow.Label {
	return r.places.Label(sessions.Route{Channel: p.Channel, Account: p.Account, ChatType: sessions.Direct, Conversation: p.Conversation}, false)
}

func countPending(pairings []ledger.Pairing, now time.Time) int {
	n := 0
	for _, p := range pairings {
		if p.Expires.After(now) {
			n++
		}
	}
	return n
}

func newPairingCode() string {
	code := make([]byte, pairingCodeLength)
	_, _ = rand.Read(code) // never fails, see crypto/rand
	for i, b := range code {
		code[i] = pairingAlphabet[int(b)%len(pairingAlphabet)] // 32 letters: no bias
	}
	return string(code)
}

// Errors of an owner's word about a pairing.
var (
	// ErrPairingCode: no pending pairing has the code.
	ErrPairingCode = &request.Error{Field: "code", Text: "no pending pairing has this code; it may have expired: see `sluice pairing list`"}
	// ErrPairingLocked: too many codes were wrong.
	ErrPairingLocked = &request.Error{Field: "code", Text: fmt.Sprintf(
		"%d codes were wrong within an hour, so no code is taken before that hour is over; `sluice pairing list` shows the right ones", wrongCodesMost)}
)

// ApprovePairing admits the person who was told the code, and tells them.
func (r *Router) ApprovePairing(ctx context.Context, code, actor string) (ledger.Pairing, error) {
	p, err := r.settlePairing(ctx, code, actor, ledger.PairingApproved)
	if err != nil {
		return p, fmt.Errorf("approve pairing: %w", err)
	}
	return p, nil
}

// DenyPairing refuses the person who was told the code. They are not told, and can ask again after a day.
func (r *Router) DenyPairing(ctx context.Context, code, actor string) (ledger.Pairing, error) {
	p, err := r.settlePairing(ctx, code, actor, ledger.PairingDenied)
	if err != nil {
		return p, fmt.Errorf("deny pairing: %w", err)
	}
	return p, nil
}

func (r *Router) settlePairing(ctx context.Context, code, actor string, to ledger.PairingStatus) (ledger.Pairing, error) {
	r.guess.Lock()
	defer r.guess.Unlock()
	p, change, err := r.settlement(ctx, code, actor, to)
	if err != nil && !errors.Is(err, ErrPairingCode) {
		return ledger.Pairing{}, err
	}
	if failed := r.lanes.Commit(ctx, change); failed != nil {
		return ledger.Pairing{}, fmt.Errorf("commit pairing: %w", failed)
	}
	return p, err
}

// settlement is what an owner's word about a code changes: the person's pairing, or with [ErrPairingCode] the
// count of wrong codes, which is kept in the audit trail, where a restart doesn't forget it. The caller holds guess until it is stored.
func (r *Router) settlement(ctx context.Context, code, actor string, to ledger.PairingStatus) (ledger.Pairing, ledger.Change, error) {
	now := r.now()
	p, wrong, err := r.pairingOfCode(ctx, code, now)
	if errors.Is(err, ErrPairingCode) {
		return ledger.Pairing{}, wrongCode(actor, now, wrong+1), err
	}
	if err != nil {
		return ledger.Pairing{}, ledger.Change{}, err
	}
	p.Status, p.Code = to, ""
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: now, Actor: actor, Action: "pairing." + pairingVerb(to), Object: sessions.Principal(p.Channel, p.User.ID), Label: r.pairingLabel(p),
	}}}}
	if to == ledger.PairingDenied {
		p.Expires = now.Add(pairingDeniedLife)
	} else {
		route := sessions.Route{Channel: p.Channel, Account: p.Account, ChatType: sessions.Direct, Conversation: p.Conversation}
		change.Deliver = []ledger.Delivery{r.compose.Notice(route, "You are admitted. Say something!")}
	}
	change.Pairings = []ledger.Pairing{p}
	return p, change, nil
}

// wrongCode counts a wrong code, the n-th within pairingLife.
func wrongCode(actor string, now time.Time, n int) ledger.Change {
	entries := []sessions.AuditEntry{{At: now, Actor: actor, Action: auditWrongCode, Label: ledger.NoticeLabel()}}
	if n == wrongCodesMost {
		entries = append(entries, sessions.AuditEntry{At: now, Actor: actor, Action: "pairing.locked", Label: ledger.NoticeLabel()})
	}
	return ledger.Change{Change: sessions.Change{Audit: entries}}
}

func pairingVerb(to ledger.PairingStatus) string {
	if to == ledger.PairingDenied {
		return "deny"
	}
	return "approve"
}

// pairingOfCode finds who was told a code, and how many were wrong of late.
func (r *Router) pairingOfCode(ctx context.Context, code string, now time.Time) (p ledger.Pairing, wrong int, err error) {
	wrong, err = r.store.CountAudit(ctx, auditWrongCode, now.Add(-pairingLife), wrongCodesMost)
	if err != nil {
		return ledger.Pairing{}, 0, fmt.Errorf("count wrong codes: %w", err)
	}
	if wrong >= wrongCodesMost {
		return ledger.Pairing{}, wrong, ErrPairingLocked
	}
	pending, err := r.store.ListPairings(ctx, "", "", ledger.PairingPending)
	if err != nil {
		return ledger.Pairing{}, wrong, fmt.Errorf("list pairings: %w", err)
	}
	i := slices.IndexFunc(pending, func(p ledger.Pairing) bool { return p.Code == code && p.Code != "" && p.Expires.After(now) })
	if i < 0 {
		return ledger.Pairing{}, wrong, ErrPairingCode
	}
	return pending[i], wrong, nil
}

// RevokePairing shuts a person out again.
func (r *Router) RevokePairing(ctx context.Context, channel, account string, user sessions.UserID, actor string) error {
	p, err := r.store.PairingOf(ctx, channel, account, user)
	if err != nil {
		return fmt.Errorf("read pairing: %w", err)
	}
	p.Status, p.Code = ledger.PairingRevoked, ""
	return r.store.Commit(ctx, ledger.Change{
		Pairings: []ledger.Pairing{p},
		Change:   sessions.Change{Audit: []sessions.AuditEntry{{At: r.now(), Actor: actor, Action: "pairing.revoke", Object: sessions.Principal(channel, user), Label: r.pairingLabel(p)}}},
	})
}
