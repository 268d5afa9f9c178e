package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is one run of the gateway. One goroutine waits for its end.
type Process struct {
	config Config
	cmd    *exec.Cmd
	log    *os.File
	done   chan struct{} // closed once the process has ended
	err    error         // result of cmd.Wait; read after done
}

// Start writes the configuration and runs the binary. env is added to this process's environment.
func Start(binary string, config Config, env ...string) (*Process, error) {
	if err := config.write(); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(config.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the gateway's log: %w", err)
	}
	p := &Process{config: config, log: log, done: make(chan struct{})}
	p.cmd = exec.Command(binary, "serve", "--config", config.path())
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // in a process group, so that its children are killed with it
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the gateway: %w", err), log.Close())
	}
	go func() { // ends with the process; Kill, Terminate and Wait wait for it
		p.err = p.cmd.Wait()
		_ = log.Close() // the process writes through its own descriptor
		close(p.done)
	}()
	return p, nil
}

// LogPath returns the log file of all runs of this gateway.
func (c Config) LogPath() string { return c.State + ".log" }

// Pid returns the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill kills the process and its children and waits for the end.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // it may have ended already
	<-p.done
}

// Freeze stops the process, with open connections, until [Process.Thaw].
func (p *Process) Freeze() error {
	if err := syscall.Kill(p.Pid(), syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze the gateway: %w", err)
	}
	return nil
}

// Thaw lets a frozen process continue.
func (p *Process) Thaw() error {
	if err := syscall.Kill(p.Pid(), syscall.SIGCONT); err != nil {
		return fmt.Errorf("thaw the gateway: %w", err)
	}
	return nil
}

// errTooSlow means that the process did not end in time.
var errTooSlow = errors.New("the gateway did not end in time")

// Terminate asks the process to end and returns its exit code; -1 if a signal ended it.
func (p *Process) Terminate(within time.Duration) (int, error) {
	if err := syscall.Kill(p.Pid(), syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return 0, fmt.Errorf("terminate the gateway: %w", err)
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-timer.C:
		p.Kill()
		return 0, errTooSlow
	}
}

// Killed reports whether SIGKILL ended the process; it waits for the end until ctx ends.
func (p *Process) Killed(ctx context.Context) (bool, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return false, fmt.Errorf("wait for the gateway's end: %w", context.Cause(ctx))
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL, nil
}

// readyPart sets how often readiness is polled: the pause is the time since the start divided by readyPart, at least a millisecond. It
// bounds the error of a measured start to about 3 %; more polls would make the start itself slower.
const readyPart = 32

// WaitReady waits until the gateway reports that it is ready. It has to poll.
func (p *Process) WaitReady(ctx context.Context) error {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			if p.ready(ctx) {
				return nil
			}
			timer.Reset(max(time.Millisecond, time.Since(began)/readyPart))
		case <-p.done:
			return fmt.Errorf("the gateway ended before it was ready: %w", errors.Join(p.err, errEnded))
		case <-ctx.Done():
			return fmt.Errorf("wait until the gateway is ready: %w", context.Cause(ctx))
		}
	}
}

var errEnded = errors.New("see its log")

func (p *Process) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	resp, err := p.ask(ctx, "/readyz", nil)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is reused
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}
