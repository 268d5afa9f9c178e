// Package aside runs work on a goroutine of its own, so that goroutines that wait for long keep small stacks:
// thousands of runs wait for their models at once, and a stack that has grown stays with its goroutine.
//
// Goroutines: one for each call of Do, which waits for it.
package aside

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errEnded means that the work has ended its goroutine instead of returning.
var errEnded = errors.New("the work ended its goroutine")

// Do runs work that needs a large stack on a goroutine of its own, and waits until it ends. If the work panics or
// ends its goroutine, Do panics with an error: a panic on the new goroutine would end the process, while the caller's
// goroutine recovers from it, as if the work ran there.
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

// guarded turns a panic into an error with its stack.
func guarded(work func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	work()
	return nil
}
