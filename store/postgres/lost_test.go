package postgres_test

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// A commit whose answer is lost is reported and not repeated: the repetition would be refused, because the first one was stored.
func TestLostAnswerOfACommit(t *testing.T) {
	t.Parallel()
	direct := migrated.Copy(t)
	var deaf atomic.Bool // the next answer is lost with its connection
	db := open(t, throughProxy(t, direct, &deaf))
	require.NoError(t, db.Commit(t.Context(), event("before")))
	deaf.Store(true)
	unavailable(t, db.Commit(t.Context(), event("lost")), "the connection broke during a commit")
	_, err := db.Event(t.Context(), "lost")
	require.NoError(t, err, "it was stored")
	require.ErrorIs(t, db.Commit(t.Context(), event("lost")), sessions.ErrDuplicate)
}

// throughProxy is the URL of a database behind a proxy.
func throughProxy(t *testing.T, database string, deaf *atomic.Bool) string {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	query := u.Query()
	socket := query.Get("host") + "/.s.PGSQL.5432"
	query.Del("host")
	query.Set("sslmode", "disable")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go func() { // ends with the listener
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { // ends with the store
				_, _ = io.Copy(server, client)
				_ = server.Close()
			}()
			go func() {
				defer client.Close() //nolint:errcheck // the end of a connection
				data := make([]byte, 64<<10)
				for {
					n, err := server.Read(data)
					if err != nil || deaf.CompareAndSwap(true, false) {
						return
					}
					if _, err := client.Write(data[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	u.RawQuery, u.Host = query.Encode(), listener.Addr().String()
	return u.String()
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
