// Package fallback has what the chains of models of a gateway share: which keys and models do not work, and who is told.
package fallback

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/alert"
	"sluice/internal/httpapi/providers"
	"sluice/internal/model/chain"
	"sluice/internal/model/cooldown"
	"sluice/internal/trouble"
	"sluice/sessions"
)

// Config has the dependencies of a Fallback. All fields are required.
type Config struct {
	Store     cooldown.Store
	Shared    bool // several replicas may share the store
	Providers func() []chain.Provider
	Alerts    func() bool // alerts tell the owner what does not work
	// Tell tells the owner something once; further calls with the same key do nothing.
	Tell       func(ctx context.Context, text, key string) error
	Audit      func(ctx context.Context, e sessions.AuditEntry) error
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Fallback remembers what does not work. Its goroutine, from Start to Stop, stores what could not be stored before, and reads what other replicas have found.
type Fallback struct {
	Board *cooldown.Board

	cfg      Config
	moves    *prometheus.CounterVec
	cancel   context.CancelFunc
	watching sync.WaitGroup
}

// New creates a Fallback.
func New(c Config) *Fallback {
	f := &Fallback{cfg: c, moves: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_model_failovers_total", Help: "Requests that went on from a model that failed to the next one of a chain.",
	}, []string{"from", "to"})}
	c.Registerer.MustRegister(f.moves)
	f.Board = cooldown.New(cooldown.Config{Store: c.Store, Now: c.Now, Log: c.Log, Changed: f.changed})
	return f
}

// Moved counts that a request went on to another model.
func (f *Fallback) Moved(from, to string) { f.moves.WithLabelValues(from, to).Inc() }

// Start reads what has failed before, and goes on to read what other replicas find.
func (f *Fallback) Start(ctx context.Context) {
	if err := f.Board.Load(ctx); err != nil {
		f.cfg.Log.Warn("it is not known which models have failed before", "err", err)
	}
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.watching.Go(func() { f.Board.Watch(ctx, f.cfg.Shared) })
}

// Stop ends the goroutine and waits for it.
func (f *Fallback) Stop() {
	if f == nil || f.cancel == nil {
		return
	}
	f.cancel()
	f.watching.Wait()
}

// API serves the providers.
func (f *Fallback) API() *providers.API {
	return &providers.API{Providers: f.cfg.Providers, Board: f.Board, Audit: f.cfg.Audit, Now: f.cfg.Now}
}

// Clear uses a provider's keys and models again; those of every provider if it has no name.
func (f *Fallback) Clear(ctx context.Context, provider string) (cleared []string, err error) {
	states, err := f.Board.Clear(ctx, func(p cooldown.Place) bool { return provider == "" || p.Provider == provider })
	for _, s := range states {
		cleared = append(cleared, s.Place.String())
	}
	return cleared, err
}

// toldFrom is the number of failures in a row from which the owner is told: many are over after half a minute.
const toldFrom = 2

// told reports whether the owner is told of a state.
func told(s *cooldown.State) bool { return s.Blocked() || s.Step >= toldFrom }

// Troubles are the keys and models that do not work, as alerts tell of them.
func (f *Fallback) Troubles() (all []trouble.Trouble) {
	for _, s := range f.Board.List() {
		if !told(&s) {
			continue
		}
		t := trouble.Trouble{
			Name: "model/" + s.Place.String(), Severity: alert.Warning, Title: title(&s),
			Text: "The gateway tries it again automatically; `sluice models list` shows when.", Told: true,
		}
		if s.Blocked() {
			t.Severity, t.Text = alert.Error, remedy(&s)
		}
		all = append(all, t)
	}
	return all
}

func title(s *cooldown.State) string { return s.Place.String() + " does not work: " + s.Why() }

func remedy(s *cooldown.State) string {
	return fmt.Sprintf("It is not used until you have fixed this and run `sluice models clear %s`, or `/model clear %s`.", s.Provider, s.Provider)
}

// tellTime bounds how long a run waits while a message to the owner is stored.
const tellTime = 5 * time.Second

// changed tells the owner once that something does not work, and once that it works again. Alerts do it where they are
// configured.
func (f *Fallback) changed(ctx context.Context, s cooldown.State, works bool) {
	if !told(&s) || f.cfg.Alerts() || !works && !s.Blocked() && s.Step > toldFrom {
		return
	}
	text, word := title(&s)+". The gateway tries it again automatically; until then, the next models of a chain answer.", "fails"
	switch {
	case works:
		text, word = s.Place.String()+" works again.", "works"
	case s.Blocked():
		text = title(&s) + ". " + remedy(&s)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer cancel()
	if err := f.cfg.Tell(ctx, text, fmt.Sprintf("model/%s/%s/%d", s.Place, word, s.Since.UnixMilli())); err != nil {
		f.cfg.Log.Warn("could not notify the owner about a model", "place", s.Place.String(), "err", err)
	}
}
