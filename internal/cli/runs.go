package cli

import (
	"context"
	"fmt"
	"net/url"
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
		RunE: a.run(func(ctx context.Context, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var got struct {
				Runs []run `json:"runs"`
			}
			raw, err := c.get(ctx, "/v1/runs", p.query(), &got)
			if err != nil {
				return err
			}
			return o.show(a, raw, func() error {
				rows := make([][]string, len(got.Runs))
				for i, r := range got.Runs {
					rows[i] = []string{r.ID, r.Status, r.Session, short(orText(r.Error, r.Reply)), a.ago(r.Accepted)}
				}
				return a.table([]string{"ID", "STATUS", "SESSION", "RESULT", "ACCEPTED"}, rows)
			})
		}),
	}), "queued, running, done, failed, timeout, aborted, dropped")
}

func (a *app) runsShow() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "show RUN", Short: "Show a run", Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var r run
			raw, err := c.get(ctx, "/v1/runs/"+url.PathEscape(args[0]), nil, &r)
			if err != nil {
				return err
			}
			return o.show(a, raw, func() error { return a.printRun(r) })
		}),
	})
}

func (a *app) printRun(r run) error {
	err := a.pairs("id", r.ID, "status", r.Status, "kind", r.Kind, "session", r.Session, "model", r.Model, "attempts", strconv.Itoa(r.Attempts),
		"accepted", a.ago(r.Accepted), "finished", a.ago(r.Finished), "error", r.Error)
	if err != nil || r.Reply == "" {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "\n%s\n", safe(r.Reply))
	return err
}
