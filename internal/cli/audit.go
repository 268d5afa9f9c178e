package cli

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func auditCommand(g command.Deps) *cobra.Command {
	return command.Group("audit", "Who did what", auditList(g), auditVerify(g))
}

// auditFilter chooses entries.
type auditFilter struct {
	action, actor, object, session, level, since, until, after string
	limit                                                      int
}

func (f *auditFilter) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.action, "action", "", "show only this `action`, for example delivery.block")
	cmd.Flags().StringVar(&f.actor, "actor", "", "show only this `actor`: operator, gateway, agent:main, telegram:1001")
	cmd.Flags().StringVar(&f.object, "object", "", "show only entries about this `object`, for example dlv_1")
	cmd.Flags().StringVar(&f.level, "level", "", "show only entries of this `level`: PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED")
	cmd.Flags().StringVar(&f.session, "session", "", "show only this session, by `key` or ID")
	cmd.Flags().StringVar(&f.since, "since", "", "show only entries since this `time`: an age such as 24h, 2026-04-26T18:00:00Z, or a day")
	cmd.Flags().StringVar(&f.until, "until", "", "show only entries before this `time`, written as for --since")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "show at most this `number` of entries")
	cmd.Flags().StringVar(&f.after, "after", "", "show the entries after this `ID`, from the end of the previous page")
	return cmd
}

func (f *auditFilter) query(now time.Time) (url.Values, error) {
	since, err := timeOf("since", f.since, now)
	if err != nil {
		return nil, err
	}
	until, err := timeOf("until", f.until, now)
	if err != nil {
		return nil, err
	}
	return api.Query("action", f.action, "actor", f.actor, "object", f.object, "session", f.session, "level", strings.ToUpper(f.level), "since", since, "until", until, "limit", strconv.Itoa(f.limit), "after", f.after), nil
}

// timeOf is a time for the API, given to a flag as an age, a time or a day.
func timeOf(flag, text string, now time.Time) (string, error) {
	if text == "" {
		return "", nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC().Format(time.RFC3339), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at.UTC().Format(time.RFC3339), nil
		}
	}
	return "", terminal.Usagef("--%s %q: use an age (24h), a time (2026-04-26T18:00:00Z) or a day (2026-04-26)", flag, text)
}

func auditList(g command.Deps) *cobra.Command {
	var f auditFilter
	return f.add(command.Asking(g, &cobra.Command{Use: "list", Short: "List audit entries, newest first", Args: command.Args(0, 0)}, func([]string) (api.Request, error) {
		query, err := f.query(g.Screen.Now())
		return api.Request{Path: "/v1/audit", Query: query}, err
	}, printAudit))
}

func printAudit(s terminal.Screen, got api.AuditPage) error {
	return terminal.List(s, "No audit entries found.", []string{"AT", "ACTOR", "ACTION", "OBJECT", "DETAIL"}, got.Entries, func(e api.AuditEntry) []string {
		return []string{e.At.Format(time.RFC3339), e.Actor, e.Action, e.Object, terminal.Short(string(e.Detail))}
	})
}

func auditVerify(g command.Deps) *cobra.Command {
	var asJSON bool
	var heads []string
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that no audit entry was changed, removed, moved or inserted",
		Long: `Read the whole audit trail and check that no entry was changed, removed, moved or
inserted. The newest entry of each chain is printed as CHAIN:SEQ:HASH.

Keep these heads where the database's administrator can't change them, and pass
them with --head the next time. Only a kept head reveals that all hashes were
recomputed, or that the newest entries were removed together with the database's
record of them.`,
		Args: command.Args(0, 0),
		RunE: g.Run(func(ctx context.Context, _ []string) error {
			c, err := g.Connect()
			if err != nil {
				return err
			}
			answer, err := c.CallSlowly(ctx, api.Request{Path: "/v1/audit/verify", Query: url.Values{"head": heads}})
			if err != nil {
				return err
			}
			if err := command.Present(g.Screen, answer, asJSON, printReport); err != nil {
				return err
			}
			if got, err := api.Decode[api.AuditReport](answer); err != nil || !got.OK {
				return terminal.ErrReported
			}
			return nil
		}),
	}
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a kept `CHAIN:SEQ:HASH` that must still exist; repeatable")
	return command.JSON(cmd, &asJSON)
}

func printReport(s terminal.Screen, r api.AuditReport) error {
	for _, head := range r.Heads {
		if err := s.Printf("%s", terminal.Line(head)); err != nil {
			return err
		}
	}
	for _, f := range r.Faults {
		if err := s.Printf("BROKEN chain %d, entry %d (%s): %s", f.Chain, f.Seq, terminal.Line(f.Kind), terminal.Line(f.Text)); err != nil {
			return err
		}
	}
	entries := terminal.Plural(r.Entries, "entry", "entries")
	if r.OK {
		return s.Printf("%s checked: all intact", entries)
	}
	return s.Printf("%s checked: %s. Keep a copy of the database, and find out who could write to it", entries, terminal.Plural(len(r.Faults), "fault", "faults"))
}
