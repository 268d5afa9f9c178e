package why

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/policy"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/sessions"
)

// entriesMax is how many entries of the audit trail are read for one run.
const entriesMax = 200

func itoa(n int) string { return strconv.Itoa(n) }

// placeOf names a conversation for people.
func placeOf(r sessions.Route) string {
	name := cmp.Or(r.Title, string(r.Conversation))
	return strings.TrimSpace(r.Channel + " " + string(r.ChatType) + " " + name)
}

// causes are what runs without a message are for.
var causes = map[sessions.RunKind]string{
	sessions.KindAsk:      "the request of another session",
	sessions.KindReply:    "the reply of another session",
	sessions.KindAnnounce: "the result of an exchange",
	sessions.KindTask:     "the task of a sub-agent",
	sessions.KindReport:   "the report of a sub-agent",
	sessions.KindCommand:  "a command",
	sessions.KindNote:     "a note",
	sessions.KindTrigger:  "work that a job, a hook or another trigger caused",
}

// cause says what a run was for.
func cause(run sessions.Run) string {
	if run.Kind != sessions.KindMessage {
		return cmp.Or(causes[run.Kind], string(run.Kind))
	}
	return "a message from " + cmp.Or(run.Input.Sender.Name, string(run.Input.Sender.ID), "somebody")
}

// steps explains a run: what was heard, where, how long it waited, how it was worked, what it learnt and who was asked.
func (c *chain) steps(run sessions.Run) error {
	heard := step{Step: "heard", At: view.Optional(run.Accepted), State: ok, Text: "The gateway accepted " + cause(run) + ".", Object: &object{"run", string(run.ID)}, Label: run.Label.String()}
	if run.EventKey != "" {
		heard.Facts = append(heard.Facts, fact{"event", run.EventKey})
	}
	if who := run.Speaker(); who != "" {
		heard.Facts = append(heard.Facts, fact{"person", who})
	}
	if run.Input.Owner {
		heard.Facts = append(heard.Facts, fact{"admitted as", "owner"})
	}
	c.add(heard)
	record, err := c.Rows.Session(c.ctx, run.Session)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		c.add(step{Step: "session", State: notRecorded, Text: "The session is no longer kept.", Object: &object{"session", string(run.Session)}})
	case err != nil:
		return err
	default:
		c.add(step{Step: "session", State: ok, Text: "It belongs to " + string(record.Key) + ".", Object: &object{"session", string(run.Session)}, Label: record.Taint.String()})
	}
	c.worked(run)
	if err := c.trail(run); err != nil {
		return err
	}
	return c.asks(run.Session, func(p ledger.Approval) bool { return p.Run == run.ID && p.Delivery == "" }, run.Accepted, run.Finished)
}

// worked says how long a run waited and how it was worked.
func (c *chain) worked(run sessions.Run) {
	wait := step{Step: "waited", At: view.Optional(run.Started), State: ok, Text: "It started at once, or after the messages before it."}
	switch {
	case run.Leader != "" && run.Leader != run.ID:
		wait.Text, wait.Object = "It was handled together with an earlier message.", &object{"run", string(run.Leader)}
	case run.Status == sessions.RunDropped:
		wait.State, wait.Text = stopped, "It was dropped: the session's queue was full (session.queue.cap)."
	case run.Started.IsZero() && run.Status.Terminal():
		wait.State, wait.Text = stopped, "It ended before it started."
	case run.Started.IsZero():
		wait.State, wait.Text = waits, "It waits for its turn."
	}
	if !run.Started.IsZero() {
		wait.Took = run.Started.Sub(run.Accepted).Milliseconds()
	}
	c.add(wait)
	if run.Started.IsZero() {
		return
	}
	work := step{Step: "run", At: &run.Started, State: ok, Text: "The agent worked on it.", Object: &object{"run", string(run.ID)}}
	switch run.Status {
	case sessions.RunRunning, sessions.RunQueued:
		work.State, work.Text = waits, "The agent is working on it."
	case sessions.RunDone:
	default:
		work.State, work.Text = failed, cmp.Or(run.Error, "It ended as "+string(run.Status)+".")
	}
	if !run.Finished.IsZero() {
		work.Took = run.Finished.Sub(run.Started).Milliseconds()
	}
	work.Facts = []fact{{"tries", itoa(run.Attempts)}}
	if run.Model != "" {
		work.Facts = append(work.Facts, fact{"model", run.Model}, fact{"tokens", itoa(run.Usage.InputTokens) + " > " + itoa(run.Usage.OutputTokens)})
	}
	c.add(work)
}

// failedFor adds the reason of a failure to the step of the run. People in the conversation read less.
func (c *chain) failedFor(reason string) {
	at := slices.IndexFunc(c.out.Steps, func(s step) bool { return s.Step == "run" && s.State == failed })
	if at < 0 || reason == "" {
		return
	}
	c.out.Steps[at].Facts = append(c.out.Steps[at].Facts, fact{"reason", reason})
	c.out.Answer = reason
}

// trail adds what the audit trail says about a run: why it failed, what its session learnt, and what rules decided.
func (c *chain) trail(run sessions.Run) error {
	q := ledger.AuditQuery{Session: run.Session, Since: run.Accepted, MaxLevel: auth.CallerOf(c.ctx).Level, Limit: entriesMax}
	if !run.Finished.IsZero() {
		q.Until = run.Finished.Add(time.Second)
	}
	entries, err := c.Rows.ListAudit(c.ctx, q)
	if err != nil {
		return err
	}
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		area, _, _ := strings.Cut(e.Action, ".")
		if area == "run" && e.Object == string(cmp.Or(run.Leader, run.ID)) {
			c.failedFor(detailOf(e.Detail).Error)
			continue
		}
		if entrySteps[area] == "" || area == "tool" && detailOf(e.Detail).Run != run.ID {
			continue
		}
		c.add(recorded(&e))
	}
	return nil
}

// asks adds the questions of a session that match, within a time.
func (c *chain) asks(of sessions.ID, match func(ledger.Approval) bool, since, until time.Time) error {
	if of == "" {
		return nil
	}
	found, err := c.Rows.ListApprovals(c.ctx, ledger.Query{MaxLevel: auth.CallerOf(c.ctx).Level, Session: of, Limit: ledger.MaxPage})
	if err != nil {
		return err
	}
	for i := len(found) - 1; i >= 0; i-- {
		p := found[i]
		if match(p) && !p.Created.Before(since.Add(-time.Minute)) && (until.IsZero() || !p.Created.After(until.Add(time.Minute))) {
			c.asked(p)
		}
	}
	return nil
}

func (c *chain) asked(p ledger.Approval) {
	s := step{Step: "asked", At: &p.Created, State: ok, Object: &object{"approval", string(p.ID)}, Label: p.Label.String()}
	about := cmp.Or(p.Tool, "this message")
	switch p.Status {
	case ledger.ApprovalPending:
		s.State, s.Text = waits, "A person has to decide about "+about+" until "+p.Expires.UTC().Format(time.RFC3339)+"."
	case ledger.ApprovalDenied:
		s.State, s.Text = stopped, about+" was denied by "+cmp.Or(p.By, "somebody")+"."
	default:
		s.Text = about + " was allowed by " + cmp.Or(p.By, "somebody") + "."
	}
	if !p.Decided.IsZero() {
		s.Took = p.Decided.Sub(p.Created).Milliseconds()
	}
	s.Facts = []fact{{"why", cmp.Or(p.Why, "the agent's permission mode asks for it")}}
	for _, rule := range p.Terms.Rules {
		s.Facts = append(s.Facts, fact{"rule", rule})
	}
	if p.Status == ledger.ApprovalPending {
		s.Facts = append(s.Facts, fact{"who may decide", decider.Names(p.Terms)})
	}
	c.add(s)
}

// gate adds what the gate decided about a delivery, as it was then.
func (c *chain) gate(d ledger.Delivery) {
	if d.Decision == nil {
		s := step{Step: "gate", State: notRecorded, Text: "The gate's decision is not recorded.", Object: &object{"delivery", string(d.ID)}}
		if d.Status == ledger.DeliveryQueued || d.Status == ledger.DeliveryPreview {
			s.State, s.Text = waits, "The gate decides when it is sent."
		}
		c.add(s)
		return
	}
	s := step{Step: "gate", At: &d.Created, State: ok, Text: "The gate decided " + string(d.Decision.Action) + ": " + d.Decision.Reason, Rules: d.Decision.Rules, Object: &object{"delivery", string(d.ID)}, Label: d.Label.String()}
	switch d.Decision.Action {
	case policy.Block:
		s.State = stopped
	case policy.Hold:
		s.State = waits
	case policy.Allow, policy.Redact:
	}
	c.add(s)
}

// sends adds what the platform was asked and what it said.
func (c *chain) sends(d ledger.Delivery) {
	s := step{Step: "sent", At: view.Optional(d.Finished), Object: &object{"delivery", string(d.ID)}, Text: deliveryAnswer(d)}
	if d.Attempts > 0 {
		s.Facts = []fact{{"failed tries", itoa(d.Attempts)}}
	}
	switch d.Status {
	case ledger.DeliverySent:
		s.State = ok
	case ledger.DeliveryUnknown:
		s.State = unknown
	case ledger.DeliveryBlocked, ledger.DeliveryDiscarded, ledger.DeliveryExpired:
		s.State = stopped
	case ledger.DeliveryFailed:
		s.State = failed
	default:
		s.State = waits
	}
	if why := lastError(d); why != "" && !strings.Contains(s.Text, why) {
		s.Facts = append(s.Facts, fact{"reason", why})
	}
	for _, r := range d.Receipts {
		s.Facts = append(s.Facts, receipt(r))
	}
	if d.ResendOf != "" {
		s.Facts = append(s.Facts, fact{"repeats", string(d.ResendOf)})
	}
	if d.Status == ledger.DeliverySent && len(d.Receipts) == 0 {
		s.Facts = append(s.Facts, fact{"receipt", "not recorded"})
	}
	c.add(s)
}

// triesMax is how many entries of one kind about a delivery are explained with it.
const triesMax = 10

// tries are the steps of a delivery before its last attempt: attempts whose response was lost, and who asked to send it again or
// discarded it. again is the delivery that repeats it, if there is one.
func (c *chain) tries(d *ledger.Delivery) (steps []step, again ledger.DeliveryID, err error) {
	for _, about := range []struct {
		action string
		of     ledger.DeliveryID
		text   string
	}{
		{"delivery.unknown", d.ResendOf, "The response to an earlier attempt was lost, so that message may have arrived. This delivery repeats it, as channels." + d.Route.Channel + ".onUnknown says."},
		{"delivery.unknown", d.ID, "The response to an attempt was lost, so the message may have arrived."},
		{"delivery.retry", d.ID, "It was queued again, as requested."},
		{"delivery.discard", d.ID, "It was discarded, as requested."},
	} {
		if about.of == "" {
			continue
		}
		entries, err := c.Rows.ListAudit(c.ctx, ledger.AuditQuery{
			Action: about.action, Object: string(about.of), Session: d.Session, Since: d.Created.Add(-time.Minute), MaxLevel: auth.CallerOf(c.ctx).Level, Limit: triesMax,
		})
		if err != nil {
			return nil, "", err
		}
		for i := range entries {
			e := &entries[i]
			s := step{Step: "sent", At: &e.At, State: unknown, Text: about.text, Label: e.Label.String(), Object: &object{"delivery", string(about.of)}}
			if by := detailOf(e.Detail).Again; by != "" && by != d.ID {
				again, s.Object = by, &object{"delivery", string(by)}
				s.Text = "The response was lost, so the message may have arrived. Another delivery repeats it, as channels." + d.Route.Channel + ".onUnknown says."
			}
			if about.action != "delivery.unknown" {
				s.Step, s.State, s.Text = "recorded", ok, about.text+" "+wayOf(e.Actor)
			}
			steps = append(steps, s)
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.At.Compare(*b.At) })
	return steps, again, nil
}

func receipt(r adapters.Receipt) fact { return fact{"receipt", string(r.MessageID)} }

// runAnswer is why a run is as it is.
func runAnswer(run sessions.Run) string {
	switch run.Status {
	case sessions.RunQueued:
		return "It waits for its turn."
	case sessions.RunRunning:
		return "The agent is working on it."
	case sessions.RunDone:
		return "It was answered."
	case sessions.RunDropped:
		return "It was dropped, because the session's queue was full."
	case sessions.RunAborted:
		return cmp.Or(run.Error, "Somebody stopped it.")
	case sessions.RunTimeout:
		return cmp.Or(run.Error, "It exceeded its time limit.")
	case sessions.RunFailed:
	}
	return cmp.Or(run.Error, "It failed.")
}

// lastError is why a delivery has its state, without words that the state says already.
func lastError(d ledger.Delivery) string {
	return strings.TrimPrefix(d.LastError, "it is unknown whether it arrived: ")
}

// deliveryAnswer is why a delivery is as it is.
func deliveryAnswer(d ledger.Delivery) string {
	reason := "the reason is not recorded"
	if d.Decision != nil {
		reason = d.Decision.Reason
	}
	switch d.Status {
	case ledger.DeliveryPreview:
		return "It is a preview of an answer that is being written."
	case ledger.DeliveryQueued:
		if d.LastError != "" {
			return "It is sent again later: " + d.LastError
		}
		return "It waits for its turn in this conversation."
	case ledger.DeliveryHeld:
		return "A person has to allow it: " + reason
	case ledger.DeliverySending:
		return "It is being sent, or looked up at the platform."
	case ledger.DeliverySent:
		return "The platform has accepted it."
	case ledger.DeliveryBlocked:
		return "It was blocked: " + reason
	case ledger.DeliveryFailed:
		return "The platform refused it: " + cmp.Or(d.LastError, "the reason is not recorded")
	case ledger.DeliveryUnknown:
		return "It is unknown whether it arrived: " + cmp.Or(lastError(d), "the platform's answer was lost")
	case ledger.DeliveryExpired:
		return "It expired before it could be sent: " + cmp.Or(d.LastError, reason)
	case ledger.DeliveryDiscarded:
		text := "A person discarded it, or another message replaced it."
		if d.LastError != "" {
			text += " Its last error: " + d.LastError
		}
		return text
	}
	return "Its state is " + string(d.Status) + "."
}

// changes says what would change the state of a delivery.
func changes(d ledger.Delivery) []change {
	id := string(d.ID)
	switch d.Status {
	case ledger.DeliveryHeld:
		return []change{{Text: "Allow or deny it.", Command: "sluice approvals list"}}
	case ledger.DeliveryBlocked:
		var all []change
		if d.Decision != nil && d.Decision.AbovePlace() {
			all = append(all, change{Text: "Raise the classification of " + placeOf(d.Route) + ", or start over with /new, which forgets what the session has learned."})
		}
		return append(all, change{Text: "See what the gate would decide now.", Command: checkCommand(d)}, change{Text: "Send it again once that has changed.", Command: "sluice deliveries retry " + id})
	case ledger.DeliveryFailed, ledger.DeliveryUnknown, ledger.DeliveryExpired:
		return []change{{Text: "Send it again.", Command: "sluice deliveries retry " + id}, {Text: "Discard it.", Command: "sluice deliveries discard " + id}}
	}
	return []change{}
}

// checkCommand is the command that asks the gate about a delivery again, without its text.
func checkCommand(d ledger.Delivery) string {
	words := []string{"sluice policy check"}
	for _, flag := range [][2]string{
		{"--channel", d.Route.Channel},
		{"--chat-type", string(d.Route.ChatType)},
		{"--account", d.Route.Account},
		{"--to", string(d.Route.Conversation)},
		{"--thread", string(d.Route.Thread)},
		{"--session", string(d.Session)},
		{"--label", d.Label.String()},
	} {
		if flag[1] != "" {
			words = append(words, flag[0], shellWord(flag[1]))
		}
	}
	return strings.Join(words, " ")
}
