package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sluice/internal/agent/roster"
	"sluice/internal/alert"
	"sluice/internal/check"
	"sluice/internal/config"
	"sluice/internal/httpapi/operator"
	"sluice/internal/selfcheck"
	"sluice/internal/trouble"
	"sluice/internal/watermark"
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/store"
)

// watchTroubles reports the gateway's own troubles as alerts until the gateway stops.
func (a *App) watchTroubles() (stop func()) {
	w := &trouble.Watch{
		On: func() bool { return alertsOn(a) }, Look: a.selfLook().troubles, Report: a.router.Alerts().Receive, Now: a.now, Log: a.log,
		Tell: func(ctx context.Context, t *trouble.Trouble, text, key string) (told bool, err error) {
			return tellOnWorkingChannel(ctx, a, t, text, key)
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { w.Run(ctx) })
	watching.Go(func() { a.trail.Run(ctx) })
	return func() {
		cancel()
		watching.Wait()
	}
}

// selfLook is how a replica finds what is wrong with itself.
type selfLook struct {
	components func(ctx context.Context) []operator.Health
	space      func(bytes int64) error // nil: the disk of the store has so much space beyond the reserve
	stops      func() error            // why new messages are refused; nil: never
	limits     func() *config.Limits
	quota      *workspace.Quota
	roster     *roster.Roster
	store      *store.DB
	models     func() []trouble.Trouble // keys and models that do not work
	budgets    func(ctx context.Context) ([]trouble.Trouble, error)
	disk       *watermark.Disk
	replicas   func() []trouble.Trouble
	trail      *selfcheck.Trail
}

func (a *App) selfLook() *selfLook {
	return &selfLook{a.components, a.diskSpace, diskFull(a), a.limits.Load, a.files.Quota, a.roster, a.store, a.fallback.Troubles, a.near.Troubles, a.disk, a.others.troubles, a.trail}
}

// troubles are what is wrong with this replica now. The texts say nothing that only an operator should read: alerts go to chats.
func (l *selfLook) troubles(ctx context.Context) ([]trouble.Trouble, error) {
	all := componentTroubles(l.components(ctx))
	if t, full := selfcheck.Disk(l.disk, l.stops, func() error { return l.space(0) }); full {
		all = append(all, t)
	}
	all = append(all, l.replicas()...)
	all = append(all, l.trail.Troubles()...)
	near, err := l.nearLimits(ctx)
	if err != nil {
		return nil, err
	}
	spent, err := l.budgets(ctx)
	if err != nil {
		return nil, err
	}
	dead, err := l.deadLetters(ctx)
	return slices.Concat(all, near, spent, dead, l.models()), err
}

// componentTroubles reports the components that do not work, but not the disk, see [selfcheck.Disk], and not the accounts that
// another replica serves, which reports them.
func componentTroubles(parts []operator.Health) (all []trouble.Trouble) {
	for _, p := range parts {
		if p.OK || p.Name == "disk" || p.Kind == "channels" && p.Optional {
			continue
		}
		t := trouble.Trouble{
			Name: p.Name, Severity: alert.Error, Title: p.Name + " does not work", Level: p.Level,
			Text: "`sluice status` and `sluice doctor` say why.",
		}
		if p.Kind == "channels" {
			t.Avoid, _, _ = strings.Cut(p.Name, "/")
		}
		if p.Optional {
			t.Severity = alert.Warning
		}
		all = append(all, t)
	}
	return all
}

// deadLetters reports deliveries that have failed, at the lowest level at which there are any.
func (l *selfLook) deadLetters(ctx context.Context) ([]trouble.Trouble, error) {
	for _, level := range flow.Levels() {
		counts, err := l.store.CountDeliveries(ctx, level)
		if err != nil {
			return nil, fmt.Errorf("count dead letters: %w", err)
		}
		n := 0
		for _, status := range countedAs(check.DeadLetters) {
			n += counts[status]
		}
		if n > 0 {
			return []trouble.Trouble{{
				Name: "dead-letters", Severity: alert.Warning, Title: "Messages could not be delivered", Level: level,
				Text: "`sluice deliveries list` shows them; `sluice deliveries retry` or `discard` settles each.",
			}}, nil
		}
	}
	return nil, nil
}
