package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func audited(entries ...sessions.AuditEntry) ledger.Change {
	return ledger.Change{Change: sessions.Change{Audit: entries}}
}

func (b *bundle) audit(q ledger.AuditQuery) []ledger.AuditRecord {
	b.t.Helper()
	rows, err := b.ListAudit(b.ctx, q)
	require.NoError(b.t, err)
	return rows
}

// sound verifies the trail and returns its heads.
func (b *bundle) sound(entries int, kept ...ledger.AuditHead) []ledger.AuditHead {
	b.t.Helper()
	report, err := b.VerifyAudit(b.ctx, kept)
	require.NoError(b.t, err)
	require.Empty(b.t, report.Faults)
	require.EqualValues(b.t, entries, report.Entries)
	return report.Heads
}

func testAudit(t *testing.T, b *bundle) {
	first := sessions.AuditEntry{At: start, Actor: "operator", Action: "delivery.retry", Object: "dlv_1", Session: b.create(newSession("agent:main:main")).ID, Label: secret}
	second := first
	second.Action, second.Session, second.Detail = "command.denied", "", json.RawMessage(`{"why":"not an owner"}`)
	b.commit(audited(first, second))
	third := first
	third.At, third.Actor, third.Label = at(1), "agent:main", flow.NewLabel(flow.Restricted, flow.Trusted)
	require.NoError(t, b.CommitSession(b.ctx, audited(third).Change))

	for name, c := range map[string]struct {
		query ledger.AuditQuery
		want  []sessions.AuditEntry
	}{
		"all":           {ledger.AuditQuery{MaxLevel: flow.Restricted}, []sessions.AuditEntry{third, second, first}},
		"seen from":     {ledger.AuditQuery{MaxLevel: flow.Confidential}, []sessions.AuditEntry{second, first}},
		"seen from low": {ledger.AuditQuery{MaxLevel: flow.Internal}, nil},
		"of no level":   {ledger.AuditQuery{}, nil},
		"by session":    {ledger.AuditQuery{MaxLevel: flow.Restricted, Session: first.Session}, []sessions.AuditEntry{third, first}},
		"by action":     {ledger.AuditQuery{MaxLevel: flow.Restricted, Action: "command.denied"}, []sessions.AuditEntry{second}},
		"by actor":      {ledger.AuditQuery{MaxLevel: flow.Restricted, Actor: "agent:main"}, []sessions.AuditEntry{third}},
		"since":         {ledger.AuditQuery{MaxLevel: flow.Restricted, Since: at(1)}, []sessions.AuditEntry{third}},
		"until":         {ledger.AuditQuery{MaxLevel: flow.Restricted, Until: at(1)}, []sessions.AuditEntry{second, first}},
		"of a level":    {ledger.AuditQuery{MaxLevel: flow.Restricted, Level: flow.Restricted}, []sessions.AuditEntry{third}},
		"of the lower":  {ledger.AuditQuery{MaxLevel: flow.Restricted, Level: flow.Confidential}, []sessions.AuditEntry{second, first}},
		"above reader":  {ledger.AuditQuery{MaxLevel: flow.Confidential, Level: flow.Restricted}, nil},
		"no such id":    {ledger.AuditQuery{MaxLevel: flow.Restricted, After: "1-0123456789abcdef"}, nil},
		"no id":         {ledger.AuditQuery{MaxLevel: flow.Restricted, After: "x"}, nil},
	} {
		var got []sessions.AuditEntry
		for _, r := range b.audit(c.query) {
			got = append(got, r.AuditEntry)
		}
		require.Equal(t, c.want, got, name)
	}
	b.sound(3)
}

// testAuditPages reads the trail page by page. A page that starts after a hidden entry is empty.
func testAuditPages(t *testing.T, b *bundle) {
	for i := range 10 {
		e := sessions.AuditEntry{At: at(i / 3), Action: "a", Object: strconv.Itoa(i), Label: flow.Bottom()}
		if i%4 == 3 {
			e.Label = secret
		}
		b.commit(audited(e))
	}
	for level, want := range map[flow.Level]string{flow.Restricted: "9876543210", flow.Public: "98654210"} {
		seen, q := "", ledger.AuditQuery{MaxLevel: level, Limit: 3}
		for page := b.audit(q); len(page) > 0; page = b.audit(q) {
			for _, r := range page {
				seen += r.Object
			}
			q.After = page[len(page)-1].ID
		}
		require.Equal(t, want, seen)
	}
	hidden := b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted, Limit: 3})[2]
	require.Equal(t, secret, hidden.Label)
	require.Empty(t, b.audit(ledger.AuditQuery{MaxLevel: flow.Public, After: hidden.ID}))
	require.Equal(t, []ledger.AuditRecord{hidden}, b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted, ID: hidden.ID}), "one by its id")
	require.Empty(t, b.audit(ledger.AuditQuery{MaxLevel: flow.Public, ID: hidden.ID}))
	require.Empty(t, b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted, ID: "x"}))
	require.Empty(t, b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted, ID: hidden.ID[:len(hidden.ID)-1]}), "not by a part of it")
}

// testAuditChain commits from several goroutines, partly without success. The trail has exactly the committed changes
// and stays intact.
func testAuditChain(t *testing.T, b *bundle) {
	const writers, commits = 8, 30
	b.commit(ledger.Change{Event: &ledger.Event{Key: "taken"}})
	told := make([]int, writers)
	var wg sync.WaitGroup
	for w := range writers {
		random := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for i := range commits {
				key := fmt.Sprintf("%d-%d", w, i)
				if random.IntN(3) == 0 {
					key = "taken"
				}
				change := ledger.Change{Event: &ledger.Event{Key: key}}
				for range random.IntN(4) {
					change.Audit = append(change.Audit, sessions.AuditEntry{At: at(i), Action: "told", Object: key, Label: secret, Detail: []string{key}})
				}
				if err := b.Commit(b.ctx, change); err == nil {
					told[w] += len(change.Audit)
				} else if key != "taken" {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range told {
		sum += n
	}
	heads := b.sound(sum)
	require.NotEmpty(t, heads)
	for _, r := range b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted, Limit: 200}) {
		_, err := b.Event(b.ctx, r.Object)
		require.NoError(t, err, "the trail tells of what was not committed")
		require.NotEqual(t, "taken", r.Object)
	}
	b.commit(audited(sessions.AuditEntry{At: start, Action: "later", Label: secret}))
	b.sound(sum+1, heads...)
}

// testAuditForeign checks that the hash covers the stored text, whatever it contains.
func testAuditForeign(t *testing.T, b *bundle) {
	for _, text := range []string{"", "a\x00b", "\xff\xfe", "ünï, 3:abc,", "\uFFFD"} {
		b.commit(audited(sessions.AuditEntry{
			Actor: text, Action: text, Object: text, Session: sessions.ID(text), Detail: map[string]string{text: text},
		}))
	}
	b.sound(5)
	require.Len(t, b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted}), 5)
	require.Empty(t, b.audit(ledger.AuditQuery{MaxLevel: flow.Confidential})) // an entry with no label is RESTRICTED
}
