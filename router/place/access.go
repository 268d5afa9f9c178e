package place

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Admit says how an event is admitted.
type Admit int

// How an event can be admitted.
const (
	AdmitRun     Admit = iota // to a run or a command
	AdmitCommand              // to a command only: an owner in a place that is not admitted
	AdmitHistory              // to the history of the group
	AdmitPairing              // an unknown person in a direct chat
	AdmitNone
)

// Access decides who is admitted. It reads the configuration, and for direct chats under pairing the stored pairing.
func (pl *Places) Access(ctx context.Context, s *Settings, in Arrival, owner bool) (Admit, error) {
	ch, ok := s.Channels[in.Route.Channel]
	if !ok || (in.Sender.Bot && !ch.AllowBots.hears(in)) {
		return AdmitNone, nil
	}
	if in.Route.ChatType != sessions.Direct {
		return pl.accessGroup(ctx, s, ch, in, owner)
	}
	how, err := pl.AccessDirect(ctx, ch, in, owner)
	if how == AdmitPairing && (in.Sender.Bot || in.Press != "") {
		return AdmitNone, err // only a person's own message asks for access
	}
	return how, err
}

// AccessDirect decides about a message in a direct chat.
func (pl *Places) AccessDirect(ctx context.Context, ch ChannelSettings, in Arrival, owner bool) (Admit, error) {
	if owner {
		return AdmitRun, nil
	}
	switch ch.DMPolicy {
	case AccessOpen:
		return AdmitRun, nil
	case AccessAllowlist, AccessPairing:
		if allowed(ch.AllowFrom, in.Sender.ID) {
			return AdmitRun, nil
		}
	default:
		return AdmitNone, nil
	}
	if ch.DMPolicy == AccessAllowlist {
		return AdmitNone, nil
	}
	p, err := pl.Store.PairingOf(ctx, in.Route.Channel, in.Route.Account, in.Sender.ID)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return AdmitPairing, nil
	case err != nil:
		return AdmitNone, fmt.Errorf("read pairing: %w", err)
	case p.Status == ledger.PairingApproved:
		return AdmitRun, nil
	}
	return AdmitPairing, nil
}

func allowed(list []string, id sessions.UserID) bool {
	return slices.Contains(list, "*") || slices.Contains(list, string(id))
}

// hears reports whether messages of a bot are admitted.
func (p BotPolicy) hears(in Arrival) bool {
	return p == BotsOn || (p == BotsMentions && (in.Mentioned || in.Press != ""))
}
