package turn

import "fmt"

// WorkError is why a run did not come to an answer.
type WorkError struct {
	Status RunStatus // failed, timeout or aborted
	Public string    // a sentence for the person who waits; never an internal text
	Err    error     // for the operator
}

// Error implements error.
func (e *WorkError) Error() string { return fmt.Sprintf("run %s: %v", e.Status, e.Err) }

// Unwrap gives the cause.
func (e *WorkError) Unwrap() error { return e.Err }
