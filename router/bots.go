package router

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

// Two bots that answer each other would go on for ever. Bots are stopped in a
// conversation when the last botTurnsMost inputs that were taken there came from bots and
// all within botTurnsWithin.
const (
	botTurnsMost   = 6
	botTurnsWithin = 10 * time.Minute
)

// botPlace is the conversation whose turns are counted: threads count with it, because
// each answer may begin one.
func botPlace(route sessions.Route) sessions.Lane {
	route.Thread = ""
	return route.Lane()
}

// countTurn notes in the admission what its commit must store of who took turns.
// It reports whether a bot is to be ignored. The count is stored with the input
// that it counts, so that a restart doesn't begin it anew.
func (r *Router) countTurn(ctx context.Context, s *place.Settings, in *Admission, how place.Admit) (ignore bool, err error) {
	bots := s.Channels[in.Route.Channel].AllowBots
	switch {
	case bots != place.BotsOn && bots != place.BotsMentions:
		return false, nil
	case in.Sender.Bot && how == place.AdmitHistory: // nobody answers it
		return false, nil
	}
	place := botPlace(in.Route)
	in.turns = &ledger.BotTurns{Place: place}
	if !in.Sender.Bot {
		return false, nil
	}
	turns, err := r.store.BotTurns(ctx, place)
	if err != nil {
		return false, fmt.Errorf("read turns of bots: %w", err)
	}
	if turns.Stopped {
		r.metrics.ignored.WithLabelValues(in.Route.Channel, "bot_loop").Inc()
		return true, nil
	}
	now := r.now()
	if n := len(turns.Turns); n >= botTurnsMost && now.Sub(turns.Turns[n-botTurnsMost]) < botTurnsWithin {
		return true, r.stopBots(ctx, *in, turns)
	}
	turns.Turns = append(turns.Turns, now)
	turns.Turns = slices.Clone(turns.Turns[max(0, len(turns.Turns)-botTurnsMost):])
	in.turns = &turns
	return false, nil
}

// stopBots hears no bots in a conversation before a person speaks there, and says so once.
func (r *Router) stopBots(ctx context.Context, in Admission, turns ledger.BotTurns) error {
	turns.Stopped = true
	in.turns = &turns
	err := r.commitEvent(ctx, in, ledger.OutcomeIgnored, ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: r.now(), Actor: in.speaker(), Action: "bots.stopped",
		Object: string(in.Route.Conversation), Label: r.places.Label(in.Route, false),
		Detail: map[string]string{"account": in.Route.Account, "turns": strconv.Itoa(len(turns.Turns))},
	}}}})
	if err != nil {
		return err
	}
	r.metrics.ignored.WithLabelValues(in.Route.Channel, "bot_loop").Inc()
	r.log.Warn("bots talk to each other; they are not heard there until a person speaks",
		"channel", in.Route.Channel, "account", in.Route.Account, "conversation", string(in.Route.Conversation))
	return nil
}
