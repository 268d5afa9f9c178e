package engine

import (
	"context"
	"errors"
	"sync"

	"sluice/sessions"
)

// presenceMax is how many keys are remembered.
const presenceMax = 1024

// Presence remembers, by key, whether the database has rows of some kind, so that an unused feature costs no reads. Rows
// that were found are taken to stay. The absence of rows is remembered only if no other process can add some, and until
// this process adds one. It is safe for concurrent use.
type Presence struct {
	mu    sync.Mutex
	alone bool // nothing is added that this process does not know of
	there map[string]bool
	adds  uint64 // beginnings and ends of additions so far
}

// NewPresence makes a Presence. alone says that no other process writes to the database.
func NewPresence(alone bool) *Presence {
	return &Presence{alone: alone, there: map[string]bool{}}
}

// Ask reports whether a row is there. The query gives a number if it is. Mostly it is not run.
func (p *Presence) Ask(ctx context.Context, c *Conn, key, query string, args ...any) (bool, error) {
	there, known, adds := p.look(key)
	if known {
		return there, nil
	}
	var n int64
	err := c.One(ctx, query, args, &n)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return false, err
	}
	p.learn(key, err == nil, adds)
	return err == nil, nil
}

// KeepsAbsence reports whether it is of use to ask for what is hardly ever there.
func (p *Presence) KeepsAbsence() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone
}

// look gives what is known of a key, and what learn needs to know whether something was added since.
func (p *Presence) look(key string) (there, known bool, adds uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	there, known = p.there[key]
	return there, known, p.adds
}

// learn takes what was read of a key after look.
func (p *Presence) learn(key string, there bool, adds uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !there && (!p.alone || p.adds != adds) {
		return
	}
	if len(p.there) >= presenceMax {
		clear(p.there)
	}
	p.there[key] = there
}

// Adding says that the addition of a row begins; the result that it has ended. What is read in between, or began to be
// read before, may be older than the row. A row in doubt may still be stored later: its caller has only stopped waiting.
func (p *Presence) Adding(key string) (ended func(doubt bool)) {
	p.forget(key, false)
	return func(doubt bool) { p.forget(key, doubt) }
}

func (p *Presence) forget(key string, doubt bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.adds++
	if doubt && p.alone {
		p.alone = false
		clear(p.there)
	}
	delete(p.there, key)
}
