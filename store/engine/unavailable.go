package engine

import (
	"errors"
	"fmt"

	"sluice/sessions"
)

// Unavailable is the error for a database that can't be used at present.
type Unavailable struct {
	Reason string // what is wrong, for example "the disk is full"
	Fix    string // what to do
	Err    error
	// Lasting means that the problem stays until a person changes something on this gateway.
	Lasting bool
}

// Error implements error.
func (e *Unavailable) Error() string {
	text := "store is not available: " + e.Reason
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	if e.Err != nil {
		text = fmt.Sprintf("%s (%v)", text, e.Err)
	}
	return text
}

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// Is makes it a [sessions.ErrUnavailable] for callers that know nothing of databases.
func (*Unavailable) Is(target error) bool { return target == sessions.ErrUnavailable }

// NewerSchema is the error for a database that a newer version has written.
func NewerSchema(have, known int64) *Unavailable {
	return &Unavailable{
		Reason: fmt.Sprintf("its schema has version %d, this program knows up to %d", have, known),
		Fix:    "run the newer version of sluice that created it, or restore the backup from before the upgrade", Lasting: true,
	}
}

// IsUnavailable reports whether the error says that the database can't be used.
func IsUnavailable(err error) bool {
	_, ok := errors.AsType[*Unavailable](err)
	return ok
}
