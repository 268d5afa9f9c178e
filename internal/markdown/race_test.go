//go:build race

package markdown_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

const underRace = true

// TestMain draws fewer random texts under the race detector, which makes them many times as slow. It looks for what
// texts share, and a few show that; without it all are drawn.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "5"); err != nil { // what the command line says comes later, and wins
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
