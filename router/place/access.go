package place

import (
	"context"
	"slices"

	"sluice/adapters"
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
	if !ok || (in.Sender.Bot && !ch.AllowBots.hears(in.Inbound)) {
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
func (p BotPolicy) hears(in adapters.Inbound) bool {
	return p == BotsOn || (p == BotsMentions && (in.Mentioned || in.Press != ""))
}

// WhyRefused says what in the configuration refuses an event that [Places.Access] does not admit.
func (s *Settings) WhyRefused(in adapters.Inbound) string {
	ch, ok := s.Channels[in.Route.Channel]
	setting := "channels." + in.Route.Channel + "."
	switch {
	case !ok:
		return "the configuration has no channel " + in.Route.Channel
	case in.Sender.Bot && !ch.AllowBots.hears(in):
		return "the sender is a bot, and " + setting + "allowBots does not let bots speak"
	case in.Route.ChatType == sessions.Direct && ch.DMPolicy == AccessDisabled:
		return setting + "dmPolicy is disabled: only owners may speak in direct chats"
	case in.Route.ChatType == sessions.Direct && ch.DMPolicy == AccessAllowlist:
		return "the person is not in " + setting + "allowFrom"
	case in.Route.ChatType == sessions.Direct:
		return "the person is not admitted yet (" + setting + "dmPolicy)"
	case ch.GroupPolicy == AccessDisabled:
		return setting + "groupPolicy is disabled: nobody may speak in groups"
	}
	return "the group is not listed in " + setting + "groups, or the person may not speak there (allowFrom, allowRoles)"
}
