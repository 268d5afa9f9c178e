package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/engine"
	"sluice/store/sqlite"
	"sluice/store/storetest"
)

// bounded are indexes that hold only what is unfinished, or have the order in
// which a page is read; they may be read through.
var bounded = regexp.MustCompile(`INDEX (sessions_live_activity|runs_open|deliveries_open|deliveries_preview|deliveries_undone|deliveries_files|deliveries_asks|runs_undone|exchanges_open|audit_at|approvals_created)`)

// newest are lists of the newest rows: read in their order till the page is full.
var newest = regexp.MustCompile(`^SELECT [^?]* FROM (runs|deliveries|exchanges) ORDER BY (seq|started DESC, id) DESC LIMIT 50$`)

// unfinished is what asks for work that is not done: it must not look at what is.
var unfinished = regexp.MustCompile(`status (IN|=) .*'(queued|running)'`)

// others are the steps of such a statement that look at runs for another reason: the newest run of a session, whether there is a later
// one, and the runs of a session that retention removes.
var others = regexp.MustCompile(`^SEARCH (latest|later|owned) `)

// openExchanges is what asks for exchanges that have not ended: it must not look at those that have.
var openExchanges = regexp.MustCompile(`^SELECT .* FROM exchanges .*ended = 0`)

// openTriggers is what asks for the open triggers of subjects: it must not look at their history.
var openTriggers = regexp.MustCompile(`^SELECT .* FROM triggers WHERE source = .* AND status IN`)

func TestPlans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, open(t, dir).Close())
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, s := range storetest.HotStatements(t) {
		for _, step := range plan(t, db, s) {
			if !bounded.MatchString(step) && !newest.MatchString(s.SQL) {
				require.NotRegexp(t, `^SCAN ([acdfmrsx]|latest|later|owned|runs|deliveries|sessions|messages|events|history|audit|pairings|aliases|exchanges|chains|revisions|approvals|media|todos|memories|memory_tags|memory_veils|memory_usage)\b`, step, s.SQL)
			}
			if strings.Contains(s.SQL, "RECURSIVE") {
				require.NotContains(t, step, "messages_session", "it would read the whole session for each message")
				require.NotContains(t, step, "AUTOMATIC", s.SQL)
			}
			if unfinished.MatchString(s.SQL) && !others.MatchString(step) {
				require.NotContains(t, step, "runs_session", s.SQL)
			}
			if openExchanges.MatchString(s.SQL) {
				require.Contains(t, step, "INDEX exchanges_open", s.SQL)
			}
			if openTriggers.MatchString(s.SQL) {
				require.Contains(t, step, "INDEX triggers_open", s.SQL)
			}
			// What has one tag is few, and so is what has one key: one memory for each audience.
			few := strings.Contains(s.SQL, "JOIN memory_tags") || strings.Contains(s.SQL, "m.mkey = ?")
			if s.SQL[0] == 'S' && !bounded.MatchString(step) && !few {
				require.NotContains(t, step, "B-TREE FOR ORDER BY", s.SQL)
			}
		}
	}
}

// plan are the steps that SQLite takes for a statement.
func plan(t *testing.T, db *sql.DB, s engine.Statement) (steps []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+s.SQL, s.Args...)
	require.NoError(t, err, s.SQL)
	defer rows.Close() //nolint:errcheck // rows.Err below has what matters
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}
