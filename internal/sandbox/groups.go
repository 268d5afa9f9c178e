package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"
)

// The folder of cgroup v2, and the name of the gateway's own group beside those of its commands.
const (
	groupRoot  = "/sys/fs/cgroup"
	ownGroup   = "gateway"
	groupStart = "session-"
	// commandWeight is the share of the processors of a session's commands; the gateway has 100.
	commandWeight = "25"
)

// ErrNotDelegated means that the gateway may not make control groups.
var ErrNotDelegated = errors.New("the gateway's control group is not delegated to it")

// Together is how [Words] says that there are groups.
const Together = "groups"

// Words says how commands are limited: together, or why not.
func Words(why error) string {
	if why == nil {
		return Together
	}
	return why.Error()
}

// Groups limits all commands of a session together, with a control group for each session that runs some. It is safe for concurrent use.
type Groups struct {
	folder string                    // of the groups
	mkdir  func(folder string) error // the kernel puts the files into a new group

	mu   sync.Mutex
	open map[string]*group
}

// group is the control group of a session's commands.
type group struct {
	folder string
	limits Limits
	users  int // commands that run in it
}

// OpenGroups prepares the control groups of commands. If it returns an error, each process of a command has its own limits, and the
// totals are checked regularly.
func OpenGroups() (*Groups, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, errors.New("this system has no control groups (cgroup v2)")
	}
	return openGroups(groupRoot, string(self), os.Getpid(), delegated, func(folder string) error { return os.Mkdir(folder, 0o750) })
}

// openGroups uses the groups below root, for a process with these groups (/proc/self/cgroup). mayUse says whether a group is delegated.
func openGroups(root, self string, pid int, mayUse func(folder string) bool, mkdir func(folder string) error) (*Groups, error) {
	at := ""
	for line := range strings.Lines(self) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			at = filepath.Join(root, filepath.Clean("/"+path))
		}
	}
	if _, err := os.Stat(filepath.Join(at, "cgroup.controllers")); at == "" || err != nil {
		return nil, errors.New("this system has no control groups (cgroup v2)")
	}
	switch above := filepath.Dir(at); {
	case filepath.Base(at) == ownGroup && mayUse(above): // systemd has put it there, or an earlier start of the gateway
		at = above
	case mayUse(at):
		// A group with processes can't have limited groups in it.
		own := filepath.Join(at, ownGroup)
		if err := mkdir(own); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("make control group: %w", err)
		}
		if err := put(own, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return nil, err
		}
	default:
		return nil, ErrNotDelegated
	}
	if err := put(at, "cgroup.subtree_control", "+memory +pids +cpu"); err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(at, groupStart+"*"))
	for _, folder := range left { // of a gateway that has died; one with processes is another gateway's
		_ = os.Remove(folder)
	}
	return &Groups{folder: at, mkdir: mkdir, open: map[string]*group{}}, err
}

// enter opens the group of a session for a command.
func (g *Groups) enter(session string, l Limits) (*group, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.open[session]
	if of == nil {
		of = &group{folder: filepath.Join(g.folder, groupStart+session)}
		if err := g.mkdir(of.folder); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("make control group: %w", err)
		}
	}
	of.limits = l
	err := errors.Join(
		put(of.folder, "memory.max", strconv.FormatInt(l.Memory, 10)), put(of.folder, "memory.oom.group", "1"),
		put(of.folder, "pids.max", strconv.Itoa(l.Processes)), put(of.folder, "cpu.weight", commandWeight),
	)
	if err != nil {
		return nil, err
	}
	_ = put(of.folder, "memory.swap.max", "0") // a kernel without swap has no such file
	of.users++
	g.open[session] = of
	return of, nil
}

// leave takes a command out of the group. The last command ends the group with everything that is left in it.
func (g *Groups) leave(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.open[session]
	if of.users--; of.users == 0 {
		delete(g.open, session)
		end(of.folder)
	}
}

// end kills what is left in a group, and removes the group. If its processes are still ending, the group stays until the session's
// next command has ended.
func end(folder string) {
	_ = put(folder, "cgroup.kill", "1")
	_ = os.Remove(folder)
}

// add moves a process into the group. The processes that it starts are in the group from the beginning.
func (of *group) add(pid int) error { return put(of.folder, "cgroup.procs", strconv.Itoa(pid)) }

// refusals counts how often the kernel has refused memory and processes.
func (of *group) refusals() (memory, processes int) {
	return event(of.folder, "memory.events", "oom_kill"), event(of.folder, "pids.events", "max")
}

// watcher returns a function that checks what the kernel has refused since this call.
func (of *group) watcher() func() error {
	memory, processes := of.refusals()
	return func() error {
		switch m, p := of.refusals(); {
		case m > memory:
			return fmt.Errorf("the commands of this session used more than %s of memory, which is the maximum (limits.commandMemory)", humanize.IBytes(uint64(of.limits.Memory)))
		case p > processes:
			return fmt.Errorf("the commands of this session had more than %d processes and threads: the maximum is %[1]d (limits.commandProcesses)", of.limits.Processes)
		}
		return nil
	}
}

// put writes a setting of a control group.
func put(folder, name, value string) error {
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	_, err = file.WriteString(value)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

// event reads a counter of a control group; 0 where it is not there.
func event(folder, name, key string) int {
	text, _ := os.ReadFile(filepath.Join(folder, name)) // a missing file counts as 0
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), key+" "); ok {
			count, _ := strconv.Atoi(n)
			return count
		}
	}
	return 0
}
