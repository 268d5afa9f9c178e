package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/hostos"
)

// kernel is a folder with control groups. It makes the files of a new group, as the kernel does.
type kernel struct {
	root string
	t    *testing.T
}

func newKernel(t *testing.T, groups ...string) *kernel {
	k := &kernel{t.TempDir(), t}
	for _, name := range groups {
		require.NoError(t, os.MkdirAll(filepath.Join(k.root, filepath.Dir(name)), 0o700))
		require.NoError(t, k.mkdir(filepath.Join(k.root, name)))
	}
	return k
}

func (k *kernel) mkdir(folder string) error {
	err := os.Mkdir(folder, 0o700)
	for _, file := range strings.Fields("cgroup.controllers cgroup.procs cgroup.subtree_control cgroup.kill memory.max memory.oom.group memory.events pids.max pids.events cpu.weight") {
		if err == nil {
			k.set(filepath.Join(folder, file), "")
		}
	}
	return err
}

func (k *kernel) set(path, text string) {
	require.NoError(k.t, os.WriteFile(path, []byte(text), 0o600))
}

func (k *kernel) text(name string) string {
	text, err := os.ReadFile(filepath.Join(k.root, name))
	require.NoError(k.t, err)
	return string(text)
}

func all(string) bool { return true }

func TestWhereGroupsAreMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		self   string
		mayUse func(string) bool
		says   string
		moved  bool
	}{
		"delegated by systemd":                    {"0::/system.slice/sluice.service\n", all, "", true},
		"put into its own group, by 254 or later": {"1:name=systemd:/x\n0::/system.slice/sluice.service/gateway\n", func(folder string) bool { return strings.HasSuffix(folder, "sluice.service") }, "", false},
		"not delegated":                           {"0::/system.slice/sluice.service\n", func(string) bool { return false }, ErrNotDelegated.Error(), false},
		"version 1 only":                          {"4:memory:/x\n", all, "no control groups (cgroup v2)", false},
		"version 1, and 2 without controllers":    {"4:memory:/x\n0::/\n", all, "no control groups (cgroup v2)", false},
		"nothing":                                 {"", all, "no control groups (cgroup v2)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKernel(t, "system.slice/sluice.service", "system.slice/sluice.service/gateway")
			g, err := openGroups(k.root, c.self, 77, c.mayUse, k.mkdir)
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, filepath.Join(k.root, "system.slice/sluice.service"), g.folder)
			require.Equal(t, "+memory +pids +cpu", k.text("system.slice/sluice.service/cgroup.subtree_control"))
			require.Equal(t, c.moved, k.text("system.slice/sluice.service/gateway/cgroup.procs") == "77")
		})
	}
}

// Commands of one session have one group, from the first to the last of them.
func TestCommandsOfASessionShareAGroup(t *testing.T) {
	t.Parallel()
	k := newKernel(t, "s")
	g, err := openGroups(k.root, "0::/s\n", 77, all, k.mkdir)
	require.NoError(t, err)
	limits := Limits{Memory: 1 << 20, Processes: 9}
	one, err := g.enter("sess_1", limits)
	require.NoError(t, err)
	two, err := g.enter("sess_1", limits)
	require.NoError(t, err)
	require.Same(t, one, two)
	other, err := g.enter("sess_2", limits)
	require.NoError(t, err)
	require.NotEqual(t, one.folder, other.folder)
	require.Equal(t, "1048576", k.text("s/session-sess_1/memory.max"))
	require.Equal(t, "1", k.text("s/session-sess_1/memory.oom.group"))
	require.Equal(t, "9", k.text("s/session-sess_1/pids.max"))
	require.Equal(t, commandWeight, k.text("s/session-sess_1/cpu.weight"))
	require.NoError(t, one.add(5))
	require.Equal(t, "5", k.text("s/session-sess_1/cgroup.procs"))

	check := one.watcher()
	require.NoError(t, check())
	k.set(filepath.Join(one.folder, "memory.events"), "low 0\noom 1\noom_kill 2\n")
	require.ErrorContains(t, check(), "more than 1.0 MiB of memory")
	require.NoError(t, one.watcher()(), "what was before is another command's")
	k.set(filepath.Join(one.folder, "memory.events"), "")
	k.set(filepath.Join(one.folder, "pids.events"), "max 3\n")
	require.ErrorContains(t, check(), "more than 9 processes and threads: the maximum is 9 (limits.commandProcesses)")

	g.leave("sess_1")
	require.Empty(t, k.text("s/session-sess_1/cgroup.kill"))
	g.leave("sess_1")
	require.Equal(t, "1", k.text("s/session-sess_1/cgroup.kill"), "nothing outlives the last command")
	again, err := g.enter("sess_1", limits)
	require.NoError(t, err, "a group whose processes still end is used again")
	require.Equal(t, one.folder, again.folder)

	require.NoError(t, os.Mkdir(filepath.Join(k.root, "s/session-dead"), 0o700))
	_, err = openGroups(k.root, "0::/s\n", 78, all, k.mkdir)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(k.root, "s/session-dead"), "what a gateway that died has left is removed")
	require.DirExists(t, other.folder)
}

// A command is in the group before it runs, and what the kernel refuses ends it with the reason.
func TestACommandRunsInItsGroup(t *testing.T) {
	t.Parallel()
	if !hostos.Sandboxes() {
		return
	}
	k := newKernel(t, "s")
	g, err := openGroups(k.root, "0::/s\n", 77, all, k.mkdir)
	require.NoError(t, err)
	procs := filepath.Join(k.root, "s/session-sess_1/cgroup.procs")
	run := func(c Config, script string) (Result, error) {
		c.Workspace, c.Groups, c.Session = t.TempDir(), g, "sess_1"
		return Host{}.Run(t.Context(), c, "sh", "-c", script)
	}
	result, err := run(Config{}, "cat "+procs+"; echo; echo $$")
	require.NoError(t, err)
	lines := strings.Fields(result.Stdout)
	require.Len(t, lines, 2, result.Stderr)
	require.Contains(t, lines[0], lines[1], "it is in the group before it runs")
	_, err = strconv.Atoi(lines[1])
	require.NoError(t, err)
	require.Empty(t, g.open)

	began := false
	result, err = run(Config{Check: func(context.Context) error {
		if !began {
			began = true
			k.set(filepath.Join(k.root, "s/session-sess_1/memory.events"), "oom_kill 1\n")
		}
		return nil
	}}, "sleep 60")
	require.NoError(t, err)
	require.Contains(t, result.Stopped, "of memory, which is the maximum")

	g.mkdir = func(string) error { return errors.New("no room") }
	require.NoError(t, os.RemoveAll(filepath.Join(k.root, "s/session-sess_1")))
	result, err = run(Config{}, "echo ran")
	require.NoError(t, err)
	require.Contains(t, result.Stopped, "its limits could not be set: make control group: no room")
	require.Empty(t, result.Stdout, "nothing runs without limits")
}
