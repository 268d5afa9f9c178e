package operator

import (
	"cmp"
	"context"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Pairings admits people and removes them.
type Pairings interface {
	ApprovePairing(ctx context.Context, code, actor string) (ledger.Pairing, error)
	DenyPairing(ctx context.Context, code, actor string) (ledger.Pairing, error)
	RevokePairing(ctx context.Context, channel, account string, user sessions.UserID, actor string) error
	// SharedMain warns if everybody's direct chats are one session; empty if they are not.
	SharedMain() string
}

// PairingRows reads pairings.
type PairingRows interface {
	ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error)
}

// PairingAPI serves who may talk to the gateway.
type PairingAPI struct {
	Visible  *view.Visibility
	Pairings Pairings
	Rows     PairingRows
	Now      func() time.Time
}

// pairingRecord is a pairing as programs see it.
type pairingRecord struct {
	Channel string               `json:"channel"`
	Account string               `json:"account"`
	User    sessions.Peer        `json:"user"`
	Code    string               `json:"code,omitempty"`
	Status  ledger.PairingStatus `json:"status"`
	Created time.Time            `json:"created"`
	Expires *time.Time           `json:"expires,omitempty"`
	Note    string               `json:"note,omitempty" doc:"of an approval: what the person can learn now, and the setting that prevents it"`
}

func pairingOf(p ledger.Pairing) pairingRecord {
	out := pairingRecord{Channel: p.Channel, Account: p.Account, User: p.User, Code: p.Code, Status: p.Status, Created: p.Created}
	if p.Status == ledger.PairingPending {
		out.Expires = view.Optional(p.Expires)
	}
	return out
}

type pairingList struct {
	Pairings []pairingRecord `json:"pairings"`
}

type pairingQuery struct {
	Status string `query:"status" enum:"pending,approved,denied,revoked,all" doc:"default: pending and approved"`
}

func (q pairingQuery) statuses() []ledger.PairingStatus {
	switch q.Status {
	case "":
		return []ledger.PairingStatus{ledger.PairingPending, ledger.PairingApproved}
	case "all":
		return []ledger.PairingStatus{ledger.PairingPending, ledger.PairingApproved, ledger.PairingDenied, ledger.PairingRevoked}
	}
	return []ledger.PairingStatus{ledger.PairingStatus(q.Status)}
}

// List lists who has asked to talk, and what was decided.
func (a *PairingAPI) List(ctx context.Context, in *pairingQuery) (*wire.Body[pairingList], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	out := pairingList{Pairings: []pairingRecord{}}
	for _, status := range in.statuses() {
		found, err := a.Rows.ListPairings(ctx, "", "", status)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if status == ledger.PairingPending && !p.Expires.After(a.Now()) || !a.Visible.ChannelSeen(ctx, p.Channel, p.Account) {
				continue
			}
			out.Pairings = append(out.Pairings, pairingOf(p))
		}
	}
	return wire.NewBody(out), nil
}

type pairingCode struct {
	Code string `path:"code" maxLength:"32"`
}

// Approve admits the person with a code.
func (a *PairingAPI) Approve(ctx context.Context, in *pairingCode) (*wire.Body[pairingRecord], error) {
	code, known, err := a.visibleCode(ctx, in.Code)
	if err != nil {
		return nil, err
	}
	if known {
		if err := a.mayAdmit(ctx); err != nil {
			return nil, err
		}
	}
	p, err := a.Pairings.ApprovePairing(ctx, code, auth.CallerOf(ctx).Actor())
	if err != nil {
		return nil, err
	}
	out := pairingOf(p)
	out.Note = a.Pairings.SharedMain()
	return wire.NewBody(out), nil
}

// Deny refuses the person with a code.
func (a *PairingAPI) Deny(ctx context.Context, in *pairingCode) (*wire.Body[pairingRecord], error) {
	code, _, err := a.visibleCode(ctx, in.Code)
	if err != nil {
		return nil, err
	}
	p, err := a.Pairings.DenyPairing(ctx, code, auth.CallerOf(ctx).Actor())
	if err != nil {
		return nil, err
	}
	return wire.NewBody(pairingOf(p)), nil
}

// mayAdmit refuses a named token that may not know everything that the admitted person could ask for.
func (a *PairingAPI) mayAdmit(ctx context.Context) error {
	if who := auth.CallerOf(ctx); !who.Owner() && !who.SeesAll() && a.Pairings.SharedMain() != "" {
		return wire.Forbidden("admitted people speak in the main session, which may learn RESTRICTED data, but your token sees at most " + who.Level.String() + "; ask the owner to approve, or set session.dmScope to per-channel-peer")
	}
	return nil
}

// noCode is a code that no pairing has. Using it counts as a wrong guess.
const noCode = ""

// visibleCode is the code to decide with, and whether a pending pairing has it that the caller may know of. The code of a
// channel above the caller's level becomes a wrong one.
func (a *PairingAPI) visibleCode(ctx context.Context, given string) (code string, known bool, err error) {
	code = strings.ToUpper(given)
	pending, err := a.Rows.ListPairings(ctx, "", "", ledger.PairingPending)
	if err != nil {
		return noCode, false, err
	}
	for _, p := range pending {
		switch {
		case p.Code != code:
		case a.Visible.ChannelSeen(ctx, p.Channel, p.Account):
			known = true
		default:
			a.Visible.NoteChannel(ctx, "pairing", p.Channel, p.Account, "/"+string(p.User.ID))
			return noCode, false, nil
		}
	}
	return code, known, nil
}

// Revoke removes an admitted person.
func (a *PairingAPI) Revoke(ctx context.Context, in *struct {
	Body struct {
		Channel string `json:"channel" minLength:"1"`
		Account string `json:"account,omitempty" doc:"default: default"`
		User    string `json:"user" minLength:"1" doc:"the person's id on the channel"`
	}
},
) (*struct{}, error) {
	channel, account := in.Body.Channel, cmp.Or(in.Body.Account, "default")
	if !a.Visible.ChannelSeen(ctx, channel, account) {
		a.Visible.NoteChannel(ctx, "channel", channel, account, "")
		return nil, wire.ErrNotFound
	}
	return nil, a.Pairings.RevokePairing(ctx, channel, account, sessions.UserID(in.Body.User), auth.CallerOf(ctx).Actor())
}
