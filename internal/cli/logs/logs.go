// Package logs has the command that shows the gateway's log.
package logs

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/pause"
)

const (
	pageMax   = 200             // lines of one request
	lookEvery = 2 * time.Second // with --follow
)

type field struct{ Name, Value string }

type line struct {
	ID, Level, Part, Text string
	At                    time.Time
	Fields                []field
}

type page struct{ Lines []line }

// wanted is which lines to show.
type wanted struct {
	level, part, words string
	limit              int
	follow, json       bool
}

// Command is "sluice logs". interrupted is the cause of a context that a person has ended.
func Command(d command.Deps, interrupted error) *cobra.Command {
	var w wanted
	cmd := &cobra.Command{
		Use: "logs", Short: "Show the gateway's log", Args: command.Args(0, 0),
		Long: `Show the newest lines of the gateway's log, oldest first. The gateway keeps about
2,000 lines since its start in memory; of several replicas, the one that answers
shows its own. Your token must have the level RESTRICTED.`,
		RunE: d.Run(func(ctx context.Context, _ []string) error {
			if w.limit < 1 || w.limit > pageMax {
				return terminal.Usagef("--limit %d: use 1 to %d", w.limit, pageMax)
			}
			c, err := d.Connect()
			if err != nil {
				return err
			}
			r := reader{client: c, screen: d.Screen, wanted: w}
			if err := r.show(ctx); err != nil || !w.follow {
				return err
			}
			if err = r.follow(ctx); errors.Is(context.Cause(ctx), interrupted) {
				return nil
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&w.level, "level", "", "show only lines of this `level` and above: debug, info, warn, error")
	cmd.Flags().StringVar(&w.part, "part", "", "show only lines about this `part`, for example telegram/default")
	cmd.Flags().StringVarP(&w.words, "query", "q", "", "show only lines that contain these `words`")
	cmd.Flags().IntVar(&w.limit, "limit", 50, "show at most this `number` of earlier lines")
	cmd.Flags().BoolVarP(&w.follow, "follow", "f", false, "continue with new lines until interrupted")
	command.JSON(cmd, &w.json)
	cmd.MarkFlagsMutuallyExclusive("follow", "json")
	return cmd
}

// reader reads pages of lines.
type reader struct {
	client *api.Client
	screen terminal.Screen
	wanted wanted
	last   string // id of the newest line that was printed
}

func (r *reader) page(ctx context.Context, limit int, after string) (api.Answer, page, error) {
	query := api.Query("level", r.wanted.level, "part", r.wanted.part, "q", r.wanted.words, "limit", strconv.Itoa(limit), "after", after)
	answer, err := r.client.Call(ctx, api.Request{Path: api.Path("logs"), Query: query})
	if err != nil {
		return answer, page{}, err
	}
	got, err := api.Decode[page](answer)
	return answer, got, err
}

// show prints the newest lines.
func (r *reader) show(ctx context.Context) error {
	answer, got, err := r.page(ctx, r.wanted.limit, "")
	if err != nil {
		return err
	}
	if r.wanted.json {
		return r.screen.JSON(answer.Body)
	}
	if len(got.Lines) == 0 && !r.wanted.follow {
		return r.screen.Printf("No log lines match.")
	}
	return r.print(got.Lines)
}

// follow prints what is new, again and again. It says once that the gateway does not answer, and follows it when it has started again.
func (r *reader) follow(ctx context.Context) error {
	for away := false; ; {
		if err := pause.Wait(ctx, lookEvery); err != nil {
			return err
		}
		fresh, err := r.fresh(ctx)
		switch refused, ok := errors.AsType[*api.Error](err); {
		case err == nil:
			away, err = false, r.print(fresh)
		case ok && refused.Status < http.StatusInternalServerError, ctx.Err() != nil:
		case away:
			err = nil
		default:
			away, err = true, r.screen.Printf("%s (trying again until it answers)", terminal.Line(err.Error()))
		}
		if err != nil {
			return err
		}
	}
}

// fresh are the lines after the last one that was printed, newest first.
func (r *reader) fresh(ctx context.Context) ([]line, error) {
	var all []line
	for after := ""; ; {
		_, got, err := r.page(ctx, pageMax, after)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(got.Lines, func(l line) bool { return l.ID == r.last }); i >= 0 {
			return append(all, got.Lines[:i]...), nil
		}
		all = append(all, got.Lines...)
		if len(got.Lines) < pageMax {
			return all, nil
		}
		after = all[len(all)-1].ID
	}
}

// print prints lines that come newest first.
func (r *reader) print(lines []line) error {
	for _, l := range slices.Backward(lines) {
		parts := []string{l.At.Local().Format(time.DateTime), strings.ToUpper(l.Level), l.Text}
		for _, f := range l.Fields {
			parts = append(parts, f.Name+"="+f.Value)
		}
		for i := range parts {
			parts[i] = terminal.Line(parts[i])
		}
		if err := r.screen.Printf("%s", strings.Join(parts, "  ")); err != nil {
			return err
		}
		r.last = l.ID
	}
	return nil
}
