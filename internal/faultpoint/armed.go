//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// reached counts how often the armed step was reached.
var reached atomic.Int64

// Hit ends the process with SIGKILL, without any cleanup, when the armed step is reached for the configured time.
func Hit(p Point) {
	name, times, _ := strings.Cut(armed(), ":")
	if string(p) != name {
		return
	}
	if n, err := strconv.ParseInt(times, 10, 64); err == nil && reached.Add(1) != n {
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
	select {} // nothing may happen here until the signal is delivered
}

// armed is the point that is armed, with how often it must be reached; empty: none.
func armed() string {
	text, err := os.ReadFile(os.Getenv(Env))
	if err != nil { // no file is named, or it is missing
		return ""
	}
	return strings.TrimSpace(string(text))
}
