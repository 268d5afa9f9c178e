package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/router/ledger"
	"sluice/sessions"
)

// verdict says how an event is admitted.
type verdict int

const (
	admitRun     verdict = iota // to a run or a command
	admitCommand                // to a command only: an owner in a place that is not admitted
	admitHistory                // to the group's history
	admitPairing                // an unknown person in a direct chat
	admitNone
)

// access decides who is heard. It looks at the configuration, and for direct
// chats under pairing at the stored pairing.
func (r *Router) access(ctx context.Context, s *Settings, in Admission, owner bool) (verdict, error) {
	ch, ok := s.Channels[in.Route.Channel]
	if !ok || (in.Sender.Bot && !ch.AllowBots.hears(in)) {
		return admitNone, nil
	}
	if in.Route.ChatType != sessions.Direct {
		return r.accessGroup(ctx, s, ch, in, owner)
	}
	how, err := r.accessDirect(ctx, ch, in, owner)
	if how == admitPairing && (in.Sender.Bot || in.Press != "") {
		return admitNone, err // only a person's own words ask to be let in
	}
	return how, err
}

func (r *Router) accessDirect(ctx context.Context, ch ChannelSettings, in Admission, owner bool) (verdict, error) {
	if owner {
		return admitRun, nil
	}
	switch ch.DMPolicy {
	case AccessOpen:
		return admitRun, nil
	case AccessAllowlist, AccessPairing:
		if allowed(ch.AllowFrom, in.Sender.ID) {
			return admitRun, nil
		}
	default:
		return admitNone, nil
	}
	if ch.DMPolicy == AccessAllowlist {
		return admitNone, nil
	}
	p, err := r.store.PairingOf(ctx, in.Route.Channel, in.Route.Account, in.Sender.ID)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return admitPairing, nil
	case err != nil:
		return admitNone, fmt.Errorf("read pairing: %w", err)
	case p.Status == ledger.PairingApproved:
		return admitRun, nil
	}
	return admitPairing, nil
}

func allowed(list []string, id sessions.UserID) bool {
	return slices.Contains(list, "*") || slices.Contains(list, string(id))
}
