package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The calls that open sockets.
const socketCall, socketPairCall = unix.SYS_SOCKET, unix.SYS_SOCKETPAIR

// withoutCalls are forbidden calls: other ways to open sockets; the kernel's keyrings, which all children of the
// gateway may share; and memory outside any mapping of a process, which the watcher does not see.
var withoutCalls = []uint32{
	ioUringSetup,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_MEMFD_CREATE, memfdSecret, unix.SYS_SHMGET,
}

// bound sets the limits of a waiting process. Its children inherit them.
func bound(pid int, l Limits, timeout time.Duration) error {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_DATA:   uint64(l.Memory),
		unix.RLIMIT_FSIZE:  uint64(l.FileSize),
		unix.RLIMIT_NOFILE: openFiles,
		unix.RLIMIT_CPU:    uint64(timeout/time.Second) + 1,
		unix.RLIMIT_CORE:   0,
	} {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return fmt.Errorf("read limit: %w", err)
		}
		most = min(most, now.Max)
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return fmt.Errorf("set limit: %w", err)
		}
	}
	// Both are optional, so it does not matter if the kernel refuses them.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, niceness)
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(pid), "oom_score_adj"), []byte("1000"), 0)
	return nil
}

// process has the data from /proc about one process.
type process struct {
	pid, parent, group int
	threads            int
	resident           int64 // bytes, including shared ones
}

// usageOf measures a process, all its descendants and its process group. Memory is measured exactly if it seems to
// exceed most.
func usageOf(pid int, most int64) (usage, error) {
	all, err := processes()
	if err != nil {
		return usage{}, err
	}
	u := usage{short: shortOfMemory()}
	family := familyOf(pid, all)
	for _, p := range family {
		u.tasks += p.threads
		u.memory += p.resident
	}
	if u.memory > most {
		u.memory = 0
		for _, p := range family {
			u.memory += own(p.pid)
		}
	}
	return u, nil
}

// familyOf returns a process, the processes of its group, and all their descendants.
func familyOf(pid int, all []process) []process {
	children := map[int][]process{}
	var next []process
	for _, p := range all {
		if p.pid == pid || p.group == pid {
			next = append(next, p)
		} else {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var family []process
	for len(next) > 0 {
		p := next[len(next)-1]
		next = append(next[:len(next)-1], children[p.pid]...)
		family = append(family, p)
	}
	return family
}

// processes returns all processes of the machine.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read from
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]process, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(stat); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parseStat parses a line of /proc/<pid>/stat. The name in parentheses may contain anything.
func parseStat(stat []byte) (process, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return process{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 22 {
		return process{}, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(stat[:open])))
	number := func(i int) int {
		n, wrong := strconv.Atoi(fields[i])
		err = errors.Join(err, wrong)
		return n
	}
	p := process{pid: pid, parent: number(1), group: number(2), threads: number(17), resident: int64(number(21)) * int64(os.Getpagesize())}
	return p, err == nil
}

// own returns a process's memory that does not belong to files, with its share of shared memory.
func own(pid int) int64 {
	sums := kilobytes("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if sum, ok := sums["Pss_Anon"]; ok {
		return sum + sums["Pss_Shmem"]
	}
	status := kilobytes("/proc/" + strconv.Itoa(pid) + "/status")
	return status["RssAnon"] + status["RssShmem"]
}

// shortOfMemory reports whether less than a twentieth of the machine's memory is left, or less than 256 MiB if that
// is less.
func shortOfMemory() bool {
	info := kilobytes("/proc/meminfo")
	available, ok := info["MemAvailable"]
	return ok && available < min(info["MemTotal"]/20, 256<<20)
}

// kilobytes reads a file of lines such as "Name: 12 kB" and returns bytes. If the file can't be read, the result is
// empty.
func kilobytes(file string) map[string]int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	sums := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
			sums[name] = n << 10
		}
	}
	return sums
}

// KernelBounds returns the limits of this program's control group on memory, in bytes, and on processes; empty: no
// limit.
func KernelBounds() (memory, tasks string) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", ""
	}
	return kernelBounds(string(groups), "/sys/fs/cgroup")
}

// kernelBounds looks for limits of a process's groups, version 2 (0::/path) or 1 (4:memory:/path), and of their
// parents.
func kernelBounds(groups, root string) (memory, tasks string) {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			memory = cmp.Or(memory, boundIn(root, at, "memory.max"), boundIn(filepath.Join(root, "memory"), at, "memory.limit_in_bytes"))
			tasks = cmp.Or(tasks, boundIn(root, at, "pids.max"), boundIn(filepath.Join(root, "pids"), at, "pids.max"))
			if at == "/" {
				break
			}
		}
	}
	return memory, tasks
}

// boundIn reads a limit. It returns an empty text for an unlimited value.
func boundIn(root, group, name string) string {
	text, err := os.ReadFile(filepath.Join(root, group, name))
	if err != nil {
		return ""
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= 1<<60 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
