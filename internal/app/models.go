package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/alert"
	"sluice/internal/config"
	"sluice/internal/httpapi/providers"
	"sluice/internal/model"
	"sluice/internal/model/chain"
	"sluice/internal/model/cooldown"
	"sluice/internal/trouble"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// newModels creates the models of a configuration. What has failed is remembered across configurations.
func newModels(a *App, c *config.Config) (*model.Registry, error) {
	return model.New(model.Configured(&c.Models), model.Options{Board: a.fallback.board, Now: a.now, Log: a.log, Moved: a.fallback.moved, Wrap: func(l chain.Link) sessions.Model {
		return a.meter.Wrap(l.Provider, l.Key, l.Model, l.Ask)
	}}, modelsInUse(c)...)
}

// modelsInUse returns the models and chains that the configuration names.
func modelsInUse(c *config.Config) []string {
	names := []string{c.Models.Default, c.Agents.Defaults.Model}
	for _, a := range c.Agents.List {
		names = append(names, a.Model, a.Compaction.Model)
	}
	for _, j := range c.Jobs() { // those of heartbeats are among them
		names = append(names, j.Model)
	}
	return names
}

// fallback is what the chains of models share: which keys and models do not work, and who is told. Its goroutine reads what
// other replicas have found; stop waits for it.
type fallback struct {
	board  *cooldown.Board
	models *atomic.Pointer[model.Registry]
	shared bool // several replicas may share the store
	tell   func(ctx context.Context, p outbound.Proactive) (ledger.Delivery, error)
	owner  func() (outbound.Proactive, bool)
	alerts func() bool // whether alerts tell the owner
	audit  func(ctx context.Context, e sessions.AuditEntry) error
	now    func() time.Time
	log    *slog.Logger
	moves  *prometheus.CounterVec

	cancel   context.CancelFunc
	watching sync.WaitGroup
}

// begin makes it ready for the models. The router, which tells the owner, is made later.
func (f *fallback) begin(a *App) {
	f.models, f.shared, f.now, f.log = &a.models, a.cfg.Store.URL != "", a.now, a.log
	f.board = cooldown.New(cooldown.Config{Store: a.store, Now: a.now, Log: a.log, Changed: f.changed})
	f.alerts = func() bool { return a.router.Alerts().Plan() != nil }
	f.tell = func(ctx context.Context, p outbound.Proactive) (ledger.Delivery, error) {
		return a.router.Sender.Send(ctx, p)
	}
	f.owner = func() (outbound.Proactive, bool) {
		t, ok := a.target("owner")
		return outbound.Proactive{Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread}, ok
	}
	f.audit = func(ctx context.Context, e sessions.AuditEntry) error {
		return a.router.Owner().Commit(ctx, ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{e}}})
	}
	f.moves = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_model_failovers_total", Help: "Requests that went on from a model that failed to the next one of a chain."}, []string{"from", "to"})
	a.registry.MustRegister(f.moves)
}

func (f *fallback) moved(from, to string) { f.moves.WithLabelValues(from, to).Inc() }

// watch reads what has failed before, and goes on to read what other replicas find.
func (f *fallback) watch(ctx context.Context) {
	if err := f.board.Load(ctx); err != nil {
		f.log.Warn("it is not known which models have failed before", "err", err)
	}
	if !f.shared {
		return
	}
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.watching.Go(func() { f.board.Watch(ctx) })
}

func (f *fallback) stop() {
	if f.cancel != nil {
		f.cancel()
		f.watching.Wait()
	}
}

// api serves the providers.
func (f *fallback) api() *providers.API {
	return &providers.API{
		Providers: func() []chain.Provider { return f.models.Load().Described() }, Board: f.board, Audit: f.audit, Now: f.now,
	}
}

// clear uses a provider's keys and models again; those of every provider if it has no name.
func (f *fallback) clear(ctx context.Context, provider string) (cleared []string, err error) {
	states, err := f.board.Clear(ctx, func(p cooldown.Place) bool { return provider == "" || p.Provider == provider })
	for _, s := range states {
		cleared = append(cleared, s.Place.String())
	}
	return cleared, err
}

// toldFrom is the number of failures in a row from which the owner is told: many are over after half a minute.
const toldFrom = 2

// told reports whether the owner is told of a state.
func told(s *cooldown.State) bool { return s.Blocked() || s.Step >= toldFrom }

// troubles are the keys and models that do not work, as alerts tell of them.
func (f *fallback) troubles() (all []trouble.Trouble) {
	for _, s := range f.board.List() {
		if !told(&s) {
			continue
		}
		t := trouble.Trouble{Name: "model/" + s.Place.String(), Severity: alert.Warning, Title: title(&s), Text: "It is tried again by itself. `sluice models list` shows until when it is not asked."}
		if s.Blocked() {
			t.Severity, t.Text = alert.Error, remedy(&s)
		}
		all = append(all, t)
	}
	return all
}

func title(s *cooldown.State) string { return s.Place.String() + " does not work: " + s.Why() }

func remedy(s *cooldown.State) string {
	return fmt.Sprintf("It is not used until you have mended that and said so: `sluice models clear %s`, or `/model clear %s`.", s.Provider, s.Provider)
}

// tellTime bounds how long a run waits while a message to the owner is stored.
const tellTime = 5 * time.Second

// changed tells the owner once that something does not work, and once that it works again. Alerts do it where they are
// configured.
func (f *fallback) changed(ctx context.Context, s cooldown.State, works bool) {
	if !told(&s) || f.alerts() || !works && !s.Blocked() && s.Step > toldFrom {
		return
	}
	text, word := title(&s)+". It is tried again by itself; until then, the next models of a chain answer.", "fails"
	switch {
	case works:
		text, word = s.Place.String()+" works again.", "works"
	case s.Blocked():
		text = title(&s) + ". " + remedy(&s)
	}
	p, ok := f.owner()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer cancel()
	p.Text, p.Label, p.Actor = text, flow.NewLabel(flow.Public, flow.Trusted), "gateway"
	p.Idempotency = fmt.Sprintf("model/%s/%s/%d", s.Place, word, s.Since.UnixMilli())
	if _, err := f.tell(ctx, p); err != nil {
		f.log.Warn("the owner is not told about a model", "place", s.Place.String(), "err", err)
	}
}
