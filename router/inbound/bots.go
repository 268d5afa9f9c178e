package inbound

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// Two bots that answer each other would never stop. Bots are stopped in a conversation when its last maxBotTurns accepted
// inputs came from bots, all within botTurnsWithin.
const (
	maxBotTurns    = 6
	botTurnsWithin = 10 * time.Minute
)

// botPlace is the conversation whose turns are counted. Its threads count with it, because each answer may begin one.
func botPlace(route sessions.Route) sessions.Lane {
	route.Thread = ""
	return route.Lane()
}

// countTurn counts the turns of bots, and reports whether to ignore this one. The count goes into the admission and is stored
// in its commit, so a restart does not reset it.
func (i *Intake) countTurn(ctx context.Context, s *place.Settings, in *Admission, how place.Admit) (ignore bool, err error) {
	bots := s.Channels[in.Route.Channel].AllowBots
	switch {
	case bots != place.BotsOn && bots != place.BotsMentions:
		return false, nil
	case in.Sender.Bot && how == place.AdmitHistory: // no answer follows
		return false, nil
	}
	at := botPlace(in.Route)
	in.turns = &ledger.BotTurns{Place: at}
	if !in.Sender.Bot {
		return false, nil
	}
	turns, err := i.Store.BotTurns(ctx, at)
	if err != nil {
		return false, fmt.Errorf("read turns of bots: %w", err)
	}
	if turns.Stopped {
		i.Metrics.Ignored.WithLabelValues(in.Route.Channel, "bot_loop").Inc()
		return true, nil
	}
	now := i.Now()
	if tooMany(turns.Turns, now) {
		return true, i.stopBots(ctx, *in, turns)
	}
	turns.Turns = withTurn(turns.Turns, now)
	in.turns = &turns
	return false, nil
}

// tooMany reports whether another turn of a bot must be ignored, after the turns of bots since a person has spoken.
func tooMany(turns []time.Time, now time.Time) bool {
	n := len(turns)
	return n >= maxBotTurns && now.Sub(turns[n-maxBotTurns]) < botTurnsWithin
}

// withTurn adds a turn, and keeps those that still matter.
func withTurn(turns []time.Time, now time.Time) []time.Time {
	first := max(0, len(turns)+1-maxBotTurns)
	return append(slices.Clone(turns[first:]), now)
}

// stopBots ignores bots in a conversation until a person speaks there, and logs that once.
func (i *Intake) stopBots(ctx context.Context, in Admission, turns ledger.BotTurns) error {
	turns.Stopped = true
	in.turns = &turns
	err := i.commitEvent(ctx, in, ledger.OutcomeIgnored, ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: i.Now(), Actor: in.speaker(), Action: "bots.stopped",
		Object: string(in.Route.Conversation), Label: i.Places.Label(in.Route, false),
		Detail: map[string]string{"account": in.Route.Account, "turns": strconv.Itoa(len(turns.Turns))},
	}}}})
	if err != nil {
		return err
	}
	i.Metrics.Ignored.WithLabelValues(in.Route.Channel, "bot_loop").Inc()
	i.Log.Warn("bots are talking to each other: ignoring them in this conversation until a person writes there",
		"channel", in.Route.Channel, "account", in.Route.Account, "conversation", string(in.Route.Conversation))
	return nil
}
