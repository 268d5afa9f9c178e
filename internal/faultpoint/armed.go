//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// armed is the point to die at, and how many more times it is to be reached.
type armed struct {
	point Point
	left  atomic.Int64
}

// current reads the environment once. Package state is tolerable here alone:
// the tag keeps it out of every binary but that of the kill test.
var current = sync.OnceValue(func() *armed {
	name, count, found := strings.Cut(os.Getenv(Env), ":")
	a := &armed{point: Point(name)}
	n := 1
	if found {
		var err error
		if n, err = strconv.Atoi(count); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", Env, err)
			os.Exit(2)
		}
	}
	a.left.Store(int64(n))
	return a
})

// Hit ends the process with SIGKILL, with no chance to clean up, when the armed
// step is reached for the last of its times.
func Hit(p Point) {
	a := current()
	if p != a.point || a.left.Add(-1) != 0 {
		return
	}
	fmt.Fprintf(os.Stderr, "faultpoint %s reached\n", p)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "faultpoint %s: %v\n", p, err)
		os.Exit(3)
	}
	select {} // until the signal is delivered nothing more may happen here
}
