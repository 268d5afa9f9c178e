// Package doctor checks an installation: the configuration, the files of the
// gateway, the gateway itself where it runs, what it would connect to where it
// does not, and whether the settings fit together. Each finding that is a
// problem comes with its fix.
package doctor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/internal/agent"
	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
)

const probeTimeout = 5 * time.Second

// Doctor checks an installation.
type Doctor struct {
	Screen  terminal.Screen
	Locator *api.Locator
	HTTP    *http.Client
	Version string
	// Probe asks the platforms of a configuration for the profiles of its accounts.
	Probe func(ctx context.Context, cfg *config.Config) []Probed
}

// Probed is what a platform answered about one account.
type Probed struct {
	Channel, Account string // the account is empty where the channel can't be used at all
	Name             string // the account's name on the platform
	Err              error  // what is wrong, and what to do
}

// finding is the state of one component.
type finding struct {
	part string
	text string
	fix  string // a command, or what to do; empty where there is nothing to do
	note bool   // worth knowing, not a problem
}

func healthy(part, text string) finding { return finding{part: part, text: text} }

func problem(part, text, fix string) finding { return finding{part: part, text: text, fix: fix} }

func note(part, text, fix string) finding {
	return finding{part: part, text: text, fix: fix, note: true}
}

// Run checks everything and prints the findings. Its error says that there is a problem.
func (d *Doctor) Run(ctx context.Context) error {
	return report(d.Screen, d.examine(ctx))
}

// examine makes all findings.
func (d *Doctor) examine(ctx context.Context) []finding {
	found := findings{healthy("version", d.Version)}
	cfg, f := d.configuration()
	found.add(f)
	if cfg == nil {
		return found // it says where everything else is
	}
	found.add(stateFolder(cfg.State), tokenFile(cfg))
	running := d.gateway(ctx, cfg, &found)
	if running {
		found.add(d.components(ctx, cfg)...)
	} else {
		found.add(d.connections(ctx, cfg)...)
	}
	found.add(d.programs(ctx, cfg, running)...)
	found.add(advice(cfg)...)
	found.add(heartbeats(cfg)...)
	found.add(withheld(cfg)...)
	found.add(priced(cfg, d.Screen.Now())...)
	d.accounts(ctx, cfg, &found)
	found.add(d.sharedChats(ctx, cfg, running)...)
	found.add(d.skills(ctx, cfg, running)...)
	found.add(sandboxed(ctx, cfg)...)
	return found
}

// findings are collected in the order in which they are printed.
type findings []finding

func (fs *findings) add(more ...finding) { *fs = append(*fs, more...) }

// merge adds a finding about a part that may have one already. A problem wins; of two equal ones the new one does.
func (fs *findings) merge(f finding) {
	i := slices.IndexFunc(*fs, func(known finding) bool { return known.part == f.part })
	switch {
	case i < 0:
		fs.add(f)
	case f.fix != "" || (*fs)[i].fix == "":
		(*fs)[i] = f
	}
}

// report prints the findings.
func report(s terminal.Screen, found []finding) error {
	problems := 0
	for _, f := range found {
		mark, fix := "ok", "fix"
		switch {
		case f.note:
			mark, fix = "note", "hint"
		case f.fix != "":
			mark = "FAIL"
			problems++
		}
		text := strings.ReplaceAll(f.text, "\n", "\n"+strings.Repeat(" ", 25))
		if err := s.Printf("%-4s  %-18s %s", mark, terminal.Line(f.part), terminal.Text(text)); err != nil {
			return err
		}
		if f.fix != "" {
			if err := s.Printf("%25s%s: %s", "", fix, terminal.Line(f.fix)); err != nil {
				return err
			}
		}
	}
	if problems == 0 {
		return s.Printf("\nNo problems found.")
	}
	if err := s.Printf("\n%s found.", terminal.Plural(problems, "problem", "problems")); err != nil {
		return err
	}
	return terminal.ErrReported
}

// advice are the settings that do not fit together.
func advice(cfg *config.Config) []finding {
	var found []finding
	for _, a := range cfg.Advise(agent.ToolNames()) {
		found = append(found, finding{part: a.Part, text: a.Text, fix: a.Fix, note: !a.Wrong})
	}
	if found == nil {
		rules := fmt.Sprintf("%s; levels, rules and secrets fit together", terminal.Plural(len(cfg.Policy.Rules), "rule", "rules"))
		found = append(found, healthy("policy", rules))
	}
	return found
}
