//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
)

// Hit ends the process with SIGKILL, with no chance to clean up, when the armed
// step is reached.
func Hit(p Point) {
	if string(p) != os.Getenv(Env) {
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
