// Command bench measures the gateway as it is used: the stripped binary as a process of its own, over a Telegram
// server on loopback, with every message synced to disk. It prints a table in Markdown; docs/benchmarks.md says how
// to read it.
//
// The Telegram server, the model and the people run in this process and share the machine's cores with the gateway,
// so the rates are below what the gateway alone could do. Its processor time is its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sluice/internal/chaos/child"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	binary   string
	dir      string
	only     string
	rounds   int
	load     time.Duration
	waiting  int
	stored   int
	messages int
	jobs     int
	alerts   int

	remembered int
	yearPeople int
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "", "gateway to measure; empty: a fresh stripped build")
	flags.StringVar(&o.dir, "dir", "", "folder for databases, on the disk to be measured; empty: a temporary one")
	flags.StringVar(&o.only, "only", "", "comma-separated parts: "+strings.Join(partNames(), ", "))
	flags.IntVar(&o.rounds, "rounds", 3, "rounds of each measurement; the median and the range are shown")
	flags.DurationVar(&o.load, "load", 10*time.Second, "length of one round of load")
	flags.IntVar(&o.waiting, "waiting", 10_000, "sessions that wait for a slow model")
	flags.IntVar(&o.stored, "sessions", 100_000, "sessions stored beforehand")
	flags.IntVar(&o.remembered, "memories", 100_000, "memories that are searched")
	flags.IntVar(&o.messages, "messages", 1_000_000, "messages stored beforehand")
	flags.IntVar(&o.yearPeople, "year-people", 20, "people whose traffic of a year is stored")
	flags.IntVar(&o.jobs, "jobs", 10_000, "jobs that are each due once a minute")
	flags.IntVar(&o.alerts, "alerts", 1000, "alerts that are reported in a minute")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for _, name := range o.parts() {
		if !slices.Contains(partNames(), name) {
			return o, fmt.Errorf("-only: there is no part %q", name)
		}
	}
	return o, nil
}

func (o options) parts() []string {
	if o.only == "" {
		return partNames()
	}
	return strings.Split(o.only, ",")
}

// part is one group of measurements.
type part struct {
	name    string
	measure func(context.Context, *bench) error
}

func parts() []part {
	return []part{
		{"binary", measureBinary},
		{"disk", measureDisk},
		{"sqlite", measureSQLite},
		{"http", measureHTTP},
		{"alone", measureAlone},
		{"lanes", measureLanes},
		{"fair", measureFair},
		{"long", measureLong},
		{"waiting", measureWaiting},
		{"stored", measureStored},
		{"memory", measureMemory},
		{"jobs", measureJobs},
		{"alerts", measureAlerts},
		{"postgres", measurePostgres},
		{"scale", measureScale},
		{"cluster", measureCluster},
		{"year", measureYear},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// bench is one run of the program.
type bench struct {
	options
	report   report
	pastUsed int // people from the past who have asked again
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		defer os.RemoveAll(o.dir) //nolint:errcheck // what is left is in the temporary folder
	}
	b := &bench{options: o}
	if b.binary == "" {
		b.binary = filepath.Join(o.dir, "sluice")
		if err := child.Build(ctx, child.BuildParams{Out: b.binary, Stripped: true}); err != nil {
			return err
		}
	}
	var failures []error
	for _, p := range parts() {
		if !slices.Contains(o.parts(), p.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", p.name)
		if err := p.measure(ctx, b); err != nil {
			failures = append(failures, fmt.Errorf("measure %s: %w", p.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Print(b.report.markdown())
	return errors.Join(failures...)
}
