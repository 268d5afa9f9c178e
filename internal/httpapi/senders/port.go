package senders

import (
	"context"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"sluice/internal/alert/intake"
	"sluice/policy/flow"
)

// Sender is who reports an alert, and how secret its words are.
type Sender struct {
	// Source is the protocol and the token's name, such as alertmanager/prometheus; the protocol alone for the gateway's
	// own token. Only the same source resolves an alert by a report.
	Source string
	Label  flow.Label
	Actor  string // for the audit trail
}

// Alerts takes alerts in and shows them.
type Alerts interface {
	// Report stores what a sender says before it returns, all of it or nothing.
	Report(ctx context.Context, from Sender, events []intake.Event) error
	// OpenAlerts lists what is not over, up to a level. Silences above the level count as absent.
	OpenAlerts(ctx context.Context, upTo flow.Level) ([]Alert, error)
	// AlertGroups lists the groups with open alerts up to a level.
	AlertGroups(ctx context.Context, upTo flow.Level) ([]Group, error)
}

// Silences keeps silences.
type Silences interface {
	// ListSilences lists those that a caller of a level may know of, also the ended ones that are still kept.
	ListSilences(ctx context.Context, upTo flow.Level) ([]Silence, error)
	// Silence finds one, or returns sessions.ErrNotFound.
	Silence(ctx context.Context, id string) (Silence, error)
	// PutSilence stores a silence, a new one if its ID is empty, and returns its id.
	PutSilence(ctx context.Context, s Silence, actor string) (string, error)
	// EndSilence ends a silence now.
	EndSilence(ctx context.Context, id, actor string) error
}

// Alerting is what stands behind the ways in for alerts.
type Alerting struct {
	Alerts   Alerts
	Silences Silences
	Tree     func() Tree
}

// Tree is what the configuration says about alerts.
type Tree struct {
	Receivers      []string
	ResolveTimeout time.Duration
	Original       string // routes and receivers as Alertmanager's YAML
}

// Alert is an alert as clients of Alertmanager see it.
type Alert struct {
	Labels, Annotations             map[string]string
	GeneratorURL                    string
	Starts, Updated, Ends           time.Time
	Receivers                       []string
	SilencedBy, InhibitedBy, MuteBy []string
	Label                           flow.Label
}

// Group is a group of alerts with one receiver.
type Group struct {
	Labels   map[string]string
	Receiver string
	Alerts   []Alert
}

// Silence is a silence as clients of Alertmanager see it.
type Silence struct {
	ID                    string
	Matchers              labels.Matchers
	Starts, Ends, Updated time.Time
	Author, Comment       string
	Label                 flow.Label // of its text and matchers
	Reach                 flow.Level // of the alerts that it may keep quiet; set by who makes it
}

// state is what Alertmanager calls the state of a silence.
func (s Silence) state(now time.Time) string {
	switch {
	case !s.Ends.After(now):
		return "expired"
	case s.Starts.After(now):
		return "pending"
	}
	return "active"
}
