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
	"sluice/internal/config/advice"
)

const probeTimeout = 5 * time.Second

// Doctor checks an installation.
type Doctor struct {
	Screen  terminal.Screen
	Locator *api.Locator
	HTTP    *http.Client
	Version string
	JSON    bool // print the findings as JSON
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

// failing is the status of a problem.
const failing = "fail"

// status is ok, note or fail.
func (f finding) status() string {
	switch {
	case f.note:
		return "note"
	case f.fix != "":
		return failing
	}
	return "ok"
}

func healthy(part, text string) finding { return finding{part: part, text: text} }

func problem(part, text, fix string) finding { return finding{part: part, text: text, fix: fix} }

func note(part, text, fix string) finding {
	return finding{part: part, text: text, fix: fix, note: true}
}

// Run checks everything and prints the findings. Its error says that there is a problem.
func (d *Doctor) Run(ctx context.Context) error {
	found := d.examine(ctx)
	if d.JSON {
		return reportJSON(d.Screen, found)
	}
	return report(d.Screen, found)
}

// reportJSON prints the findings as JSON.
func reportJSON(s terminal.Screen, found []finding) error {
	type row struct {
		Part   string `json:"part"`
		Status string `json:"status"` // ok, note or fail
		Text   string `json:"text"`
		Fix    string `json:"fix,omitempty"`
	}
	out := struct {
		Findings []row `json:"findings"`
		Problems int   `json:"problems"`
	}{Findings: make([]row, len(found))}
	for i, f := range found {
		out.Findings[i] = row{f.part, f.status(), f.text, f.fix}
		if f.status() == failing {
			out.Problems++
		}
	}
	if err := s.Object(out); err != nil || out.Problems == 0 {
		return err
	}
	return terminal.ErrReported
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
	found.add(settings(cfg)...)
	found.add(heartbeats(cfg)...)
	found.add(withheld(cfg)...)
	found.add(priced(cfg, d.Screen.Now())...)
	d.accounts(ctx, cfg, &found)
	found.add(d.sharedChats(ctx, cfg, running)...)
	found.add(d.skills(ctx, cfg, running)...)
	found.add(sandboxed(ctx, cfg, d.Screen.Now)...)
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
		mark, fix := f.status(), "fix"
		switch mark {
		case "note":
			fix = "hint"
		case failing:
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

// settings are those that do not fit together.
func settings(cfg *config.Config) []finding {
	var found []finding
	for _, a := range advice.On(cfg, agent.ToolNames()) {
		found = append(found, finding{part: a.Part, text: a.Text, fix: a.Fix, note: !a.Wrong})
	}
	if found == nil {
		rules := fmt.Sprintf("%s; levels, rules and secrets fit together", terminal.Plural(len(cfg.Policy.Rules), "rule", "rules"))
		found = append(found, healthy("policy", rules))
	}
	return found
}
