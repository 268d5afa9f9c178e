package storetest

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// summary stores a summary of the path to parent.
func (b *bundle) summary(session sessions.ID, parent sessions.MessageID, text string) sessions.MessageID {
	m := newMessage(parent, text)
	m.Role = sessions.RoleSummary
	b.commit(ledger.Change{Change: sessions.Change{Messages: []sessions.StoredMessage{{Session: session, Message: m}}}})
	return m.ID
}

func testTreeMessage(t *testing.T, b *bundle) {
	mine, other := b.create(newSession("agent:main:main")), b.create(newSession("agent:main:other"))
	m := newMessage("", "1")
	b.commit(ledger.Change{Change: sessions.Change{Messages: []sessions.StoredMessage{{Session: mine.ID, Message: m}}}})
	got, err := b.Message(b.ctx, mine.ID, m.ID)
	require.NoError(t, err)
	require.Equal(t, m, got)
	_, err = b.Message(b.ctx, other.ID, m.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound, "another session's message")
	_, err = b.Message(b.ctx, mine.ID, "msg_none")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func (b *bundle) children(session sessions.ID, parent sessions.MessageID) (texts []string) {
	b.t.Helper()
	children, err := b.Children(b.ctx, session, parent)
	require.NoError(b.t, err)
	for _, m := range children {
		texts = append(texts, m.Text())
	}
	return texts
}

func testChildren(t *testing.T, b *bundle) {
	r, other := b.create(newSession("agent:main:main")), b.create(newSession("agent:main:other"))
	trunk := b.chain(r.ID, "", "1", "2")
	b.chain(r.ID, trunk[0], "2a", "3a")
	b.summary(r.ID, trunk[0], "sum of 1")
	b.chain(r.ID, "", "another root")
	b.chain(other.ID, "", "somebody else's")
	require.Equal(t, []string{"2", "2a"}, b.children(r.ID, trunk[0]), "no summary")
	require.Equal(t, []string{"1", "another root"}, b.children(r.ID, ""))
	require.Empty(t, b.children(r.ID, trunk[1]))
	require.Empty(t, b.children(other.ID, trunk[0]))

	var many []string
	for i := range sessions.BranchesMax + 3 {
		many = append(many, strconv.Itoa(i))
		b.chain(r.ID, trunk[1], many[i])
	}
	require.Equal(t, many[3:], b.children(r.ID, trunk[1]), "the newest, oldest first")
}

func testNewestLeaf(t *testing.T, b *bundle) {
	r, other := b.create(newSession("agent:main:main")), b.create(newSession("agent:main:other"))
	trunk := b.chain(r.ID, "", "1", "2", "3")
	left := b.chain(r.ID, trunk[0], "2a")
	right := b.chain(r.ID, trunk[2], "4")
	b.summary(r.ID, right[0], "sum of all")
	b.chain(other.ID, trunk[2], "somebody else's")
	for from, want := range map[sessions.MessageID]sessions.MessageID{
		trunk[0]: right[0], trunk[2]: right[0], right[0]: right[0], left[0]: left[0],
	} {
		got, err := b.NewestLeaf(b.ctx, r.ID, from)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, unknown := range []sessions.MessageID{"msg_none", ""} {
		_, err := b.NewestLeaf(b.ctx, r.ID, unknown)
		require.ErrorIs(t, err, sessions.ErrNotFound)
	}
	_, err := b.NewestLeaf(b.ctx, other.ID, trunk[0])
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testSummary(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	trunk := b.chain(r.ID, "", "1", "2", "3", "4")
	branch := b.chain(r.ID, trunk[1], "3a")
	far := b.summary(r.ID, trunk[2], "sum of 1, 2 and 3")
	b.summary(r.ID, trunk[0], "an older sum of 1")
	near := b.summary(r.ID, trunk[0], "sum of 1")
	for head, want := range map[sessions.MessageID]sessions.MessageID{
		trunk[3]: far, trunk[2]: far, trunk[1]: near, trunk[0]: near, branch[0]: near, "": "", "msg_none": "",
	} {
		got, err := b.Summary(b.ctx, r.ID, head)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	none, err := b.Summary(b.ctx, b.create(newSession("agent:main:other")).ID, trunk[3])
	require.NoError(t, err)
	require.Empty(t, none)
}

// A record may name a summary on another branch than its head, which does not apply to this branch.
func testThreadAboveSummary(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	trunk := b.chain(r.ID, "", "1", "2", "3", "4")
	branch := b.chain(r.ID, trunk[0], "2a", "3a")
	r.Compacted = b.summary(r.ID, trunk[2], "sum of 1, 2 and 3")
	for head, want := range map[sessions.MessageID][]string{
		trunk[3]: {"sum of 1, 2 and 3", "4"}, trunk[2]: {"sum of 1, 2 and 3"}, trunk[1]: {"1", "2"}, branch[1]: {"1", "2a", "3a"},
	} {
		r.Head = head
		require.Equal(t, want, b.thread(r))
	}
}
