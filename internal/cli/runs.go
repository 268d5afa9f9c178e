package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// run is the API's run.
type run struct {
	ID       string    `json:"id"`
	Session  string    `json:"session"`
	Status   string    `json:"status"`
	Kind     string    `json:"kind"`
	Input    string    `json:"input"`
	Reply    string    `json:"reply"`
	Withheld *withheld `json:"withheld"`
	Error    string    `json:"error"`
	Model    string    `json:"model"`
	Attempts int       `json:"attempts"`
	Accepted time.Time `json:"accepted"`
	Finished time.Time `json:"finished"`
}

func (a *app) runsCommand() *cobra.Command {
	return group("runs", "What agents work on and have worked on", a.runsList(), a.runsShow())
}

func (a *app) runsList() *cobra.Command {
	var o output
	var p page
	return p.flags(o.flag(&cobra.Command{
		Use: "list", Short: "List runs, newest first", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/runs", p.query), a.printRuns),
	}), "queued, running, done, failed, timeout, aborted, dropped")
}

// runList is a page of the API's runs.
type runList struct {
	Runs []run `json:"runs"`
}

func (a *app) printRuns(got runList) error {
	return list(a, []string{"ID", "STATUS", "SESSION", "RESULT", "ACCEPTED"}, got.Runs, func(r run) []string {
		return []string{r.ID, r.Status, r.Session, short(orText(r.Error, r.Reply)), a.ago(r.Accepted)}
	})
}

func (a *app) runsShow() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "show RUN", Short: "Show a run", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, named("/v1/runs"), a.printRun),
	})
}

func (a *app) printRun(r run) error {
	err := a.pairs("id", r.ID, "status", r.Status, "kind", r.Kind, "session", r.Session, "model", r.Model, "attempts", strconv.Itoa(r.Attempts),
		"accepted", a.ago(r.Accepted), "finished", a.ago(r.Finished), "error", r.Error)
	if err == nil && r.Withheld != nil {
		_, err = fmt.Fprintf(a.Stdout, "\n%s\n", clean(r.Withheld.line()))
		return err
	}
	if err != nil || r.Reply == "" {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "\n%s\n", safe(r.Reply))
	return err
}
