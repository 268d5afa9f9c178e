package app

import (
	"context"
	"fmt"

	"sluice/internal/config"
	"sluice/router/ledger"
	"sluice/router/place"
)

// warnShared logs a warning if people other than owners talk in the owner's session.
func (a *App) warnShared(ctx context.Context, cfg *config.Config) {
	shared := place.SharedMain(cfg.Session.Keyer())
	if shared == "" {
		return
	}
	guests, paired := cfg.Guests(), 0
	pairings, err := a.store.ListPairings(ctx, "", "", ledger.PairingApproved)
	if err != nil {
		a.log.Error("it is unknown who was admitted with a code", "err", err)
	}
	for _, p := range pairings {
		if cfg.LetsPair(p.Channel) {
			paired++
		}
	}
	if paired > 0 {
		guests = append(guests, fmt.Sprintf("people admitted with a code: %d", paired))
	}
	if len(guests) > 0 {
		a.log.Warn("others share the owner's session", "why", guests, "fix", shared)
	}
}
