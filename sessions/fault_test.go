package sessions_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// conversation is the golden one of the step protocol: a question with two tool
// calls, an edit, settings, a summary and a way back over it.
type conversation struct {
	*bundle
	s      *sessions.Session
	store  *sessiontest.Faulty
	faults int
}

// again does what may meet a fault until it succeeds: what failed is just called once more.
func (c *conversation) again(t *testing.T, do func() error) {
	t.Helper()
	for range 4 {
		err := do()
		if err == nil {
			return
		}
		require.ErrorIs(t, err, sessiontest.ErrFault)
		c.faults++
	}
	require.Fail(t, "it fails and fails")
}

func (c *conversation) run(t *testing.T) {
	t.Helper()
	persist := func() error { return c.s.Persist(t.Context()) }
	ask := func() {
		_, err := step(t.Context(), c.s)
		require.NoError(t, err)
	}
	c.s.Append(user("count twice"))
	c.again(t, persist)
	ask()
	c.again(t, func() error {
		calls := c.s.PendingToolCalls()
		if len(calls) == 0 {
			return nil
		}
		_, err := c.s.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(calls))
		return err
	})
	ask()
	c.again(t, persist)
	first := c.s.Messages()[0].ID
	c.again(t, func() error {
		_, err := c.s.Edit(t.Context(), first, []sessions.Part{sessions.TextPart("say two", flow.Bottom())})
		return err
	})
	label := "counted"
	require.NoError(t, c.s.Patch(sessions.Patch{Label: new(flow.NewText(label, flow.Bottom()))}))
	ask()
	c.s.Append(user("and now?"))
	c.again(t, persist)
	require.NoError(t, c.s.Compact("two was said", 2))
	require.NoError(t, c.s.SetContent(c.s.Last().ID, "and then?", flow.Bottom()))
	c.again(t, persist)
	c.again(t, func() error { return c.s.Switch(t.Context(), first) })
	c.again(t, func() error { _, err := c.s.Undo(t.Context(), 1); return err })
	c.again(t, persist)
	c.again(t, func() error { return c.s.Switch(t.Context(), c.other(t, first)) })
	c.again(t, persist)
	c.again(t, func() error { return c.s.Reload(t.Context(), false) })
}

// other is the message that stands beside another one.
func (c *conversation) other(t *testing.T, id sessions.MessageID) (other sessions.MessageID) {
	t.Helper()
	c.again(t, func() error {
		branches, err := c.s.Branches(t.Context(), id)
		if i := slices.IndexFunc(branches, func(b sessions.Branch) bool { return b.Message.ID != id }); err == nil {
			other = branches[i].Message.ID
		}
		return err
	})
	return other
}

// Each call of the store fails once, before or after it has worked; the same conversation comes of it.
func TestFaultOfEachCall(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	undisturbed := 0
	for fail := 0; fail <= undisturbed; fail++ {
		for _, late := range []bool{false, true} {
			name := fmt.Sprintf("call %d late=%v", fail, late)
			c := &conversation{bundle: newBundle(t,
				sessiontest.Calls("count", "{}", "a", "b"), sessiontest.Says("counted"), sessiontest.Says("two"),
			), store: &sessiontest.Faulty{Store: db}}
			id := sessions.NewID()
			c.s = sessions.NewSession(c.store, sessions.Record{
				ID: id, Key: sessions.Key("agent:main:" + string(id)), Agent: "main", Taint: flow.Bottom(), Clearance: flow.Restricted,
			}, time.Now)
			c.equip(c.s)
			c.store.FailAt(fail, late)
			c.run(t)
			if fail == 0 {
				undisturbed = c.store.Calls()
				require.Greater(t, undisturbed, 15)
			} else {
				require.Equal(t, 1, c.faults, name)
			}
			require.Equal(t, []string{"two was said", "and then?"}, texts(c.s.Messages()), name)
			require.Equal(t, "counted", c.s.Record().Label.Raw(), name)
			require.Equal(t, []string{"a", "b"}, c.ran, "%s: each call ran once", name)
			roots, err := db.Children(t.Context(), id, "")
			require.NoError(t, err)
			require.Equal(t, []string{"count twice", "say two"}, texts(roots), "%s: nothing is there twice", name)
			leaf, err := db.NewestLeaf(t.Context(), id, roots[0].ID)
			require.NoError(t, err)
			thread, err := db.Thread(t.Context(), sessions.Record{ID: id, Head: leaf})
			require.NoError(t, err)
			require.Len(t, thread, 4, name)
			require.Len(t, thread[2].Parts, 2, name)
		}
	}
	t.Logf("%d calls of the store failed, each before and after it had worked", undisturbed)
}
