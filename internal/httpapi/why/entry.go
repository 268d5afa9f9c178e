package why

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/router/ledger"
	"sluice/sessions"
)

// entryPrefix stands before the id of an entry of the audit trail.
const entryPrefix = "aud_"

// entrySteps are the steps of a run that the audit trail records, by the first word of the entry's action.
var entrySteps = map[string]string{"session": "learnt", "input": "admitted", "invocation": "run", "model": "run", "tool": "tool"}

// entryDetail is what the details of entries say about their cause.
type entryDetail struct {
	Run      sessions.RunID   `json:"run"`
	Key      string           `json:"key"` // of an alert
	Reason   string           `json:"reason"`
	Error    string           `json:"error"`  // of a run that failed
	Text     string           `json:"detail"` // of an exchange that ended
	From     string           `json:"from"`   // level before and after
	To       string           `json:"to"`
	Decision *policy.Decision `json:"decision"`
}

func detailOf(detail any) (d entryDetail) {
	if raw, isJSON := detail.(json.RawMessage); isJSON {
		_ = json.Unmarshal(raw, &d) // a detail of another form says nothing about the cause
	}
	return d
}

// decisionOf is the decision in the detail of an entry, if it has one with a reason.
func decisionOf(detail any) (policy.Decision, bool) {
	var d policy.Decision
	if nested := detailOf(detail).Decision; nested != nil {
		d = *nested
	} else if raw, isJSON := detail.(json.RawMessage); !isJSON || json.Unmarshal(raw, &d) != nil {
		return policy.Decision{}, false
	}
	return d, d.Reason != ""
}

// recorded is the step that an entry of the audit trail stands for.
func recorded(e *ledger.AuditRecord) step {
	area, _, _ := strings.Cut(e.Action, ".")
	s := step{Step: cmp.Or(entrySteps[area], "recorded"), At: &e.At, State: ok, Text: strings.TrimSpace(e.Action + " " + e.Object), Label: e.Label.String()}
	if s.Step == "recorded" {
		s.Text += ", by " + e.Actor
	}
	d, decided := decisionOf(e.Detail)
	if !decided {
		return s
	}
	s.Text, s.Rules = s.Text+": "+d.Reason, d.Rules
	switch d.Action {
	case policy.Block:
		s.State = stopped
	case policy.Hold:
		s.State = waits
	case policy.Allow, policy.Redact:
	}
	return s
}

// entry explains an entry of the audit trail by what it is about, as far as that was stored with it.
func (c *chain) entry(id string) error {
	if !strings.Contains(id, "-") || !auth.CallerOf(c.ctx).SeesAll() {
		// Callers who do not see everything get sealed ids. A plain id contains the entry's hash, and a caller who could try hashes
		// would learn about the entries before it.
		id = c.Cursors.OpenEntry(id)
	}
	found, err := c.Rows.ListAudit(c.ctx, ledger.AuditQuery{ID: id, MaxLevel: auth.CallerOf(c.ctx).Level, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return wire.ErrNotFound
	}
	e := &found[0]
	if err := c.subject(e); err != nil && !errors.Is(err, wire.ErrNotFound) {
		return err
	}
	_, verb, _ := strings.Cut(e.Action, ".")
	c.out.Kind, c.out.Status, c.out.Title = "entry", cmp.Or(verb, e.Action), strings.TrimSpace(e.Action+" "+e.Object)
	c.out.Answer = entryCause(e)
	c.place(e)
	return nil
}

// place puts an entry into the chain at its time, unless the chain has it.
func (c *chain) place(e *ledger.AuditRecord) {
	s := recorded(e)
	if slices.ContainsFunc(c.out.Steps, func(other step) bool {
		return other.Step == s.Step && other.Text == s.Text && other.At != nil && other.At.Equal(e.At)
	}) {
		return
	}
	s.Facts = []fact{{"actor", e.Actor}}
	if e.Session != "" {
		s.Object = &object{"session", string(e.Session)}
	}
	at := slices.IndexFunc(c.out.Steps, func(other step) bool { return other.At != nil && other.At.After(e.At) })
	if at < 0 {
		at = len(c.out.Steps)
	}
	c.out.Steps = slices.Insert(c.out.Steps, at, s)
}

// subject explains what an entry is about. [wire.ErrNotFound] means that it names nothing that is kept and that the caller may see.
func (c *chain) subject(e *ledger.AuditRecord) error {
	detail := detailOf(e.Detail)
	switch area, _, _ := strings.Cut(e.Action, "."); {
	case detail.Run != "":
		return c.ranOf(detail.Run)
	case area == "alert":
		return c.alert(cmp.Or(detail.Key, e.Object))
	case area == "cron" && !strings.HasPrefix(e.Object, jobPrefix):
		return c.job(jobPrefix + e.Object)
	case slices.ContainsFunc([]string{"dlv_", "run_", "apr_", "xch_", jobPrefix, "hook/"}, func(prefix string) bool { return strings.HasPrefix(e.Object, prefix) }):
		return c.explain(e.Object, "")
	}
	return wire.ErrNotFound
}
