package router

import (
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"sluice/policy/flow"
	"sluice/sessions"
)

// NewDeliveryID makes a delivery id.
func NewDeliveryID() DeliveryID {
	u := uuid.Must(uuid.NewV7())
	return DeliveryID("dlv_" + hex.EncodeToString(u[:]))
}

// noticeLabel is the label of the gateway's own words: they tell nothing that a session has learnt.
func noticeLabel() flow.Label { return flow.Bottom() }

// newNotice makes the gateway's own word to a conversation.
func (r *Router) newNotice(s *Settings, route sessions.Route, text string) Delivery {
	return r.newDelivery(s, KindNotice, route, text, noticeLabel())
}

func (r *Router) newDelivery(s *Settings, kind DeliveryKind, route sessions.Route, text string, label flow.Label) Delivery {
	now := r.now()
	lane := route.Lane()
	return Delivery{
		ID: NewDeliveryID(), Lane: lane, Partition: lane.Partition(r.partitions),
		Kind: kind, Route: route, Text: text, Label: label,
		Status: DeliveryQueued, Created: now, NextTry: now, Expires: now.Add(lifeOf(s, route)),
	}
}

// handleLife is the longest time for which a platform's handle for a private answer
// holds: 15 minutes at Discord, 30 at Slack.
const handleLife = 15 * time.Minute

// lifeOf is the life of a delivery by a route: one that only the sender is to see can't wait longer than its handle holds.
func lifeOf(s *Settings, route sessions.Route) time.Duration {
	if route.Handle != "" {
		return min(life(s), handleLife)
	}
	return life(s)
}

func life(s *Settings) time.Duration {
	if s.DeliveryLife > 0 {
		return s.DeliveryLife
	}
	return 24 * time.Hour // invariant 3 of the design: no stale floods
}
