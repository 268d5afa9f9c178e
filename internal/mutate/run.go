package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// firstTests are the sizes of the first groups of tests for a mutant: first tests named after its file, then the
// shortest ones.
func firstTests() []int { return []int{8, 30} }

// test is one top-level test of a test binary.
type test struct {
	binary  *binary
	name    string
	file    string // the test's file, such as queue_test.go; empty if unknown
	took    time.Duration
	reaches []int
}

// about returns 1 for a test whose file is named after the source file, otherwise 0.
func (t *test) about(source string) int {
	if strings.HasPrefix(t.file, strings.TrimSuffix(filepath.Base(source), ".go")) {
		return 1
	}
	return 0
}

// binary is a test binary with all mutants of a package in it.
type binary struct{ path, dir string }

// outcome is the result for a mutant.
type outcome struct {
	site
	killedBy string // empty: the mutant survived
	reached  int    // number of tests that reach it
}

// runner mutates one package and runs the tests of one or more packages.
type runner struct {
	pack    *pack
	tests   []*test
	workers int
	grace   time.Duration // extra time for tests, beyond five times their usual time
	say     func(format string, args ...any)
}

// prepare builds the test binaries of the packages, and finds which test reaches which mutant.
func (r *runner) prepare(ctx context.Context, testPackages []string, dir string) error {
	for i, pattern := range testPackages {
		found, err := goList(ctx, pattern)
		if err != nil {
			return err
		}
		b := &binary{path: filepath.Join(dir, fmt.Sprintf("test%d", i)), dir: found[0].Dir}
		build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", r.pack.overlay, "-o", b.path, pattern) //nolint:gosec // a developer's own packages
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the tests of %s: %w\n%s", pattern, err, out)
		}
		names, err := b.command(ctx, nil, "-test.list", "^Test").Output()
		if err != nil {
			return fmt.Errorf("list the tests of %s: %w", pattern, err)
		}
		files, err := filesOfTests(b.dir)
		if err != nil {
			return err
		}
		for name := range strings.Lines(string(names)) {
			name = strings.TrimSpace(name)
			r.tests = append(r.tests, &test{binary: b, name: name, file: files[name]})
		}
	}
	r.say("%s: %d mutants, %d tests", r.pack.path, len(r.pack.sites), len(r.tests))
	return inParallel(r.workers, r.tests, func(t *test) error { return t.trace(ctx, dir) })
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// filesOfTests finds the test files of a folder, by the names of their tests.
func filesOfTests(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("list test files: %w", err)
	}
	files := map[string]string{}
	for _, path := range paths {
		source, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return nil, fmt.Errorf("read test file: %w", err)
		}
		for _, m := range testFunction.FindAllSubmatch(source, -1) {
			files[string(m[1])] = filepath.Base(path)
		}
	}
	return files, nil
}

// command runs the binary in its package's folder.
func (b *binary) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.path, args...) //nolint:gosec // what this command has built
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// trace runs the test without a mutant and reads which mutants it reaches.
func (t *test) trace(ctx context.Context, dir string) error {
	path := filepath.Join(dir, "trace-"+filepath.Base(t.binary.path)+"-"+t.name)
	began := time.Now()
	out, err := t.binary.command(ctx, []string{"MUTANT_TRACE=" + path}, "-test.run", "^"+t.name+"$", "-test.timeout", "10m").CombinedOutput()
	t.took = time.Since(began)
	if err != nil {
		return fmt.Errorf("%s fails in code that nobody has broken: %w\n%s", t.name, err, out)
	}
	reached, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a test that reaches no mutant writes no file
		return fmt.Errorf("read trace: %w", err)
	}
	for line := range strings.Lines(string(reached)) {
		id, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("read trace: %w", err)
		}
		t.reaches = append(t.reaches, id)
	}
	return nil
}

// judge runs the tests that reach each of the sites.
func (r *runner) judge(ctx context.Context, sites []site) ([]outcome, error) {
	outcomes := make([]outcome, len(sites))
	indexes := make([]int, len(sites))
	for i := range sites {
		indexes[i] = i
	}
	var mu sync.Mutex
	done := 0
	err := inParallel(r.workers, indexes, func(i int) error {
		o, err := r.try(ctx, sites[i])
		mu.Lock()
		defer mu.Unlock()
		done++
		verdict := "killed by " + o.killedBy
		if o.killedBy == "" {
			verdict = fmt.Sprintf("SURVIVED %d tests", o.reached)
		}
		r.say("%d/%d %s: %s", done, len(sites), o.key, verdict)
		outcomes[i] = o
		return err
	})
	return outcomes, err
}

// try runs the tests with one mutant switched on.
func (r *runner) try(ctx context.Context, s site) (outcome, error) {
	o := outcome{site: s}
	var reaching []*test
	for _, t := range r.tests {
		if slices.Contains(t.reaches, s.id) {
			reaching = append(reaching, t)
		}
	}
	o.reached = len(reaching)
	slices.SortStableFunc(reaching, func(a, b *test) int {
		return cmp.Or(cmp.Compare(b.about(s.file), a.about(s.file)), cmp.Compare(a.took, b.took))
	})
	for _, group := range inGroups(reaching) {
		byBinary := map[*binary][]*test{}
		for _, t := range group {
			byBinary[t.binary] = append(byBinary[t.binary], t)
		}
		for _, b := range slices.SortedFunc(maps.Keys(byBinary), func(a, b *binary) int { return strings.Compare(a.path, b.path) }) {
			killer, err := b.run(ctx, s.id, byBinary[b], r.grace)
			if err != nil || killer != "" {
				o.killedBy = killer
				return o, err
			}
		}
	}
	return o, nil
}

// inGroups splits the tests into groups that run one after the other.
func inGroups(tests []*test) (groups [][]*test) {
	for _, n := range firstTests() {
		n = min(n, len(tests))
		groups, tests = append(groups, tests[:n]), tests[n:]
	}
	return append(groups, tests)
}

var failedTest = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)

// run runs tests with a mutant switched on and returns the first that fails. It then kills the others: parallel tests
// have all started by then, so a flag would not stop them.
func (b *binary) run(ctx context.Context, id int, tests []*test, grace time.Duration) (killer string, err error) {
	names, limit := make([]string, len(tests)), grace
	for i, t := range tests {
		names[i] = t.name
		limit += 5 * t.took
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &verdicts{failed: cancel}
	cmd := b.command(running, []string{"MUTANT=" + strconv.Itoa(id)},
		"-test.v", "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.timeout", limit.String())
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.killer != "":
		return out.killer, nil
	case err == nil:
		return "", nil
	}
	return "a crash or a time-out", nil
}

// verdicts parses the output of tests and calls failed at the first failure. One goroutine writes to it.
type verdicts struct {
	failed func()
	killer string
	line   []byte // an incomplete line
}

// Write implements io.Writer.
func (v *verdicts) Write(text []byte) (int, error) {
	v.line = append(v.line, text...)
	for {
		line, rest, whole := bytes.Cut(v.line, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		v.line = rest
		if m := failedTest.FindSubmatch(line); m != nil && v.killer == "" {
			v.killer = string(m[1])
			v.failed()
		}
	}
}

// inParallel processes a list with several workers and ends at the first error.
func inParallel[T any](workers int, list []T, do func(T) error) error {
	var group sync.WaitGroup
	var once sync.Once
	var failed error
	todo := make(chan T)
	stop := make(chan struct{})
	for range workers {
		group.Go(func() {
			for item := range todo {
				if err := do(item); err != nil {
					once.Do(func() { failed = err; close(stop) })
				}
			}
		})
	}
	for _, item := range list {
		select {
		case todo <- item:
			continue
		case <-stop:
		}
		break
	}
	close(todo)
	group.Wait()
	return failed
}
