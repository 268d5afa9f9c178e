package exchange

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/router/ledger"
	"sluice/sessions"
)

// What rules are told of the steps behind the first, about which the tool was asked, is what their document lists.
func TestStepsAreWaysToInvoke(t *testing.T) {
	t.Parallel()
	for _, kind := range []announce.Kind{announce.Send, announce.Spawn} {
		for _, phase := range []announce.Phase{announce.Replying, announce.Announcing} {
			require.Contains(t, []string{"reply", "announce", "report"}, string(stepKind(kind, phase)), "%s %s", kind, phase)
		}
	}
}

var errDisk = errors.New("disk I/O error")

// rows is a store with one row of each kind.
type rows struct {
	Store
	session  func(sessions.ID) (sessions.Record, error)
	run      func(sessions.RunID) (sessions.Run, error)
	exchange func(string) (ledger.Exchange, error)
}

func (s *rows) Session(_ context.Context, id sessions.ID) (sessions.Record, error) {
	return s.session(id)
}

func (s *rows) Run(_ context.Context, id sessions.RunID) (sessions.Run, error) { return s.run(id) }

func (s *rows) Exchange(_ context.Context, id string) (ledger.Exchange, error) { return s.exchange(id) }

// A sub-agent speaks to its parent, unless the parent waits for it in a request of its own.
func TestWordToParent(t *testing.T) {
	t.Parallel()
	child := sessions.Record{ID: "sess_child", SpawnedBy: "sess_parent"}
	for name, c := range map[string]struct {
		child    error
		run      sessions.Run
		runErr   error
		exchange ledger.Exchange
		xErr     error
		target   sessions.ID
		want     bool
		err      error
	}{
		"in its task":                    {run: sessions.Run{Exchange: "xch_1"}, exchange: ledger.Exchange{Exchange: announce.Exchange{Kind: announce.Spawn, Requester: announce.Party{Session: "sess_parent"}}}, target: "sess_parent", want: true},
		"asked by its parent":            {run: sessions.Run{Exchange: "xch_1"}, exchange: ledger.Exchange{Exchange: announce.Exchange{Kind: announce.Send, Requester: announce.Party{Session: "sess_parent"}}}, target: "sess_parent"},
		"asked by another":               {run: sessions.Run{Exchange: "xch_1"}, exchange: ledger.Exchange{Exchange: announce.Exchange{Kind: announce.Send, Requester: announce.Party{Session: "sess_x"}}}, target: "sess_parent", want: true},
		"spoken to by a person":          {run: sessions.Run{}, target: "sess_parent", want: true},
		"in a run that is not known":     {runErr: sessions.ErrNotFound, target: "sess_parent", want: true},
		"to another session":             {target: "sess_x"},
		"of a session that is not known": {child: sessions.ErrNotFound, target: "sess_parent"},
		"no session can be read":         {child: errDisk, target: "sess_parent", err: errDisk},
		"no run can be read":             {runErr: errDisk, target: "sess_parent", err: errDisk},
		"no exchange can be read":        {run: sessions.Run{Exchange: "xch_1"}, xErr: errDisk, target: "sess_parent", err: errDisk},
	} {
		store := &rows{
			session:  func(sessions.ID) (sessions.Record, error) { return child, c.child },
			run:      func(sessions.RunID) (sessions.Run, error) { return c.run, c.runErr },
			exchange: func(string) (ledger.Exchange, error) { return c.exchange, c.xErr },
		}
		got, err := addressesParent(t.Context(), store, Ask{Caller: sessions.Caller{Session: child.ID}, Target: sessions.Record{ID: c.target}})
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.want, got, name)
	}
}
