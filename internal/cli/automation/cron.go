package automation

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/cron"
)

func cronCommand(d Deps) *cobra.Command {
	g := d.Deps
	return command.Group("cron", "Work with jobs and schedules",
		jobsList(g), jobsShow(g), jobsAdd(g), jobsUpdate(g),
		jobsPost(g, "pause", "Pause a job: its times neither fire nor count as missed", "is paused"),
		jobsPost(g, "resume", "End the pause of a job", "is resumed"),
		jobsRun(g), jobsRemove(g), jobsHistory(g), cronNext(d))
}

// instantsMax is how many instants one command prints at most.
const instantsMax = 1000

func cronNext(d Deps) *cobra.Command {
	var f struct {
		zone, from string
		count      int
		asJSON     bool
	}
	cmd := &cobra.Command{
		Use: "next EXPR", Short: "Show when a cron expression is due", Args: command.Args(1, 1),
		Long: `Show the next times that a cron expression names, without a gateway.

An expression has 5 fields: minute, hour, day, month, weekday; or 6 with seconds
in front. Put it in quotes. Each field is *, a value, a name (mon,
jan), a range (1-5), a step (*/15) or a list of them (1,15). Days of the month
may also be L (the last), L-2 (two days before it), 15W (the working day nearest
to the 15th) and LW (the last working day); weekdays 5L (the last Friday) and 5#2
(the second Friday). If both fields of days are given, either may match; a field
that begins with * only narrows the other. @hourly, @daily, @weekly, @monthly and
@yearly stand for an expression.

A time that a clock change skips means the first instant after the change. A time
that occurs twice means the first occurrence.`,
		RunE: d.Run(func(_ context.Context, args []string) error {
			if f.count < 1 || f.count > instantsMax {
				return terminal.Usagef("--count %d: use 1 to %d", f.count, instantsMax)
			}
			s, from, err := readSchedule(d.Now(), args[0], f.zone, f.from)
			if err != nil {
				return terminal.UsageError{Text: err.Error()}
			}
			times := []string{}
			for range f.count {
				if from = s.Next(from); from.IsZero() {
					break
				}
				times = append(times, from.Format(time.RFC3339))
			}
			if !f.asJSON && len(times) == 0 {
				return nil
			}
			return d.Screen.Result(f.asJSON, map[string]any{"times": times}, strings.Join(times, "\n"))
		}),
	}
	cmd.Flags().StringVar(&f.zone, "timezone", "", "the `zone` of the times, for example Europe/Berlin (default: this machine's)")
	cmd.Flags().StringVar(&f.from, "from", "", "show what comes after this `time`, for example 2027-03-13 or 2027-03-13T18:00 (default: now)")
	cmd.Flags().IntVar(&f.count, "count", 5, "how many `times` to show")
	return command.ResultJSON(cmd, &f.asJSON)
}

// readSchedule reads an expression with the time after which it is asked for.
func readSchedule(now time.Time, expr, zone, from string) (cron.Schedule, time.Time, error) {
	s := cron.Schedule{Zone: cmp.Or(now.Location(), time.UTC)}
	var err error
	if s.Cron, err = cron.Parse(expr); err != nil {
		return s, now, err
	}
	if zone != "" {
		if s.Zone, err = cron.LoadZone(zone); err != nil {
			return s, now, err
		}
	}
	if from != "" {
		now, err = cron.ParseTime(from, s.Zone)
	}
	return s, now, err
}
