package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"sluice/internal/leash"
)

// Limits limit a command together with all processes that it starts. A zero field stands for its default.
type Limits struct {
	Memory    int64 // bytes, all processes together; default 1 GiB
	Processes int   // processes and threads; default 256
	FileSize  int64 // of one file, in bytes; default 1 GiB
}

const (
	defaultMemory    = 1 << 30
	defaultProcesses = 256
	defaultFileSize  = 1 << 30
	// openFiles is the limit of one process.
	openFiles = 1024
	// niceness gives the gateway priority over its commands.
	niceness = 10
	// watchEvery is how often the processes of a command are checked, and checkEvery how often the caller's Check
	// runs.
	watchEvery = 50 * time.Millisecond
	checkEvery = 20 * time.Millisecond
)

// The files passed to bubblewrap, in the order of [exec.Cmd.ExtraFiles]: the filter, and the first of the mounts.
const (
	filterFD = leash.First
	mountFD  = filterFD + 1
)

func (l Limits) complete() Limits {
	if l.Memory <= 0 {
		l.Memory = defaultMemory
	}
	if l.Processes <= 0 {
		l.Processes = defaultProcesses
	}
	if l.FileSize <= 0 {
		l.FileSize = defaultFileSize
	}
	return l
}

// overuse is the cause for ending a command that exceeds its limits.
type overuse struct{ why string }

func (o *overuse) Error() string { return o.why }

// supervise runs a command within its limits until it ends. reason says why it was killed; it is empty if the command
// was not killed.
func (c Config) supervise(ctx context.Context, stop context.CancelCauseFunc, cmd *exec.Cmd) (reason string, err error) {
	held, err := leash.Start(cmd)
	if err != nil {
		return "", err
	}
	err = bound(cmd.Process.Pid, c.Limits.complete(), orDefault(c.Timeout, defaultTimeout))
	refused := func() error { return nil }
	if err == nil && c.Groups != nil {
		var together *group
		if together, err = c.Groups.enter(c.Session, c.Limits.complete()); err == nil {
			defer c.Groups.leave(c.Session)
			refused, err = together.watcher(), together.add(cmd.Process.Pid)
		}
	}
	if err != nil { // it has ended already, which Wait reports better, or it can't be limited
		stop(&overuse{"its limits could not be set: " + err.Error()})
	} else {
		held.Release()
	}
	var watchers sync.WaitGroup
	watching, end := context.WithCancel(ctx)
	watchers.Go(func() { watch(watching, stop, watchEvery, c.Limits.complete().watcher(cmd.Process.Pid)) })
	if c.Groups != nil {
		watchers.Go(func() { watch(watching, stop, watchEvery, func(context.Context) error { return refused() }) })
	}
	if c.Check != nil {
		watchers.Go(func() { watch(watching, stop, checkEvery, c.Check) })
	}
	err = held.Wait()
	end()
	watchers.Wait()
	if o, ok := errors.AsType[*overuse](context.Cause(ctx)); ok {
		reason = o.why
	} else if why := refused(); why != nil && cmd.ProcessState != nil && !cmd.ProcessState.Success() { // the kernel was faster
		reason = why.Error()
	}
	return reason, err
}

// watch calls check repeatedly until ctx ends; the first error ends the command.
func watch(ctx context.Context, stop context.CancelCauseFunc, every time.Duration, check func(ctx context.Context) error) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := check(ctx); err != nil && ctx.Err() == nil {
			stop(&overuse{err.Error()})
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// watcher returns a check of a command's processes against the limits.
func (l Limits) watcher(pid int) func(context.Context) error {
	return func(context.Context) error {
		u, err := usageOf(pid, l.Memory)
		switch {
		case err != nil:
			return fmt.Errorf("its processes can't be counted: %w", err)
		case u.tasks > l.Processes:
			return fmt.Errorf("it had %d processes and threads: the maximum is %d (limits.commandProcesses)", u.tasks, l.Processes)
		case u.memory > l.Memory:
			return fmt.Errorf("it used %s of memory: the maximum is %s (limits.commandMemory)", humanize.IBytes(uint64(u.memory)), humanize.IBytes(uint64(l.Memory)))
		case u.short:
			return errors.New("the machine ran low on memory")
		}
		return nil
	}
}

// usage is the resource usage of a command's processes.
type usage struct {
	tasks  int
	memory int64
	short  bool // the machine has hardly any memory left
}
