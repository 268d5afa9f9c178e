package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What was read while something was saved is not kept in mind, nor that a namespace was not begun where a save may still
// be stored, or where other processes save.
func TestNamespacesKeptInMind(t *testing.T) {
	t.Parallel()
	const name = "main"
	for what, c := range map[string]struct {
		alone bool
		do    func(n *namespaces)
		known bool
		begun bool
	}{
		"nothing was saved": {alone: true, known: true, do: func(n *namespaces) {
			_, _, saves := n.look(name)
			n.learn(name, false, saves)
		}},
		"something was saved": {alone: true, known: true, begun: true, do: func(n *namespaces) {
			_, _, saves := n.look(name)
			n.learn(name, true, saves)
		}},
		"others save": {do: func(n *namespaces) {
			_, _, saves := n.look(name)
			n.learn(name, false, saves)
		}},
		"others have saved": {known: true, begun: true, do: func(n *namespaces) {
			_, _, saves := n.look(name)
			n.learn(name, true, saves)
		}},
		"read before a save": {alone: true, do: func(n *namespaces) {
			_, _, saves := n.look(name)
			n.saving(name)(false)
			n.learn(name, false, saves)
		}},
		"read during a save": {alone: true, do: func(n *namespaces) {
			ended := n.saving(name)
			_, _, saves := n.look(name)
			n.learn(name, false, saves)
			ended(false)
		}},
		"learnt after a save": {alone: true, do: func(n *namespaces) {
			ended := n.saving(name)
			_, _, saves := n.look(name)
			ended(false)
			n.learn(name, false, saves)
		}},
		"a save in doubt": {alone: true, do: func(n *namespaces) {
			n.saving("other")(true)
			_, _, saves := n.look(name)
			n.learn(name, false, saves)
		}},
		"known before a save in doubt": {alone: true, do: func(n *namespaces) {
			_, _, saves := n.look(name)
			n.learn(name, false, saves)
			n.saving(name)(true)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := newNamespaces(c.alone)
			c.do(n)
			begun, known, _ := n.look(name)
			require.Equal(t, []bool{c.known, c.begun}, []bool{known, begun})
		})
	}
}
