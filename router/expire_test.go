package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const day = 24 * time.Hour

// keepSessions sets retention.sessions.
func keepSessions(age time.Duration) func(*bundle) {
	return func(b *bundle) { b.settings.Retention.Sessions = age }
}

// live returns the live session of a key; false if the key has none.
func (b *bundle) live(key sessions.Key) (sessions.Record, bool) {
	b.t.Helper()
	record, err := b.store.SessionByKey(context.Background(), key)
	if err != nil {
		require.ErrorIs(b.t, err, sessions.ErrNotFound)
	}
	return record, err == nil
}

// A conversation in which nothing was said for as long as retention.sessions says ends, and goes with its messages and runs. A message
// that its platform repeats is known all the same, and what is said next begins a new one.
func TestIdleConversationsEndAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, keepSessions(10*day))
		m := in("ann", "1", "hello")
		said := b.hear(m)
		b.ended(said.Run)
		b.rest(5 * day)
		busy := b.ended(b.hear(in("eve", "1", "hello")).Run)
		b.rest(4 * day)
		time.Sleep(day - time.Minute)
		record, err := b.store.Session(t.Context(), said.Session)
		require.NoError(t, err)
		require.True(t, record.Ended.IsZero(), "ten days have not passed")
		time.Sleep(3 * time.Hour)
		synctest.Wait()

		_, err = b.store.Session(t.Context(), said.Session)
		require.ErrorIs(t, err, sessions.ErrNotFound)
		_, err = b.store.Run(t.Context(), said.Run)
		require.ErrorIs(t, err, sessions.ErrNotFound)
		reasons, err := b.store.ListAudit(t.Context(), ledger.AuditQuery{MaxLevel: flow.Restricted, Session: said.Session, Action: "session.reset"})
		require.NoError(t, err)
		require.Len(t, reasons, 1)
		require.Contains(t, fmt.Sprintf("%s", reasons[0].Detail), "retention.sessions")
		other, ok := b.live("agent:main:direct:eve")
		require.True(t, ok, "somebody spoke there lately")
		require.Equal(t, busy.Session, other.ID)

		require.True(t, b.hear(m).Repeat)
		fresh := b.ended(b.hear(in("ann", "2", "again")).Run)
		require.NotEqual(t, said.Session, fresh.Session)
		b.await(3)
		require.Equal(t, []string{"echo: hello", "echo: again"}, b.chat.texts("ann"))
	})
}

// Without the setting nothing that people have said goes, however long ago it was.
func TestConversationsAreKeptByDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		said := b.ended(b.hear(in("ann", "1", "hello")).Run)
		b.rest(59 * day)
		time.Sleep(day)
		record, err := b.store.Session(t.Context(), said.Session)
		require.NoError(t, err)
		require.True(t, record.Ended.IsZero())
	})
}

// Where an owner has said /send off, the gateway does not speak again because nobody said anything for a while.
func TestIdleConversationKeepsWhatWasSetThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, keepSessions(10*day))
		key := sessions.Key("agent:main:direct:owner")
		said := b.ended(b.hear(in("owner", "1", "hello")).Run)
		b.await(1)
		b.hear(in("owner", "2", "/send off"))
		b.await(1)
		b.rest(10 * day)
		time.Sleep(day)
		synctest.Wait()
		fresh, ok := b.live(key)
		require.True(t, ok)
		require.NotEqual(t, said.Session, fresh.ID, "what was said is gone")
		require.Equal(t, sessions.SendDeny, fresh.SendPolicy)
		require.Empty(t, fresh.Head)
	})
}

// A rule at SESSION_RESET keeps what retention would end, and the audit trail says so once.
func TestRulesKeepIdleConversations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, keepSessions(10*day), withRules(policy.Rule{Name: "keep", Hook: policy.SessionReset, Action: policy.Block, When: `session.user == "gateway"`}))
		said := b.ended(b.hear(in("ann", "1", "hello")).Run)
		b.rest(9 * day)
		time.Sleep(3 * day)
		record, err := b.store.Session(t.Context(), said.Session)
		require.NoError(t, err)
		require.True(t, record.Ended.IsZero())
		require.NotEmpty(t, record.Head)
		require.Equal(t, 1, b.decisions("session.reset.block"))
	})
}
