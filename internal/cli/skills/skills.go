// Package skills has the commands about the skills of agents.
package skills

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// Deps is what the commands need.
type Deps struct {
	command.Deps
	HTTP *http.Client // for downloads
}

// noSkills is what an empty list says.
const noSkills = `No skills found. "sluice skills add" adds one.`

// Commands are the commands below "sluice skills".
func Commands(d Deps) []*cobra.Command {
	return []*cobra.Command{d.list(), d.show(), d.add(), d.remove(), d.trust(true), d.trust(false), d.check(), d.keygen(), d.sign()}
}

// record is a skill as the gateway lists it.
type record struct {
	Agent, Name, Description, State, Problem string
	Level                                    string `json:"classification"`
	Trust, Digest, Pinned, Signer, Source    string
	By                                       string
	Added                                    *time.Time
	Files                                    int
	Bytes                                    int64
	Text                                     string
	Paths                                    []string
}

type list struct{ Skills []record }

// agentFlag is the flag --agent.
func agentFlag(cmd *cobra.Command, agent *string, otherwise string) {
	cmd.Flags().StringVar(agent, "agent", "", "`id` of the agent (default: "+otherwise+")")
}

// call sends a request and decodes the answer.
func call[T any](ctx context.Context, d Deps, r api.Request) (got T, answer api.Answer, err error) {
	if answer, err = d.Call(ctx, r); err != nil || len(answer.Body) == 0 {
		return got, answer, err
	}
	got, err = api.Decode[T](answer)
	return got, answer, err
}

// done prints what has changed: the answer as JSON, or a sentence.
func (d Deps) done(asJSON bool, answer api.Answer, format string, args ...any) error {
	if asJSON {
		return d.Screen.JSON(answer.Body)
	}
	return d.Screen.Printf(format, args...)
}

func (d Deps) list() *cobra.Command {
	var agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the skills of agents", Args: command.Args(0, 0),
		RunE: d.Run(func(ctx context.Context, _ []string) error {
			got, answer, err := call[list](ctx, d, api.Request{Path: "/v1/skills", Query: api.Query("agent", agent)})
			if err != nil {
				return err
			}
			if asJSON {
				return d.Screen.JSON(answer.Body)
			}
			return terminal.List(d.Screen, noSkills, []string{"AGENT", "SKILL", "STATE", "TRUST", "LEVEL", "SIGNED BY", "SOURCE", "DESCRIPTION"}, got.Skills, func(r record) []string {
				return []string{r.Agent, r.Name, r.State, r.Trust, r.Level, r.Signer, terminal.Short(r.Source), terminal.Short(r.Description)}
			})
		}),
	}
	agentFlag(cmd, &agent, "all agents")
	command.JSON(cmd, &asJSON)
	return cmd
}

func (d Deps) show() *cobra.Command {
	var agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a skill with its instructions and files", Args: command.Args(1, 1),
		RunE: d.Run(func(ctx context.Context, args []string) error {
			r, answer, err := call[record](ctx, d, api.Request{Path: api.Path("skills", args[0]), Query: api.Query("agent", agent)})
			if err != nil {
				return err
			}
			if asJSON {
				return d.Screen.JSON(answer.Body)
			}
			added := ""
			if r.Added != nil {
				added = r.Added.Format(time.RFC3339)
			}
			err = d.Screen.Pairs("skill", r.Name, "agent", r.Agent, "state", r.State, "problem", r.Problem, "level", r.Level+", "+r.Trust, "signed by", r.Signer,
				"content", r.Digest, "source", r.Source, "added", added, "by", r.By, "files", strings.Join(r.Paths, ", "), "size", strconv.FormatInt(r.Bytes, 10), "description", r.Description)
			if err != nil {
				return err
			}
			return d.Screen.Printf("\n%s", terminal.Text(r.Text))
		}),
	}
	agentFlag(cmd, &agent, "the default agent")
	command.JSON(cmd, &asJSON)
	return cmd
}

func (d Deps) remove() *cobra.Command {
	var agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Delete a skill of an agent", Args: command.Args(1, 1),
		RunE: d.Run(func(ctx context.Context, args []string) error {
			_, answer, err := call[struct{}](ctx, d, api.Request{Method: http.MethodDelete, Path: api.Path("skills", args[0]), Query: api.Query("agent", agent)})
			if err != nil {
				return err
			}
			return d.done(asJSON, answer, "%s: removed", terminal.Line(args[0]))
		}),
	}
	agentFlag(cmd, &agent, "the default agent")
	command.JSON(cmd, &asJSON)
	return cmd
}

// trust is the command that trusts a skill, or no longer does.
func (d Deps) trust(trusted bool) *cobra.Command {
	var agent, level, digest string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "trust NAME", Short: "Trust a skill as it is now", Args: command.Args(1, 1),
		Long: `Trust a skill as it is now: its instructions then count as yours, and reading them
does not make a conversation untrusted. The content is pinned: when it changes,
agents can't use the skill until you trust it again.`,
	}
	if !trusted {
		cmd.Use, cmd.Short = "untrust NAME", "No longer trust a skill, and pin it as it is now"
		cmd.Long = ""
	}
	cmd.RunE = d.Run(func(ctx context.Context, args []string) error {
		body := map[string]any{"trust": trusted}
		if level != "" {
			body["classification"] = strings.ToUpper(level)
		}
		if digest != "" {
			body["digest"] = digest
		}
		r, answer, err := call[record](ctx, d, api.Request{Method: http.MethodPatch, Path: api.Path("skills", args[0]), Query: api.Query("agent", agent), Body: body})
		if err != nil {
			return err
		}
		return d.done(asJSON, answer, "%s: %s, level %s, pinned to %s", terminal.Line(r.Name), r.Trust, r.Level, r.Digest)
	})
	agentFlag(cmd, &agent, "the default agent")
	cmd.Flags().StringVar(&level, "classification", "", "`level` of the skill (default: as it is)")
	cmd.Flags().StringVar(&digest, "digest", "", "change nothing unless the content has this `hash`")
	command.JSON(cmd, &asJSON)
	return cmd
}
