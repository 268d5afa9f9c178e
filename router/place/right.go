package place

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Right is the reason why a person may speak in a place, or says that they may not.
type Right string

// The rights.
const (
	RightOwner  Right = "owner"
	RightOpen   Right = "open"   // everybody may
	RightListed Right = "listed" // a list of the configuration has the person
	RightRole   Right = "role"   // people with a role of the configuration may
	RightPaired Right = "paired" // the person's request was approved
	RightAsk    Right = "ask"    // the person may ask for access
	RightNone   Right = "none"

	// revoked is the right of a person whose access was revoked: their messages still count as requests, which get no answer.
	revoked Right = "revoked"
)

// RightOf returns the right of a person in a place, by the present configuration and requests for access. It does not know the
// roles of people: RightRole means that the person may speak if they have a listed role.
func (pl *Places) RightOf(ctx context.Context, route sessions.Route, who sessions.Peer) (Right, error) {
	s := pl.Settings()
	in := Arrival{Inbound: adapters.Inbound{Route: route, Sender: who}}
	owner := s.IsOwner(route.Channel, who.ID)
	ch, ok := s.Channels[route.Channel]
	switch {
	case !ok, who.Bot && ch.AllowBots != BotsOn && ch.AllowBots != BotsMentions:
		return RightNone, nil
	case route.ChatType == sessions.Direct:
		right, err := pl.rightDirect(ctx, ch, in, owner)
		if right == revoked {
			right = RightNone
		}
		return right, err
	}
	at, err := pl.groupAt(ctx, ch, in)
	if err != nil {
		return RightNone, err
	}
	right := at.allow.right(in.Inbound)
	switch {
	case !ch.admits(at):
		return RightNone, nil
	case owner:
		return RightOwner, nil
	case right == RightNone && len(at.allow.AllowRoles) > 0:
		return RightRole, nil
	}
	return right, nil
}

// rightDirect returns the right of a sender in a direct chat.
func (pl *Places) rightDirect(ctx context.Context, ch ChannelSettings, in Arrival, owner bool) (Right, error) {
	if owner {
		return RightOwner, nil
	}
	switch ch.DMPolicy {
	case AccessOpen:
		return RightOpen, nil
	case AccessAllowlist, AccessPairing:
		if allowed(ch.AllowFrom, in.Sender.ID) {
			return RightListed, nil
		}
	default:
		return RightNone, nil
	}
	if ch.DMPolicy == AccessAllowlist {
		return RightNone, nil
	}
	p, err := pl.Store.PairingOf(ctx, in.Route.Channel, in.Route.Account, in.Sender.ID)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return RightAsk, nil
	case err != nil:
		return RightNone, fmt.Errorf("read pairing: %w", err)
	case p.Status == ledger.PairingApproved:
		return RightPaired, nil
	case p.Status == ledger.PairingRevoked:
		return revoked, nil
	}
	return RightAsk, nil
}

// admits reports whether messages in a group are accepted at all.
func (ch *ChannelSettings) admits(at group) bool {
	return ch.GroupPolicy == AccessOpen || (ch.GroupPolicy == AccessAllowlist && at.listed)
}

// right returns the sender's right in an admitted group. Without lists, everybody may speak.
func (g GroupSettings) right(in adapters.Inbound) Right {
	switch {
	case !g.restricts():
		return RightOpen
	case allowed(g.AllowFrom, in.Sender.ID):
		return RightListed
	case slices.ContainsFunc(in.Roles, func(role string) bool { return slices.Contains(g.AllowRoles, role) }):
		return RightRole
	}
	return RightNone
}
