package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errNoPostgres means that PostgreSQL is not installed.
var errNoPostgres = errors.New("PostgreSQL is not installed: install the distribution's package postgresql")

// postgres is a PostgreSQL cluster with its data in one folder on the measured disk, a Unix socket, and PostgreSQL's
// default durability.
type postgres struct {
	bin, dir string
	as       *syscall.Credential // nil: the user of this process
}

// startPostgres creates a cluster in dir, which must not exist, and starts it.
func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	p := &postgres{bin: bin, dir: dir}
	if err := p.own(); err != nil {
		return nil, err
	}
	if err := p.run(ctx, "initdb", "-D", p.data(), "-U", "sluice", "-A", "trust", "-E", "UTF8", "--locale=C"); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories='%s' -c max_connections=200", dir)
	return p, p.run(ctx, "pg_ctl", "-D", p.data(), "-w", "-l", filepath.Join(dir, "log"), "-o", options, "start")
}

// postgresPrograms returns the folder of the newest PostgreSQL's programs.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the location on Debian and Ubuntu
	if err == nil && len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNoPostgres
	}
	return filepath.Dir(path), nil
}

func version(path string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return 0
	}
	return n
}

// own creates the folder. PostgreSQL refuses to run as root, so root gives it to another user.
func (p *postgres) own() error {
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return fmt.Errorf("make folder of PostgreSQL: %w", err)
	}
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
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	p.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(p.dir, int(uid), int(gid)); err != nil {
		return fmt.Errorf("lend folder to PostgreSQL: %w", err)
	}
	return os.Chmod(filepath.Dir(p.dir), 0o711)
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

// run executes one of PostgreSQL's programs and waits for it.
func (p *postgres) run(ctx context.Context, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	// A file instead of a pipe: the server keeps the descriptor open, and Wait would wait for the pipe's end.
	log, err := os.OpenFile(filepath.Clean(p.dir+"."+program+".out"), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	defer os.Remove(log.Name()) //nolint:errcheck // a temporary file
	defer log.Close()           //nolint:errcheck // only read from
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name()) // err has the failure itself
		return fmt.Errorf("run %s: %w\n%s", program, err, said)
	}
	return nil
}

// create creates an empty database and returns its URL, which uses the socket.
func (p *postgres) create(ctx context.Context, name string) (string, error) {
	if err := p.run(ctx, "createdb", "-h", p.dir, "-U", "sluice", name); err != nil {
		return "", err
	}
	return fmt.Sprintf("postgres://sluice@localhost/%s?host=%s", name, p.dir), nil
}

// processorTime returns the processor time of all processes of the cluster so far.
func (p *postgres) processorTime() (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	if err != nil {
		return 0, fmt.Errorf("find the processes of PostgreSQL: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, fmt.Errorf("find the processes of PostgreSQL: %w", err)
	}
	return familyTime(pid)
}

// stop ends the cluster at once. Its folder stays.
func (p *postgres) stop() error {
	return p.run(context.Background(), "pg_ctl", "-D", p.data(), "-m", "fast", "-w", "stop")
}
