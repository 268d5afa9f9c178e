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
	Run      sessions.RunID    `json:"run"`
	Key      string            `json:"key"`    // of an alert
	Event    string            `json:"event"`  // the platform's event that caused it: a command in a chat, or another message
	Answer   ledger.DeliveryID `json:"answer"` // of the gateway to that event
	Again    ledger.DeliveryID `json:"again"`  // the delivery that repeats an attempt whose response was lost
	Reason   string            `json:"reason"`
	Error    string            `json:"error"`  // of a run that failed
	Text     string            `json:"detail"` // of an exchange that ended
	From     string            `json:"from"`   // level before and after
	To       string            `json:"to"`
	Decision *policy.Decision  `json:"decision"`
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
	if err := c.said(e); err != nil {
		return err
	}
	c.place(e)
	return nil
}

// said adds the message that caused an entry: mostly a command in a chat. Commands are in no transcript, so the step leads to the
// gateway's answer, if the caller may see it.
func (c *chain) said(e *ledger.AuditRecord) error {
	d := detailOf(e.Detail)
	if d.Event == "" {
		return nil
	}
	s := step{Step: "heard", At: &e.At, State: ok, Text: e.Actor + " caused it with a message.", Facts: []fact{{"event", d.Event}}, Label: e.Label.String()}
	if d.Answer != "" {
		answer, err := c.Rows.Delivery(c.ctx, d.Answer)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
		visible, seenErr := c.seen(answer.Label, answer.Session)
		if seenErr != nil {
			return seenErr
		}
		if err == nil && visible {
			s.Text, s.Object = e.Actor+" caused it with a command in "+placeOf(answer.Route)+", which the gateway answered.", &object{"delivery", string(d.Answer)}
		}
	}
	c.insert(s)
	return nil
}

// place puts an entry into the chain at its time, unless the chain has it.
func (c *chain) place(e *ledger.AuditRecord) {
	s := recorded(e)
	s.Facts = []fact{{"actor", e.Actor}}
	if e.Session != "" {
		s.Object = &object{"session", string(e.Session)}
	}
	c.insert(s)
}

// insert puts a step into the chain at its time, unless the chain has it.
func (c *chain) insert(s step) {
	if slices.ContainsFunc(c.out.Steps, func(other step) bool {
		return other.Step == s.Step && other.Text == s.Text && other.At != nil && other.At.Equal(*s.At)
	}) {
		return
	}
	at := slices.IndexFunc(c.out.Steps, func(other step) bool { return other.At != nil && other.At.After(*s.At) })
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
	case slices.ContainsFunc([]string{"dlv_", "run_", "apr_", "xch_", memoryPrefix, jobPrefix, "hook/"}, func(prefix string) bool { return strings.HasPrefix(e.Object, prefix) }):
		return c.explain(e.Object, "")
	}
	return wire.ErrNotFound
}
