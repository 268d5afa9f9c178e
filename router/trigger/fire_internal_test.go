package trigger

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// unusable is a source whose triggers fail before an agent is asked.
type unusable struct{}

func (unusable) Fire(context.Context, *ledger.Trigger) (Effect, error) {
	return Effect{End: ledger.TriggerFailed, Why: "the payload is secret"}, nil
}

// rows has the triggers that have ended before, and keeps what is stored.
type rows struct {
	Store
	before []ledger.Trigger
	stored []ledger.Change
}

func (r *rows) EndedTriggers(context.Context, ledger.EndedTriggers) ([]ledger.Trigger, error) {
	return r.before, nil
}

func (r *rows) Commit(_ context.Context, change ledger.Change) error {
	r.stored = append(r.stored, change)
	return nil
}

type composer struct{}

func (composer) Delivery(ledger.DeliveryKind, sessions.Route, string, flow.Label) ledger.Delivery {
	return ledger.Delivery{}
}

func (composer) Notice(route sessions.Route, text string) ledger.Delivery {
	return ledger.Delivery{Route: route, Text: text, Label: flow.Bottom()}
}

type routes struct{}

func (routes) Target(_ context.Context, _ *place.Settings, p outbound.Proactive) (sessions.Route, error) {
	return sessions.Route{Channel: p.Channel}, nil
}

// The owner is told of a trigger that its source can't work on, once, and without what it says.
func TestUnusableTriggerIsTold(t *testing.T) {
	t.Parallel()
	r := &rows{}
	w := &worker{all: &Triggers{
		Sources: map[ledger.TriggerSource]Source{ledger.TriggerHook: unusable{}}, Store: r, Lanes: r, Composer: composer{}, Routes: routes{},
		Settings: func() *place.Settings { return &place.Settings{Owners: []string{"test:1"}} }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}}
	fire := func() ledger.Change {
		require.NoError(t, w.fire(t.Context(), ledger.Trigger{Key: "hook/ci/1", Source: ledger.TriggerHook, Subject: "ci", Status: ledger.TriggerWaiting}))
		return r.stored[len(r.stored)-1]
	}
	change := fire()
	require.Equal(t, []ledger.TriggerStatus{"failed"}, []ledger.TriggerStatus{change.Triggers[0].Status})
	require.Len(t, change.Deliver, 1)
	require.Contains(t, change.Deliver[0].Text, "The hook `ci` has failed before an agent was asked. `sluice hooks list ci` says why.")
	require.NotContains(t, change.Deliver[0].Text, "secret")
	r.before = change.Triggers
	require.Empty(t, fire().Deliver)
}

// What an agent has called its job and its targets is told to the owner only where its label may be told.
func TestNamesOfTriggersHaveALabel(t *testing.T) {
	t.Parallel()
	r := &rows{}
	w := &worker{all: &Triggers{
		Sources: map[ledger.TriggerSource]Source{ledger.TriggerCron: unusable{}}, Store: r, Lanes: r, Composer: composer{}, Routes: routes{},
		Settings: func() *place.Settings { return &place.Settings{Owners: []string{"test:1"}} }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}}
	secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
	job := ledger.Trigger{Key: "cron/a/1", Source: ledger.TriggerCron, Subject: "a", Status: ledger.TriggerWaiting, Label: secret}
	job.Names = secret
	require.NoError(t, w.fire(t.Context(), job))
	require.Equal(t, flow.Confidential, r.stored[0].Deliver[0].Label.Level())
}

// The key of a session may be made of what its first text says: it has the label from the beginning.
func TestNewSessionHasTheLabelOfItsText(t *testing.T) {
	t.Parallel()
	record := sessions.Record{Taint: flow.Bottom(), Clearance: flow.Restricted}
	(&Run{Label: flow.NewLabel(flow.Internal, flow.Untrusted), Clearance: flow.Confidential}).bound(&record)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), record.Taint)
	require.Equal(t, flow.Confidential, record.Clearance)
}

// A gateway without a trigger's source leaves it to another one, for a day.
func TestTriggerWithoutASourceWaits(t *testing.T) {
	t.Parallel()
	r := &rows{}
	now := time.Unix(1_000_000, 0)
	w := &worker{all: &Triggers{Store: r, Lanes: r, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}}
	fire := func() ledger.Trigger {
		require.NoError(t, w.fire(t.Context(), ledger.Trigger{Key: "new/a/1", Source: "new", Status: ledger.TriggerWaiting, Created: time.Unix(1_000_000, 0)}))
		return r.stored[len(r.stored)-1].Triggers[0]
	}
	waits := fire()
	require.Equal(t, ledger.TriggerWaiting, waits.Status)
	require.Equal(t, now.Add(faultPause), waits.Due)
	require.Contains(t, waits.Why, "waits for one that has")
	now = now.Add(strangeLife + time.Second)
	gone := fire()
	require.Equal(t, ledger.TriggerWithdrawn, gone.Status)
	require.Equal(t, "no gateway has handled it in 24h0m0s", gone.Why)
}
