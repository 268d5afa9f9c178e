package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// auditEntry is the API's entry of the audit trail.
type auditEntry struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action string          `json:"action"`
	Object string          `json:"object"`
	Detail json.RawMessage `json:"detail"`
}

// auditReport is what the API says of the whole trail.
type auditReport struct {
	OK      bool     `json:"ok"`
	Entries int      `json:"entries"`
	Heads   []string `json:"heads"`
	Faults  []struct {
		Chain int    `json:"chain"`
		Seq   int64  `json:"seq"`
		Kind  string `json:"kind"`
		Text  string `json:"text"`
	} `json:"faults"`
}

func (a *app) auditCommand() *cobra.Command {
	return group("audit", "What was done by whom", a.auditList(), a.auditVerify())
}

// auditFilter is which entries are asked for.
type auditFilter struct {
	action, actor, session, since, after string
	limit                                int
}

func (f *auditFilter) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.action, "action", "", "only this `action`, for example delivery.block")
	cmd.Flags().StringVar(&f.actor, "actor", "", "only what this `one` did: operator, gateway, agent:main, telegram:1001")
	cmd.Flags().StringVar(&f.session, "session", "", "only of this session, by `key or id`")
	cmd.Flags().StringVar(&f.since, "since", "", "only from this `time` on: how long ago, for example 24h, or 2026-04-26T18:00:00Z, or a day")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "at most this `number`")
	cmd.Flags().StringVar(&f.after, "after", "", "go on after this `id`")
	return cmd
}

func (f *auditFilter) query(now time.Time) (url.Values, error) {
	since, err := sinceOf(f.since, now)
	if err != nil {
		return nil, err
	}
	return queryOf("action", f.action, "actor", f.actor, "session", f.session, "since", since, "limit", strconv.Itoa(f.limit), "after", f.after), nil
}

// sinceOf is a time as the API wants it, given as how long ago, as a time, or as a day.
func sinceOf(text string, now time.Time) (string, error) {
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
	return "", usageError{fmt.Sprintf("--since %q: want how long ago (24h), a time (2026-04-26T18:00:00Z) or a day (2026-04-26)", text)}
}

// auditPage is a page of the API's audit trail.
type auditPage struct {
	Entries []auditEntry `json:"entries"`
}

func (a *app) auditList() *cobra.Command {
	var o output
	var f auditFilter
	return f.flags(o.flag(&cobra.Command{
		Use: "list", Short: "List what was done, newest first", Args: cobra.NoArgs,
		RunE: ask(a, &o, func([]string) (request, error) {
			query, err := f.query(a.Now())
			return request{path: "/v1/audit", query: query}, err
		}, func(got auditPage) error { return a.printAudit(got.Entries) }),
	}))
}

func (a *app) printAudit(entries []auditEntry) error {
	return list(a, []string{"AT", "ACTOR", "ACTION", "OBJECT", "DETAIL"}, entries, func(e auditEntry) []string {
		return []string{e.At.Format(time.RFC3339), e.Actor, e.Action, e.Object, short(string(e.Detail))}
	})
}

func (a *app) auditVerify() *cobra.Command {
	var o output
	var heads []string
	cmd := o.flag(&cobra.Command{
		Use: "verify", Short: "Check that no entry was changed, removed, moved or put in",
		Long: `Reads the whole audit trail and checks that no entry was changed, removed, moved
or put in. It prints the newest entry of each chain as CHAIN:SEQ:HASH. Keep these
where the database's administrator can't change them, and give them back with
--head later: only so it shows when all hashes were made anew, or the newest entries
and what the database knows of them were removed together.`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			// It may take longer than other calls: the trail is as long as it is.
			raw, err := c.read(ctx, request{path: "/v1/audit/verify", query: url.Values{"head": heads}})
			if err != nil {
				return err
			}
			var got auditReport
			if err := json.Unmarshal(raw, &got); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			if err := o.show(a, raw, func() error { return a.printReport(got) }); err != nil || got.OK {
				return err
			}
			return errReported
		}),
	})
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a `CHAIN:SEQ:HASH` kept before, which must still be there; may be repeated")
	return cmd
}

func (a *app) printReport(r auditReport) error {
	for _, head := range r.Heads {
		if _, err := fmt.Fprintln(a.Stdout, clean(head)); err != nil {
			return err
		}
	}
	for _, f := range r.Faults {
		if _, err := fmt.Fprintf(a.Stdout, "BROKEN chain %d, entry %d (%s): %s\n", f.Chain, f.Seq, clean(f.Kind), clean(f.Text)); err != nil {
			return err
		}
	}
	verdict := "all as they were written"
	if !r.OK {
		verdict = plural(len(r.Faults), "fault", "faults") + ": keep a copy of the database, and see who could write to it"
	}
	_, err := fmt.Fprintf(a.Stdout, "%s, %s\n", plural(r.Entries, "entry", "entries"), verdict)
	return err
}
