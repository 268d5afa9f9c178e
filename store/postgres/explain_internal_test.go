package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
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
