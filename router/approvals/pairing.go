package approvals

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

const (
	pairingLife       = time.Hour
	pairingPendingMax = 3 // per channel account
	// A denied person may ask again after this time, because owners make mistakes and the code of the denied request
	// is gone.
	pairingDeniedLife = 24 * time.Hour
	// wrongCodesMax wrong codes within pairingLife lock all pairing. A code has 32^8 values; the lock stops scripts
	// and guessing.
	wrongCodesMax     = 10
	auditWrongCode    = "pairing.wrong"
	pairingCodeLength = 8
	// pairingAlphabet leaves out what people confuse: 0 O 1 I.
	pairingAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
)

// PairingStore is what pairing needs of the store.
type PairingStore interface {
	// Commit applies a change in one durable transaction.
	Commit(ctx context.Context, change ledger.Change) error
	// PairingOf reads a person's pairing; ErrNotFound for a person without a pairing.
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error)
	// ListPairings reads the pairings of a status, newest first; an empty channel means all.
	ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error)
	// CountAudit counts the entries of an action since a time, at most limit.
	CountAudit(ctx context.Context, action string, since time.Time, limit int) (int, error)
}

// Pairings admits people whom the gateway does not know. All exported fields are required. It is safe for concurrent use.
type Pairings struct {
	Store    PairingStore
	Composer *outbound.Composer
	Routes   *outbound.Routes
	Lanes    Committer
	Now      func() time.Time

	guess sync.Mutex // held while a code is looked up: one guess at a time, so that none escapes the count
}

// Request is the result of a person's request to be admitted.
type Request struct {
	Asked  bool            // the person has asked before, or the account has too many pending requests
	Full   bool            // the account has too many pending requests
	Notice ledger.Delivery // what the person is told; empty if Asked
	Change ledger.Change   // to be stored with the person's event
}

// Request gives an unknown person a code, once; while the code is valid, the person gets no second notice. The text
// of their message is not stored.
func (r *Pairings) Request(ctx context.Context, in adapters.Inbound) (Request, error) {
	now := r.Now()
	route := in.Route
	old, err := r.Store.PairingOf(ctx, route.Channel, route.Account, in.Sender.ID)
	if err == nil && (old.Status == ledger.PairingRevoked || old.Expires.After(now)) {
		return Request{Asked: true}, nil
	}
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return Request{}, fmt.Errorf("read pairing: %w", err)
	}
	pending, err := r.Store.ListPairings(ctx, route.Channel, route.Account, ledger.PairingPending)
	if err != nil {
		return Request{}, fmt.Errorf("list pairings: %w", err)
	}
	if countPending(pending, now) >= pairingPendingMax {
		return Request{Asked: true, Full: true}, nil
	}
	p := ledger.Pairing{
		Channel: route.Channel, Account: route.Account, User: in.Sender, Conversation: route.Conversation,
		Code: newPairingCode(), Status: ledger.PairingPending, Created: now, Expires: now.Add(pairingLife),
	}
	asked := r.notifyOwners(ctx, p)
	text := "I don't know you yet. Ask my owner to run"
	if len(asked) > 0 {
		text = "I don't know you yet. I have asked my owner, who can also run"
	}
	text += fmt.Sprintf("\n\n`sluice pairing approve %s`\n\nwithin an hour.", p.Code)
	notice := r.Composer.Notice(in.Route, text)
	notice.Label = r.label(p)
	return Request{Notice: notice, Change: ledger.Change{
		Requests: []ledger.Pairing{p}, // after a conflict with another first message of the same person the request is repeated
		Deliver:  append([]ledger.Delivery{notice}, asked...),
		Change: sessions.Change{Audit: []sessions.AuditEntry{{
			At: now, Actor: sessions.Principal(route.Channel, in.Sender.ID), Action: "pairing.request",
			Object: string(in.Sender.ID), Label: notice.Label,
		}}},
	}}, nil
}

// notifyOwners asks the owners on a person's channel, in their direct chats, whether to admit the person.
func (r *Pairings) notifyOwners(ctx context.Context, p ledger.Pairing) []ledger.Delivery {
	text := fmt.Sprintf("%s (`%s`) wants to talk to me. The code is `%s`; it is valid for an hour.",
		visible.CodeSpan(cmp.Or(p.User.Name, p.User.Username, "Somebody")), sessions.Principal(p.Channel, p.User.ID), p.Code)
	ctx, cancel := context.WithTimeout(ctx, outbound.DirectoryTimeout)
	defer cancel()
	return r.askOwners(ctx, p.Channel, p.Account, question{
		asks: p.Question(), text: r.Composer.Settings().WarnShared(text), label: r.label(p), command: "pair", code: p.Code,
	})
}

// question is what owners are asked about somebody or something that shows a code.
type question struct {
	asks    ledger.Question
	text    string
	label   flow.Label
	command string // the chat command that decides
	code    string
}

// askOwners asks the owners on a channel in their direct chats.
func (r *Pairings) askOwners(ctx context.Context, channel, account string, q question) []ledger.Delivery {
	a, ok := r.Composer.Adapter(channel, account)
	if !ok {
		return nil
	}
	approve := ledger.Control{Label: "Approve", Command: q.command, Args: "approve " + q.code}
	deny := ledger.Control{Label: "Deny", Command: q.command, Args: "deny " + q.code}
	text := q.text
	var controls []ledger.Control
	if b, ok := a.(adapters.Buttoner); ok && b.MaxButtons() >= 2 {
		controls = []ledger.Control{approve, deny}
	} else {
		text += fmt.Sprintf("\n\nSend `%s` or `%s`.", approve.CommandLine(), deny.CommandLine())
	}
	var told []ledger.Delivery
	for _, owner := range r.Composer.Settings().OwnersOn(channel) {
		d := r.Composer.Notice(r.Routes.Direct(ctx, a, owner), text)
		d.Controls, d.Label = controls, q.label
		if len(controls) > 0 {
			d.Asks = q.asks
		}
		told = append(told, d)
	}
	return told
}

// label is the label of messages about a pairing: the person's words come from their channel.
func (r *Pairings) label(p ledger.Pairing) flow.Label {
	return r.Composer.Places.Label(sessions.Route{Channel: p.Channel, Account: p.Account, ChatType: sessions.Direct, Conversation: p.Conversation}, false)
}

// SharedMain warns if all direct chats share one session; empty if they do not.
func (r *Pairings) SharedMain() string { return place.SharedMain(r.Composer.Settings().Keyer) }

// Guess starts the lookup of a code. Only one person can look up a code at a time, until release is called.
func (r *Pairings) Guess() (release func()) {
	r.guess.Lock()
	return r.guess.Unlock
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

// Errors of a decision about a pairing.
var (
	// ErrPairingCode: no pending pairing has the code.
	ErrPairingCode = &request.Error{Field: "code", Text: "no pending pairing has this code; it may have expired: see `sluice pairing list`"}
	// ErrPairingLocked: too many codes were wrong.
	ErrPairingLocked = &request.Error{Field: "code", Text: fmt.Sprintf(
		"%d wrong codes within an hour: codes are refused until that hour is over; `sluice pairing list` shows the valid ones", wrongCodesMax)}
)

// ApprovePairing admits the person who was told the code, and tells them.
func (r *Pairings) ApprovePairing(ctx context.Context, code, actor string) (ledger.Pairing, error) {
	p, err := r.settlePairing(ctx, code, actor, ledger.PairingApproved)
	if err != nil {
		return p, fmt.Errorf("approve pairing: %w", err)
	}
	return p, nil
}

// DenyPairing refuses the person who was told the code. They are not told, and can ask again after a day.
func (r *Pairings) DenyPairing(ctx context.Context, code, actor string) (ledger.Pairing, error) {
	p, err := r.settlePairing(ctx, code, actor, ledger.PairingDenied)
	if err != nil {
		return p, fmt.Errorf("deny pairing: %w", err)
	}
	return p, nil
}

func (r *Pairings) settlePairing(ctx context.Context, code, actor string, to ledger.PairingStatus) (ledger.Pairing, error) {
	r.guess.Lock()
	defer r.guess.Unlock()
	p, change, err := r.Settlement(ctx, code, actor, to)
	if err != nil && !errors.Is(err, ErrPairingCode) {
		return ledger.Pairing{}, err
	}
	if failed := r.Lanes.Commit(ctx, change); failed != nil {
		return ledger.Pairing{}, fmt.Errorf("commit pairing: %w", failed)
	}
	return p, err
}

// Settlement is the change that an owner's decision about a code makes: the person's pairing, or with
// [ErrPairingCode] the count of wrong codes. The audit trail keeps that count over restarts. The caller holds
// [Pairings.Guess] until the change is stored.
func (r *Pairings) Settlement(ctx context.Context, code, actor string, to ledger.PairingStatus) (ledger.Pairing, ledger.Change, error) {
	now := r.Now()
	p, wrong, err := r.pairingOfCode(ctx, code, now)
	if errors.Is(err, ErrPairingCode) {
		return ledger.Pairing{}, wrongCode(actor, now, wrong+1), err
	}
	if err != nil {
		return ledger.Pairing{}, ledger.Change{}, err
	}
	p.Status, p.Code = to, ""
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: now, Actor: actor, Action: "pairing." + pairingVerb(to), Object: sessions.Principal(p.Channel, p.User.ID), Label: r.label(p),
	}}}}
	if to == ledger.PairingDenied {
		p.Expires = now.Add(pairingDeniedLife)
	} else {
		route := sessions.Route{Channel: p.Channel, Account: p.Account, ChatType: sessions.Direct, Conversation: p.Conversation}
		change.Deliver = []ledger.Delivery{r.Composer.Notice(route, "You're in. Send me a message!")}
	}
	change.Pairings = []ledger.Pairing{p}
	return p, change, nil
}

// wrongCode counts a wrong code, the n-th within pairingLife.
func wrongCode(actor string, now time.Time, n int) ledger.Change {
	entries := []sessions.AuditEntry{{At: now, Actor: actor, Action: auditWrongCode, Label: ledger.NoticeLabel()}}
	if n == wrongCodesMax {
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

// pairingOfCode finds the person who was given a code, and counts recent wrong codes.
func (r *Pairings) pairingOfCode(ctx context.Context, code string, now time.Time) (p ledger.Pairing, wrong int, err error) {
	wrong, err = r.Store.CountAudit(ctx, auditWrongCode, now.Add(-pairingLife), wrongCodesMax)
	if err != nil {
		return ledger.Pairing{}, 0, fmt.Errorf("count wrong codes: %w", err)
	}
	if wrong >= wrongCodesMax {
		return ledger.Pairing{}, wrong, ErrPairingLocked
	}
	pending, err := r.Store.ListPairings(ctx, "", "", ledger.PairingPending)
	if err != nil {
		return ledger.Pairing{}, wrong, fmt.Errorf("list pairings: %w", err)
	}
	i := slices.IndexFunc(pending, func(p ledger.Pairing) bool { return p.Code == code && p.Code != "" && p.Expires.After(now) })
	if i < 0 {
		return ledger.Pairing{}, wrong, ErrPairingCode
	}
	return pending[i], wrong, nil
}

// RevokePairing removes a person's access.
func (r *Pairings) RevokePairing(ctx context.Context, channel, account string, user sessions.UserID, actor string) error {
	p, err := r.Store.PairingOf(ctx, channel, account, user)
	if err != nil {
		return fmt.Errorf("read pairing: %w", err)
	}
	p.Status, p.Code = ledger.PairingRevoked, ""
	return r.Store.Commit(ctx, ledger.Change{
		Pairings: []ledger.Pairing{p},
		Change:   sessions.Change{Audit: []sessions.AuditEntry{{At: r.Now(), Actor: actor, Action: "pairing.revoke", Object: sessions.Principal(channel, user), Label: r.label(p)}}},
	})
}
