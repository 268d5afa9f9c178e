package engine

import (
	"context"
	"errors"
	"sync"

	"sluice/sessions"
)

// presenceMax is how many keys are remembered.
const presenceMax = 1024

// Presence remembers, by key, whether the database has rows of some kind, so that an unused feature costs no reads.
// Found rows are assumed to stay. The absence of rows is remembered only if no other process can add some, and only
// until this process adds one. It is safe for concurrent use.
type Presence struct {
	mu    sync.Mutex
	alone bool // only this process adds rows
	there map[string]bool
	adds  uint64 // starts and ends of additions so far
}

// NewPresence creates a Presence. alone says that no other process writes to the database.
func NewPresence(alone bool) *Presence {
	return &Presence{alone: alone, there: map[string]bool{}}
}

// Ask reports whether a row exists. The query returns a number if it does. In most cases the query is not run.
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

// KeepsAbsence reports whether absence is remembered, so that asking for rare rows is cheap.
func (p *Presence) KeepsAbsence() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alone
}

// look returns what is known about a key, and what learn needs to detect additions since then.
func (p *Presence) look(key string) (there, known bool, adds uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	there, known = p.there[key]
	return there, known, p.adds
}

// Absent reports whether there is certainly no row, without a read. Otherwise the caller reads, and learn takes whether
// there was one.
func (p *Presence) Absent(key string) (absent bool, learn func(there bool)) {
	there, known, adds := p.look(key)
	if known && !there {
		return true, nil
	}
	return false, func(there bool) { p.learn(key, there, adds) }
}

// learn takes the result of a read that began after look.
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

// Adding marks the start of an addition; ended marks its end. A read between the two, or one that started before, may
// be older than the row. If the database fails, the row may be there or not.
func (p *Presence) Adding(key string) Ended {
	p.forget(key, false)
	return func(err error) { p.forget(key, IsUnavailable(err)) }
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
