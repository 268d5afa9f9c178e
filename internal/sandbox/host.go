package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// Host runs commands without a sandbox: with the gateway's rights and access. Only the gateway's environment is
// withheld from them.
type Host struct{}

// errNotOnWindows is the answer to all commands there: nothing could limit them, and they need a Unix shell.
var errNotOnWindows = errors.New("run command: Sluice does not run commands on Windows: run the gateway on Linux, for example in WSL 2")

// Run runs a program like [Bubblewrap.Run], without a sandbox. Its children that stay in its process group are killed
// with it.
func (Host) Run(ctx context.Context, c Config, command ...string) (Result, error) {
	if len(command) == 0 || command[0] == "" {
		return Result{}, errors.New("run command: there is no command")
	}
	if runtime.GOOS == "windows" {
		return Result{}, errNotOnWindows
	}
	limited, cancel := context.WithTimeout(ctx, orDefault(c.Timeout, defaultTimeout))
	defer cancel()
	limited, stop := context.WithCancelCause(limited)
	defer stop(nil)
	cmd := exec.CommandContext(limited, command[0], command[1:]...) //nolint:gosec // what the owner has permitted
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=" + c.Workspace}
	cmd.Dir = c.Workspace
	result, err := run(limited, stop, c, cmd)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return result, fmt.Errorf("run command: %w", err)
	}
	return result, nil
}
