package storetest

import (
	"database/sql"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router"
	"sluice/sessions"
	"sluice/store"
)

// sealEntries are more than are read at once.
const sealEntries = 2345

// Unsealed undoes the migrations of the chain in an empty database of present
// shape, so that it is as an older gateway has left it: with entries and no chain.
func Unsealed(t *testing.T, raw *sql.DB, undo []string, create string) {
	t.Helper()
	undo = append(undo, `DROP TABLE audit`, `DROP TABLE audit_heads`, `DELETE FROM goose_db_version WHERE version_id >= 50`, create,
		`CREATE INDEX audit_session ON audit (session_id, seq)`, `CREATE INDEX audit_action ON audit (action, seq)`)
	for _, text := range undo {
		_, err := raw.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	tx, err := raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for i := range sealEntries {
		_, err := tx.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO audit (at, actor, action, object, session_id, level, trust, detail)
			VALUES (%d, 'operator', 'old', '%d', 'sess_1', 3, 0, '{"n":%d}')`, at(i).UnixMicro(), i, i))
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
}

// Sealed checks the database of Unsealed after it was opened again.
func Sealed(t *testing.T, db *store.DB) {
	t.Helper()
	b := &bundle{DB: db, t: t, ctx: t.Context()}
	b.sound(sealEntries + 1)
	rows := b.audit(router.AuditQuery{MaxLevel: flow.Restricted, Limit: 3})
	require.Equal(t, "audit.begin", rows[0].Action)
	require.Equal(t, strconv.Itoa(sealEntries-1), rows[1].Object)
	require.Equal(t, strconv.Itoa(sealEntries-2), rows[2].Object)
	require.Len(t, b.audit(router.AuditQuery{MaxLevel: flow.Restricted, Action: "audit.begin"}), 1)
	b.commit(audited(sessions.AuditEntry{At: start, Label: secret}))
	b.sound(sealEntries + 2)
}
