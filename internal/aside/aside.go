// Package aside keeps the stacks of goroutines small that wait long: thousands of runs wait for their models at once, and
// a stack that has grown stays with its goroutine.
//
// Goroutines: one for each call of Do, which waits for it.
package aside

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errEnded: the work has ended its goroutine, and not returned.
var errEnded = errors.New("the work ended its goroutine")

// Do runs work that needs a large stack on a goroutine of its own, and waits for its end. If it panics or ends its goroutine, Do panics.
func Do(work func()) {
	ended := make(chan error)
	go func() {
		err := errEnded
		defer func() { ended <- err }()
		err = guarded(work)
	}()
	if err := <-ended; err != nil {
		panic(err)
	}
}

// guarded turns a panic into an error that has its stack.
func guarded(work func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	work()
	return nil
}
