package sessions_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
	"sluice/store/postgres"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
	"sluice/store/storetest"
)

// treeMachine drives a session and the naive tree with the same operations.
type treeMachine struct {
	store  *sessiontest.Faulty
	s      *sessions.Session
	want   naive
	stored naive // what a reload gives
	looked int   // at the stored one, when the store had been called so often
	texts  int
	taint  flow.Label
	kept   sessions.Encoded // what a model was told
}

func (m *treeMachine) text() string {
	m.texts++
	return fmt.Sprint("text ", m.texts)
}

// node draws any node of the tree, or empty.
func (m *treeMachine) node(t *rapid.T) sessions.MessageID {
	ids := m.want.ids()
	if len(ids) == 0 {
		return ""
	}
	return rapid.SampledFrom(ids).Draw(t, "node")
}

func (m *treeMachine) append(t *rapid.T) {
	role := rapid.SampledFrom([]sessions.Role{sessions.RoleUser, sessions.RoleAssistant}).Draw(t, "role")
	text := m.text()
	label := rapid.SampledFrom([]flow.Label{flow.Bottom(), flow.NewLabel(flow.Confidential, flow.Untrusted)}).Draw(t, "label")
	m.s.Append(sessions.Message{Role: role, Parts: []sessions.Part{sessions.TextPart(text, label)}})
	m.want.add(m.s.Record().Head, m.want.head, role, text)
}

func (m *treeMachine) edit(t *rapid.T) {
	id := m.node(t)
	if id == "" {
		return
	}
	text, old := m.text(), m.want.nodes[id]
	edited, err := m.s.Edit(t.Context(), id, []sessions.Part{sessions.TextPart(text, flow.Bottom())})
	require.NoError(t, err)
	m.want.add(edited, old.parent, old.role, text)
}

func (m *treeMachine) setContent(t *rapid.T) {
	thread := slices.DeleteFunc(m.s.Messages(), func(msg sessions.Message) bool { return msg.Role == sessions.RoleSummary })
	if len(thread) == 0 {
		return
	}
	id, text := rapid.SampledFrom(thread).Draw(t, "which").ID, m.text()
	require.NoError(t, m.s.SetContent(id, text, flow.Bottom()))
	require.True(t, m.s.IsDirty(id))
	changed := m.want.nodes[id]
	changed.text = text
	m.want.nodes[id] = changed
}

func (m *treeMachine) branch(t *rapid.T) {
	id := m.node(t)
	require.NoError(t, m.s.Branch(t.Context(), id))
	m.want.head = id
}

func (m *treeMachine) switchTo(t *rapid.T) {
	if id := m.node(t); id != "" {
		require.NoError(t, m.s.Switch(t.Context(), id))
		m.want.head = m.want.leaf(id)
	}
}

func (m *treeMachine) undo(t *rapid.T) {
	n := rapid.IntRange(1, 3).Draw(t, "turns")
	want := m.want.undo(n)
	undone, err := m.s.Undo(t.Context(), n)
	if want == 0 {
		require.ErrorIs(t, err, sessions.ErrNoTurn)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, undone)
}

func (m *treeMachine) retry(t *rapid.T) {
	id := m.node(t)
	from := id
	if rapid.Bool().Draw(t, "last") {
		id, from = "", m.want.head
	}
	question := m.want.question(from)
	err := m.s.Retry(t.Context(), id)
	if question == "" {
		require.ErrorIs(t, err, sessions.ErrNoTurn)
		return
	}
	require.NoError(t, err)
	m.want.head = question
}

func (m *treeMachine) compact(t *rapid.T) {
	m.persist(t)
	thread := m.s.Messages()
	if len(thread) < 2 {
		return
	}
	n, text := rapid.IntRange(1, len(thread)-1).Draw(t, "compacted"), m.text()
	last := thread[n-1].ID
	if thread[n-1].Role == sessions.RoleSummary {
		last = thread[n-1].Parent
	}
	require.NoError(t, m.s.Compact(text, n))
	m.want.summaries[last] = text
}

func (m *treeMachine) persist(t *rapid.T) {
	require.NoError(t, m.s.Persist(t.Context()))
	require.False(t, m.s.Dirty())
	m.stored = m.want.clone()
}

// fail stores the session over faults, with more to store in between.
func (m *treeMachine) fail(t *rapid.T) {
	for range 3 {
		if !m.s.Dirty() {
			m.append(t)
		}
		m.store.FailAt(rapid.IntRange(1, 4).Draw(t, "call"), rapid.Bool().Draw(t, "late"))
		if err := m.s.Persist(t.Context()); err == nil {
			m.stored = m.want.clone()
		} else {
			require.ErrorIs(t, err, sessiontest.ErrFault)
		}
		m.store.FailAt(0, false)
		for range rapid.IntRange(0, 2).Draw(t, "between") {
			rapid.SampledFrom([]func(*rapid.T){m.append, m.edit, m.setContent, m.branch, m.switchTo}).Draw(t, "meanwhile")(t)
		}
	}
	m.persist(t)
}

// failRead lets a call fail under a move: nothing has happened then.
func (m *treeMachine) failRead(t *rapid.T) {
	id := m.node(t)
	if id == "" {
		return
	}
	before := m.s.Record()
	m.store.FailAt(rapid.IntRange(1, 3).Draw(t, "call"), false)
	if err := m.s.Switch(t.Context(), id); err == nil {
		m.want.head = m.want.leaf(id)
	} else {
		require.ErrorIs(t, err, sessiontest.ErrFault)
		require.Equal(t, before, m.s.Record())
	}
	m.store.FailAt(0, false)
}

func (m *treeMachine) reload(t *rapid.T) {
	if m.s.Dirty() {
		before := m.s.Messages()
		require.ErrorIs(t, m.s.Reload(t.Context(), false), sessions.ErrDirty)
		require.Equal(t, before, m.s.Messages())
	}
	if m.stored.nodes == nil { // never stored
		return
	}
	require.NoError(t, m.s.Reload(t.Context(), true))
	m.taint = m.s.Taint() // what was never stored was never learnt
	m.want = m.stored.clone()
}

// conflict lets another writer store the session first.
func (m *treeMachine) conflict(t *rapid.T) {
	m.persist(t)
	m.append(t)
	other := m.load(t)
	text := m.text()
	other.Append(user(text))
	require.NoError(t, other.Persist(t.Context()))
	require.ErrorIs(t, m.s.Persist(t.Context()), sessions.ErrConflict)
	require.True(t, m.s.Dirty(), "nothing is lost")
	m.stored.add(other.Record().Head, m.stored.head, sessions.RoleUser, text)
	m.reload(t)
}

func (m *treeMachine) load(t *rapid.T) *sessions.Session {
	record, err := m.store.Session(t.Context(), m.s.Record().ID)
	require.NoError(t, err)
	s, err := sessions.LoadSession(t.Context(), m.store, record, time.Now)
	require.NoError(t, err)
	return s
}

func (m *treeMachine) branches(t *rapid.T) {
	id := m.node(t)
	if id == "" {
		return
	}
	got, err := m.s.Branches(t.Context(), id)
	require.NoError(t, err)
	want, path := m.want.children(m.want.nodes[id].parent), m.want.path(m.want.head)
	require.Len(t, got, len(want))
	for i, b := range got {
		require.Equal(t, want[i], b.Message.ID)
		require.Equal(t, m.want.nodes[want[i]].text, b.Message.Text())
		require.Equal(t, []int{i + 1, len(want)}, []int{b.Position, b.Count})
		require.Equal(t, slices.Contains(path, b.Message.ID), b.Selected)
	}
}

func texts(messages []sessions.Message) []string {
	all := []string{}
	for _, msg := range messages {
		all = append(all, msg.Text())
	}
	return all
}

// plain is the form of a thread for tests. Messages of one role share a line, which stays open for the next.
type plain struct{}

func (plain) Append(text []byte, open string, msg sessions.Message) ([]byte, string, error) {
	if open != string(msg.Role) {
		text = append(text, "\n"+string(msg.Role)...)
	}
	return fmt.Append(text, " ", msg.ID, msg.Text()), string(msg.Role), nil
}

func (plain) Close(open string) string { return " end of " + open }

// listener is a model that compares what is kept of a thread with the thread. It never answers.
type listener struct {
	*sessiontest.Scripted
	t    *rapid.T
	kept *sessions.Encoded
	told string
}

func (l *listener) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	l.told = told(l.t, nil, req.Messages)
	for _, kept := range []*sessions.Encoded{l.kept, req.Encoded} {
		require.Equal(l.t, l.told, told(l.t, kept, req.Messages))
	}
	return l.Scripted.Complete(ctx, req, on)
}

func told(t *rapid.T, kept *sessions.Encoded, thread []sessions.Message) string {
	text, end, err := kept.Text(plain{}, thread)
	require.NoError(t, err)
	return string(text) + end
}

// ask has the session ask a model, which fails. What the model is told is what a session says that was loaded just now.
func (m *treeMachine) ask(t *rapid.T) {
	l := &listener{Scripted: &sessiontest.Scripted{Level: flow.Restricted}, t: t, kept: &m.kept}
	m.s.SetModel(l)
	_, err := m.s.Complete(t.Context(), func(sessions.Chunk) {})
	require.ErrorAs(t, err, new(*sessions.ModelError))
	if !m.s.Dirty() {
		require.Equal(t, told(t, nil, m.load(t).Messages()), l.told)
	}
}

func (m *treeMachine) check(t *rapid.T) {
	m.ask(t)
	require.Equal(t, m.want.head, m.s.Record().Head)
	require.Equal(t, m.want.thread(), texts(m.s.Messages()))
	require.True(t, m.taint.FlowsTo(m.s.Taint().Level()), "a move never lowers the taint")
	m.taint = m.s.Taint()
	if m.stored.nodes != nil && m.store.Calls() != m.looked {
		require.Equal(t, m.stored.thread(), texts(m.load(t).Messages()))
		m.looked = m.store.Calls()
	}
}

func TestTreeProperty(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t), Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	slow, err := postgres.Open(t.Context(), postgres.Config{URL: storetest.Postgres(t), Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, slow.Close()) })
	rapid.Check(t, func(t *rapid.T) {
		id := sessions.NewID()
		m := &treeMachine{store: &sessiontest.Faulty{Store: db}, want: newNaive(), taint: flow.Bottom()}
		if rapid.IntRange(0, 9).Draw(t, "database") == 0 {
			m.store.Store = slow
		}
		m.s = sessions.NewSession(m.store, sessions.Record{
			ID: id, Key: sessions.Key("agent:main:" + string(id)), Agent: "main", Taint: flow.Bottom(), Clearance: flow.Restricted,
		}, time.Now)
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "append": m.append, "append more": m.append, "edit": m.edit, "content": m.setContent, "branch": m.branch,
			"switch": m.switchTo, "undo": m.undo, "retry": m.retry, "compact": m.compact, "persist": m.persist, "fail": m.fail,
			"fail to read": m.failRead, "reload": m.reload, "conflict": m.conflict, "branches": m.branches,
		})
	})
}
