package views

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
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
	switch q.Kind {
	case "":
	case "main":
		f.Add(mainKey)
	case "group", "channel":
		f.Add(chatKey(q.Kind) + ` AND skey NOT LIKE '%:thread:%' AND skey NOT LIKE '%:topic:%'`)
	case "direct":
		f.Add(`skey LIKE 'agent:%:direct:%' AND NOT (` + groupKey + `)`)
	default:
		f.Add(cmp.Or(otherKinds()[q.Kind], `1 = 0`))
	}
}

// mainKey is a condition: the key is a main session's. Only these end after the agent and one word, which the configuration chooses.
const mainKey = `(skey LIKE 'agent:%:%' AND skey NOT LIKE 'agent:%:%:%')`

// Parts of a key: afterAgent is what follows the agent, and afterChannel what follows the channel, both with their colon. Ids of
// people and chats may have any word and colon, so a pattern of the whole key does not tell which part is which.
const (
	word         = `'abcdefghijklmnopqrstuvwxyz0123456789_-'`
	afterAgent   = `ltrim(substr(ltrim(skey, ` + word + `), 2), ` + word + `)`
	afterChannel = `ltrim(substr(` + afterAgent + `, 2), ` + word + `)`
)

// chatKey is a condition: the key is that of a chat of a type, group or channel.
func chatKey(chat string) string {
	begin := `:` + chat + `:`
	return `(skey LIKE 'agent:%:%` + begin + `%' AND substr(` + afterChannel + `, 1, ` + strconv.Itoa(len(begin)) + `) = '` + begin + `' AND substr(` + afterAgent + `, 1, 8) <> ':direct:')`
}

var groupKey = `(` + chatKey("group") + ` OR ` + chatKey("channel") + `)`

// kindsFilter selects the sessions of some kinds, as [sessions.Key.Kind] names them.
func kindsFilter(f *engine.Filter, kinds []sessions.KeyKind) {
	if len(kinds) == 0 {
		return
	}
	named := map[sessions.KeyKind]string{
		sessions.KindMain: mainKey, sessions.KindGroup: groupKey,
		sessions.KindCron: cronKey, sessions.KindHook: hookKey, sessions.KindNode: nodeKey,
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

// Conditions: the key is that of a job, a hook or a node.
const (
	cronKey = `skey LIKE 'cron:%'`
	hookKey = `skey LIKE 'hook:%'`
	nodeKey = `skey LIKE 'node-%'`
)

// otherKinds are the conditions of the kinds of sessions that are not chats.
func otherKinds() map[string]string {
	return map[string]string{"cron": cronKey, "hook": hookKey, "node": nodeKey, "subagent": wordAfterAgent("subagent"), "api": wordAfterAgent("http")}
}

// wordAfterAgent is a condition: the word follows the agent in the key.
func wordAfterAgent(word string) string {
	begin := `:` + word + `:`
	return `(skey LIKE 'agent:%` + begin + `%' AND substr(` + afterAgent + `, 1, ` + strconv.Itoa(len(begin)) + `) = '` + begin + `')`
}
