package postgres

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"sluice/store/engine"
)

// A pooler in front of the server may have lost the answer to a commit: the writes are neither refused nor repeated at once.
func TestAPoolerThatLostTheServer(t *testing.T) {
	t.Parallel()
	err := fault(&pgconn.PgError{Code: "08P01", Message: "server conn crashed?"})
	require.NotErrorIs(t, err, errUndone)
	require.True(t, engine.IsUnavailable(explain(err)))
}

// A server that accepts connections and says nothing is not there: what waits for the database waits on, and nothing fails.
func TestAServerThatDoesNotAnswerAConnection(t *testing.T) {
	t.Parallel()
	config, err := pgxpool.ParseConfig("postgres://sluice@127.0.0.1/sluice?sslmode=disable")
	require.NoError(t, err)
	config.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		accepted, _ := net.Pipe()
		return accepted, nil
	}
	config.ConnConfig.ConnectTimeout = time.Millisecond
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	_, err = pool.Acquire(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, engine.IsUnavailable(explain(err)), err)
	require.False(t, engine.IsUnavailable(explain(context.DeadlineExceeded)), "the time of the caller is over")
}
