package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite"
)

// envCrash tells the test binary to be the process that is killed.
const envCrash = "SLUICE_TEST_CRASH_DIR"

// crash commits from many goroutines and prints what was acknowledged, until it is killed.
func crash(t *testing.T, dir string) {
	db, err := sqlite.Open(t.Context(), config(dir))
	require.NoError(t, err)
	done := make(chan string)
	for writer := range 8 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d-%d", writer, i)
				if err := db.Commit(t.Context(), crashChange(key)); err != nil {
					panic(err)
				}
				done <- key
			}
		}()
	}
	for key := range done {
		fmt.Println("acknowledged", key)
	}
}

// crashChange writes one row in each of five tables.
func crashChange(key string) ledger.Change {
	run, message := sessions.RunID("run_"+key), sessions.MessageID("msg_"+key)
	return ledger.Change{
		Event: &ledger.Event{Key: key, Run: run},
		Change: sessions.Change{
			Enqueue:  []sessions.Run{{ID: run, Session: sessions.ID("sess_" + key), Status: sessions.RunQueued}},
			Audit:    []sessions.AuditEntry{{Action: "told", Object: key, Label: flow.Bottom()}},
			Messages: []sessions.StoredMessage{{Session: sessions.ID("sess_" + key), Message: sessions.Message{ID: message, Label: flow.Bottom()}}},
		},
		Deliver: []ledger.Delivery{{ID: ledger.DeliveryID("dlv_" + key), Lane: "c|x", Status: ledger.DeliveryQueued}},
	}
}

// TestCrash kills a process amid its commits, several times: all that was
// acknowledged is there, and no change is there by halves.
func TestCrash(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(envCrash); dir != "" {
		crash(t, dir)
	}
	for range 3 {
		dir := t.TempDir()
		acknowledged := killed(t, dir, 300)
		db := open(t, dir)
		for _, key := range acknowledged {
			_, err := db.Event(t.Context(), key)
			require.NoError(t, err, "acknowledged %s is lost", key)
		}
		lanes, err := db.LaneDeliveries(t.Context(), "c|x", 1<<20)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(lanes), len(acknowledged))
		for _, d := range lanes {
			key := strings.TrimPrefix(string(d.ID), "dlv_")
			_, err := db.Run(t.Context(), sessions.RunID("run_"+key))
			require.NoError(t, err)
			thread, err := db.Thread(t.Context(), sessions.Record{ID: sessions.ID("sess_" + key), Head: sessions.MessageID("msg_" + key)})
			require.NoError(t, err)
			require.Len(t, thread, 1)
		}
		report, err := db.VerifyAudit(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, report.Faults)
		require.EqualValues(t, len(lanes), report.Entries)
		require.NoError(t, db.Close())
	}
}

// killed runs the child until it has acknowledged n changes, kills it, and gives all that it had acknowledged.
func killed(t *testing.T, dir string, n int) (keys []string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrash$", "-test.v")
	child.Env = append(os.Environ(), envCrash+"="+dir)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		key, ok := strings.CutPrefix(lines.Text(), "acknowledged ")
		if !ok {
			continue
		}
		keys = append(keys, key)
		if len(keys) == n {
			require.NoError(t, child.Process.Kill())
		}
	}
	require.Error(t, child.Wait())
	require.GreaterOrEqual(t, len(keys), n)
	return keys
}
