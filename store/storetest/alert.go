package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func newAlert(key string, started int) alert.Alert {
	return alert.Alert{
		Key: key, Revision: 1, Status: alert.Firing, Severity: alert.Critical, Source: "cron/brief", Label: secret, Started: at(started), Ends: at(started + 300), Updated: at(started),
		Detail: alert.Detail{
			Title: "Disk füll", Text: "97 %", Labels: map[string]string{"host": "db1"}, Annotations: map[string]string{"summary": "x"},
			Links: []alert.Link{{Title: "Runbook", URL: "https://wiki/disk"}}, Occurrences: 1, Groups: []string{"g"},
		},
	}
}

func newAlertGroup(key string) alert.Group {
	return alert.Group{
		Key: key, Revision: 1, Partition: 3, Open: true, Due: at(30), Earliest: at(30), Label: flow.Bottom(), Created: at(1),
		GroupDetail: alert.GroupDetail{Receiver: "ops", Labels: map[string]string{"key": "disk"}},
	}
}

func touch(g alert.Group, key string) alert.Touch {
	return alert.Touch{Group: g, Alert: key, Due: g.Due}
}

func changeAlerts(c ledger.AlertChange) ledger.Change { return ledger.Change{AlertChange: c} }

func testAlertRoundTrip(t *testing.T, b *bundle) {
	a, other := newAlert("disk", 5), newAlert("cpu", 7)
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a, other}}))
	got, err := b.AlertsByKey(b.ctx, []string{"disk", "unknown"})
	require.NoError(t, err)
	require.Equal(t, []alert.Alert{a}, got)
	a.Revision, a.Status, a.Severity, a.Source, a.Label = 2, alert.Resolved, alert.Info, "cli", flow.Bottom()
	a.Started, a.Ends, a.Updated, a.Ended, a.Occurrences, a.By, a.At = at(6), at(9), at(8), at(8), 2, "telegram:1", at(8)
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a}}))
	many := []string{"disk"}
	for range 120 {
		many = append(many, "unknown")
	}
	got, err = b.AlertsByKey(b.ctx, append(many, "cpu"))
	require.NoError(t, err)
	require.ElementsMatch(t, []alert.Alert{a, other}, got, "more than one statement reads")
}

func testAlertOnce(t *testing.T, b *bundle) {
	a := newAlert("disk", 5)
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a}}))
	b.refuse(sessions.ErrConflict, changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a}}))
	a.Revision = 2
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a}}))
	b.refuse(sessions.ErrConflict, changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a}}))
}

func testAlertList(t *testing.T, b *bundle) {
	public, hidden, over := newAlert("a", 1), newAlert("b", 2), newAlert("c", 3)
	public.Label = flow.Bottom()
	over.Label, over.Status, over.Ended = flow.Bottom(), alert.Expired, at(9)
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{public, hidden, over}}))
	list := func(q alert.Query) []alert.Alert {
		all, err := b.ListAlerts(b.ctx, q)
		require.NoError(t, err)
		return all
	}
	tally, err := b.TallyAlerts(b.ctx)
	require.NoError(t, err)
	require.Equal(t, []alert.Tally{{Status: public.Status, Severity: public.Severity, Count: 2}}, tally)
	require.Equal(t, 2, alert.Total(tally))
	require.Equal(t, []alert.Alert{over, hidden, public}, list(alert.Query{MaxLevel: flow.Restricted}))
	require.Equal(t, []alert.Alert{over, public}, list(alert.Query{MaxLevel: flow.Public}))
	require.Equal(t, []alert.Alert{hidden, public}, list(alert.Query{MaxLevel: flow.Restricted, Open: true}))
	require.Equal(t, []alert.Alert{over}, list(alert.Query{MaxLevel: flow.Restricted, Limit: 1}))
	require.Equal(t, []alert.Alert{public}, list(alert.Query{MaxLevel: flow.Restricted, After: "b"}))
	require.Empty(t, list(alert.Query{MaxLevel: flow.Public, After: "b"}), "a page behind an alert that the reader may not know")
	require.Empty(t, list(alert.Query{}), "without a level there is nothing to see")
}

func testAlertGroups(t *testing.T, b *bundle) {
	g := newAlertGroup("g")
	due := func() []alert.Group {
		all, err := b.DueGroups(b.ctx, 3, 10)
		require.NoError(t, err)
		return all
	}
	a := newAlert("disk", 5)
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a}, AlertTouches: []alert.Touch{touch(g, "disk")}}))
	require.Equal(t, []alert.Group{g}, due())
	lanes, err := b.WaitingLanes(b.ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []sessions.Lane{ledger.AlertLane}, lanes)
	in, err := b.GroupAlerts(b.ctx, "g", 10)
	require.NoError(t, err)
	require.Equal(t, []alert.Alert{a}, in)

	g.Revision, g.Due, g.Earliest, g.Sequence = 2, at(900), at(330), 1
	b.commit(changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{g}}))
	later := newAlertGroup("g")
	later.Due = at(60)
	b.commit(changeAlerts(ledger.AlertChange{AlertTouches: []alert.Touch{touch(later, "disk")}}))
	b.refuse(sessions.ErrConflict, changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{g}}))
	g.Revision, g.Due = 3, at(330)
	require.Equal(t, []alert.Group{g}, due(), "an open group is due at its earliest time")

	g.Revision, g.Open = 4, false
	b.commit(changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{g}, AlertLeaves: []alert.Member{{Group: "g", Alert: "disk"}}}))
	require.Empty(t, due())
	in, err = b.GroupAlerts(b.ctx, "g", 10)
	require.NoError(t, err)
	require.Empty(t, in)
	later.Due = at(400)
	b.commit(changeAlerts(ledger.AlertChange{AlertTouches: []alert.Touch{touch(later, "disk")}}))
	g.Revision, g.Open, g.Due, g.Earliest = 5, true, at(400), at(400)
	require.Equal(t, []alert.Group{g}, due(), "a closed group opens as a new one, with its number")
	stored, err := b.AlertGroup(b.ctx, "g")
	require.NoError(t, err)
	require.Equal(t, g, stored)
	_, err = b.AlertGroup(b.ctx, "other")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// testAlertGroupList shows that a reader finds a group if they may know all its alerts and all that it has reported.
func testAlertGroupList(t *testing.T, b *bundle) {
	public, hidden, over := newAlert("public", 1), newAlert("hidden", 2), newAlert("over", 3)
	public.Label, over.Label = flow.Bottom(), flow.Bottom()
	over.Status, over.Ended = alert.Resolved, at(9)
	group := func(key string, opened int) alert.Group {
		g := newAlertGroup(key)
		g.Created = at(opened)
		return g
	}
	all, told, mixed, closed, digest := group("all", 10), group("told", 30), group("mixed", 20), group("closed", 40), group("digest.ops", 50)
	told.Label = secret
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{public, hidden, over}, AlertTouches: []alert.Touch{
		touch(all, "public"), touch(all, "over"), touch(told, "over"), touch(mixed, "hidden"), touch(mixed, "public"), touch(closed, "public"), touch(digest, ""),
	}}))
	closed.Revision, closed.Open = 2, false
	b.commit(changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{closed}}))
	all.Revision, mixed.Revision = 2, 2 // two alerts
	list := func(q alert.GroupQuery) []alert.Group {
		found, err := b.ListGroups(b.ctx, q)
		require.NoError(t, err)
		return found
	}
	require.Equal(t, []alert.Group{told, mixed, all}, list(alert.GroupQuery{}), "neither a closed group nor a digest")
	require.Equal(t, []alert.Group{told}, list(alert.GroupQuery{Limit: 1}))
	require.Equal(t, []alert.Group{mixed}, list(alert.GroupQuery{After: "told", Limit: 1}))
	require.Equal(t, []alert.Group{told, mixed, all}, list(alert.GroupQuery{After: "closed"}), "what closes meanwhile keeps its place")
	require.Empty(t, list(alert.GroupQuery{After: "unknown"}))
	require.Equal(t, []alert.Group{mixed}, list(alert.GroupQuery{Key: "mixed"}))

	told.Revision, told.Open = 2, false
	b.commit(changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{told}}))
	again := group("told", 60)
	b.commit(changeAlerts(ledger.AlertChange{AlertTouches: []alert.Touch{touch(again, "public")}}))
	again.Revision = 3
	require.Equal(t, []alert.Group{again, mixed, all}, list(alert.GroupQuery{}), "a group that opens again has told nothing yet")
}

// testAlertsOfAGroup shows that the open alerts of a group come first, also before more severe ones that are over.
func testAlertsOfAGroup(t *testing.T, b *bundle) {
	g, open, over := newAlertGroup("g"), newAlert("open", 5), newAlert("over", 6)
	open.Severity = alert.Info
	over.Severity, over.Status, over.Ended = alert.Critical, alert.Resolved, at(7)
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{open, over}, AlertTouches: []alert.Touch{touch(g, "open"), touch(g, "over")}}))
	in, err := b.GroupAlerts(b.ctx, "g", 1)
	require.NoError(t, err)
	require.Equal(t, []alert.Alert{open}, in)
}

func testAlertFence(t *testing.T, b *bundle) {
	old := b.take(3, "a")
	g := newAlertGroup("g")
	b.commit(changeAlerts(ledger.AlertChange{AlertTouches: []alert.Touch{touch(g, "disk")}}))
	fresh := b.take(3, "b")
	g.Revision, g.Epoch = 2, old
	b.refuse(sessions.ErrFenced, changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{g}}))
	g.Epoch = fresh
	b.commit(changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{g}}))
}

func newNote(target string, seq int) alert.Note {
	return alert.Note{
		Key: "alert/g/" + target + "/" + at(seq).String(), Group: "g", Target: target, Sequence: seq, Reason: alert.First, Status: alert.NoteQueued, Delivery: "dlv_1",
		Label: secret, Created: at(seq), NoteDetail: alert.NoteDetail{Alerts: []string{"disk"}, Step: 1},
	}
}

func testAlertNotes(t *testing.T, b *bundle) {
	free := newNote("ops", 5)
	free.Free = true
	first, edit, waiting, other := newNote("ops", 1), newNote("ops", 2), newNote("ops", 3), newNote("owner", 4)
	other.Delivery = "dlv_other"
	edit.Edits, waiting.Status, waiting.Delivery = true, alert.NoteWaiting, ""
	b.commit(changeAlerts(ledger.AlertChange{AlertNotes: []alert.Note{free, first, edit, waiting, other}}))
	d := newDelivery("c|x")
	again := changeAlerts(ledger.AlertChange{AlertNotes: []alert.Note{first}})
	again.Deliver = []ledger.Delivery{d}
	b.refuse(sessions.ErrDuplicate, again)
	_, err := b.Delivery(b.ctx, d.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound, "what comes with a notification that is known is not sent")
	got, err := b.GroupNotes(b.ctx, "g", 3)
	require.NoError(t, err)
	require.Equal(t, []alert.Note{free, other, waiting}, got)
	got, err = b.WaitingNotes(b.ctx, "ops", 10)
	require.NoError(t, err)
	require.Equal(t, []alert.Note{waiting}, got)
	about, err := b.NoteOf(b.ctx, other.Delivery, at(5))
	require.NoError(t, err)
	require.Equal(t, other, about)
	_, err = b.NoteOf(b.ctx, "dlv_2", other.Created)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.NoteOf(b.ctx, other.Delivery, at(60))
	require.ErrorIs(t, err, sessions.ErrNotFound, "it was sent at another time")
	count := func(since, limit int) int {
		n, revision, err := b.CountNotes(b.ctx, "ops", at(since), limit)
		require.NoError(t, err)
		require.Zero(t, revision, "nobody has counted what is posted")
		return n
	}
	require.Equal(t, 1, count(0, 10), "only new messages count")
	require.Zero(t, count(1, 10))
	sums := changeAlerts(ledger.AlertChange{AlertSums: []string{waiting.Key}})
	b.commit(sums)
	b.refuse(sessions.ErrConflict, sums)
	got, err = b.WaitingNotes(b.ctx, "ops", 10)
	require.NoError(t, err)
	require.Empty(t, got)
}

func testAlertBudgets(t *testing.T, b *bundle) {
	spend := func(target string, revision int64) ledger.Change {
		return changeAlerts(ledger.AlertChange{AlertBudgets: []alert.Spent{{Target: target, Revision: revision}}})
	}
	b.commit(spend("ops", 0))
	b.refuse(sessions.ErrConflict, spend("ops", 0))
	b.commit(spend("ops", 1))
	b.refuse(sessions.ErrConflict, spend("ops", 1))
	b.commit(spend("other", 0))
	n, revision, err := b.CountNotes(b.ctx, "ops", at(0), 10)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, int64(2), revision)
}

func testAlertNames(t *testing.T, b *bundle) {
	disk, cpu, over := newAlert("disk", 1), newAlert("cpu", 2), newAlert("over", 3)
	disk.Severity, cpu.Severity = alert.Critical, alert.Warning
	over.Status, over.Ended = alert.Expired, at(9)
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{disk, cpu, over}}))
	list := func(q alert.Query) (keys []string) {
		q.Open, q.MaxLevel = true, flow.Restricted
		all, err := b.ListAlerts(b.ctx, q)
		require.NoError(t, err)
		for _, x := range all {
			keys = append(keys, x.Key)
		}
		return keys
	}
	require.Equal(t, []string{"disk"}, list(alert.Query{Ref: alert.Ref("disk")}))
	require.Empty(t, list(alert.Query{Ref: alert.Ref("over")}))
	require.Equal(t, []string{"disk"}, list(alert.Query{Severities: []alert.Severity{alert.Critical}}))
	require.Equal(t, []string{"cpu", "disk"}, list(alert.Query{Severities: []alert.Severity{alert.Critical, alert.Warning}}))
	cpu.Revision, cpu.Severity = 2, alert.Critical
	b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{cpu}}))
	require.Equal(t, []string{"cpu"}, list(alert.Query{Ref: alert.Ref("cpu"), Severities: []alert.Severity{alert.Critical}}))
}

func testSilences(t *testing.T, b *bundle) {
	s := alert.Silence{
		ID: "s1", Revision: 1, Starts: at(1), Ends: at(100), Updated: at(1), Label: secret,
		SilenceDetail: alert.SilenceDetail{Matchers: []alert.Matcher{{Name: "host", Value: "db.*", IsRegex: true, IsEqual: true}}, Author: "telegram:1", Comment: "working on it"},
	}
	b.commit(changeAlerts(ledger.AlertChange{Silences: []alert.Silence{s}}))
	b.refuse(sessions.ErrDuplicate, changeAlerts(ledger.AlertChange{Silences: []alert.Silence{s}}))
	list := func(after int, most flow.Level) []alert.Silence {
		all, err := b.ListSilences(b.ctx, at(after), most)
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []alert.Silence{s}, list(99, flow.Restricted))
	require.Empty(t, list(100, flow.Restricted))
	require.Empty(t, list(1, flow.Public))
	require.Empty(t, list(1, flow.Level{}))
	s.Revision, s.Ends, s.Updated = 2, at(50), at(2)
	b.commit(changeAlerts(ledger.AlertChange{Silences: []alert.Silence{s}}))
	b.refuse(sessions.ErrConflict, changeAlerts(ledger.AlertChange{Silences: []alert.Silence{s}}))
	got, err := b.Silence(b.ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, s, got)
	_, err = b.Silence(b.ctx, "s2")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testPruneAlerts(t *testing.T, b *bundle) {
	open, old := newAlert("open", 1), newAlert("old", 1)
	old.Status, old.Ended = alert.Resolved, at(40)
	told, waiting := newNote("ops", 1), newNote("ops", 2)
	waiting.Status = alert.NoteWaiting
	silence := alert.Silence{ID: "s1", Revision: 1, Starts: at(1), Ends: at(40), Updated: at(1), Label: flow.Bottom()}
	b.commit(changeAlerts(ledger.AlertChange{
		Alerts: []alert.Alert{open, old}, AlertNotes: []alert.Note{told, waiting}, Silences: []alert.Silence{silence},
		AlertTouches: []alert.Touch{touch(newAlertGroup("g"), "open"), touch(newAlertGroup("idle"), "")},
	}))
	for _, key := range []string{"g", "idle"} {
		g := newAlertGroup(key)
		g.Revision, g.Open = 2, false
		b.commit(changeAlerts(ledger.AlertChange{AlertGroups: []alert.Group{g}}))
	}
	b.prune(ledger.PruneAlerts, at(50), 4) // an alert, a notification, the group without one, and the silence
	b.prune(ledger.PruneAlerts, at(50), 0)
	got, err := b.AlertsByKey(b.ctx, []string{"open", "old"})
	require.NoError(t, err)
	require.Equal(t, []alert.Alert{open}, got)
	_, err = b.AlertGroup(b.ctx, "g")
	require.NoError(t, err, "its notification still waits")
	_, err = b.AlertGroup(b.ctx, "idle")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}
