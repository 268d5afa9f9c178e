package router

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy"
	"sluice/sessions"
)

const (
	pairingLife       = time.Hour
	pairingPendingMax = 3 // a channel account
	pairingCodeLength = 8
	// pairingAlphabet leaves out what people confuse: 0 O 1 I.
	pairingAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
)

// requestPairing gives an unknown person a code, once; while it is valid the
// person is not told again. Nothing of what was said is kept.
func (r *Router) requestPairing(ctx context.Context, s *Settings, in Admission) (Admitted, error) {
	now := r.now()
	route := in.Route
	old, err := r.store.PairingOf(ctx, route.Channel, route.Account, in.Sender.ID)
	if err == nil && (old.Status == PairingRevoked || old.Expires.After(now)) {
		return Admitted{Outcome: OutcomePairing}, nil
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return Admitted{}, fmt.Errorf("read pairing: %w", err)
	}
	pending, err := r.store.ListPairings(ctx, route.Channel, route.Account, PairingPending)
	if err != nil {
		return Admitted{}, fmt.Errorf("list pairings: %w", err)
	}
	if countPending(pending, now) >= pairingPendingMax {
		r.metrics.ignored.WithLabelValues(route.Channel, "pairing_full").Inc()
		return Admitted{Outcome: OutcomePairing}, nil
	}
	p := Pairing{
		Channel: route.Channel, Account: route.Account, User: in.Sender, Conversation: route.Conversation,
		Code: newPairingCode(), Status: PairingPending, Created: now, Expires: now.Add(pairingLife),
	}
	text := fmt.Sprintf("I don't know you yet. Ask my owner to run\n\n`sluice pairing approve %s`\n\nwithin an hour.", p.Code)
	notice := r.newNotice(s, in.Route, text)
	err = r.commitEvent(ctx, in, OutcomePairing, Change{
		Pairings: []Pairing{p},
		Deliver:  []Delivery{notice},
		Audit: []policy.AuditEntry{{
			At: now, Actor: sessions.Principal(route.Channel, in.Sender.ID), Action: "pairing.request",
			Object: string(in.Sender.ID), Label: notice.Label,
		}},
	})
	return Admitted{Outcome: OutcomePairing, Notice: text, NoticeID: notice.ID}, err
}

func countPending(pairings []Pairing, now time.Time) int {
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

// ErrPairingCode: no pending pairing has the code.
var ErrPairingCode = &RequestError{Field: "code", Text: "no pending pairing has this code; it may have expired: see `sluice pairing list`"}

// ApprovePairing admits the person who was told the code, and tells them.
func (r *Router) ApprovePairing(ctx context.Context, code, actor string) (Pairing, error) {
	s := r.settings.Load()
	now := r.now()
	pending, err := r.store.ListPairings(ctx, "", "", PairingPending)
	if err != nil {
		return Pairing{}, fmt.Errorf("list pairings: %w", err)
	}
	i := slices.IndexFunc(pending, func(p Pairing) bool { return p.Code == code && p.Code != "" && p.Expires.After(now) })
	if i < 0 {
		return Pairing{}, ErrPairingCode
	}
	p := pending[i]
	p.Status, p.Code = PairingApproved, ""
	route := sessions.Route{Channel: p.Channel, Account: p.Account, ChatType: sessions.Direct, Conversation: p.Conversation}
	notice := r.newNotice(s, route, "You are admitted. Say something!")
	err = r.commit(ctx, Change{
		Pairings: []Pairing{p},
		Deliver:  []Delivery{notice},
		Audit:    []policy.AuditEntry{{At: now, Actor: actor, Action: "pairing.approve", Object: sessions.Principal(p.Channel, p.User.ID), Label: notice.Label}},
	})
	if err != nil {
		return Pairing{}, fmt.Errorf("commit pairing: %w", err)
	}
	return p, nil
}

// RevokePairing shuts a person out again.
func (r *Router) RevokePairing(ctx context.Context, channel, account string, user sessions.UserID, actor string) error {
	p, err := r.store.PairingOf(ctx, channel, account, user)
	if err != nil {
		return fmt.Errorf("read pairing: %w", err)
	}
	p.Status, p.Code = PairingRevoked, ""
	return r.store.Commit(ctx, Change{
		Pairings: []Pairing{p},
		Audit:    []policy.AuditEntry{{At: r.now(), Actor: actor, Action: "pairing.revoke", Object: sessions.Principal(channel, user), Label: noticeLabel()}},
	})
}
