package outbound

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// Gate decides what may be sent. Its methods have no effects.
type Gate interface {
	Decide(e policy.Egress) policy.Decision
	// Carries is the highest level that may be sent to the destination of a text.
	Carries(e policy.Egress) flow.Level
	// SinkLevel is the highest level that may be sent on a route.
	SinkLevel(route sessions.Route) flow.Level
}

// Reader is the part of the store that a Composer reads.
type Reader interface {
	place.KeyReader
	// Batch reads the runs that are or were worked together with a run, including that run, in no order; empty if the
	// run is unknown.
	Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error)
	// MediaInfo reads a file's row without its content; ErrNotFound if retention has removed it.
	MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
	// PeerOf reads the person of a direct chat; empty for other conversations; ErrNotFound if nobody has spoken there
	// yet.
	PeerOf(ctx context.Context, channel, account string, conversation sessions.ConversationID) (sessions.UserID, error)
}

// Composer creates deliveries and asks the gate about them. All fields are required. It is safe for concurrent use.
type Composer struct {
	Store      Reader
	Gate       Gate
	Adapter    adapters.Finder
	Places     *place.Places
	Settings   func() *place.Settings
	Partitions int // the same on all replicas
	Now        func() time.Time
}

// pinned is the composer with the present settings. All parts of a request that uses it see the same ones, even if the
// configuration is reloaded meanwhile.
func (c *Composer) pinned() *Composer {
	fixed, s := *c, c.Settings()
	fixed.Settings = func() *place.Settings { return s }
	return &fixed
}

// Delivery creates a queued delivery.
func (c *Composer) Delivery(kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery {
	now := c.Now()
	lane := route.Lane()
	return ledger.Delivery{
		ID: ledger.NewDeliveryID(), Lane: lane, Partition: lane.Partition(c.Partitions),
		Kind: kind, Route: route, Text: text, Label: label,
		Status: ledger.DeliveryQueued, Created: now, NextTry: now, Expires: now.Add(LifeOf(c.Settings(), route)),
	}
}

// Notice creates a delivery of the gateway's own text. It contains nothing that a session has learnt.
func (c *Composer) Notice(route sessions.Route, text string) ledger.Delivery {
	return c.Delivery(ledger.KindNotice, route, text, ledger.NoticeLabel())
}

// Decide asks the gate about a delivery of a session, without effects.
func (c *Composer) Decide(ctx context.Context, d ledger.Delivery, record sessions.Record) (policy.Decision, error) {
	leaving, err := c.Egress(ctx, d, record)
	if err != nil {
		return policy.Decision{}, err
	}
	return c.Gate.Decide(leaving), nil
}

// HandleLife is how long a private answer may wait: every platform's handle for it is valid for that long, Discord's for
// no longer, Slack's for 30 minutes.
const HandleLife = 15 * time.Minute

// LifeOf is how long a delivery on a route may wait. A private answer expires with its handle.
func LifeOf(s *place.Settings, route sessions.Route) time.Duration {
	life := s.DeliveryLife
	if life <= 0 {
		life = 24 * time.Hour // an older message would only flood the conversation
	}
	if route.Handle != "" {
		return min(life, HandleLife)
	}
	return life
}

// WithheldText tells a conversation that its answer is withheld, without the reason.
const WithheldText = "I have a reply, but I am not allowed to send it in this conversation. My owner can see why with `sluice deliveries list --status blocked`, or start a new session with /new."

// WithheldNotice tells a conversation that its answer is withheld. The notice belongs to the answer's session and has
// the answer's label, so that over the API only those who may see both read it. If the place carries less than the
// answer, the notice has its own label; otherwise nobody would see it.
func (c *Composer) WithheldNotice(d ledger.Delivery) ledger.Delivery {
	label := d.Label
	if d.Decision.AbovePlace() {
		label = ledger.NoticeLabel()
	}
	notice := c.Delivery(ledger.KindNotice, d.Route, WithheldText, label)
	notice.Session, notice.Run = d.Session, d.Run
	return notice
}
