// Package aside keeps the stacks of goroutines small that wait long: thousands of runs wait for their models at once, and
// a stack that has grown stays with its goroutine.
//
// Goroutines: one for each call of Do, which waits for it.
package aside

import (
	"fmt"
	"runtime/debug"
)

// Do runs work that needs a large stack on a goroutine of its own, and waits for its end. If it panics, so does Do.
func Do(work func()) {
	ended := make(chan error)
	go func() {
		var err error
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
