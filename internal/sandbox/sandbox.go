package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sluice/sessions"
)

const (
	defaultTimeout = time.Minute
	defaultOutput  = 256 << 10
	// killWait is how long the death of a command's last child is waited for.
	killWait = 5 * time.Second
	// probeTimeout is how long the program may take to show that it works.
	probeTimeout = 10 * time.Second
	// tmpSize and shmSize are what /tmp and /dev/shm hold, which are memory. Nothing else of /dev can be written.
	tmpSize, shmSize = "67108864", "67108864"
)

// Config is how one command is run.
type Config struct {
	Workspace string        // an absolute path of a folder; /workspace in the sandbox, where the command begins
	Network   bool          // the command reaches the network as the gateway does
	Timeout   time.Duration // 0 is a minute
	Output    int           // most bytes kept of stdout, and of stderr; 0 is 256 KiB
	Stdin     string        // what the command reads
	Limits    Limits
	// Check is asked all the time while the command runs; its error ends the command. Nil: nothing is asked.
	Check func(ctx context.Context) error
}

// Result is what became of a command that ran.
type Result struct {
	Stdout, Stderr string
	Truncated      bool // the command wrote more than was kept
	ExitCode       int  // -1 if it was killed
	TimedOut       bool // it was killed at its deadline
	// Stopped says why it was killed before its deadline: it used more than it may. Empty: it was not.
	Stopped string
}

// Bubblewrap runs commands with bwrap. It is safe for concurrent use.
type Bubblewrap struct {
	program string
	works   atomic.Bool // it was seen to
}

var _ sessions.Sandbox = (*Bubblewrap)(nil)

// New makes a runner of the named program; an empty name looks for bwrap in PATH when it is needed.
func New(program string) *Bubblewrap {
	if program == "" {
		program = "bwrap"
	}
	return &Bubblewrap{program: program}
}

// Available implements [sessions.Sandbox]: it runs a command that does nothing, until that has worked once.
func (b *Bubblewrap) Available(ctx context.Context) error {
	if b.works.Load() {
		return nil
	}
	dir, err := os.MkdirTemp("", "sluice-sandbox-")
	if err != nil {
		return fmt.Errorf("try sandbox: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty folder in a temporary place
	result, err := b.Run(ctx, Config{Workspace: dir, Timeout: probeTimeout}, "true")
	switch {
	case err != nil:
		return fmt.Errorf("try sandbox: %w", err)
	case result.ExitCode != 0:
		return fmt.Errorf("try sandbox: the probe ended with %d: %s", result.ExitCode, firstLine(result.Stderr))
	}
	b.works.Store(true)
	return nil
}

// Run runs a program with its arguments and waits for its end, and for that of all
// it has started. That it fails or runs into its time-out is a result; an error says that the sandbox
// could not be made, that the program is not there, or that ctx ended.
func (b *Bubblewrap) Run(ctx context.Context, c Config, command ...string) (Result, error) {
	if len(command) == 0 || command[0] == "" {
		return Result{}, errors.New("run in sandbox: there is no command")
	}
	args, err := arguments(c)
	if err != nil {
		return Result{}, fmt.Errorf("run in sandbox: %w", err)
	}
	program, err := exec.LookPath(b.program)
	if err != nil {
		return Result{}, fmt.Errorf("run in sandbox: bubblewrap is not installed: %w", err)
	}
	filter, err := openFilter()
	if err != nil {
		return Result{}, fmt.Errorf("run in sandbox: %w", err)
	}
	defer filter.Close() //nolint:errcheck // it was only read
	limited, cancel := context.WithTimeout(ctx, orDefault(c.Timeout, defaultTimeout))
	defer cancel()
	limited, stop := context.WithCancelCause(limited)
	defer stop(nil)
	cmd := exec.CommandContext(limited, program, append(args, command...)...)
	cmd.Env = []string{} // it can be read in the sandbox, as that of its first process
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{filter}
	result, err := run(limited, stop, c, cmd, true)
	if own, ok := strings.CutPrefix(result.Stderr, "bwrap: "); ok && err == nil && result.ExitCode == 1 {
		err = errors.New(firstLine(own))
	}
	if ctx.Err() != nil {
		return result, fmt.Errorf("run in sandbox: %w", context.Cause(ctx))
	}
	if err != nil {
		return result, fmt.Errorf("run in sandbox: %w", err)
	}
	return result, nil
}

// run starts a command that waits to be let go, bounds it, lets it go, and watches it to its end. stop ends ctx. A command
// with info is bubblewrap, which says which process it has made.
func run(ctx context.Context, stop context.CancelCauseFunc, c Config, cmd *exec.Cmd, info bool) (Result, error) {
	stdout, stderr := &bounded{limit: orDefault(c.Output, defaultOutput)}, &bounded{limit: orDefault(c.Output, defaultOutput)}
	cmd.Stdout, cmd.Stderr, cmd.Stdin = stdout, stderr, strings.NewReader(c.Stdin)
	cmd.WaitDelay = killWait
	// The command dies with the thread that has started it, which must not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reason, err := c.supervise(ctx, stop, cmd, info)
	result := Result{
		Stdout: stdout.String(), Stderr: stderr.String(), Truncated: stdout.cut || stderr.cut,
		TimedOut: reason == "" && errors.Is(ctx.Err(), context.DeadlineExceeded), Stopped: reason,
	}
	if cmd.ProcessState != nil {
		result.ExitCode = cmd.ProcessState.ExitCode()
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended && ctx.Err() == nil {
		return result, err
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return result, fmt.Errorf("a child process of the command could not be killed: %w", err)
	}
	return result, nil
}

// arguments are bwrap's own, up to the command.
func arguments(c Config) ([]string, error) {
	info, err := os.Stat(c.Workspace)
	switch {
	case !filepath.IsAbs(c.Workspace):
		return nil, fmt.Errorf("workspace %q: want an absolute path", c.Workspace)
	case err != nil:
		return nil, fmt.Errorf("workspace: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("workspace %q: want a folder", c.Workspace)
	}
	args := []string{"--info-fd", strconv.Itoa(infoFD), "--block-fd", strconv.Itoa(blockFD), "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"}
	if c.Network {
		args = append(args, "--share-net")
	}
	args = append(args, systemMounts(c.Network)...)
	return append(args,
		// A gateway that is root owns /proc/sys in the sandbox too: read-only, or it could set the kernel's parameters.
		"--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--size", shmSize, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--size", tmpSize, "--tmpfs", "/tmp",
		"--bind", c.Workspace, "/workspace", "--remount-ro", "/", "--chdir", "/workspace",
		"--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "--setenv", "HOME", "/workspace",
		"--seccomp", strconv.Itoa(filterFD), // the first of the command's extra files
		"--",
	), nil
}

// systemMounts show the machine's programs: /usr, what links into it, and the few
// files of /etc that programs need to start. The rest of /etc may hold secrets.
func systemMounts(network bool) []string {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	files := []string{"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime"}
	if network {
		files = append(files, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs", "/etc/ca-certificates")
	}
	for _, file := range files {
		args = append(args, "--ro-bind-try", file, file)
	}
	return args
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	strings.Builder
	limit int
	cut   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := min(len(p), b.limit-b.Len())
	b.cut = b.cut || kept < len(p)
	b.Builder.Write(p[:kept])
	return len(p), nil // what is not kept must not stop the command
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
