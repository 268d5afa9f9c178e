// Package policies shows the policy as a whole: what may be sent where, which rules there are and how often each has
// applied, which level may go to which channel, and what a proposed policy would have decided differently.
package policies

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/backtest"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

const (
	// sessionsMax is how many sessions are searched for those with a send policy of their own, and sessionsShown how many
	// rows there are at most.
	sessionsMax, sessionsShown = 200, 20
	// rowsMax is how many deliveries, and how many entries of the audit trail, are counted.
	rowsMax = 2000
	// countMax is where counting stops.
	countMax = 1000
)

// Checker says what the gate would decide about a message.
type Checker interface {
	CheckPolicy(ctx context.Context, c outbound.Check) (policy.Decision, error)
}

// Past tries a proposed policy against what is stored.
type Past interface {
	// Channels are those that messages can be sent through.
	Channels() []string
	Try(ctx context.Context, most flow.Level, since time.Time, p policy.Proposal) (backtest.Report, error)
}

// Rows reads what the policy is about.
type Rows interface {
	ListSessions(ctx context.Context, q ledger.SessionQuery) ([]sessions.Record, error)
	ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error)
	ListAudit(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditRecord, error)
}

// API serves the policy. All fields are required.
type API struct {
	Visible *view.Visibility
	Checker Checker
	Rules   func() []policy.ListedRule
	Parse   func(text string) (policy.Proposal, error)
	Past    Past
	Rows    Rows
}

type policyCell struct {
	Channel  string        `json:"channel"`
	ChatType string        `json:"chat_type" enum:"direct,group,channel"`
	Action   policy.Action `json:"action" enum:"allow,block,hold,redact"`
	Rule     string        `json:"rule" doc:"the rule that decides"`
	Reason   string        `json:"reason"`
	Except   []string      `json:"except" doc:"rules that may decide differently for some conversations, agents or texts"`
}

type matrixRow struct {
	Session sessions.ID         `json:"session,omitempty" doc:"absent: any session without a send policy of its own"`
	Key     sessions.Key        `json:"key,omitempty"`
	Policy  sessions.SendPolicy `json:"send_policy,omitempty" doc:"the session's own: allow (/send on) or deny (/send off)"`
	Level   string              `json:"level" doc:"of the tested text: what the session has learned"`
	Cells   []policyCell        `json:"cells"`
}

type appliedRecord struct {
	Count int        `json:"count"`
	More  bool       `json:"more,omitempty" doc:"at least that often"`
	Last  *time.Time `json:"last,omitempty"`
}

type ruleRecord struct {
	Rule    string            `json:"rule" doc:"as decisions name it"`
	Hook    policy.Hook       `json:"hook,omitempty" doc:"absent: a rule of the send policy"`
	Action  policy.Action     `json:"action" enum:"allow,block,hold,redact"`
	When    string            `json:"when,omitempty"`
	Tools   []string          `json:"tools,omitempty"`
	Match   map[string]string `json:"match,omitempty" doc:"conditions of a rule of the send policy"`
	Message string            `json:"message,omitempty"`
	Fired   appliedRecord     `json:"fired" doc:"how often it has applied in the counted decisions"`
}

type flowRecord struct {
	Channel string `json:"channel"`
	Level   string `json:"level" doc:"the highest level that may be sent there; its accounts, groups and people may have lower ones"`
}

type lookedRecord struct {
	Entries int        `json:"entries" doc:"the number of counted decisions, the newest ones"`
	Since   *time.Time `json:"since,omitempty" doc:"the oldest counted decision"`
	More    bool       `json:"more,omitempty" doc:"older decisions exist"`
}

type policyRecord struct {
	Matrix   []matrixRow  `json:"matrix" doc:"any session, and at most 20 sessions with a send policy of their own"`
	Rules    []ruleRecord `json:"rules"`
	Looked   lookedRecord `json:"looked"`
	Channels []flowRecord `json:"channels" doc:"which level may go to which channel"`
}

// Get answers with the policy as the caller may see it.
func (a *API) Get(ctx context.Context, in *struct {
	Channel string `query:"channel" maxLength:"64" doc:"only this channel"`
	Rule    string `query:"rule" maxLength:"200" doc:"only rules whose names contain this, and rows of the matrix that such a rule decides"`
	Session string `query:"session" maxLength:"512" doc:"key or id of a session that gets a row"`
},
) (*wire.Body[policyRecord], error) {
	out := policyRecord{Matrix: []matrixRow{}, Rules: []ruleRecord{}, Channels: []flowRecord{}}
	var channels []string
	for _, c := range a.Past.Channels() {
		if (in.Channel == "" || in.Channel == c) && a.Visible.ChannelSeen(ctx, c, "") {
			channels = append(channels, c)
			out.Channels = append(out.Channels, flowRecord{c, a.Visible.ChannelLevel(c, "").String()})
		}
	}
	rules := a.seen(ctx, a.Rules(), in.Channel)
	if err := a.matrix(ctx, &out, channels, rules, in.Session); err != nil {
		return nil, err
	}
	if err := view.NeedOperator(ctx); err == nil {
		if err := a.rules(ctx, &out, rules, in.Rule); err != nil {
			return nil, err
		}
	}
	if in.Rule != "" {
		out.Matrix = slices.DeleteFunc(out.Matrix, func(r matrixRow) bool {
			return !slices.ContainsFunc(r.Cells, func(c policyCell) bool { return strings.Contains(c.Rule, in.Rule) })
		})
	}
	return wire.NewBody(out), nil
}

// seen returns the rules that the caller may see: rules for a channel above its level are left out.
func (a *API) seen(ctx context.Context, all []policy.ListedRule, channel string) []policy.ListedRule {
	return slices.DeleteFunc(all, func(r policy.ListedRule) bool {
		return r.Match != nil && r.Match.Channel != "" &&
			(!a.Visible.ChannelSeen(ctx, strings.ToLower(r.Match.Channel), r.Match.Account) || channel != "" && !strings.EqualFold(channel, r.Match.Channel))
	})
}

// matrix adds a row for any session, and one for each session with a send policy of its own.
func (a *API) matrix(ctx context.Context, out *policyRecord, channels []string, rules []policy.ListedRule, named string) error {
	records := []sessions.Record{{}}
	if named != "" {
		record, err := a.Visible.Session(ctx, named)
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	newest, err := a.Rows.ListSessions(ctx, ledger.SessionQuery{MaxLevel: auth.CallerOf(ctx).Level, Limit: sessionsMax})
	if err != nil {
		return err
	}
	for _, r := range newest {
		if r.SendPolicy != sessions.SendInherit && len(records) < sessionsShown && (len(records) < 2 || records[1].ID != r.ID) {
			records = append(records, r)
		}
	}
	for _, r := range records {
		row, err := a.row(ctx, r, channels, rules)
		if err != nil {
			return err
		}
		out.Matrix = append(out.Matrix, row)
	}
	return nil
}

func (a *API) row(ctx context.Context, record sessions.Record, channels []string, rules []policy.ListedRule) (matrixRow, error) {
	row := matrixRow{Session: record.ID, Key: record.Key, Policy: record.SendPolicy, Level: flow.Public.String(), Cells: []policyCell{}}
	if record.ID != "" {
		row.Level = record.Taint.String()
	}
	for _, channel := range channels {
		for _, chat := range []sessions.ChatType{sessions.Direct, sessions.Group, sessions.Channel} {
			d, err := a.Checker.CheckPolicy(ctx, outbound.Check{Channel: channel, ChatType: chat, Session: string(record.ID), Reader: auth.CallerOf(ctx).Level})
			if err != nil {
				return row, err
			}
			row.Cells = append(row.Cells, policyCell{channel, string(chat), d.Action, decider(d), d.Reason, narrower(rules, channel, chat)})
		}
	}
	return row, nil
}

// decider returns the rule that has decided: the last match with the decision's action.
func decider(d policy.Decision) string {
	for _, r := range slices.Backward(d.Rules) {
		if r.Matched && r.Action == d.Action {
			return r.Rule
		}
	}
	return ""
}

// narrower returns the rules that may decide differently about some texts of a kind of chat.
func narrower(rules []policy.ListedRule, channel string, chat sessions.ChatType) []string {
	names := []string{}
	for _, r := range rules {
		switch m := r.Match; {
		case m != nil && r.Narrow() && (m.Channel == "" || strings.EqualFold(m.Channel, channel)) && (m.ChatType == "" || m.ChatType == string(chat)),
			m == nil && r.Rule.Hook == policy.PreOutput:
			names = append(names, r.Name)
		}
	}
	return names
}

// rules adds the rules with how often each has applied.
func (a *API) rules(ctx context.Context, out *policyRecord, rules []policy.ListedRule, part string) error {
	counts, err := a.counts(ctx, &out.Looked)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if !strings.Contains(r.Name, part) {
			continue
		}
		record := ruleRecord{Rule: r.Name, Hook: r.Rule.Hook, Action: r.Action, When: r.Rule.When, Tools: r.Rule.Tools, Message: r.Rule.Message}
		if r.Match != nil {
			record.Match = matchOf(*r.Match)
		}
		if n, known := counts[r.Name]; known {
			record.Fired = *n
		}
		out.Rules = append(out.Rules, record)
	}
	return nil
}

func matchOf(m policy.SendMatch) map[string]string {
	all := map[string]string{
		"channel": m.Channel, "chatType": m.ChatType, "account": m.Account, "to": m.To, "thread": m.Thread, "agent": m.Agent, "kind": m.Kind,
		"keyPrefix": m.KeyPrefix, "rawKeyPrefix": m.RawKeyPrefix,
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}

// counts returns how often each rule has applied: in the newest deliveries, which have their decisions, and for all other
// decisions in the newest entries of the audit trail.
func (a *API) counts(ctx context.Context, l *lookedRecord) (map[string]*appliedRecord, error) {
	counts, level := map[string]*appliedRecord{}, auth.CallerOf(ctx).Level
	note := func(rules []policy.CheckResult, at time.Time) {
		if len(rules) == 0 {
			return
		}
		if l.Entries++; l.Since == nil || at.Before(*l.Since) {
			l.Since = view.Optional(at.UTC())
		}
		for _, r := range rules {
			if r.Matched {
				count(counts, r.Rule, at)
			}
		}
	}
	deliveries, audit := ledger.Query{MaxLevel: level, Limit: ledger.MaxPage}, ledger.AuditQuery{MaxLevel: level, Limit: ledger.MaxPage}
	more, err := pages(func() (n int, err error) {
		rows, err := a.Rows.ListDeliveries(ctx, deliveries)
		for _, d := range rows {
			if deliveries.After = string(d.ID); d.Decision != nil {
				note(d.Decision.Rules, d.Created)
			}
		}
		return len(rows), err
	})
	if err != nil {
		return nil, err
	}
	l.More = more
	more, err = pages(func() (n int, err error) {
		rows, err := a.Rows.ListAudit(ctx, audit)
		for _, e := range rows {
			if audit.After = e.ID; !strings.HasPrefix(e.Action, "delivery.") {
				note(decided(e.Detail), e.At)
			}
		}
		return len(rows), err
	})
	l.More = l.More || more
	return counts, err
}

// pages reads pages up to the last one or to rowsMax; more says that there are further pages.
func pages(read func() (int, error)) (more bool, err error) {
	for rows := 0; rows < rowsMax; rows += ledger.MaxPage {
		n, err := read()
		if err != nil || n < ledger.MaxPage {
			return false, err
		}
	}
	return true, nil
}

func count(counts map[string]*appliedRecord, rule string, at time.Time) {
	n := counts[rule]
	if n == nil {
		n = &appliedRecord{}
		counts[rule] = n
	}
	if n.Last == nil || at.After(*n.Last) {
		n.Last = view.Optional(at.UTC())
	}
	if n.More = n.Count >= countMax; !n.More {
		n.Count++
	}
}

// decided returns the rules of the decision in an audit entry.
func decided(detail any) []policy.CheckResult {
	raw, err := json.Marshal(detail)
	if err != nil {
		return nil
	}
	var d struct {
		Rules    []policy.CheckResult `json:"rules"`
		Decision struct {
			Rules []policy.CheckResult `json:"rules"`
		} `json:"decision"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return nil // the entry has no decision
	}
	return append(d.Rules, d.Decision.Rules...)
}
