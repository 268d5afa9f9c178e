package chaos_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"sluice/internal/chaos"
	"sluice/internal/chaos/balancer"
	"sluice/internal/chaos/child"
	"sluice/internal/freeport"
	"sluice/store/sqlite"
	"sluice/store/storetest"
)

// lastRelease is the commit of the version before this one. Whoever makes a release changes it to the release's commit.
const lastRelease = "29780cd9"

// previous builds the last release, once for all runs: the binary stays in .bin. It needs the history of the repository.
// It has the same build flags as the gateway under test, so that the dependencies are compiled once for both.
var previous = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	top, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository, whose history has the last release: %w", err)
	}
	out := filepath.Join(strings.TrimSpace(string(top)), ".bin", "sluice-"+lastRelease)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	source, err := os.MkdirTemp(built.dir, "release-")
	if err != nil {
		return "", err
	}
	script := `git -C "$0" archive "$1" | tar -x -C "$2" && cd "$2" && go build -o "$3.new" ./cmd/sluice && mv "$3.new" "$3"`
	said, err := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", script, filepath.Dir(filepath.Dir(out)), lastRelease, source, out).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the last release, %s (a shallow clone lacks it: git fetch --unshallow): %w\n%s", lastRelease, err, said)
	}
	return out, nil
})

// startWithin is how long a gateway of a fleet may take to be ready: it starts over a slow network, too.
const startWithin = time.Minute

// fleet is some gateways of two versions on one store and one bus.
type fleet struct {
	*world
	configs []child.Config
	each    []*child.Process
	env     [][]string // of each process
	people  int64      // how many write
	first   int64      // the first of them
}

func newFleet(t *testing.T, n int, store string) *fleet {
	t.Helper()
	return fleetOf(t, n, options{store: store, bus: startNATS(t), seedPlus: 90})
}

func fleetOf(t *testing.T, n int, o options) *fleet {
	t.Helper()
	f := &fleet{world: newWorld(t, o), env: make([][]string, n), people: 12, first: 1001}
	for i := range n {
		config := f.config
		addr, err := freeport.Addr()
		require.NoError(t, err)
		config.Listen, config.State = addr, fmt.Sprintf("%s-%d", f.config.State, i)
		f.configs, f.each = append(f.configs, config), append(f.each, nil)
	}
	f.attendAll()
	t.Cleanup(func() {
		for i, p := range f.each {
			if p != nil {
				p.Kill()
			}
			if t.Failed() {
				t.Logf("%s:\n%s", f.configs[i].Listen, tail(f.configs[i].LogPath()))
			}
		}
	})
	return f
}

// attendAll has the platform post to all gateways in turn.
func (f *fleet) attendAll() {
	b := balancer.New()
	front := httptest.NewServer(b)
	f.t.Cleanup(b.Close)
	f.t.Cleanup(front.Close)
	addrs := make([]string, len(f.configs))
	for i, c := range f.configs {
		addrs[i] = c.Listen
	}
	b.Set(addrs)
	f.chat.attend(front.Listener.Addr().String())
}

// run starts a gateway of a version.
func (f *fleet) run(i int, binary string) {
	f.t.Helper()
	require.NoError(f.t, f.begin(i, binary))
}

// begin is run for a goroutine that is not the test's.
func (f *fleet) begin(i int, binary string) error {
	p, err := child.Start(binary, f.configs[i], f.env[i]...)
	if err != nil {
		return err
	}
	f.each[i] = p
	f.lives++
	ctx, cancel := context.WithTimeout(f.t.Context(), startWithin)
	defer cancel()
	return p.WaitReady(ctx)
}

// talk lets people write until something has ended, and at least some messages.
func (f *fleet) talk(messages int, until <-chan struct{}) {
	for said := 0; ; said++ {
		select {
		case <-until:
			if said >= messages {
				return
			}
		default:
		}
		f.say(f.first+f.rng.Int64N(f.people), []string{"", "", "", "[tool]"}[f.rng.IntN(4)])
		f.pause(time.Duration(f.rng.Int64N(int64(20 * time.Millisecond))))
	}
}

// answered reports whether a message has its answer.
func (f *fleet) answered(s chaos.Said) bool {
	return slices.ContainsFunc(f.chat.shown(s.Chat), func(text string) bool { return strings.Contains(text, s.Token) })
}

var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// roll replaces one gateway after the other by those of another version, while people write.
func (f *fleet) roll(binary string, messages int) {
	f.t.Helper()
	for i, p := range f.each {
		done := make(chan struct{})
		var code int
		var err error
		go func() {
			defer close(done)
			code, err = p.Terminate(exitWithin)
		}()
		f.talk(messages, done)
		require.NoError(f.t, err)
		require.Zero(f.t, code)
		f.each[i] = nil
		f.run(i, binary)
		f.talk(messages, ended)
	}
}

// The release before is replaced by this one, and this one by the one before, while people write and the others run. Nothing is lost, nothing
// is said twice. Between the two, the schema gets what the migration of a later version adds.
func TestUpgradeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	before, err := previous()
	require.NoError(t, err)
	messages := 10
	if *long {
		messages = 400
	}
	database := storetest.NewServer(t).Database(t)
	f := newFleet(t, 3, database)
	for i := range f.each {
		f.run(i, before)
	}
	f.talk(messages, ended)
	f.roll(f.binary, messages)
	later(t, database)
	f.talk(messages, ended)
	f.roll(before, messages)
	f.process, f.config = f.each[0], f.configs[0]
	f.awaitAnswers()
	shown := f.sent()
	f.pause(quiet)
	require.Equal(t, shown, f.sent(), "something is said again")
	require.Empty(t, f.rows("failed", "expired", "blocked"), "dead letters")
	verdict, unknown := f.judge()
	require.Empty(t, unknown, "an orderly end leaves no doubt")
	require.Empty(t, verdict.Repeats)
	require.Contains(t, f.log(), "a newer version of sluice has migrated the database")
	f.process = nil
}

// laterSchema is what the migration of a later version adds to the schema: a column to each of the tables that a message goes through, and its number.
var laterSchema = []string{
	`ALTER TABLE deliveries ADD COLUMN added_later TEXT`,
	`ALTER TABLE runs ADD COLUMN added_later TEXT`,
	`ALTER TABLE events ADD COLUMN added_later TEXT`,
	`ALTER TABLE messages ADD COLUMN added_later TEXT`,
	`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`,
}

func later(t *testing.T, database string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	for _, statement := range laterSchema {
		_, err = conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// One gateway with the embedded database is stopped, replaced, and replaced again by the release before.
func TestUpgradeOfOne(t *testing.T) {
	t.Parallel()
	before, err := previous()
	require.NoError(t, err)
	messages := 20
	if *long {
		messages = 1000
	}
	f := &fleet{world: newWorld(t, options{seedPlus: 91}), people: 12, first: 1001}
	now := f.binary
	for i, binary := range []string{before, now, before, now} {
		f.binary = binary
		f.startReady()
		f.talk(messages, ended)
		f.terminate()
		f.say(1001, "") // while nobody listens
		if i == 1 {
			laterFile(t, f.config.State)
		}
	}
	f.settle()
	verdict, unknown := f.judge()
	require.Empty(t, unknown, "an orderly end leaves no doubt")
	require.Empty(t, verdict.Repeats)
	require.Contains(t, f.log(), "a newer version of sluice has migrated the database")
}

func laterFile(t *testing.T, state string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(state, sqlite.FileName))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, statement := range laterSchema {
		_, err = db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}
