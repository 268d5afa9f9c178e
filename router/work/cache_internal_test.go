package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// The cache keeps the sessions that were used last, each once, up to its limit.
func TestSessionCache(t *testing.T) {
	t.Parallel()
	c := newSessionCache(2, 1<<20)
	one, two := sessions.NewSession(nil, sessions.Record{ID: "1"}, time.Now), sessions.NewSession(nil, sessions.Record{ID: "2"}, time.Now)
	c.put("1", one)
	c.put("2", two)
	c.put("1", one)
	c.put("1", one)
	require.Equal(t, 2, c.order.Len(), "each is kept once")
	got, ok := c.get("2")
	require.True(t, ok)
	require.Same(t, two, got)
	c.put("3", sessions.NewSession(nil, sessions.Record{ID: "3"}, time.Now))
	_, ok = c.get("1")
	require.False(t, ok, "it was used longest ago")
	_, ok = c.get("2")
	require.True(t, ok, "a look is a use")
	require.Len(t, c.byID, 2)
	c.drop(func(r sessions.Record) bool { return r.ID == "2" })
	_, ok = c.get("2")
	require.False(t, ok)
	_, ok = c.get("3")
	require.True(t, ok)
}

// What the sessions of the cache take together is bounded, also when they grow while they are worked.
func TestSessionCacheIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	one, two := sessions.NewSession(nil, sessions.Record{ID: "1"}, time.Now), sessions.NewSession(nil, sessions.Record{ID: "2"}, time.Now)
	c := newSessionCache(10, one.Size()+two.Size())
	c.put("1", one)
	c.put("2", two)
	require.Len(t, c.byID, 2)
	c.grown("3")
	c.grown("2")
	require.Len(t, c.byID, 2, "it has not grown")
	two.Append(sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{{Type: sessions.PartText, Text: "more"}}})
	c.grown("2")
	_, ok := c.get("1")
	require.False(t, ok, "it made room")
	_, ok = c.get("2")
	require.True(t, ok, "one alone may be larger")
	require.Equal(t, two.Size(), c.bytes)
	c.drop(func(sessions.Record) bool { return true })
	require.Zero(t, c.bytes)
}

// After a change of the settings no session goes on with the agent that it was opened with, and with a partition go its sessions.
func TestOpenedSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	w := &Workers{cache: newSessionCache(3, 1<<20)}
	for id, partition := range map[sessions.ID]int{"1": 1, "2": 1, "3": 2} {
		w.cache.put(id, sessions.NewSession(nil, sessions.Record{ID: id, Partition: partition}, time.Now))
	}
	w.Released(1)
	_, ok := w.cache.get("1")
	require.False(t, ok)
	_, ok = w.cache.get("3")
	require.True(t, ok, "its partition stays")
	w.Reopen()
	_, ok = w.cache.get("3")
	require.False(t, ok)
}
