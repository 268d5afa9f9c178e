package store

import (
	"context"
	"errors"
	"sync"

	"sluice/sessions"
)

// Remembers reports whether anything was ever saved in a namespace of memories. Where nothing was, there is no memory to
// ask for. Mostly it costs no statement.
func (db memoryTable) Remembers(ctx context.Context, namespace string) (bool, error) {
	begun, known, saves := db.begun.look(namespace)
	if known {
		return begun, nil
	}
	var no int64
	err := db.One(ctx, `SELECT no FROM memory_namespaces WHERE namespace = ?`, []any{namespace}, &no)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return false, err
	}
	db.begun.learn(namespace, err == nil, saves)
	return err == nil, nil
}

// namespacesMax is how many namespaces are kept in mind. There is one for each agent.
const namespacesMax = 1024

// namespaces keeps in mind in which namespaces something was saved. A namespace that was begun stays begun. That one was
// not begun is kept in mind only where no other process can begin it, and until something is saved here. It is safe for
// concurrent use.
type namespaces struct {
	mu    sync.Mutex
	alone bool // nothing is saved that this process does not know of
	begun map[string]bool
	saves uint64 // beginnings and ends of saves so far
}

func newNamespaces(alone bool) *namespaces {
	return &namespaces{alone: alone, begun: map[string]bool{}}
}

// look gives what is known of a namespace, and what learn needs to know whether something was saved since.
func (n *namespaces) look(namespace string) (begun, known bool, saves uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	begun, known = n.begun[namespace]
	return begun, known, n.saves
}

// learn takes what was read of a namespace after look.
func (n *namespaces) learn(namespace string, begun bool, saves uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !begun && (!n.alone || n.saves != saves) {
		return
	}
	if len(n.begun) >= namespacesMax {
		clear(n.begun)
	}
	n.begun[namespace] = begun
}

// saving says that a save in a namespace begins; the result that it has ended. What is read in between, or began to be
// read before, may be older than the save. A save in doubt may still be stored later: its caller has only stopped waiting.
func (n *namespaces) saving(namespace string) (ended func(doubt bool)) {
	n.forget(namespace, false)
	return func(doubt bool) { n.forget(namespace, doubt) }
}

func (n *namespaces) forget(namespace string, doubt bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.saves++
	if doubt && n.alone {
		n.alone = false
		clear(n.begun)
	}
	delete(n.begun, namespace)
}
