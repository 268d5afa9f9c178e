package storetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func newHookRequest(id string, received int) ledger.HookRequest {
	return ledger.HookRequest{
		Key: "hook/ci/" + id, Hook: "ci", ID: id, Digest: "d1", Label: secret, Received: at(received), Payload: []byte("{\"a\":\"ü\x00\xff\"}"),
		HookDetail: ledger.HookDetail{Type: "application/json", Headers: map[string]string{"x-event": "push"}, Query: map[string]string{"a": "b"}, ReplayOf: "r0"},
	}
}

func storeHooks(r ...ledger.HookRequest) ledger.Change { return ledger.Change{HookRequests: r} }

func testHookRoundTrip(t *testing.T, b *bundle) {
	r := newHookRequest("r1", 1)
	empty := ledger.HookRequest{Key: "hook/ci/" + strings.Repeat("x", 256), Hook: "ci", ID: strings.Repeat("x", 256), Digest: "d", Label: flow.Bottom(), Received: at(2), Payload: []byte{}}
	b.commit(storeHooks(r, empty))
	got, err := b.HookRequest(b.ctx, r.Key)
	require.NoError(t, err)
	require.Equal(t, r, got)
	got, err = b.HookRequest(b.ctx, empty.Key)
	require.NoError(t, err)
	require.Equal(t, empty.ID, got.ID)
	require.Equal(t, empty.Payload, got.Payload)
	_, err = b.HookRequest(b.ctx, "hook/ci/r2")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testHookOnce(t *testing.T, b *bundle) {
	r := newHookRequest("r1", 1)
	r.Once = "signed"
	b.commit(storeHooks(r))
	trigger := newTrigger("x", 1)
	other := newHookRequest("r2", 2)
	other.Once = "signed"
	b.refuse(sessions.ErrDuplicate, ledger.Change{HookRequests: []ledger.HookRequest{other}, Triggers: []ledger.Trigger{trigger}})
	require.Empty(t, b.openTriggers(1), "what comes with a known request is not stored")
	r.Once = "another"
	b.refuse(sessions.ErrDuplicate, storeHooks(r))
	other.Hook, other.Key = "cd", "hook/cd/r2"
	b.commit(storeHooks(other))
	got, err := b.HookRequestOnce(b.ctx, "ci", "signed")
	require.NoError(t, err)
	require.Equal(t, "r1", got.ID)
	_, err = b.HookRequestOnce(b.ctx, "ci", "another")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	b.commit(storeHooks(newHookRequest("r3", 3), newHookRequest("r4", 3)))
	_, err = b.HookRequestOnce(b.ctx, "ci", "")
	require.ErrorIs(t, err, sessions.ErrNotFound, "most requests are known by their id alone")
}

func testHookList(t *testing.T, b *bundle) {
	low, high, last := newHookRequest("low", 1), newHookRequest("high", 2), newHookRequest("last", 3)
	low.Label, last.Label = flow.Bottom(), flow.Bottom()
	elsewhere := newHookRequest("x", 4)
	elsewhere.Hook, elsewhere.Key = "cd", "hook/cd/x"
	b.commit(storeHooks(low, last, high, elsewhere))
	trigger := newTrigger("ci", 1)
	trigger.Key = high.Key
	b.commit(storeTriggers(trigger))
	list := func(q ledger.HookQuery) (ids []string) {
		q.Hook = "ci"
		got, err := b.ListHookRequests(b.ctx, q)
		require.NoError(t, err)
		for _, r := range got {
			ids = append(ids, r.ID)
			require.Empty(t, r.Payload)
		}
		return ids
	}
	require.Equal(t, []string{"last", "high", "low"}, list(ledger.HookQuery{MaxLevel: flow.Restricted}))
	require.Equal(t, []string{"last", "low"}, list(ledger.HookQuery{MaxLevel: flow.Internal}))
	require.Equal(t, []string{"last"}, list(ledger.HookQuery{MaxLevel: flow.Restricted, Limit: 1}))
	require.Equal(t, []string{"high", "low"}, list(ledger.HookQuery{MaxLevel: flow.Restricted, After: last.Key}))
	require.Empty(t, list(ledger.HookQuery{MaxLevel: flow.Internal, After: high.Key}), "a row above the level is treated as unknown")
	found, err := b.TriggersOf(b.ctx, []string{low.Key, high.Key})
	require.NoError(t, err)
	require.Equal(t, []ledger.Trigger{trigger}, found)
	found, err = b.TriggersOf(b.ctx, nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

func testPruneHooks(t *testing.T, b *bundle) {
	open, old, young := newHookRequest("open", 1), newHookRequest("old", 2), newHookRequest("young", 60)
	trigger, ended := newTrigger("a", 1), newTrigger("b", 1)
	trigger.Key, ended.Key = open.Key, old.Key
	ended.Status, ended.Ended = ledger.TriggerOK, at(3)
	b.commit(ledger.Change{HookRequests: []ledger.HookRequest{open, old, young}, Triggers: []ledger.Trigger{trigger, ended}})
	b.prune(ledger.PruneHooks, at(50), 1)
	b.prune(ledger.PruneHooks, at(50), 0)
	b.commit(storeHooks(old))
	b.refuse(sessions.ErrDuplicate, storeHooks(young))
	b.refuse(sessions.ErrDuplicate, storeHooks(open))
}
