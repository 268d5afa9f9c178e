package main

import (
	"cmp"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// targets are the packages to mutate by default, and the packages whose tests must notice.
var targets = []struct {
	pack  string
	tests []string
}{
	{"./policy", []string{"./policy"}},
	{"./policy/condition", []string{"./policy"}},
	{"./announce", []string{"./announce"}},
	{"./router", []string{"./router"}},
	{"./router/ledger", []string{"./router/ledger", "./router"}},
	{"./router/decider", []string{"./router/decider", "./router"}},
	{"./router/lanes", []string{"./router/lanes"}},
	{"./router/work", []string{"./router/work", "./router"}},
	{"./router/exchange", []string{"./router/exchange", "./router"}},
	{"./router/outbound", []string{"./router/outbound", "./router"}},
	{"./router/approvals", []string{"./router/approvals", "./router"}},
	{"./router/quota", []string{"./router/quota", "./router"}},
	{"./router/commands", []string{"./router/commands", "./router"}},
	{"./router/inbound", []string{"./router/inbound", "./router"}},
	{"./router/manage", []string{"./router/manage", "./router"}},
	{"./router/place", []string{"./router/place"}},
	{"./router/queue", []string{"./router/queue"}},
	{"./router/usertext", []string{"./router/usertext"}},
	{"./sessions", []string{"./sessions"}},
	{"./store", []string{"./store", "./store/sqlite"}},
	{"./store/engine", []string{"./store", "./store/sqlite"}},
}

// wanted is the share of mutants that must be killed.
const wanted = 0.9

//go:embed accepted.txt
var acceptedText string

func main() {
	sample := flag.Int("sample", 120, "how many mutants of a package to try; 0 for all. Which ones is decided by a hash of their place, so that two runs try the same")
	list := flag.Bool("list", false, "print the mutants and try none")
	only := flag.String("only", "", "try only mutants whose place contains this text")
	workers := flag.Int("workers", 2, "how many to try at once")
	verbose := flag.Bool("v", false, "print each mutant's fate")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	c := campaign{sample: *sample, list: *list, only: *only, workers: *workers, verbose: *verbose, accepted: readAccepted(acceptedText)}
	err := c.run(ctx, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type campaign struct {
	sample        int
	list, verbose bool
	only          string
	workers       int
	accepted      map[string]string // reasons by package and key
}

func (c *campaign) run(ctx context.Context, packages []string) error {
	var bad []string
	for _, t := range targets {
		if len(packages) > 0 && !slices.Contains(packages, t.pack) {
			continue
		}
		good, err := c.target(ctx, t.pack, t.tests)
		if err != nil {
			return err
		}
		if !good {
			bad = append(bad, t.pack)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("tests miss too much in %s", strings.Join(bad, ", "))
	}
	return nil
}

// target mutates one package, prints the result, and reports whether it is sufficient.
func (c *campaign) target(ctx context.Context, pack string, tests []string) (good bool, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	p, err := openPack(ctx, pack, dir)
	if err != nil {
		return false, err
	}
	chosen := c.choose(p.sites)
	if c.list {
		for _, s := range chosen {
			fmt.Println(s)
		}
		return true, nil
	}
	r := &runner{pack: p, workers: c.workers, grace: 20 * time.Second, say: c.say}
	if err := r.prepare(ctx, tests, dir); err != nil {
		return false, err
	}
	outcomes, err := r.judge(ctx, chosen)
	if err != nil {
		return false, err
	}
	return c.report(p, outcomes), nil
}

func (c *campaign) say(format string, args ...any) {
	if c.verbose {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// choose picks a sample.
func (c *campaign) choose(sites []site) []site {
	hash := func(s site) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s.key))
		return h.Sum64()
	}
	var chosen []site
	for _, s := range sites {
		if strings.Contains(s.String(), c.only) {
			chosen = append(chosen, s)
		}
	}
	slices.SortFunc(chosen, func(a, b site) int { return cmp.Compare(hash(a), hash(b)) })
	if c.sample > 0 && len(chosen) > c.sample {
		chosen = chosen[:c.sample]
	}
	return chosen
}

// report prints the package's line and its survivors.
func (c *campaign) report(p *pack, outcomes []outcome) (good bool) {
	killed, listed := 0, 0
	var survivors []string
	for _, o := range outcomes {
		if o.killedBy != "" {
			killed++
			continue
		}
		line := fmt.Sprintf("  %s (%d tests reach it)", o.site, o.reached)
		if reason, ok := c.accepted[p.path+" "+o.key]; ok {
			listed++
			line += " — " + reason
		} else {
			line += " — NOT LISTED"
		}
		survivors = append(survivors, line)
	}
	share := 1.0
	if len(outcomes) > 0 {
		share = float64(killed) / float64(len(outcomes))
	}
	fmt.Printf("%s: %d of %d mutants tried, %d killed (%.0f %%), %d survived with a reason, %d without\n",
		p.path, len(outcomes), len(p.sites), killed, 100*share, listed, len(survivors)-listed)
	for _, line := range survivors {
		fmt.Println(line)
	}
	return share >= wanted && listed == len(survivors)
}

// readAccepted reads lines of the form "package key # reason".
func readAccepted(text string) map[string]string {
	accepted := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if key, reason, ok := strings.Cut(line, " # "); ok && !strings.HasPrefix(line, "#") {
			accepted[strings.TrimSpace(key)] = strings.TrimSpace(reason)
		}
	}
	return accepted
}
