package store

import (
	"context"
	"errors"
	"sync"

	"sluice/sessions"
	"sluice/store/engine"
)

// presenceMax is how many keys are kept in mind.
const presenceMax = 1024

// presence keeps in mind whether there are rows of a kind, by key, so that a feature which nobody uses costs no reads. What
// is there once stays there. That nothing is there is kept in mind only where no other process can add it, and until a row
// of the kind is added here. It is safe for concurrent use.
type presence struct {
	mu    sync.Mutex
	alone bool // nothing is added that this process does not know of
	there map[string]bool
	adds  uint64 // beginnings and ends of additions so far
}

func newPresence(alone bool) *presence {
	return &presence{alone: alone, there: map[string]bool{}}
}

// ask reports whether a row is there. The query gives a number if it is. Mostly it is not run.
func (p *presence) ask(ctx context.Context, c *engine.Conn, key, query string, args ...any) (bool, error) {
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

// keepsAbsence reports whether it is of use to ask for what is hardly ever there.
func (p *presence) keepsAbsence() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone
}

// look gives what is known of a key, and what learn needs to know whether something was added since.
func (p *presence) look(key string) (there, known bool, adds uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	there, known = p.there[key]
	return there, known, p.adds
}

// learn takes what was read of a key after look.
func (p *presence) learn(key string, there bool, adds uint64) {
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

// adding says that the addition of a row begins; the result that it has ended. What is read in between, or began to be
// read before, may be older than the row. A row in doubt may still be stored later: its caller has only stopped waiting.
func (p *presence) adding(key string) (ended func(doubt bool)) {
	p.forget(key, false)
	return func(doubt bool) { p.forget(key, doubt) }
}

func (p *presence) forget(key string, doubt bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.adds++
	if doubt && p.alone {
		p.alone = false
		clear(p.there)
	}
	delete(p.there, key)
}
