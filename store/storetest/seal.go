package storetest

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
)

// sealEntries is more than one page of entries.
const sealEntries = 2345

// beforeChains is the last migration before the trail became a chain.
const beforeChains = 49

// Unsealed turns an empty database into that of an older gateway, whose trail is not a chain. It runs the migrations
// in the folder migrations.
func Unsealed(t *testing.T, raw *sql.DB, dialect goose.Dialect) {
	t.Helper()
	provider, err := goose.NewProvider(dialect, raw, os.DirFS("migrations"))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), beforeChains)
	require.NoError(t, err)
	tx, err := raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for i := range sealEntries {
		_, err := tx.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO audit (at, actor, action, object, session_id, level, trust, detail)
			VALUES (%d, 'operator', 'old', '%d', 'sess_1', 3, 0, '{"n":%d}')`, at(i).UnixMicro(), i, i))
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
}

// Sealed checks the database of Unsealed after it was reopened.
func Sealed(t *testing.T, db *store.DB) {
	t.Helper()
	b := &bundle{DB: db, t: t, ctx: t.Context()}
	b.sound(sealEntries + 1)
	rows := b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted, Limit: 3})
	require.Equal(t, "audit.begin", rows[0].Action)
	require.Equal(t, strconv.Itoa(sealEntries-1), rows[1].Object)
	require.Equal(t, strconv.Itoa(sealEntries-2), rows[2].Object)
	require.Len(t, b.audit(ledger.AuditQuery{MaxLevel: flow.Restricted, Action: "audit.begin"}), 1)
	b.commit(audited(sessions.AuditEntry{At: start, Label: secret}))
	b.sound(sealEntries + 2)
}
