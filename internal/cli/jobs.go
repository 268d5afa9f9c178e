package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

func jobsList(g *gateway) *cobra.Command {
	var p page
	cmd := asking(g, &cobra.Command{Use: "list", Short: "List jobs, those of sluice.yaml and those made at run time", Args: arguments(0, 0)}, get("/v1/cron", p.query), printJobs)
	return p.add(cmd)
}

func printJobs(s terminal.Screen, got api.JobList) error {
	return terminal.Rows(s, []string{"ID", "STATE", "ORIGIN", "WHEN", "NEXT", "TO", "TEXT"}, got.Jobs, func(j api.Job) []string {
		return []string{j.ID, j.State, j.Origin, j.When, instant(j.Next), strings.Join(j.To, ","), terminal.Short(cmp.Or(j.Fault, j.Text, j.Prompt))}
	})
}

func instant(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

func jobsShow(g *gateway) *cobra.Command {
	return asking(g, &cobra.Command{Use: "show JOB", Short: "Show a job", Args: arguments(1, 1)}, one("cron"), printJob)
}

func printJob(s terminal.Screen, j api.Job) error {
	err := s.Pairs("id", j.ID, "state", j.State, "origin", strings.TrimSpace(j.Origin+" "+j.Place), "when", j.When, "checks", strings.Join(j.Checks, ", "), "next", instant(j.Next), "to", strings.Join(j.To, ", "),
		"fallback", strings.Join(j.Fallback, ", "), "label", j.Label, "made by", j.Maker, "session", j.Session, "changed", instant(j.Changed), "changed by", j.By, "fault", j.Fault)
	if err != nil {
		return err
	}
	return s.Printf("\n%s", terminal.Text(cmp.Or(j.Text, j.Prompt)))
}

func jobsHistory(g *gateway) *cobra.Command {
	var p page
	cmd := asking(g, &cobra.Command{
		Use: "history JOB", Short: "List what happened at a job's times, newest first", Args: arguments(1, 1),
	}, func(args []string) (api.Request, error) {
		return api.Request{Path: api.Path("cron", args[0], "history"), Query: p.query()}, nil
	}, printInstants)
	return p.add(cmd)
}

func printInstants(s terminal.Screen, got api.JobHistory) error {
	return terminal.Rows(s, []string{"TIME", "STATUS", "BY", "RUN", "TOKENS", "DELIVERIES", "WHY"}, got.Instants, func(t api.JobInstant) []string {
		var sent []string
		for _, d := range t.Deliveries {
			sent = append(sent, d.Target+" "+cmp.Or(d.Delivery, d.Error))
		}
		return []string{t.Instant.Format(time.RFC3339), t.Status, t.By, t.Run, tokens(t.Input, t.Output), strings.Join(sent, ", "), t.Why}
	})
}

// tokens are those that a model has read and written; empty if none was asked.
func tokens(in, out int) string {
	if in+out == 0 {
		return ""
	}
	return fmt.Sprintf("%d in, %d out", in, out)
}

func jobsPost(g *gateway, verb, short, said string) *cobra.Command {
	return asking(g, &cobra.Command{Use: verb + " JOB", Short: short, Args: arguments(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("cron", args[0], verb)}, nil
	}, func(s terminal.Screen, j api.Job) error {
		return s.Printf("%s %s", terminal.Line(j.ID), said)
	})
}

func jobsRun(g *gateway) *cobra.Command {
	return asking(g, &cobra.Command{Use: "run JOB", Short: "Fire a job once now, also while it is paused", Args: arguments(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("cron", args[0], "run")}, nil
	}, func(s terminal.Screen, t api.JobInstant) error { return s.Printf("fired: %s", terminal.Line(t.Key)) })
}

func jobsRemove(g *gateway) *cobra.Command {
	return doing(g, &cobra.Command{Use: "remove JOB", Short: "Remove a job that was made at run time; its history is kept", Args: arguments(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodDelete, Path: api.Path("cron", args[0])}, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		return s.Printf("%s is removed", terminal.Line(args[0]))
	})
}

// jobFlags are the keys of a job.
type jobFlags struct {
	schedule, every, at, timezone, text, prompt string
	to, fallback, set                           []string
}

func (f *jobFlags) add(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&f.schedule, "schedule", "", "when: a cron `expression`, see sluice cron next")
	flags.StringVar(&f.every, "every", "", "when: the `time` between two instants, for example 90m")
	flags.StringVar(&f.at, "at", "", "when: a single `time`, for example 2026-12-24T18:00")
	flags.StringVar(&f.timezone, "timezone", "", "the `zone` of the times (default: cron.timezone)")
	flags.StringVar(&f.text, "text", "", "the `text` to send")
	flags.StringVar(&f.prompt, "prompt", "", "the `text` that an agent is asked; its reply is sent")
	flags.StringArrayVar(&f.to, "to", nil, "a `target`: owner, a name from targets, or CHANNEL:ID; repeat it for more")
	flags.StringArrayVar(&f.fallback, "fallback", nil, "a `target` for those without a receipt; repeat it for more")
	flags.StringArrayVar(&f.set, "set", nil, "another `key=value` of a job in sluice.yaml; the value may be JSON, and null removes the key")
	return cmd
}

// object is the job that the flags describe.
func (f *jobFlags) object() (map[string]any, error) {
	job := map[string]any{}
	for key, value := range map[string]string{"schedule": f.schedule, "every": f.every, "at": f.at, "timezone": f.timezone, "text": f.text, "prompt": f.prompt} {
		if value != "" {
			job[key] = value
		}
	}
	deliver := map[string]any{}
	if len(f.to) > 0 {
		deliver["to"] = f.to
	}
	if len(f.fallback) > 0 {
		deliver["fallback"] = f.fallback
	}
	if len(deliver) > 0 {
		job["deliver"] = deliver
	}
	for _, pair := range f.set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, terminal.Usagef("--set %s: write key=value", pair)
		}
		job[key] = value
		if json.Valid([]byte(value)) {
			job[key] = json.RawMessage(value)
		}
	}
	return job, nil
}

func jobsAdd(g *gateway) *cobra.Command {
	var f jobFlags
	return f.add(asking(g, &cobra.Command{
		Use: "add JOB", Short: "Make a job at run time", Args: arguments(1, 1),
		Example: `  sluice cron add standup --schedule "45 9 * * mon-fri" --text "Stand-up in 15 minutes." --to team
  sluice cron add brief --schedule "0 7 * * mon-fri" --prompt "What is new? Answer in five lines." --to owner`,
	}, func(args []string) (api.Request, error) {
		job, err := f.object()
		if err != nil {
			return api.Request{}, err
		}
		job["id"] = args[0]
		return api.Request{Method: http.MethodPost, Path: api.Path("cron"), Body: job}, nil
	}, func(s terminal.Screen, j api.Job) error {
		return s.Printf("%s is made, next at %s", terminal.Line(j.ID), instant(j.Next))
	}))
}

func jobsUpdate(g *gateway) *cobra.Command {
	var f jobFlags
	return f.add(asking(g, &cobra.Command{
		Use: "update JOB", Short: "Change a job that was made at run time", Args: arguments(1, 1),
		Example: `  sluice cron update standup --schedule "30 9 * * mon-fri"
  sluice cron update standup --set schedule=null --every 24h`,
	}, func(args []string) (api.Request, error) {
		job, err := f.object()
		return api.Request{Method: http.MethodPatch, Path: api.Path("cron", args[0]), Body: job}, err
	}, func(s terminal.Screen, j api.Job) error {
		return s.Printf("%s is changed, next at %s", terminal.Line(j.ID), instant(j.Next))
	}))
}
