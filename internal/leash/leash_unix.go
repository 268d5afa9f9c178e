//go:build unix

package leash

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	// atGate waits for a line at the gate, and becomes the program. If the gateway ends before, so does the shell. Variables that only the
	// shell has set are unset.
	atGate = `read -r _ <&3 || exit 1; exec 3<&-; unset $1 _; shift; exec "$@"`
	// onGuard waits for the end of the gateway, and kills the group. It ignores the signals that a terminal or a service manager sends.
	onGuard = `trap '' HUP INT TERM; read -r _; kill -s KILL -- "-$1"`
)

// Leash holds a program that was started. Only [Leash.Terminate] and [Leash.Kill] may be called from other goroutines.
type Leash struct {
	cmd   *exec.Cmd
	gate  *os.File  // nil: there is no shell
	guard *exec.Cmd // as gate
	alive *os.File  // the pipe that the guard reads
}

// Start starts a command, whose program waits until [Leash.Release]. The program gets only those of the gateway's open files that the
// command names. The end of the command's context kills its group. After a success, the same goroutine must call [Leash.Wait].
func Start(cmd *exec.Cmd) (*Leash, error) {
	l := &Leash{cmd: cmd}
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	extra := cmd.ExtraFiles
	var waits *os.File
	if shell, err := exec.LookPath("sh"); err == nil {
		if err := executable(cmd); err != nil {
			return nil, err
		}
		if waits, l.gate, err = os.Pipe(); err != nil {
			return nil, err
		}
		defer waits.Close() //nolint:errcheck // the program has its own copy
		cmd.Path, cmd.Args = shell, append([]string{"sh", "-c", atGate, "sh", made(cmd), cmd.Path}, cmd.Args[1:]...)
	}
	cmd.ExtraFiles = append([]*os.File{waits}, extra...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	endWithThread(cmd.SysProcAttr)
	if cmd.Cancel != nil {
		cmd.Cancel = l.Kill
	}
	runtime.LockOSThread() // the program is killed with the thread that has started it
	err := start(cmd)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, errors.Join(err, l.close())
	}
	if l.gate != nil {
		err = l.post(cmd.Path)
	}
	if err != nil {
		_ = l.Kill() // it waits
		_ = l.Wait() // it was killed
		return nil, err
	}
	return l, nil
}

// start starts a command, unless it would get files of the gateway.
func start(cmd *exec.Cmd) error {
	if err := keepFiles(); err != nil {
		return err
	}
	return cmd.Start()
}

// executable returns the error that a start without the gate would return.
func executable(cmd *exec.Cmd) error {
	path := cmd.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(cmd.Dir, path)
	}
	if !strings.Contains(path, "/") {
		path = "./" + path // it is not searched for in PATH
	}
	_, err := exec.LookPath(path)
	return err
}

// made lists the variables that a shell sets and that the command does not have.
func made(cmd *exec.Cmd) string {
	names := []string{"PWD", "OLDPWD", "SHLVL"}
	for _, v := range cmd.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	}
	return strings.Join(names, " ")
}

// post starts the guard.
func (l *Leash) post(shell string) (err error) {
	var ends *os.File
	if ends, l.alive, err = os.Pipe(); err != nil {
		return err
	}
	defer ends.Close()                                                                 //nolint:errcheck // the guard has its own copy
	guard := exec.Command(shell, "-c", onGuard, "sh", strconv.Itoa(l.cmd.Process.Pid)) //nolint:noctx,gosec // our own script; it lives as long as the program: Wait ends it
	guard.Dir, guard.Env, guard.Stdin, guard.SysProcAttr = "/", []string{}, ends, &syscall.SysProcAttr{Setsid: true}
	if err := start(guard); err != nil {
		return err
	}
	l.guard = guard
	return nil
}

// Release opens the gate: the program begins. If it has ended meanwhile, Wait reports that.
func (l *Leash) Release() {
	if l.gate != nil {
		_, _ = l.gate.WriteString("\n")
	}
}

// Wait waits for the end of the program, and kills what is left of its group.
func (l *Leash) Wait() error {
	defer runtime.UnlockOSThread()
	err := l.cmd.Wait()
	if l.Kill() == nil && errors.Is(err, exec.ErrWaitDelay) { // what has kept its output open is gone
		err = nil
	}
	if l.guard != nil {
		_ = l.guard.Process.Kill()
		_ = l.guard.Wait() // it was killed
	}
	return errors.Join(err, l.close())
}

// Terminate asks the program and its group to end.
func (l *Leash) Terminate() error { return syscall.Kill(-l.cmd.Process.Pid, syscall.SIGTERM) }

// Kill ends the program and its group.
func (l *Leash) Kill() error { return syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL) }

func (l *Leash) close() (err error) {
	for _, pipe := range []*os.File{l.gate, l.alive} {
		if pipe != nil {
			err = errors.Join(err, pipe.Close())
		}
	}
	return err
}
