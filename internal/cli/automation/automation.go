// Package automation has the commands for what the gateway does on its own: jobs, checks, texts and requests from other
// programs, alerts, and devices.
package automation

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/command"
)

// Deps is what the commands need.
type Deps struct {
	command.Deps
	Stdin    io.Reader
	Terminal bool // Stdin is one
	Now      func() time.Time
}

// Commands are wake, cron, checks, hooks, alerts and nodes.
func Commands(d Deps) []*cobra.Command {
	return []*cobra.Command{wake(d), cronCommand(d), checksCommand(d.Deps), hooksCommand(d.Deps, d.Stdin), alertsCommand(d.Deps), nodesCommand(d.Deps)}
}
