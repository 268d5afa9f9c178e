package denials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// rows keeps what was committed, and fails while err is set.
type rows struct {
	mu      sync.Mutex
	commits []int
	entries []sessions.AuditEntry
	err     error
}

// Commit implements Committer.
func (r *rows) Commit(_ context.Context, c ledger.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.commits = append(r.commits, len(c.Audit))
		r.entries = append(r.entries, c.Audit...)
	}
	return r.err
}

// sizes are the numbers of entries of the commits so far.
func (r *rows) sizes() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.commits)
}

func newTrail(t *testing.T) (*Trail, *rows) {
	t.Helper()
	r := &rows{}
	return New(Config{Store: r, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}), r
}

func denied(actor, object string, label flow.Label, at time.Time) denial {
	return denial{key: key{actor: actor, kind: "run", object: object, why: AboveLevel}, label: label, first: at}
}

// Equal denials are one entry with their number, the first and the last time, and the join of their labels.
func TestEqualDenialsAreCounted(t *testing.T) {
	t.Parallel()
	trail, r := newTrail(t)
	at := time.Unix(1000, 0).UTC()
	trail.add(denied("token:a", "run_1", flow.NewLabel(flow.Internal, flow.Trusted), at))
	trail.add(denied("token:a", "run_1", flow.NewLabel(flow.Public, flow.Untrusted), at.Add(time.Second)))
	trail.add(denied("token:a", "run_2", flow.Label{}, at))
	trail.add(denied("token:b", "run_1", flow.Bottom(), at))
	trail.flush()
	require.Len(t, r.entries, 3)
	got := r.entries[0]
	require.Equal(t, "run_1", got.Object)
	require.Equal(t, at, got.At)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), got.Label)
	require.Equal(t, detail{Kind: "run", Reason: AboveLevel, Count: 2, Last: at.Add(time.Second)}, got.Detail)
	require.Equal(t, flow.Top(), r.entries[1].Label, "a missing label is the highest")
	require.Equal(t, "token:b", r.entries[2].Actor)
	require.Empty(t, trail.open)
	require.Empty(t, trail.kinds)
}

// An actor fills the trail with at most kindsMax entries and one for the rest; others are not affected.
func TestManyDenialsOfOneActorBecomeOne(t *testing.T) {
	t.Parallel()
	trail, r := newTrail(t)
	for n := range kindsMax + 10 {
		trail.add(denied("token:a", fmt.Sprint(n), flow.NewLabel(flow.Restricted, flow.Trusted), time.Unix(int64(n), 0)))
	}
	trail.add(denied("token:b", "x", flow.Bottom(), time.Unix(0, 0)))
	trail.flush()
	require.Len(t, r.entries, kindsMax+2)
	rest := r.entries[len(r.entries)-1]
	require.Equal(t, "token:a", rest.Actor)
	require.Empty(t, rest.Object, "which ones they were is not listed")
	require.Equal(t, detail{Reason: tooMany, Count: 10, Last: time.Unix(kindsMax+9, 0).UTC()}, rest.Detail)
}

// What the store refuses is kept for the next time, in commits of at most batchSize; at the end it is counted as lost.
func TestDenialsOutliveAFailingStore(t *testing.T) {
	t.Parallel()
	trail, r := newTrail(t)
	add := func() {
		for n := range batchSize + 1 {
			trail.add(denied(fmt.Sprint("token:", n), "x", flow.Bottom(), time.Unix(int64(n), 0)))
		}
	}
	r.err = errors.New("store is away")
	add()
	trail.flush()
	require.Empty(t, r.entries)
	r.err = nil
	trail.flush()
	require.Equal(t, []int{batchSize, 1}, r.commits)

	r.err = errors.New("store is away")
	add()
	trail.finish()
	require.InDelta(t, batchSize+1, testutil.ToFloat64(trail.lost), 0)
}

// Requests never wait for the trail: what its queue can't hold is counted. The clock decides when the others are stored.
func TestDenialsAreStoredByTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trail, r := newTrail(t)
		for range queueSize + 3 {
			trail.note(denied("token:a", "x", flow.Bottom(), time.Time{}))
		}
		require.InDelta(t, 3, testutil.ToFloat64(trail.lost), 0)
		trail.Start()
		time.Sleep(interval - time.Second)
		synctest.Wait()
		require.Empty(t, r.sizes())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []int{1}, r.sizes())
		trail.note(denied("token:a", "y", flow.Bottom(), time.Time{}))
		trail.Stop(t.Context())
		trail.Stop(t.Context())
		require.Equal(t, []int{1, 1}, r.commits, "the end stores the rest")
	})
}

// What an entry says of a request never includes a token, and control characters are shown as such.
func TestDenialsOfRequests(t *testing.T) {
	t.Parallel()
	request := func(header, path string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.RemoteAddr = "192.0.2.1:1234"
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		return r
	}
	ops := auth.Caller{Name: "ops", Level: flow.Internal, Role: auth.RoleViewer}
	for name, c := range map[string]struct {
		note func(trail *Trail)
		want []key
	}{
		"no token":    {func(trail *Trail) { trail.Stranger(request("  ", "/v1/runs")) }, nil},
		"wrong token": {func(trail *Trail) { trail.Stranger(request("Bearer guess", "/v1/runs")) }, []key{{"unknown", "token", "192.0.2.1", badToken}}},
		"forbidden":   {func(trail *Trail) { trail.Forbidden(request("", "/v1/a%0Ab"), ops) }, []key{{"token:ops", "path", "/v1/a%0Ab", notAllowed}}},
		"hidden": {func(trail *Trail) {
			r := auth.Admit(request("", "/v1/runs/x"), ops)
			trail.Hidden(r.Context(), Object{Kind: "run", ID: "run_1"}, HeldByGate)
		}, []key{{"token:ops", "run", "run_1", HeldByGate}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trail, r := newTrail(t)
			c.note(trail)
			trail.finish()
			var got []key
			for _, e := range r.entries {
				d, ok := e.Detail.(detail)
				require.True(t, ok)
				require.NotContains(t, fmt.Sprint(e), "guess")
				got = append(got, key{e.Actor, d.Kind, e.Object, d.Reason})
			}
			require.Equal(t, c.want, got)
		})
	}
}
