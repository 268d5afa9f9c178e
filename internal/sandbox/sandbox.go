package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sluice/internal/hostos"
	"sluice/sessions"
)

const (
	defaultTimeout = time.Minute
	defaultOutput  = 256 << 10
	// killWait is how long Run waits for the death of a command's last child.
	killWait = 5 * time.Second
	// probeTimeout is how long the check of the program may take.
	probeTimeout = 10 * time.Second
	// failureAge is how long the error of a failed check is returned again.
	failureAge = 10 * time.Second
	// tmpSize and shmSize are the sizes of /tmp and /dev/shm, which are in memory. Nothing else in /dev is writable.
	tmpSize, shmSize = "67108864", "67108864"
)

// Config describes how a command runs.
type Config struct {
	Workspace string        // absolute path of a folder; in the sandbox it is /workspace, the working directory. With Mounts it may be empty
	Mounts    []Mount       // what a sandboxed command sees in /workspace, in this order
	Home      string        // the home folder of a sandboxed command, relative to /workspace
	ReadOnly  []string      // absolute paths of further files and folders that the command may read; missing ones are left out
	Network   bool          // the command has the gateway's network access
	Timeout   time.Duration // 0: one minute
	Output    int           // maximum bytes kept of stdout, and of stderr; 0: 256 KiB
	Stdin     string        // the command's input
	In, Out   *os.File      // the command's input and stdout instead of Stdin and what is kept; may be nil. Run does not close them
	Limits    Limits
	Groups    *Groups // limits all commands of Session together; nil: each command is limited by itself
	Session   string
	// Check is called repeatedly while the command runs; its error ends the command. May be nil.
	Check func(ctx context.Context) error
}

// Mount is a file or folder that a sandboxed command sees below /workspace.
type Mount struct {
	File  *os.File // it is open, so that nobody can put something else in its place; Run does not close it. Nil: an empty folder
	At    string   // relative to /workspace, with slashes; empty: /workspace itself. An absolute path lies outside of it
	Write bool
}

// Result is the result of a command that ran.
type Result struct {
	Stdout, Stderr string
	Truncated      bool // the command wrote more than was kept
	ExitCode       int  // -1 if it was killed
	TimedOut       bool // it was killed at its deadline
	// Stopped says why it was killed before its deadline: it exceeded a limit. Empty if it was not.
	Stopped string
}

// Bubblewrap runs commands with bwrap. It is safe for concurrent use.
type Bubblewrap struct {
	program string
	now     func() time.Time
	works   atomic.Bool // a check has succeeded

	turn    chan struct{} // has an element while a check runs, which owns the fields below
	failure error         // of the last check
	failed  time.Time
}

var _ sessions.Sandbox = (*Bubblewrap)(nil)

// New creates a runner for the named program; with an empty name, it searches PATH for bwrap when needed.
func New(program string, now func() time.Time) *Bubblewrap {
	if program == "" {
		program = "bwrap"
	}
	return &Bubblewrap{program: program, now: now, turn: make(chan struct{}, 1)}
}

// Available implements [sessions.Sandbox]: it runs a command that does nothing, until that has succeeded once. One such command runs at
// a time; if it fails, those who ask soon after get the same error.
func (b *Bubblewrap) Available(ctx context.Context) error {
	if b.works.Load() {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return fmt.Errorf("try sandbox: %w", context.Cause(ctx))
	}
	if b.works.Load() {
		return nil
	}
	if b.failure != nil && b.now().Sub(b.failed) < failureAge {
		return b.failure
	}
	b.failure = b.probe(ctx)
	switch {
	case b.failure == nil:
		b.works.Store(true)
	case ctx.Err() != nil: // this says nothing about the program
		err := b.failure
		b.failure = nil
		return err
	}
	b.failed = b.now()
	return b.failure
}

// probe runs a command that does nothing.
func (b *Bubblewrap) probe(ctx context.Context) error {
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
	return nil
}

// errOnlyLinux is the answer to all commands on other systems.
var errOnlyLinux = errors.New("the sandbox needs Linux: run the gateway there, for example in a container or virtual machine")

// Run runs a program with its arguments and waits until it and all its children have ended. A failure or time-out of
// the program is a result. An error means that the sandbox could not be created, that the program does not exist, or
// that ctx ended.
func (b *Bubblewrap) Run(ctx context.Context, c Config, command ...string) (Result, error) {
	if len(command) == 0 || command[0] == "" {
		return Result{}, errors.New("run in sandbox: there is no command")
	}
	if !hostos.Sandboxes() {
		return Result{}, errOnlyLinux
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
	cmd.Env = []string{} // the sandbox can read it, as the environment of its first process
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{filter}
	for _, m := range c.Mounts {
		if m.File != nil {
			cmd.ExtraFiles = append(cmd.ExtraFiles, m.File)
		}
	}
	result, err := run(limited, stop, c, cmd)
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

// run starts a command that waits, sets its limits, lets it start, and supervises it to its end. stop ends ctx.
func run(ctx context.Context, stop context.CancelCauseFunc, c Config, cmd *exec.Cmd) (Result, error) {
	stdout, stderr := &bounded{limit: orDefault(c.Output, defaultOutput)}, &bounded{limit: orDefault(c.Output, defaultOutput)}
	cmd.Stdout, cmd.Stderr, cmd.Stdin = stdout, stderr, strings.NewReader(c.Stdin)
	if c.In != nil {
		cmd.Stdin = c.In
	}
	if c.Out != nil {
		cmd.Stdout = c.Out
	}
	cmd.WaitDelay = killWait
	reason, err := c.supervise(ctx, stop, cmd)
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

// arguments returns bwrap's own arguments, up to the command.
func arguments(c Config) ([]string, error) {
	info, err := os.Stat(c.Workspace)
	switch {
	case c.Workspace == "" && len(c.Mounts) > 0:
	case !filepath.IsAbs(c.Workspace):
		return nil, fmt.Errorf("workspace %q: want an absolute path", c.Workspace)
	case err != nil:
		return nil, fmt.Errorf("workspace: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("workspace %q: want a folder", c.Workspace)
	}
	args := []string{"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"}
	if c.Network {
		args = append(args, "--share-net")
	}
	args = append(args, systemMounts(c.Network)...)
	args = append(args,
		// A gateway that runs as root also owns /proc/sys in the sandbox, so it must be read-only: otherwise a
		// command could set the kernel's parameters.
		"--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--size", shmSize, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--size", tmpSize, "--tmpfs", "/tmp",
	)
	for _, path := range c.ReadOnly {
		args = append(args, "--ro-bind-try", path, path)
	}
	if c.Workspace != "" {
		args = append(args, "--bind", c.Workspace, inside)
	}
	args = append(args, mounts(c.Mounts)...)
	return append(args,
		"--remount-ro", "/", "--chdir", inside,
		"--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "--setenv", "HOME", path.Join(inside, c.Home),
		"--seccomp", strconv.Itoa(filterFD), // the first of the command's extra files
		"--",
	), nil
}

// Readable are the files and folders that a command names with absolute paths, for [Config.ReadOnly].
func Readable(command []string) (paths []string) {
	for _, arg := range command {
		if filepath.IsAbs(arg) && filepath.Clean(arg) != "/" && !strings.HasPrefix(filepath.Clean(arg), "/usr/") {
			paths = append(paths, filepath.Clean(arg))
		}
	}
	return paths
}

// inside is where a sandboxed command sees its files.
const inside = "/workspace"

// mounts mount parts of the workspace. Empty folders become read-only once everything in them is mounted.
func mounts(list []Mount) (args []string) {
	var empty []string
	fd := mountFD
	for _, m := range list {
		at := path.Join(inside, m.At)
		if path.IsAbs(m.At) {
			at = path.Clean(m.At)
		}
		if m.File == nil {
			args = append(args, "--size", tmpSize, "--tmpfs", at)
			empty = append(empty, "--remount-ro", at)
			continue
		}
		how := "--ro-bind-fd"
		if m.Write {
			how = "--bind-fd"
		}
		args = append(args, how, strconv.Itoa(fd), at)
		fd++
	}
	return append(args, empty...)
}

// systemMounts mount the machine's programs: /usr, the links into it, and the few files of /etc that programs need to
// start. The rest of /etc may contain secrets.
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

// bounded keeps the beginning of its input.
type bounded struct {
	strings.Builder
	limit int
	cut   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := min(len(p), b.limit-b.Len())
	b.cut = b.cut || kept < len(p)
	b.Builder.Write(p[:kept])
	return len(p), nil // the command must continue even if its output is not kept
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
