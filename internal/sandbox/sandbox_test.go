//go:build linux

package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/sandbox"
	"sluice/internal/sandbox/sandboxtest"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// helperEnv makes this program the gateway that is killed, see TestDiesWithTheGateway.
const helperEnv = "SLUICE_TEST_SANDBOX_HELPER"

// bwrapEnv names that gateway's bubblewrap.
const bwrapEnv = "SLUICE_TEST_SANDBOX_BWRAP"

func TestMain(m *testing.M) {
	if workspace := os.Getenv(helperEnv); workspace != "" {
		_, _ = sandbox.New(os.Getenv(bwrapEnv), time.Now).Run(context.Background(), sandbox.Config{Workspace: workspace, Timeout: time.Hour}, "sh", "-c", lingering)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == socketsArg {
		openSockets()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == keysArg {
		useKeys(strings.Join(os.Args[2:], ""))
		return
	}
	goleak.VerifyTestMain(m)
}

// socketsArg makes this program a command in the sandbox, see TestSockets.
const socketsArg = "open-sockets"

// openSockets prints which families of sockets can be opened, and whether io_uring can be set up.
func openSockets() {
	for family := range 64 {
		for kind := syscall.SOCK_STREAM; kind <= syscall.SOCK_SEQPACKET; kind++ {
			if fd, err := syscall.Socket(family, kind, 0); err == nil {
				fmt.Println(family)
				_ = syscall.Close(fd)
				break
			}
		}
	}
	if _, _, errno := syscall.Syscall(425, 1, 0, 0); errno != syscall.ENOSYS {
		fmt.Println("io_uring:", errno)
	}
	if _, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err != nil {
		fmt.Println("pair:", err)
	}
}

// A command opens sockets of the families that programs need, and no other way into the kernel or to the machine.
func TestSockets(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	for _, network := range []bool{false, true} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), program, 0o700))
		result := sh(t, sandbox.Config{Workspace: dir, Network: network}, "./program "+socketsArg)
		require.Empty(t, result.Stderr)
		require.Equal(t, fmt.Sprintf("%d\n%d\n%d\n", syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6), result.Stdout)
	}
}

// lingering tells a FIFO that it is there, and holds it open in three processes until they die.
const lingering = `exec 3>fifo; setsid sleep 3600 >/dev/null 2>&1 & sleep 3600 & echo up >&3; wait`

// sh runs a script in a sandbox over an empty workspace.
func sh(t *testing.T, c sandbox.Config, script string) sandbox.Result {
	t.Helper()
	sandboxtest.Need(t)
	if c.Workspace == "" {
		c.Workspace = t.TempDir()
	}
	result, err := sandbox.New("", time.Now).Run(t.Context(), c, "sh", "-c", script)
	require.NoError(t, err)
	return result
}

func TestRun(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	here := sandbox.New("", time.Now)
	for range 2 {
		require.NoError(t, here.Available(t.Context()))
	}
	dir := t.TempDir()
	result := sh(t, sandbox.Config{Workspace: dir, Stdin: "in"}, `cat; echo err >&2; pwd; echo made >made; exit 7`)
	require.Equal(t, sandbox.Result{Stdout: "in/workspace\n", Stderr: "err\n", ExitCode: 7}, result)
	made, err := os.ReadFile(filepath.Join(dir, "made"))
	require.NoError(t, err)
	require.Equal(t, "made\n", string(made), "the workspace is the one outside")
}

// counted is a bubblewrap that counts its starts, and fails.
const counted = "#!/bin/sh\necho started >>%s\necho bwrap: no permission >&2\nexit 1\n"

// A sandbox that fails is tried once for all who ask at the same time or soon after, and again later.
func TestAFailureIsKeptForAWhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	starts, bwrap := filepath.Join(dir, "starts"), filepath.Join(dir, "bwrap")
	require.NoError(t, os.WriteFile(bwrap, fmt.Appendf(nil, counted, starts), 0o700))
	var now atomic.Int64
	here := sandbox.New(bwrap, func() time.Time { return time.Unix(now.Load(), 0) })
	tried := func(times int) {
		t.Helper()
		text, err := os.ReadFile(starts)
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("started\n", times), string(text))
	}
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() { errs[i] = here.Available(t.Context()) })
	}
	all.Wait()
	for _, err := range errs {
		require.ErrorContains(t, err, "no permission")
	}
	tried(1)
	now.Store(9)
	require.ErrorContains(t, here.Available(t.Context()), "no permission")
	tried(1)
	now.Store(10)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, here.Available(ended), context.Canceled) // it says nothing about the sandbox
	require.ErrorContains(t, here.Available(t.Context()), "no permission")
	tried(2)
	now.Store(20)
	require.NoError(t, os.WriteFile(bwrap, []byte("#!/bin/sh\n"), 0o700))
	require.NoError(t, here.Available(t.Context()))
}

func TestNothingElseIsSeen(t *testing.T) {
	t.Parallel()
	state := t.TempDir() // beside the workspace, as a gateway's state may be
	secret := filepath.Join(state, "config.yaml")
	require.NoError(t, os.WriteFile(secret, []byte("token: secret"), 0o644))
	workspace := filepath.Join(state, "workspace")
	require.NoError(t, os.Mkdir(workspace, 0o700))
	require.NoError(t, os.Symlink(secret, filepath.Join(workspace, "link")))
	for script, want := range map[string]string{
		`cat ` + secret + ` link ../config.yaml 2>/dev/null`:                                      "",
		`ls -A / | grep -vE '^(bin|sbin|lib|lib32|lib64|libx32|usr|etc|proc|dev|tmp|workspace)$'`: "",
		`ls -A /tmp`: "",
		`ls -A /etc | grep -vE '^(ld.so.cache|alternatives|localtime)$'`: "",
		`env | sort`: "HOME=/workspace\nPATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin\nPWD=/workspace\n",
		`for p in /proc/[0-9]*; do tr '\0' '\n' <$p/environ; done | grep -vE '^(HOME|PATH|PWD|OLDPWD|_)='`:                            "",
		`touch /usr/x /bin/x /etc/x /x 2>/dev/null; ls /usr/x /bin/x /etc/x 2>/dev/null`:                                              "",
		`grep -E '^(NoNewPrivs|CapEff|CapBnd)' /proc/self/status | tr -d '\t\n'`:                                                      "CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1",
		`unshare -U true 2>/dev/null && echo a namespace`:                                                                             "",
		`ls -d /proc/[0-9]* | wc -l | awk '{ print ($1 < 8) }'`:                                                                       "1\n",
		`cat /sys/kernel/hostname /proc/sys/kernel/hostname 2>/dev/null`:                                                              "sandbox\n",
		`echo 1 2>/dev/null >/proc/sys/vm/drop_caches && echo written; mount -t tmpfs none /workspace 2>/dev/null && echo mounted; :`: "",
	} {
		t.Run(script[:min(len(script), 30)], func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, sh(t, sandbox.Config{Workspace: workspace}, script).Stdout, script)
		})
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	if _, err := os.Stat("/usr/bin/bash"); err != nil {
		t.Skip("there is no bash, which can open a connection by itself")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	heard := make(chan string, 1)
	go func() {
		defer close(heard)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		text, _ := io.ReadAll(conn)
		_ = conn.Close()
		heard <- string(text)
	}()
	script := `bash -c 'echo hello >/dev/tcp/127.0.0.1/` + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port) + `'`
	require.NotZero(t, sh(t, sandbox.Config{}, script).ExitCode)
	require.Empty(t, heard)
	result := sh(t, sandbox.Config{Network: true}, script)
	require.Zero(t, result.ExitCode, result.Stderr)
	require.Equal(t, "hello\n", <-heard)
	require.NoError(t, listener.Close())
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	result := sh(t, sandbox.Config{Output: 1000}, `head -c 5000000 /dev/zero | tr '\0' x; head -c 1000 /dev/zero | tr '\0' y >&2; exit 3`)
	require.Equal(t, sandbox.Result{Stdout: strings.Repeat("x", 1000), Stderr: strings.Repeat("y", 1000), Truncated: true, ExitCode: 3}, result)
	require.False(t, sh(t, sandbox.Config{Output: 2}, `echo x`).Truncated)
}

// fifo is a workspace in which a lingering command shows that it lives.
type fifo struct {
	dir  string
	read *os.File
	hold *os.File // keeps the FIFO from ending before the command has opened it
}

func newFIFO(t *testing.T) *fifo {
	t.Helper()
	sandboxtest.Need(t)
	f := &fifo{dir: t.TempDir()}
	path := filepath.Join(f.dir, "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	var err error
	f.read, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	f.hold, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.read.Close()) })
	require.NoError(t, f.read.SetReadDeadline(time.Now().Add(time.Minute)))
	return f
}

// up waits for the command to live.
func (f *fifo) up(t *testing.T) {
	t.Helper()
	text := make([]byte, 3)
	_, err := io.ReadFull(f.read, text)
	require.NoError(t, err)
	require.Equal(t, "up\n", string(text))
	require.NoError(t, f.hold.Close())
}

// dead waits for the death of all that holds the FIFO.
func (f *fifo) dead(t *testing.T) {
	t.Helper()
	rest, err := io.ReadAll(f.read)
	require.NoError(t, err)
	require.Empty(t, rest)
}

func TestTimeoutKillsAll(t *testing.T) {
	t.Parallel()
	f := newFIFO(t)
	result, err := sandbox.New("", time.Now).Run(t.Context(), sandbox.Config{Workspace: f.dir, Timeout: 2 * time.Second}, "sh", "-c", `echo begun;`+lingering)
	require.NoError(t, err)
	require.Equal(t, sandbox.Result{Stdout: "begun\n", ExitCode: -1, TimedOut: true}, result)
	f.up(t)
	f.dead(t)
}

func TestCancelKillsAll(t *testing.T) {
	t.Parallel()
	f := newFIFO(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := sandbox.New("", time.Now).Run(ctx, sandbox.Config{Workspace: f.dir}, "sh", "-c", lingering)
		ended <- err
	}()
	f.up(t)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	f.dead(t)
}

func TestDiesWithTheGateway(t *testing.T) {
	t.Parallel()
	f := newFIFO(t)
	gateway := exec.CommandContext(t.Context(), os.Args[0])
	gateway.Env = append(os.Environ(), helperEnv+"="+f.dir)
	require.NoError(t, gateway.Start())
	f.up(t)
	require.NoError(t, gateway.Process.Kill())
	require.Error(t, gateway.Wait())
	f.dead(t)
}

// halted is a bubblewrap that stops when it has created the sandbox's first process, which waits for its word. Both hold the FIFO open, as file 7.
const halted = `#!/bin/sh
exec 7>%[1]s/fifo 8>&7
echo up >&8
for arg; do shift; [ "$arg" = --disable-userns ] || set -- "$@" "$arg"; done # it does not go with the option that stops it
exec %[2]s --json-status-fd 8 --info-fd 6 --userns-block-fd 9 "$@" 6>/dev/null 9<%[1]s/word
`

// What bubblewrap has created ends even if nobody will say to it that it may go on.
func TestDiesWithTheGatewayBeforeItHasBegun(t *testing.T) {
	t.Parallel()
	f := newFIFO(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(f.dir, "word"), 0o600))
	word, err := os.OpenFile(filepath.Join(f.dir, "word"), os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, word.Close()) })
	installed, err := exec.LookPath("bwrap")
	require.NoError(t, err)
	bwrap := filepath.Join(f.dir, "bwrap")
	require.NoError(t, os.WriteFile(bwrap, fmt.Appendf(nil, halted, f.dir, installed), 0o700))
	gateway := exec.CommandContext(t.Context(), os.Args[0])
	gateway.Env = append(os.Environ(), helperEnv+"="+f.dir, bwrapEnv+"="+bwrap)
	require.NoError(t, gateway.Start())
	f.up(t)
	_, err = bufio.NewReader(f.read).ReadString('\n') // the process is there
	require.NoError(t, err)
	require.NoError(t, gateway.Process.Kill())
	require.Error(t, gateway.Wait())
	f.dead(t)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := sandbox.New(filepath.Join(dir, "none"), time.Now).Run(t.Context(), sandbox.Config{Workspace: dir}, "true")
	require.ErrorContains(t, err, "bubblewrap is not installed")
	require.ErrorContains(t, sandbox.New(filepath.Join(dir, "none"), time.Now).Available(t.Context()), "bubblewrap is not installed")
	sandboxtest.Need(t)
	for _, c := range []struct {
		workspace string
		command   []string
		want      string
	}{
		{dir, nil, "there is no command"},
		{"here", []string{"true"}, "absolute"},
		{filepath.Join(dir, "none"), []string{"true"}, "no such file"},
		{file, []string{"true"}, "want a folder"},
		{dir, []string{"no-such-program"}, "no-such-program"},
		{dir, []string{"--bind", "/", "/workspace"}, "--bind"},
	} {
		_, err := sandbox.New("", time.Now).Run(t.Context(), sandbox.Config{Workspace: c.workspace}, c.command...)
		require.ErrorContains(t, err, c.want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sandbox.New("", time.Now).Run(ended, sandbox.Config{Workspace: dir}, "true")
	require.ErrorIs(t, err, context.Canceled)
	require.Error(t, sandbox.New("", time.Now).Available(ended))
}

// A session's tool runs its command in the session's own folder, and sees no other session's.
func TestSandboxOfASession(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	workspace := t.TempDir()
	open := func() *sessions.Session {
		s := sessions.NewSession(sessiontest.NewMemory(), sessions.Record{ID: sessions.NewID()}, time.Now)
		s.SetAgent(sessions.Agent{Workspace: workspace, Sandbox: sessions.SandboxSettings{Mode: sessions.SandboxRequired, Sandbox: sandbox.New("", time.Now)}})
		require.NoError(t, s.SetupSandbox(t.Context()))
		return s
	}
	one, two := open(), open()
	require.True(t, one.Sandbox().Sandboxed)
	sh(t, sandbox.Config{Workspace: one.Sandbox().Workspace}, `echo one >file; ln -s ../`+string(two.Record().ID)+` other`)
	result := sh(t, sandbox.Config{Workspace: two.Sandbox().Workspace}, `ls -A; ls ../`+string(one.Record().ID)+` 2>/dev/null; echo two >file`)
	require.Empty(t, result.Stdout)
	require.NotZero(t, sh(t, sandbox.Config{Workspace: one.Sandbox().Workspace}, `cat other/file`).ExitCode)
}
