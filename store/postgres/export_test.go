package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Rebind is rebind for tests.
func Rebind(text string) string { return rebind(text) }

// PrepareConnection is prepareConnection for tests.
func PrepareConnection(ctx context.Context, conn *pgx.Conn) error {
	return prepareConnection(ctx, conn)
}
