package views

import (
	"context"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/store/engine"
)

// Count counts the rows of a table that a filter selects, at most limit.
func Count(ctx context.Context, c *engine.Conn, table string, f engine.Filter, limit int) (n int, err error) {
	err = c.One(ctx, `SELECT count(*) FROM (SELECT 1 FROM `+table+f.Where()+engine.Limit(limit)+`) counted`, f.Args, &n)
	return n, err
}

// CountRuns counts the runs that a list with the same query has, at most limit.
func CountRuns(ctx context.Context, c *engine.Conn, q ledger.Query, f engine.Filter, limit int) (int, error) {
	runFilter(&f, &q)
	return runs().count(ctx, c, &q, f, limit)
}

// CountDeliveries is [CountRuns] for deliveries.
func CountDeliveries(ctx context.Context, c *engine.Conn, q ledger.Query, f engine.Filter, limit int) (int, error) {
	deliveryFilter(&f, &q)
	return deliveries().count(ctx, c, &q, f, limit)
}

func (l list) count(ctx context.Context, c *engine.Conn, q *ledger.Query, f engine.Filter, limit int) (int, error) {
	if _, err := l.period(ctx, c, &f, q); err != nil {
		return 0, err
	}
	return Count(ctx, c, l.table, f, limit)
}

// SessionFilter adds the filters of a query that no index serves.
func SessionFilter(f *engine.Filter, q *ledger.SessionQuery) {
	f.AddIf(q.Channel != "", `route LIKE ? ESCAPE '\'`, contains(jsonField("channel", q.Channel)))
	if q.Text != "" && !flow.CanFlow(flow.Restricted, q.MaxLevel) { // titles and labels have levels of their own
		f.Add(`lower(skey) LIKE lower(?) ESCAPE '\'`, contains(q.Text))
	} else if q.Text != "" {
		part := contains(q.Text)
		f.Add(`(lower(title) LIKE lower(?) ESCAPE '\' OR lower(label) LIKE lower(?) ESCAPE '\' OR lower(skey) LIKE lower(?) ESCAPE '\')`, part, part, part)
	}
	if like := kindPatterns()[q.Kind]; q.Kind != "" {
		f.Add(`skey LIKE ? ESCAPE '\'`, like)
		f.AddIf(q.Kind == "group" || q.Kind == "channel", `skey NOT LIKE '%:thread:%' AND skey NOT LIKE '%:topic:%'`)
	}
}

// kindPatterns are the patterns of the keys of each kind of session.
func kindPatterns() map[string]string {
	return map[string]string{
		"main": `agent:%:main`, "direct": `agent:%:direct:%`, "group": `agent:%:group:%`, "channel": `agent:%:channel:%`,
		"cron": `%cron:%`, "hook": `%hook:%`, "node": `%node-%`, "subagent": `agent:%:subagent:%`, "api": `agent:%:http:%`,
	}
}
