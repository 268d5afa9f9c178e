package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/sessions"
)

// A person stops a session in which the turn of another session's exchange waits, which
// began in the session before it: the exchange ends, and does not wait for ever for a run that is no more.
func TestStopOfANewSessionStopsTheOldOnesTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
			switch {
			case s.Record().ID == ann.ID:
				_, err := k.ResetSession(ctx, bob.ID, "operator")
				k.hear(in("bob", "2", "something long"))
				time.Sleep(time.Second) // it is begun
				return "sure?", err
			case run.Kind == sessions.KindMessage:
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return "seven", nil
		}
		x := k.ask(ann, bob, "how many?")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		x, err := k.store.Exchange(t.Context(), x.ID)
		require.NoError(t, err)
		require.Equal(t, 2, x.Turn, "it waits for bob's turn")
		k.hear(in("bob", "3", "/stop"))
		x = k.over(x.ID)
		require.Equal(t, announce.Stopped, x.Outcome)
		run, err := k.store.Run(t.Context(), x.Run)
		require.NoError(t, err)
		require.Equal(t, sessions.RunAborted, run.Status)
	})
}
