package place

import (
	"context"
	"slices"

	"sluice/sessions"
)

// Admit says how an event is admitted.
type Admit int

// How an event can be admitted.
const (
	AdmitRun     Admit = iota // to a run or a command
	AdmitCommand              // to a command only: an owner in a place that is not admitted, or an approver who may not talk
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
	right, err := pl.rightDirect(ctx, ch, in, owner)
	switch right {
	case RightNone:
		return AdmitNone, err
	case RightAsk, revoked:
		return AdmitPairing, err
	default:
		return AdmitRun, err
	}
}

func allowed(list []string, id sessions.UserID) bool {
	return slices.Contains(list, "*") || slices.Contains(list, string(id))
}

// hears reports whether messages of a bot are admitted.
func (p BotPolicy) hears(in Arrival) bool {
	return p == BotsOn || (p == BotsMentions && (in.Mentioned || in.Press != ""))
}
