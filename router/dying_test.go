package router_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
)

// dying is the store of a process that ends at one of its commits: that one is not applied any
// more, or nobody hears that it was. Nothing is stored after it until the next process.
type dying struct {
	*store.DB
	mu      sync.Mutex
	at      int // the commit, from 1; 0: none
	after   bool
	commits int
	dead    bool
	busy    int // this many commits meet another's
}

func (d *dying) Commit(ctx context.Context, change ledger.Change) error {
	return d.commit(func() error { return d.DB.Commit(ctx, change) })
}

func (d *dying) CommitSession(ctx context.Context, change sessions.Change) error {
	return d.commit(func() error { return d.DB.CommitSession(ctx, change) })
}

func (d *dying) commit(apply func() error) error {
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		return sessions.ErrUnavailable
	}
	if d.busy > 0 {
		d.busy--
		d.mu.Unlock()
		return sessions.ErrConflict
	}
	d.commits++
	d.dead = d.commits == d.at
	dead, after := d.dead, d.after
	d.mu.Unlock()
	if !dead {
		return apply()
	}
	if after {
		_ = apply() // nobody hears of it
	}
	return sessions.ErrUnavailable
}

// next is the store as the next process finds it; false if the present one lives.
func (d *dying) next() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.dead
	d.dead = false
	return was
}

// revive starts the next process if this one has died.
func (b *bundle) revive() {
	synctest.Wait()
	if b.dying.next() {
		b.restart()
		synctest.Wait()
	}
}

// insist gives the router a message as a platform does, again if it was not taken.
func (b *bundle) insist(m adapters.Inbound) inbound.Admitted {
	b.t.Helper()
	b.revive()
	got, err := b.Intake.Admit(context.Background(), inbound.Admission{Inbound: m})
	if err != nil {
		b.revive()
		got = b.hear(m)
	}
	b.revive()
	return got
}

// settle lets everything come to its end.
func (b *bundle) settle() {
	for range 3 {
		time.Sleep(time.Minute)
		b.revive()
	}
}

// thread are the texts of a session's selected thread, each with its role.
func (b *bundle) thread(id sessions.ID) []string {
	b.t.Helper()
	record, err := b.store.Session(context.Background(), id)
	require.NoError(b.t, err)
	messages, err := b.store.Thread(context.Background(), record)
	require.NoError(b.t, err)
	var texts []string
	for _, m := range messages {
		texts = append(texts, string(m.Role)+": "+m.Text())
	}
	return texts
}

// everyDeath plays a scene once undisturbed and then with a death at each of its commits, which must
// change nothing of what the scene checks.
func everyDeath(t *testing.T, options []func(*bundle), scene func(t *testing.T, b *bundle)) {
	t.Helper()
	play := func(name string, at int, after bool) (commits int) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dying{at: at, after: after}
				b := newBundle(t, append(options, func(b *bundle) { b.dying = d })...)
				scene(t, b)
				commits = d.commits
			})
		})
		return commits
	}
	commits := play("undisturbed", 0, false)
	require.Positive(t, commits)
	for at := 1; at <= commits; at++ {
		play(fmt.Sprintf("before commit %d", at), at, false)
		play(fmt.Sprintf("after commit %d", at), at, true)
	}
}
