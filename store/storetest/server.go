package storetest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Server is a PostgreSQL server for tests, reached over a Unix socket. A shell guards it: when this process ends, for
// whatever reason, the shell's input closes, and the shell stops the server and removes its folder.
type Server struct {
	bin, dir string
	options  string
	as       credential // nil: the user of this process
	guard    *exec.Cmd  // nil while it is stopped
	input    *os.File
}

// guardScript starts the server, reports that, and waits for the end of its input.
const guardScript = `trap '' INT TERM
"$0/pg_ctl" start -s -w -t 60 -D "$1/data" -l "$1/log" -o "$2" && echo ready || { tail -n 20 "$1/log"; exit 1; }
read word
"$0/pg_ctl" stop -s -m immediate -w -D "$1/data" >/dev/null 2>&1
[ "$word" = keep ] || rm -rf "$1"`

// newServer creates a cluster and starts it. Without durable it turns off fsync, for speed.
func newServer(bin string, durable bool) (*Server, error) {
	s, err := newFolder(bin)
	if err != nil {
		return nil, err
	}
	if !durable {
		s.options += " -c fsync=off -c full_page_writes=off"
	}
	prepare := initdb // a process has one server without durability, which needs no copy
	if durable {
		prepare = newCluster.copyTo
	}
	if err := prepare(s); err != nil {
		return nil, err
	}
	return s, s.start()
}

// initdb makes a cluster in the server's folder.
func initdb(s *Server) error {
	initdb := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "sluice", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if said, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("make cluster: %w\n%s", err, said)
	}
	return nil
}

// cluster is a new cluster, kept for the servers of this process: a copy takes a tenth of the processor time of initdb.
type cluster struct {
	mu      sync.Mutex
	archive []byte // empty until the first server has made it
}

var newCluster cluster //nolint:gochecknoglobals // one for the process

// copyTo puts the cluster into a server's folder.
func (c *cluster) copyTo(s *Server) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.archive) > 0 {
		unpack := s.tar("-x")
		unpack.Stdin = bytes.NewReader(c.archive)
		if said, err := unpack.CombinedOutput(); err != nil {
			return fmt.Errorf("copy cluster: %w\n%s", err, said)
		}
		return nil
	}
	if err := initdb(s); err != nil {
		return err
	}
	archive, err := s.tar("-c", "data").Output()
	if err != nil {
		return fmt.Errorf("archive cluster: %w", err)
	}
	c.archive = archive
	return nil
}

// tar runs tar in the server's folder, with the archive as its input or output.
func (s *Server) tar(args ...string) *exec.Cmd {
	cmd := s.command("tar", append([]string{"-f", "-"}, args...)...)
	cmd.Path, cmd.Err = exec.LookPath("tar")
	return cmd
}

// newFolder is a server without a cluster.
func newFolder(bin string) (*Server, error) {
	dir, err := os.MkdirTemp("", "sluice-pg-") // a short path: a socket's path may have 107 bytes
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &Server{bin: bin, dir: dir, options: "-c listen_addresses='' -c max_connections=200 -c unix_socket_directories='" + dir + "'"}
	return s, s.lend()
}

// lend gives the folder to another user: PostgreSQL refuses to run as root.
func (s *Server) lend() error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	s.as = credentialOf(uid, gid)
	return os.Chown(s.dir, uid, gid)
}

func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir = s.dir
	detach(cmd, s.as)
	return cmd
}

func (s *Server) start() error {
	in, input, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	output, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	guard := s.command("pg_ctl")
	guard.Path, guard.Args = "/bin/sh", []string{"sh", "-c", guardScript, s.bin, s.dir, s.options}
	guard.Stdin, guard.Stdout = in, out
	err = guard.Start()
	_, _ = in.Close(), out.Close() // the guard has its own copies
	defer output.Close()           //nolint:errcheck // only read from
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	s.guard, s.input = guard, input
	said := bufio.NewReader(output)
	line, _ := said.ReadString('\n') // a failure shows in the next line
	if strings.TrimSpace(line) != "ready" {
		return fmt.Errorf("start server: %s", line)
	}
	return nil
}

// stop ends the server at once, as a crash would. With keep the folder stays.
func (s *Server) stop(keep bool) error {
	if s.guard == nil {
		return nil
	}
	if keep {
		_, _ = s.input.WriteString("keep\n") // a missing guard shows in Wait
	}
	_ = s.input.Close() // the same
	err := s.guard.Wait()
	s.guard = nil
	return err
}

// kill ends all processes of the server with SIGKILL, as the kernel does when memory runs out. The folder stays.
func (s *Server) kill() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		return fmt.Errorf("kill server: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(line)
	if err != nil {
		return fmt.Errorf("kill server: %w", err)
	}
	children, err := childrenOf(postmaster)
	if err != nil {
		return fmt.Errorf("kill server: %w", err)
	}
	if err := kill(postmaster); err != nil {
		return fmt.Errorf("kill server: %w", err)
	}
	for _, pid := range children {
		_ = kill(pid) // it may have ended in the meantime
	}
	return s.stop(true)
}

// childrenOf returns the child processes of a process.
func childrenOf(parent int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended in the meantime
		}
		_, after, _ := strings.Cut(string(text), ") ") // after the name come the state and the parent
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the pattern matches only numbers
			children = append(children, pid)
		}
	}
	return children, nil
}

// url returns the URL of one of the server's databases.
func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://sluice@/%s?host=%s", database, s.dir)
}

// programs returns the folder of the newest PostgreSQL's programs, or an empty text.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the location on Debian and Ubuntu; the pattern is valid
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
		return filepath.Dir(found[len(found)-1])
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb)))) // 0 if it is not a number
	return n
}
