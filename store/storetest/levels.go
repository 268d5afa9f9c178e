package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// levelled is a row of each kind with a label, in a session with a taint.
type levelled struct {
	own     flow.Level
	session flow.Level // invalid: the session does not exist
	of      sessions.ID
	name    string // also of the audit entry's object
	run     sessions.RunID
	dlv     ledger.DeliveryID
	xch     string
}

// within reports whether a reader of a level may know about the row.
func (l levelled) within(most flow.Level) bool {
	if flow.CanFlow(flow.Restricted, most) {
		return true
	}
	return flow.CanFlow(l.own, most) && (l.of == "" || flow.CanFlow(l.session, most))
}

// storeLevelled stores rows with every label: in sessions of every taint, in no session, and in a missing one.
func storeLevelled(b *bundle) (rows []levelled) {
	places := []levelled{{}, {of: "sess_nowhere"}}
	for _, taint := range flow.Levels() {
		s := newSession("agent:main:" + taint.String())
		s.Taint = flow.NewLabel(taint, flow.Trusted)
		places = append(places, levelled{session: taint, of: b.create(s).ID})
	}
	for _, place := range places {
		for _, own := range flow.Levels() {
			row := place
			row.own, row.name = own, fmt.Sprintf("apr_%s_%s", own, place.session)
			if row.of == "" {
				row.name += "_none"
			}
			b.storeRow(&row)
			rows = append(rows, row)
		}
	}
	return rows
}

func (b *bundle) storeRow(row *levelled) {
	label := flow.NewLabel(row.own, flow.Untrusted)
	r, d, x := newRun(row.of), newDelivery("c|x"), newExchange(row.of, "")
	r.Label, d.Label, d.Session, d.Status, x.Label = label, label, row.of, ledger.DeliveryFailed, label
	if row.own == flow.Public || row.own == flow.Restricted { // the level of either side counts
		x = newExchange("", row.of)
		x.Label = label
	}
	ask := newApproval(ledger.ApprovalID(row.name), row.of, r.ID, 1)
	ask.Label = label
	b.enqueue(r)
	b.commit(ledger.Change{
		Deliver: []ledger.Delivery{d}, Ask: []ledger.Approval{ask}, Exchanges: []ledger.Exchange{x},
		Change: sessions.Change{Audit: []sessions.AuditEntry{{At: start, Actor: "operator", Action: "a", Object: row.name, Session: row.of, Label: label}}},
	})
	row.run, row.dlv, row.xch = r.ID, d.ID, x.ID
}

// namesOf returns the names in a list, sorted.
func namesOf[T any, N ~string](t *testing.T, list []T, err error, name func(T) N) []string {
	t.Helper()
	require.NoError(t, err)
	names := []string{}
	for _, row := range list {
		names = append(names, string(name(row)))
	}
	slices.Sort(names)
	return names
}

// testLevels: a reader with a level gets the rows up to this level in sessions up to this level, and no trace of
// others.
func testLevels(t *testing.T, b *bundle) {
	rows := storeLevelled(b)
	for _, most := range append(flow.Levels(), flow.Level{}) {
		var runs, deliveries, exchanges, names []string
		for _, row := range rows {
			if row.within(most) {
				runs, deliveries = append(runs, string(row.run)), append(deliveries, string(row.dlv))
				exchanges, names = append(exchanges, row.xch), append(names, row.name)
			}
		}
		q := ledger.Query{MaxLevel: most, Limit: 200}
		gotRuns, err := b.ListRuns(b.ctx, q)
		require.ElementsMatch(t, runs, namesOf(t, gotRuns, err, func(r sessions.Run) sessions.RunID { return r.ID }), most)
		gotDeliveries, err := b.ListDeliveries(b.ctx, q)
		require.ElementsMatch(t, deliveries, namesOf(t, gotDeliveries, err, func(d ledger.Delivery) ledger.DeliveryID { return d.ID }), most)
		gotApprovals, err := b.ListApprovals(b.ctx, q)
		require.ElementsMatch(t, names, namesOf(t, gotApprovals, err, func(p ledger.Approval) ledger.ApprovalID { return p.ID }), most)
		gotAudit, err := b.ListAudit(b.ctx, ledger.AuditQuery{MaxLevel: most, Limit: 200})
		require.ElementsMatch(t, names, namesOf(t, gotAudit, err, func(r ledger.AuditRecord) string { return r.Object }), most)
		gotExchanges, err := b.ListExchanges(b.ctx, ledger.ExchangeQuery{MaxLevel: most, Limit: 200})
		require.ElementsMatch(t, exchanges, namesOf(t, gotExchanges, err, func(x ledger.Exchange) string { return x.ID }), most)
		counts, err := b.CountDeliveries(b.ctx, most)
		require.NoError(t, err)
		require.Equal(t, len(deliveries), counts[ledger.DeliveryFailed], most)
		if len(gotRuns) > 1 {
			cursorsShowNothing(t, b, most, rows, gotRuns, gotDeliveries)
		}
	}
}

// cursorsShowNothing: a page starts after a row that the reader may know about; any other cursor is treated as
// unknown.
func cursorsShowNothing(t *testing.T, b *bundle, most flow.Level, rows []levelled, runs []sessions.Run, deliveries []ledger.Delivery) {
	t.Helper()
	q := ledger.Query{MaxLevel: most, After: string(runs[0].ID)}
	nextRuns, err := b.ListRuns(b.ctx, q)
	require.NoError(t, err)
	require.Equal(t, runs[1:], nextRuns, most)
	q.After = string(deliveries[0].ID)
	next, err := b.ListDeliveries(b.ctx, q)
	require.NoError(t, err)
	require.Equal(t, deliveries[1:], next, most)
	for _, row := range rows {
		if row.within(most) {
			continue
		}
		q.After = string(row.run)
		nextRuns, err := b.ListRuns(b.ctx, q)
		require.NoError(t, err)
		require.Empty(t, nextRuns, most)
		q.After = string(row.dlv)
		next, err := b.ListDeliveries(b.ctx, q)
		require.NoError(t, err)
		require.Empty(t, next, most)
		if row.of == "" {
			continue
		}
		if flow.CanFlow(row.session, most) { // the reader may know the session, but not the row
			continue
		}
		found, err := b.ListSessions(b.ctx, ledger.SessionQuery{MaxLevel: most, After: row.of})
		require.NoError(t, err)
		require.Empty(t, found, most)
	}
}
