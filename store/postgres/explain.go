package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/store/engine"
)

// The SQLSTATE codes that need a message of their own.
const (
	uniqueViolation      = "23505"
	noNumber             = "22P02"
	serializationFailure = "40001"
	deadlock             = "40P01"
	diskFull             = "53100"
	tooManyConnections   = "53300"
	readOnly             = "25006"
	noDatabase           = "3D000"
	noTable              = "42P01"
	noPrivilege          = "42501"
	idleTooLong          = "25P03"
	lockTimeout          = "55P03"
	canceled             = "57014"
)

func unavailable(reason, fix string, err error) error {
	return &engine.Unavailable{Reason: reason, Fix: fix, Err: err}
}

// hangs is the error for a call that has reached its time limit.
func hangs(err error) error {
	return unavailable("PostgreSQL does not answer in time", "check its load and its locks; the gateway continues automatically", err)
}

// explain turns an error of the server or the connection into one that says what to do. Other errors stay as they
// are.
func explain(err error) error {
	if engine.IsUnavailable(err) || errors.Is(err, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return explainServer(e, err)
	}
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting || broken(err) { // also if it took longer than connect_timeout
		return unavailable("PostgreSQL can't be reached", "start it, or correct store.url; the gateway continues automatically", err)
	}
	return err
}

func explainServer(e *pgconn.PgError, err error) error {
	switch {
	case e.Code == diskFull:
		return unavailable("the disk of PostgreSQL is full", "free space there", err)
	case e.Code == tooManyConnections:
		return unavailable("PostgreSQL has no connection left", "raise its max_connections, or lower pool_max_conns in store.url", err)
	case e.Code == readOnly:
		return unavailable("the database is read-only", "point store.url at the primary server", err)
	case e.Code == noDatabase:
		return unavailable("there is no such database", "create it with createdb, or correct store.url", err)
	case e.Code == noTable:
		return unavailable("the database's tables are missing", "restore a backup, or start with an empty database", err)
	case e.Code == noPrivilege:
		return unavailable("PostgreSQL denies a privilege", "make the user of store.url the owner of the database", err)
	case strings.HasPrefix(e.Code, "28"):
		return unavailable("PostgreSQL rejects the user or the password", "correct user and password in store.url", err)
	case strings.HasPrefix(e.Code, "08"): // a pooler says it for the server, whose answers it may have lost
		return unavailable("PostgreSQL can't be reached", "check that the server behind the pooler is running; the gateway continues automatically", err)
	case strings.HasPrefix(e.Code, "57P"):
		return unavailable("PostgreSQL is shutting down or starting", "wait; the gateway continues automatically", err)
	case strings.HasPrefix(e.Code, "XX"), strings.HasPrefix(e.Code, "58"):
		return unavailable("PostgreSQL reports an internal error", "check its log; its data may be damaged", err)
	}
	return err
}

// undone reports whether the server has rolled back because of other transactions.
func undone(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == serializationFailure || e.Code == deadlock)
}

// broken reports whether the connection is lost and a new one may work. A connection that can't be established is a
// different case.
func broken(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the caller's context has ended
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(e.Code, "57P") || e.Code == idleTooLong // sent to connected clients while the server shuts down
	}
	return lost(err)
}

// lost reports a failure of the network, or of a connection that had failed before.
func lost(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || pgconn.SafeToRetry(err)
}
