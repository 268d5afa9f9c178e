package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What was read while something was added is not kept in mind, nor that nothing is there where an addition may still be
// stored, or where other processes add.
func TestPresence(t *testing.T) {
	t.Parallel()
	const name = "main"
	for what, c := range map[string]struct {
		alone bool
		do    func(p *Presence)
		known bool
		there bool
	}{
		"nothing was saved": {alone: true, known: true, do: func(p *Presence) {
			_, _, adds := p.look(name)
			p.learn(name, false, adds)
		}},
		"something was saved": {alone: true, known: true, there: true, do: func(p *Presence) {
			_, _, adds := p.look(name)
			p.learn(name, true, adds)
		}},
		"others save": {do: func(p *Presence) {
			_, _, adds := p.look(name)
			p.learn(name, false, adds)
		}},
		"others have saved": {known: true, there: true, do: func(p *Presence) {
			_, _, adds := p.look(name)
			p.learn(name, true, adds)
		}},
		"read before a save": {alone: true, do: func(p *Presence) {
			_, _, adds := p.look(name)
			p.Adding(name)(nil)
			p.learn(name, false, adds)
		}},
		"read during a save": {alone: true, do: func(p *Presence) {
			ended := p.Adding(name)
			_, _, adds := p.look(name)
			p.learn(name, false, adds)
			ended(nil)
		}},
		"learnt after a save": {alone: true, do: func(p *Presence) {
			ended := p.Adding(name)
			_, _, adds := p.look(name)
			ended(nil)
			p.learn(name, false, adds)
		}},
		"a save in doubt": {alone: true, do: func(p *Presence) {
			p.Adding("other")(&Unavailable{Reason: "test"})
			_, _, adds := p.look(name)
			p.learn(name, false, adds)
		}},
		"known before a save in doubt": {alone: true, do: func(p *Presence) {
			_, _, adds := p.look(name)
			p.learn(name, false, adds)
			p.Adding(name)(&Unavailable{Reason: "test"})
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := NewPresence(c.alone)
			c.do(p)
			there, known, _ := p.look(name)
			require.Equal(t, []bool{c.known, c.there}, []bool{known, there})
		})
	}
}
