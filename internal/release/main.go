package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxBinary is the size that no binary may exceed, in bytes.
const maxBinary = 75 << 20

func main() {
	var r release
	var targets string
	flag.StringVar(&r.out, "out", "dist", "the `folder` of the release; what it has is removed")
	flag.StringVar(&r.tag, "version", "", "the `version`, such as v1.2.3; empty: that of git describe")
	flag.StringVar(&targets, "targets", strings.Join(allTargets, ","), "what to build, a `list`")
	flag.StringVar(&r.nfpm, "nfpm", "", "the `program` nfpm; empty: no packages")
	flag.StringVar(&r.image, "image", "", "the `program` that makes images; empty: no images")
	check := flag.Bool("check", false, "make nothing: only check that the program compiles for the targets")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := r.complete(ctx, targets)
	switch {
	case err != nil:
	case *check:
		err = r.check(ctx)
	default:
		err = r.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // stop only gives the signal back
	}
}

// release makes a release.
type release struct {
	out     string
	tag     string // v1.2.3
	commit  string
	at      time.Time // of the commit; every file has this time
	targets []target
	nfpm    string
	image   string
}

// version is the tag without its v, as packages and file names have it.
func (r *release) version() string { return strings.TrimPrefix(r.tag, "v") }

// complete asks git for what was not given.
func (r *release) complete(ctx context.Context, targets string) (err error) {
	for _, name := range strings.Split(targets, ",") {
		t, err := parseTarget(name)
		if err != nil {
			return err
		}
		r.targets = append(r.targets, t)
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if r.tag == "" {
		if r.tag, err = output(ctx, "git", "describe", "--tags", "--always", "--dirty"); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(r.tag, "v") { // there is no tag yet
		r.tag = "v0.0.0-" + r.tag
	}
	if r.commit, err = output(ctx, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	stamp, err := output(ctx, "git", "show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return err
	}
	if r.at, err = time.Parse(time.RFC3339, stamp); err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	r.at = r.at.UTC()
	return nil
}

// check checks all targets, as many at once as there are processors.
func (r *release) check(ctx context.Context) error {
	faults := make([]error, len(r.targets))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range r.targets {
		group.Go(func() error {
			if err := t.check(ctx, ".", "./cmd/sluice"); err != nil {
				faults[i] = fmt.Errorf("%s does not compile:\n%w", t, err)
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), errors.Join(faults...))
}

// run makes all files.
func (r *release) run(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	work := filepath.Join(r.out, "work")
	if err := os.MkdirAll(work, 0o755); err != nil { //nolint:gosec // as everything in it, it is published
		return err
	}
	if err := r.manuals(filepath.Join(work, "shared")); err != nil {
		return err
	}
	for _, t := range r.targets {
		if err := r.one(ctx, t, work); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.installer(); err != nil {
		return err
	}
	if err := r.images(ctx, work); err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	return r.sums()
}

// one makes the files of one target.
func (r *release) one(ctx context.Context, t target, work string) error {
	dir := filepath.Join(work, t.String())
	binary := filepath.Join(dir, t.binary())
	if err := r.compile(ctx, t, binary); err != nil {
		return err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	if info.Size() > maxBinary {
		return fmt.Errorf("the binary has %.1f MB, at most %d are allowed", float64(info.Size())/(1<<20), maxBinary>>20)
	}
	modules, err := r.inventory(ctx, t, binary)
	if err != nil {
		return err
	}
	licences := filepath.Join(dir, "LICENSES")
	if err := writeLicences(licences, modules); err != nil {
		return err
	}
	if err := r.archive(t, r.contents(t, binary, licences, filepath.Join(work, "shared"))); err != nil {
		return err
	}
	if err := r.packages(ctx, t, dir, filepath.Join(work, "shared")); err != nil {
		return err
	}
	fmt.Printf("%-14s %6.1f MB, %d modules\n", t, float64(info.Size())/(1<<20), len(modules))
	return nil
}

// output runs a program and returns the first line that it prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s %s: %s", name, strings.Join(args, " "), strings.TrimSpace(string(ended.Stderr)))
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), err
}
