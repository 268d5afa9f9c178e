package views

import (
	"context"
	"maps"
	"slices"
	"strings"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
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
	kindsFilter(f, q.Kinds)
	if q.Kind == string(sessions.KindMain) {
		f.Add(mainKey)
	} else if like := kindPatterns()[q.Kind]; q.Kind != "" {
		f.Add(`skey LIKE ? ESCAPE '\'`, like)
		f.AddIf(q.Kind == "group" || q.Kind == "channel", `skey NOT LIKE '%:thread:%' AND skey NOT LIKE '%:topic:%'`)
	}
}

// mainKey is a condition: the key is a main session's. Only these end after the agent and one word, which the configuration chooses.
const mainKey = `(skey LIKE 'agent:%:%' AND skey NOT LIKE 'agent:%:%:%')`

// kindsFilter selects the sessions of some kinds, as [sessions.Key.Kind] names them.
func kindsFilter(f *engine.Filter, kinds []sessions.KeyKind) {
	if len(kinds) == 0 {
		return
	}
	named := map[sessions.KeyKind]string{
		sessions.KindMain: mainKey, sessions.KindGroup: `(skey LIKE 'agent:%:%:group:%' OR skey LIKE 'agent:%:%:channel:%')`,
		sessions.KindCron: `skey LIKE 'cron:%'`, sessions.KindHook: `skey LIKE 'hook:%'`, sessions.KindNode: `skey LIKE 'node-%'`,
	}
	var terms []string
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) { // databases bound the depth of a condition
		term := named[kind]
		if kind == sessions.KindOther {
			term = `NOT (` + strings.Join(slices.Sorted(maps.Values(named)), ` OR `) + `)`
		}
		terms = append(terms, term)
	}
	f.Add(`(` + strings.Join(terms, ` OR `) + `)`)
}

// kindPatterns are the patterns of the keys of each kind of session.
func kindPatterns() map[string]string {
	return map[string]string{
		"direct": `agent:%:direct:%`, "group": `agent:%:group:%`, "channel": `agent:%:channel:%`,
		"cron": `%cron:%`, "hook": `%hook:%`, "node": `%node-%`, "subagent": `agent:%:subagent:%`, "api": `agent:%:http:%`,
	}
}
