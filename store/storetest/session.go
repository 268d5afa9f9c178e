package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func testSessionRoundTrip(t *testing.T, b *bundle) {
	r := newSession("agent:main:main")
	r.Taint, r.Route, r.SendPolicy, r.Activation, r.Model, r.Head, r.Compacted = secret, route, sessions.SendDeny, sessions.ActivationAlways, flow.NewText("p/m", secret), "msg_h", "msg_c"
	r.Title, r.Metadata = flow.NewText("a title", flow.Bottom()), json.RawMessage(`{"a": [1, 2]}`)
	r.FileAccess = sessions.FileAccess{Read: []string{"/a"}, Write: []string{""}}
	r.Temperature, r.MaxTokens, r.Voice = "0.7", 4096, true
	r.ThinkingLevel, r.VerboseLevel, r.Label = sessions.ThinkingHigh, sessions.VerboseFull, flow.NewText("a läbel", flow.Top())
	r.QueueMode = sessions.QueueSteer
	r.TTL, r.Usage = time.Hour, sessions.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 3}
	r.ContextSize, r.AbortedLast, r.Ended, r.Archived = 9, true, at(3), true
	b.create(r)
	require.Equal(t, r, b.session(r.ID))

	plain := b.create(newSession("agent:main:plain"))
	require.Equal(t, plain, b.session(plain.ID))
	_, err := b.Session(b.ctx, "sess_none")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testSessionKey(t *testing.T, b *bundle) {
	first := b.create(newSession("agent:main:main"))
	again := newSession("agent:main:main")
	b.refuse(sessions.ErrConflict, ledger.Change{Change: sessions.Change{Create: []sessions.Record{again}}})
	again.ID, again.Key = first.ID, "agent:main:other"
	b.refuse(sessions.ErrConflict, ledger.Change{Change: sessions.Change{Create: []sessions.Record{again}}})

	// One change may end a session and create its successor with the same key.
	next := newSession("agent:main:main")
	b.commit(ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: first.ID, At: at(1)}}, Create: []sessions.Record{next}}})
	got, err := b.SessionByKey(b.ctx, "agent:main:main")
	require.NoError(t, err)
	require.Equal(t, next.ID, got.ID)
	require.Equal(t, at(1), b.session(first.ID).Ended)
	_, err = b.SessionByKey(b.ctx, "agent:main:none")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testSendersBelow(t *testing.T, b *bundle) {
	add := func(key string, send sessions.SendPolicy) sessions.ID {
		r := newSession(key)
		r.SendPolicy = send
		return b.create(r).ID
	}
	add("agent:main:slack:group:C1", sessions.SendDeny)
	want := []sessions.ID{
		add("agent:main:slack:group:C1:thread:1.2", sessions.SendAllow),
		add("agent:main:slack:group:C1:topic:4", sessions.SendDeny),
	}
	add("agent:main:slack:group:C1:thread:1.3", sessions.SendInherit)
	add("agent:main:slack:group:C11:thread:1.2", sessions.SendAllow)
	add("agent:main:slack:group:c1:thread:1.2", sessions.SendAllow)
	add("agent:other:slack:group:C1:thread:1.2", sessions.SendAllow)
	ended := add("agent:main:slack:group:C1:thread:1.4", sessions.SendAllow)
	b.commit(ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: ended, At: at(1)}}}})

	got, err := b.SendersBelow(b.ctx, "agent:main:slack:group:C1", 10)
	require.NoError(t, err)
	ids := make([]sessions.ID, 0, len(got))
	for _, r := range got {
		ids = append(ids, r.ID)
	}
	require.ElementsMatch(t, want, ids)
	got, err = b.SendersBelow(b.ctx, "agent:main:slack:group:C1", 1)
	require.NoError(t, err)
	require.Len(t, got, 1)
	got, err = b.SendersBelow(b.ctx, "agent:main:slack:group:C_", 10)
	require.NoError(t, err)
	require.Empty(t, got)
}

func testSaveRevision(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	r.ContextSize = 1
	save := ledger.Change{Change: sessions.Change{Save: []sessions.Record{r}}}
	b.commit(save)
	require.Equal(t, r.Revision+1, b.session(r.ID).Revision)
	b.refuse(sessions.ErrConflict, save)
	r.Revision++
	b.commit(ledger.Change{Change: sessions.Change{Save: []sessions.Record{r}}})
	b.refuse(sessions.ErrConflict, ledger.Change{Change: sessions.Change{Save: []sessions.Record{newSession("agent:main:new")}}})
}

func testSaveFields(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	changed := r
	changed.Taint, changed.Route, changed.Head, changed.Compacted = secret, route, "msg_h", "msg_c"
	changed.Usage, changed.ContextSize, changed.AbortedLast = sessions.Usage{InputTokens: 5}, 6, true
	changed.LastActivity, changed.Agent = at(5), "coder"
	want := changed
	changed.Title = flow.NewText("title", secret) // a setting: the session's worker must not undo a concurrent patch
	changed.Key, changed.Partition, changed.Clearance = "agent:x:y", 9, flow.Public
	changed.SendPolicy, changed.Model, changed.Persistent, changed.TTL = sessions.SendDeny, flow.NewText("m", secret), false, time.Hour
	changed.Temperature, changed.MaxTokens = "", 0
	changed.ThinkingLevel, changed.VerboseLevel, changed.Label = sessions.ThinkingLow, sessions.VerboseOn, flow.NewText("label", secret)
	changed.Metadata, changed.Created, changed.Ended = json.RawMessage(`{}`), at(9), at(9)
	b.commit(ledger.Change{Change: sessions.Change{Save: []sessions.Record{changed}}})
	want.Revision++
	require.Equal(t, want, b.session(r.ID))
}

// testReadAgain compares what a store may remember of a session with its row, which a list always reads.
func testReadAgain(t *testing.T, b *bundle) {
	r := newSession("agent:main:main")
	r.Route = route.Place()
	r = b.create(r)
	same := func(why string) sessions.Record {
		t.Helper()
		rows, err := b.ListSessions(b.ctx, ledger.SessionQuery{MaxLevel: flow.Restricted})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		byKey, err := b.SessionByKey(b.ctx, r.Key)
		require.NoError(t, err)
		require.Equal(t, rows[0], byKey, why)
		require.Equal(t, rows[0], b.session(r.ID), why)
		return rows[0]
	}
	save := func(change func(r *sessions.Record)) {
		t.Helper()
		r = same("before")
		change(&r)
		b.commit(ledger.Change{Change: sessions.Change{Save: []sessions.Record{r}}})
	}
	save(func(r *sessions.Record) {
		r.LastActivity, r.Taint, r.Head, r.Compacted = at(5).Add(123*time.Nanosecond).Local(), flow.Label{}, "msg_h", "msg_c"
		r.Usage, r.ContextSize, r.AbortedLast, r.Agent = sessions.Usage{InputTokens: 5}, 6, true, "coder"
	})
	same("saved")
	save(func(r *sessions.Record) { r.Route.Thread = "9" })
	same("another route")
	deny := sessions.SendDeny
	b.commit(ledger.Change{Change: sessions.Change{Patch: []sessions.Patch{{ID: r.ID, SendPolicy: &deny}}}})
	r = same("a setting")
	b.commit(ledger.Change{Change: sessions.Change{Save: []sessions.Record{r}, Patch: []sessions.Patch{{ID: r.ID, SendPolicy: new(sessions.SendAllow)}}}})
	require.Equal(t, sessions.SendAllow, same("saved with a setting").SendPolicy)
	r.ContextSize = 99
	b.refuse(sessions.ErrConflict, ledger.Change{Change: sessions.Change{Save: []sessions.Record{r}}})
	same("refused")

	next := newSession(string(r.Key))
	b.commit(ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: r.ID, At: at(7)}}, Create: []sessions.Record{next}}})
	require.Equal(t, at(7), b.session(r.ID).Ended)
	r = next
	same("a successor")
	b.commit(ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: r.ID, At: at(8)}}}})
	_, err := b.SessionByKey(b.ctx, r.Key)
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testPatchEnd(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	life := 2 * time.Hour
	deny, model, title, meta := sessions.SendDeny, flow.NewText("p/m", secret), flow.NewText("named", flow.Top()), []byte(`{"k":"v"}`)
	patch := func(p sessions.Patch) ledger.Change {
		p.ID = r.ID
		return ledger.Change{Change: sessions.Change{Patch: []sessions.Patch{p}}}
	}
	mention := sessions.ActivationMention
	b.commit(patch(sessions.Patch{SendPolicy: &deny, Activation: &mention, Model: &model}))
	b.commit(patch(sessions.Patch{Title: &title, Metadata: &meta, TTL: &life}))
	want := r
	want.TTL = life
	want.SendPolicy, want.Activation, want.Model, want.Title, want.Metadata = deny, mention, model, title, meta
	require.Equal(t, want, b.session(r.ID))
	thinking, verbose, name := sessions.ThinkingMedium, sessions.VerboseOff, flow.NewText("label", flow.Bottom())
	queue := sessions.QueueInterrupt
	b.commit(patch(sessions.Patch{ThinkingLevel: &thinking, VerboseLevel: &verbose, Label: &name, QueueMode: &queue}))
	want.ThinkingLevel, want.VerboseLevel, want.Label, want.QueueMode = thinking, verbose, name, queue
	b.commit(patch(sessions.Patch{Temperature: new(sessions.Temperature("0")), MaxTokens: new(12)}))
	want.Temperature, want.MaxTokens = "0", 12
	require.Equal(t, want, b.session(r.ID))
	none := flow.NewText("", secret) // an empty title has the label of the one who cleared it
	follow, quiet := sessions.ThinkingInherit, sessions.VerboseInherit
	b.commit(patch(sessions.Patch{ThinkingLevel: &follow, VerboseLevel: &quiet, Label: &none, Model: &none, Temperature: new(sessions.Temperature("")), MaxTokens: new(int)}))
	cleared := b.session(r.ID)
	require.Empty(t, string(cleared.ThinkingLevel)+string(cleared.VerboseLevel), "what is empty takes an override back")
	require.Empty(t, cleared.Temperature)
	require.Zero(t, cleared.MaxTokens)
	require.Equal(t, []flow.Text{none, none, title}, []flow.Text{cleared.Label, cleared.Model, cleared.Title})
	inherit := sessions.SendInherit
	b.commit(patch(sessions.Patch{SendPolicy: &inherit}))
	require.Equal(t, inherit, b.session(r.ID).SendPolicy)

	end := ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: r.ID, At: at(2)}}}}
	b.commit(end)
	b.refuse(sessions.ErrNotFound, end)
	require.Equal(t, at(2), b.session(r.ID).Ended)

	fresh := newSession("agent:main:fresh") // created and patched at once
	b.commit(ledger.Change{Change: sessions.Change{Create: []sessions.Record{fresh}, Patch: []sessions.Patch{{ID: fresh.ID, MaxTokens: new(7)}}}})
	require.Equal(t, 7, b.session(fresh.ID).MaxTokens)
}

// testArchive: an archived session is not among the live ones, is found by its key as archived, and can be deleted once.
func testArchive(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:subagent:1"))
	end := func(at time.Time, archive bool) ledger.Change {
		return ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: r.ID, At: at, Archive: archive}}}}
	}
	_, err := b.ArchivedSession(b.ctx, r.Key)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	b.commit(end(at(2), true))
	want := r
	want.Ended, want.Archived = at(2), true
	require.Equal(t, want, b.session(r.ID))
	got, err := b.ArchivedSession(b.ctx, r.Key)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = b.SessionByKey(b.ctx, r.Key)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	listed, err := b.ListSessions(b.ctx, ledger.SessionQuery{MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Empty(t, listed)
	deny := sessions.SendDeny
	b.refuse(sessions.ErrNotFound, ledger.Change{Change: sessions.Change{Patch: []sessions.Patch{{ID: r.ID, SendPolicy: &deny}}}})
	b.refuse(sessions.ErrNotFound, end(at(3), true))

	b.commit(end(at(4), false))
	want.Ended, want.Archived = at(4), false
	require.Equal(t, want, b.session(r.ID))
	_, err = b.ArchivedSession(b.ctx, r.Key)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	b.refuse(sessions.ErrNotFound, end(at(5), false))
	b.refuse(sessions.ErrNotFound, end(at(5), true))
}

// chain stores a line of messages below parent and returns their ids.
func (b *bundle) chain(session sessions.ID, parent sessions.MessageID, texts ...string) []sessions.MessageID {
	var change sessions.Change
	var ids []sessions.MessageID
	for _, text := range texts {
		m := newMessage(parent, text)
		change.Messages = append(change.Messages, sessions.StoredMessage{Session: session, Message: m})
		ids, parent = append(ids, m.ID), m.ID
	}
	require.NoError(b.t, b.CommitSession(b.ctx, change))
	return ids
}

func (b *bundle) thread(r sessions.Record) []string {
	messages, err := b.Thread(b.ctx, r)
	require.NoError(b.t, err)
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.Text())
	}
	return texts
}

func testThread(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	require.Empty(t, b.thread(r))
	trunk := b.chain(r.ID, "", "1", "2", "3")
	left := b.chain(r.ID, trunk[1], "3a", "4a")
	right := b.chain(r.ID, trunk[2], "4b")
	b.chain(sessions.NewID(), "", "somebody else's")
	for head, want := range map[sessions.MessageID][]string{
		left[1]: {"1", "2", "3a", "4a"}, right[0]: {"1", "2", "3", "4b"}, trunk[0]: {"1"},
	} {
		r.Head = head
		require.Equal(t, want, b.thread(r))
	}
	r.Head = "msg_none"
	_, err := b.Thread(b.ctx, r)
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testCompactedThread(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	trunk := b.chain(r.ID, "", "1", "2", "3", "4")
	r.Compacted = b.chain(r.ID, trunk[1], "sum of 1 and 2")[0]
	r.Head = trunk[3]
	require.Equal(t, []string{"sum of 1 and 2", "3", "4"}, b.thread(r))
	r.Head = trunk[1]
	require.Equal(t, []string{"sum of 1 and 2"}, b.thread(r))
	r.Head, r.Compacted = trunk[3], b.chain(r.ID, "", "sum of nothing")[0]
	require.Equal(t, []string{"sum of nothing", "1", "2", "3", "4"}, b.thread(r))
}

func testMessageEdit(t *testing.T, b *bundle) {
	r := b.create(newSession("agent:main:main"))
	m := newMessage("", "draft")
	m.Role, m.Run, m.Model, m.Usage = sessions.RoleAssistant, "run_1", "p/m", sessions.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 1}
	m.Parts = append(m.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: "c", Tool: "t", Args: json.RawMessage(`{"a":1}`), Label: secret})
	store := func(m sessions.Message) ledger.Change {
		return ledger.Change{Change: sessions.Change{Messages: []sessions.StoredMessage{{Session: r.ID, Message: m}}}}
	}
	b.commit(store(m))
	b.refuse(sessions.ErrDuplicate, store(m))
	r.Head = m.ID
	got, err := b.Thread(b.ctx, r)
	require.NoError(t, err)
	require.Equal(t, []sessions.Message{m}, got)

	m.Revision, m.Parts = 2, []sessions.Part{sessions.TextPart("final", flow.Bottom())}
	m.Label = flow.Bottom()
	b.commit(store(m))
	b.refuse(sessions.ErrConflict, store(m))
	got, err = b.Thread(b.ctx, r)
	require.NoError(t, err)
	require.Equal(t, []sessions.Message{m}, got)
}
