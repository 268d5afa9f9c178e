package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"sluice/internal/hostos"
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
	if _, err := exec.LookPath(command[0]); err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	// The shell waits until the limits are set, and then becomes the command.
	args := append([]string{"-c", `read -r _ <&3; exec 3<&-; exec "$@"`, "sh"}, command...)
	cmd := exec.CommandContext(limited, "sh", args...)
	hostos.OwnGroup(cmd)
	cmd.Cancel = func() error { return hostos.Kill(cmd) }
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=" + c.Workspace}
	cmd.Dir = c.Workspace
	result, err := run(limited, stop, c, cmd, false)
	if cmd.Process != nil { // children that the command has left behind, if any
		if killed := hostos.Kill(cmd); killed == nil && errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return result, fmt.Errorf("run command: %w", err)
	}
	return result, nil
}
