package router

import (
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// newNotice makes the gateway's own word to a conversation.
func (r *Router) newNotice(s *place.Settings, route sessions.Route, text string) ledger.Delivery {
	return r.newDelivery(s, ledger.KindNotice, route, text, ledger.NoticeLabel())
}

func (r *Router) newDelivery(s *place.Settings, kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery {
	now := r.now()
	lane := route.Lane()
	return ledger.Delivery{
		ID: ledger.NewDeliveryID(), Lane: lane, Partition: lane.Partition(r.partitions),
		Kind: kind, Route: route, Text: text, Label: label,
		Status: ledger.DeliveryQueued, Created: now, NextTry: now, Expires: now.Add(lifeOf(s, route)),
	}
}

// handleLife is the longest time for which a platform's handle for a private answer
// holds: 15 minutes at Discord, 30 at Slack.
const handleLife = 15 * time.Minute

// lifeOf is the life of a delivery by a route: one that only the sender is to see can't wait longer than its handle holds.
func lifeOf(s *place.Settings, route sessions.Route) time.Duration {
	if route.Handle != "" {
		return min(life(s), handleLife)
	}
	return life(s)
}

func life(s *place.Settings) time.Duration {
	if s.DeliveryLife > 0 {
		return s.DeliveryLife
	}
	return 24 * time.Hour // invariant 3 of the design: no stale floods
}
