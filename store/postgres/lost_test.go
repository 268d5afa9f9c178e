package postgres_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/storetest"
)

// A commit whose answer is lost is reported and not repeated: the repetition would be refused, because the first one was stored.
func TestLostAnswerOfACommit(t *testing.T) {
	t.Parallel()
	wire := storetest.NewWire(t, migrated.Copy(t), func() {})
	db := open(t, wire.URL)
	require.NoError(t, db.Commit(t.Context(), event("before")))
	wire.LoseNext()
	unavailable(t, db.Commit(t.Context(), event("lost")), "the connection broke during a commit")
	_, err := db.Event(t.Context(), "lost")
	require.NoError(t, err, "it was stored")
	require.ErrorIs(t, db.Commit(t.Context(), event("lost")), sessions.ErrDuplicate)
}

// One transaction takes many entries, as when many callers wait.
func TestManyEntriesInOneTransaction(t *testing.T) {
	t.Parallel()
	db := open(t, migrated.Copy(t))
	const entries = 1000
	var change ledger.Change
	for n := range entries {
		change.Audit = append(change.Audit, sessions.AuditEntry{Action: "told", Object: fmt.Sprint("ünï, 3:abc,", n), Detail: []string{"\x00\""}})
	}
	require.NoError(t, db.Commit(t.Context(), change))
	require.NoError(t, db.Commit(t.Context(), change))
	report, err := db.VerifyAudit(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, report.Faults)
	require.EqualValues(t, 2*entries, report.Entries)
	require.Len(t, report.Heads, 1, "all in one chain, the first that was free")
}

// A trail that another transaction keeps locked is reported as a time-out, not as damaged.
func TestAChainThatIsWaitedForTooLong(t *testing.T) {
	t.Parallel()
	direct := migrated.Copy(t)
	u, err := url.Parse(direct)
	require.NoError(t, err)
	query := u.Query()
	query.Set("lock_timeout", "20")
	u.RawQuery = query.Encode()
	db := open(t, u.String())
	release := hold(t, direct, `SELECT chain FROM audit_heads FOR UPDATE`)
	told := ledger.Change{}
	told.Audit = []sessions.AuditEntry{{Action: "told"}}
	unavailable(t, db.Commit(t.Context(), told), "does not answer in time")
	release()
	require.NoError(t, db.Commit(t.Context(), told))
}
