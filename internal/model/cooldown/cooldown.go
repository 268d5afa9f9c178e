// Package cooldown remembers which keys and models of providers have failed, so that requests are not sent to them again
// and again.
//
//	          fails                      its time is over              the probe succeeds
//	working ────────► cooling (30 s) ───────────────────► probing ───────────────────────► working
//	                     ▲                                   │ the probe fails
//	                     └──── cooling (1 min, then 5 min) ◄─┘
//
//	        key wrong, no money left             a person clears it, or the key changes
//	working ─────────────────────────► blocked ─────────────────────────────────────────► working
//
// The state of each is a row that all replicas share, and only a change of it is written. A replica keeps the rows in
// memory: asking costs no statement, and nothing is written while everything works. Where several replicas share the
// store, each reads the rows of the others every [Every], so that it knows of a cooldown that much later at most.
package cooldown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/pause"
	"sluice/sessions"
	"sluice/sessions/port"
)

// Every is how often a replica reads the rows of the others.
const Every = 15 * time.Second

// steps are how long something cools down, by the number of failures in a row.
func steps() []time.Duration { return []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute} }

const (
	cooldownMax = time.Hour       // a provider that asks for a longer pause is asked again after it
	probeTime   = 2 * time.Minute // after which a probe without a result no longer keeps others away
)

// Place is what cools down: a model with a key of its provider, or a whole key.
type Place struct {
	Provider string
	Key      string // its name
	Model    string // empty: the key with all models
}

// String names the place for people.
func (p Place) String() string {
	if p.Model == "" {
		return p.Provider + " (" + p.Key + ")"
	}
	return p.Provider + "/" + p.Model + " (" + p.Key + ")"
}

func (p Place) compare(q Place) int {
	return cmp.Or(strings.Compare(p.Provider, q.Provider), strings.Compare(p.Key, q.Key), strings.Compare(p.Model, q.Model))
}

// State is a place that does not work.
type State struct {
	Place
	Mark  string              // of the key with which it failed; a state of another key does not count
	Kind  port.ModelErrorKind // of the last failure; what the provider said may quote a prompt, and is not kept
	Step  int                 // failures in a row, counted from 1
	Since time.Time
	Until time.Time // zero: until a person clears it
}

// Blocked reports whether a person has to clear the state.
func (s *State) Blocked() bool { return s.Until.IsZero() }

// Why says in a few words why the place does not work.
func (s *State) Why() string {
	switch s.Kind {
	case sessions.ModelRateLimited:
		return "too many requests"
	case sessions.ModelOverloaded:
		return "overloaded"
	case sessions.ModelCut:
		return "responses break off"
	case sessions.ModelAuth:
		return "the provider does not accept the key"
	case port.ModelForbidden:
		return "the key may not use the model"
	case port.ModelBilling:
		return "the account has no money or quota left"
	case port.ModelMissing:
		return "the provider does not have the model"
	case port.ModelLoading:
		return "the model does not finish loading"
	}
	return "no connection"
}

// Store keeps the states.
type Store interface {
	Cooldowns(ctx context.Context) ([]State, error)
	// PutCooldown stores a state in place of the one of the same place.
	PutCooldown(ctx context.Context, s State) error
	// DropCooldown removes the state of a place; without one nothing happens.
	DropCooldown(ctx context.Context, p Place) error
	// ClaimProbe gives the caller the probe of a place, unless it was given at before or later, or the place has no state.
	ClaimProbe(ctx context.Context, p Place, now, before time.Time) (bool, error)
}

// Config has the dependencies of a Board. Store, Changed and Log may be nil.
type Config struct {
	Store Store
	Now   func() time.Time
	Log   *slog.Logger
	// Changed is called for each change that this process has stored: a place that does not work, or that works again.
	Changed func(ctx context.Context, s State, works bool)
}

// Board knows the states. It is safe for concurrent use.
type Board struct {
	cfg   Config
	empty atomic.Bool // there is no state: the way of every call while all works

	writing sync.Mutex // one state is stored or removed at a time, in the order of memory; taken before mu

	mu      sync.Mutex
	states  map[Place]*entry
	loads   int            // that are reading the store
	changed map[Place]bool // places that have changed since the first of them began
}

// entry is a state as this process knows it.
type entry struct {
	State
	probing time.Time // when this process sent the probe; zero: no probe is under way
	mine    bool      // this process has the probe, and may send it again
	unsaved bool      // the store does not have the state yet
}

// same reports whether another entry has the same state; a load makes new entries.
func (e *entry) same(other *entry) bool {
	return other != nil && other.Step == e.Step && other.Since.Equal(e.Since) && other.Until.Equal(e.Until)
}

// New creates a board. Load reads what is stored.
func New(c Config) *Board {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	b := &Board{cfg: c, states: map[Place]*entry{}}
	b.empty.Store(true)
	return b
}

// Load reads the stored states. States that this process finds in the meantime, or has not stored yet, take precedence.
func (b *Board) Load(ctx context.Context) error {
	if b.cfg.Store == nil {
		return nil
	}
	b.mu.Lock()
	b.loads++
	b.mu.Unlock()
	stored, err := b.cfg.Store.Cooldowns(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := b.changed
	if b.loads--; b.loads == 0 {
		b.changed = nil
	}
	if err != nil {
		return fmt.Errorf("read cooldowns: %w", err)
	}
	next := make(map[Place]*entry, len(stored))
	for _, s := range stored {
		e := &entry{State: s}
		if old := b.states[s.Place]; old != nil && old.Since.Equal(s.Since) && old.Step == s.Step {
			e.probing, e.mine = old.probing, old.mine
		}
		next[s.Place] = e
	}
	for p, e := range b.states {
		if e.unsaved || changed[p] {
			next[p] = e
		}
	}
	for p := range changed {
		if b.states[p] == nil {
			delete(next, p)
		}
	}
	b.states = next
	b.empty.Store(len(next) == 0)
	return nil
}

// change notes that a place has changed; the caller holds the lock.
func (b *Board) change(p Place) {
	b.empty.Store(len(b.states) == 0)
	if b.loads == 0 {
		return
	}
	if b.changed == nil {
		b.changed = map[Place]bool{}
	}
	b.changed[p] = true
}

// Watch stores what could not be stored before, and, where replicas share the store, reads the rows of the others, until ctx
// ends.
func (b *Board) Watch(ctx context.Context, shared bool) {
	pause.Rounds(ctx, Every, Every, b.cfg.Log, func(ctx context.Context) {
		b.saveAll(ctx)
		if !shared {
			return
		}
		if err := b.Load(ctx); err != nil && ctx.Err() == nil {
			b.cfg.Log.Warn("cooldowns of other replicas not known", "err", err)
		}
	})
}

// Standing says whether a place may be asked.
type Standing struct {
	May   bool
	State State // why it may not; zero if it may
}

// Standing reports whether a model may be asked with a key now. Where its time is over, one caller of all replicas may, as
// the probe: the others wait until it has ended.
func (b *Board) Standing(ctx context.Context, p Place, mark string) Standing {
	if b.empty.Load() {
		return Standing{May: true}
	}
	for _, at := range [...]Place{{p.Provider, p.Key, ""}, p} {
		state, probe := b.standing(at, mark)
		if state != nil || probe && !b.claim(ctx, at, &state) {
			return Standing{State: *state}
		}
	}
	return Standing{May: true}
}

// standing is the state that forbids to ask a place; nil: it may be asked, perhaps as the probe.
func (b *Board) standing(at Place, mark string) (state *State, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.states[at]
	if e == nil || e.Mark != mark {
		return nil, false
	}
	now, s := b.cfg.Now(), e.State
	switch {
	case e.Blocked(), now.Before(e.Until):
		return &s, false
	case now.Sub(e.probing) < probeTime:
		s.Until = e.probing.Add(probeTime)
		return &s, false
	}
	e.probing = now
	return nil, !e.mine
}

// claim claims the probe among all replicas; otherwise state is why the place may not be asked.
func (b *Board) claim(ctx context.Context, at Place, state **State) bool {
	if b.cfg.Store == nil {
		return true
	}
	now := b.cfg.Now()
	mine, err := b.cfg.Store.ClaimProbe(ctx, at, now, now.Add(-probeTime))
	if err != nil {
		b.cfg.Log.Warn("the probe of a model is not claimed", "place", at.String(), "err", err)
	}
	if mine || err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if e := b.states[at]; e != nil {
			e.mine = mine
		}
		return true
	}
	if err := b.Load(ctx); err != nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.states[at]
	if e == nil { // another replica has found that it works
		return true
	}
	s := e.State
	s.Until = now.Add(Every)
	*state = &s
	return false
}

// Worked says that a model has answered with a key.
func (b *Board) Worked(ctx context.Context, p Place) {
	if b.empty.Load() {
		return
	}
	for _, at := range []Place{{p.Provider, p.Key, ""}, p} {
		if _, err := b.drop(ctx, at); err != nil {
			b.cfg.Log.Warn("the end of a cooldown is not stored", "place", at.String(), "err", err)
		}
	}
}

// of is the state of a place; nil: it has none.
func (b *Board) of(p Place) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.states[p]
}

// drop removes the state of a place, in the store first; false if the place has no state.
func (b *Board) drop(ctx context.Context, p Place) (bool, error) {
	e := b.of(p)
	if e == nil {
		return false, nil
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.cfg.Store != nil {
		if err := b.cfg.Store.DropCooldown(ctx, p); err != nil {
			return false, err
		}
	}
	b.mu.Lock()
	if e.same(b.states[p]) { // else it has failed again, and that is about to be stored
		delete(b.states, p)
		b.change(p)
	}
	b.mu.Unlock()
	b.tell(ctx, e.State, true)
	return true, nil
}

func (b *Board) tell(ctx context.Context, s State, works bool) {
	if b.cfg.Changed != nil {
		b.cfg.Changed(ctx, s, works)
	}
}

// Released says that a call has ended without a verdict about the model, so that the next may be the probe.
func (b *Board) Released(p Place) {
	if b.empty.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range []Place{{p.Provider, p.Key, ""}, p} {
		if e := b.states[at]; e != nil {
			e.probing = time.Time{}
		}
	}
}

// Failed says that a model has failed with a key.
func (b *Board) Failed(ctx context.Context, p Place, mark string, failure *sessions.ModelError) {
	if failure.Kind == port.ModelAuth || failure.Kind == port.ModelBilling {
		p.Model = ""
	}
	now := b.cfg.Now()
	next := State{Place: p, Mark: mark, Kind: failure.Kind, Step: 1, Since: now}
	b.mu.Lock()
	if old := b.states[p]; old != nil && old.Mark == mark {
		if old.Blocked() || now.Before(old.Until) { // a call that began before the cooldown
			b.mu.Unlock()
			return
		}
		next.Step, next.Since = old.Step+1, old.Since
	}
	next.Until = until(&next, failure, now)
	e := &entry{State: next, unsaved: b.cfg.Store != nil}
	b.states[p] = e
	b.change(p)
	b.mu.Unlock()
	b.save(ctx, e)
	b.tell(ctx, next, false)
}

// save stores a state. If that fails, this process knows it all the same, and [Board.Watch] tries again.
func (b *Board) save(ctx context.Context, e *entry) {
	if b.cfg.Store == nil {
		return
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if !e.same(b.of(e.Place)) { // it was dropped or replaced: its row must not come back
		return
	}
	if err := b.cfg.Store.PutCooldown(context.WithoutCancel(ctx), e.State); err != nil {
		b.cfg.Log.Warn("could not store a cooldown; trying again later", "place", e.Place.String(), "err", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.unsaved = false
	b.change(e.Place) // so that a load that read before the state was stored does not drop it
}

// saveAll stores the states that could not be stored before.
func (b *Board) saveAll(ctx context.Context) {
	b.mu.Lock()
	var unsaved []*entry
	for _, e := range b.states {
		if e.unsaved {
			unsaved = append(unsaved, e)
		}
	}
	b.mu.Unlock()
	for _, e := range unsaved {
		b.save(ctx, e)
	}
}

// until is when the place may be asked again; zero: when a person has acted.
func until(s *State, failure *sessions.ModelError, now time.Time) time.Time {
	if s.Model == "" {
		return time.Time{}
	}
	all := steps()
	pause := all[min(s.Step, len(all))-1]
	if failure.Kind == port.ModelMissing || failure.Kind == port.ModelForbidden {
		pause = all[len(all)-1]
	}
	return now.Add(max(pause, min(failure.RetryAfter, cooldownMax)))
}

// List is what does not work, in the order of the names.
func (b *Board) List() []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]State, 0, len(b.states))
	for _, e := range b.states {
		all = append(all, e.State)
	}
	slices.SortFunc(all, func(s, t State) int { return s.compare(t.Place) })
	return all
}

// Clear ends the states that match, because a person said so. It returns them.
func (b *Board) Clear(ctx context.Context, match func(Place) bool) (cleared []State, err error) {
	if err := b.Load(ctx); err != nil {
		return nil, err
	}
	for _, s := range b.List() {
		if !match(s.Place) {
			continue
		}
		gone, fault := b.drop(ctx, s.Place)
		if gone {
			cleared = append(cleared, s)
		}
		err = errors.Join(err, fault)
	}
	return cleared, err
}
