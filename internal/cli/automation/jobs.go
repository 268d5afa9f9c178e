package automation

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func jobsList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List jobs, those of sluice.yaml and those created at run time", Args: command.Args(0, 0)}, command.Get("/v1/cron", p.Query), printJobs)
	p.Filter(cmd, "state", "state", "show only jobs in this `state`: active, paused, faulty or ended")
	return p.Add(cmd)
}

func printJobs(s terminal.Screen, got api.JobList) error {
	return terminal.List(s, `No jobs found. Add them under "cron" in the configuration, or ask an agent.`, []string{"ID", "STATE", "ORIGIN", "WHEN", "NEXT", "TO", "TEXT"}, got.Jobs, func(j api.Job) []string {
		return []string{j.ID, j.State, j.Origin, j.When, instant(j.Next), strings.Join(j.To, ","), terminal.Short(cmp.Or(j.Fault, j.Text, j.Prompt))}
	})
}

func instant(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

func jobsShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show JOB", Short: "Show a job", Args: command.Args(1, 1)}, command.One("cron"), printJob)
}

func printJob(s terminal.Screen, j api.Job) error {
	err := s.Pairs("id", j.ID, "state", j.State, "origin", strings.TrimSpace(j.Origin+" "+j.Place), "when", j.When, "checks", strings.Join(j.Checks, ", "), "next", instant(j.Next), "to", strings.Join(j.To, ", "),
		"fallback", strings.Join(j.Fallback, ", "), "label", j.Label, "made by", j.Maker, "session", j.Session, "changed", instant(j.Changed), "changed by", j.By, "fault", j.Fault)
	if err != nil {
		return err
	}
	return s.Printf("\n%s", terminal.Text(cmp.Or(j.Text, j.Prompt)))
}

func jobsHistory(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{
		Use: "history JOB", Short: "List what happened at a job's times, newest first", Args: command.Args(1, 1),
	}, func(args []string) (api.Request, error) {
		return api.Request{Path: api.Path("cron", args[0], "history"), Query: p.Query()}, nil
	}, printInstants)
	return p.Add(cmd)
}

func printInstants(s terminal.Screen, got api.JobHistory) error {
	return terminal.List(s, "No history found. The job has not been due yet.", []string{"TIME", "STATUS", "BY", "RUN", "TOKENS", "DELIVERIES", "WHY"}, got.Instants, func(t api.JobInstant) []string {
		var sent []string
		for _, d := range t.Deliveries {
			sent = append(sent, api.SentTo(d.Target, d.State, d.Delivery, d.Error))
		}
		status := t.Status
		if t.Missed > 1 { // one row stands for all of them
			status += fmt.Sprintf(" %d times", t.Missed)
		}
		return []string{t.Instant.Format(time.RFC3339), status, t.By, t.Run, tokens(t.Input, t.Output), strings.Join(sent, ", "), t.Why}
	})
}

// tokens are those that a model has read and written; empty if no model was asked.
func tokens(in, out int) string {
	if in+out == 0 {
		return ""
	}
	return fmt.Sprintf("%d in, %d out", in, out)
}

func jobsPost(g command.Deps, verb, short, said string) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: verb + " JOB", Short: short, Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("cron", args[0], verb)}, nil
	}, func(s terminal.Screen, j api.Job) error {
		return s.Printf("%s %s", terminal.Line(j.ID), said)
	})
}

func jobsRun(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "run JOB", Short: "Fire a job once now, even while it is paused", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("cron", args[0], "run")}, nil
	}, func(s terminal.Screen, t api.JobInstant) error { return s.Printf("fired: %s", terminal.Line(t.Key)) })
}

func jobsRemove(g command.Deps) *cobra.Command {
	return command.Doing(g, &cobra.Command{Use: "remove JOB", Short: "Remove a job that was created at run time; its history is kept", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodDelete, Path: api.Path("cron", args[0])}, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		return s.Printf("%s is removed", terminal.Line(args[0]))
	})
}

// upcoming says when a job fires next, or its state if it does not.
func upcoming(j api.Job) string {
	if j.Next == nil {
		return "and is " + terminal.Line(j.State)
	}
	return "next at " + instant(j.Next)
}

func jobsAdd(g command.Deps) *cobra.Command {
	var f api.JobFlags
	return f.Add(command.Asking(g, &cobra.Command{
		Use: "add JOB", Short: "Create a job at run time", Args: command.Args(1, 1),
	}, func(args []string) (api.Request, error) {
		job, err := f.Object(g.Screen.Now())
		if err != nil {
			return api.Request{}, err
		}
		job["id"] = args[0]
		return api.Request{Method: http.MethodPost, Path: api.Path("cron"), Body: job}, nil
	}, func(s terminal.Screen, j api.Job) error {
		return s.Printf("%s was created, %s", terminal.Line(j.ID), upcoming(j))
	}))
}

func jobsUpdate(g command.Deps) *cobra.Command {
	var f api.JobFlags
	return f.Add(command.Asking(g, &cobra.Command{
		Use: "update JOB", Short: "Change a job that was created at run time", Args: command.Args(1, 1),
	}, func(args []string) (api.Request, error) {
		job, err := f.Object(g.Screen.Now())
		return api.Request{Method: http.MethodPatch, Path: api.Path("cron", args[0]), Body: job}, err
	}, func(s terminal.Screen, j api.Job) error {
		return s.Printf("%s was changed, %s", terminal.Line(j.ID), upcoming(j))
	}))
}
