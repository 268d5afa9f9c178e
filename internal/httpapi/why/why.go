package why

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Rows reads what happened.
type Rows interface {
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	Refusal(ctx context.Context, id string) (ledger.Refusal, error)
	ListRefusals(ctx context.Context, most flow.Level, before time.Time, limit int) ([]ledger.Refusal, error)
	TriggersOf(ctx context.Context, keys []string) ([]ledger.Trigger, error)
	ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error)
	ListApprovals(ctx context.Context, q ledger.Query) ([]ledger.Approval, error)
	ListAudit(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditRecord, error)
	Message(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.Message, error)
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
}

// Memories is what the explanation of a memory reads.
type Memories interface {
	Memory(ctx context.Context, id sessions.MemoryID, upTo flow.Level) (sessions.Memory, error)
	MemoryVersions(ctx context.Context, m sessions.Memory, limit int) ([]sessions.Memory, error)
}

// API explains.
type API struct {
	Visible  *view.Visibility
	Rows     Rows
	Memories Memories
	Alerts   Alerts // nil if alerts are not configured
	Notes    Notes  // required with Alerts
	Jobs     *operator.JobAPI
	Cursors  wire.Cursors
}

// state is how a step went.
type state string

const (
	ok          state = "ok"
	stopped     state = "stopped" // it went no further here
	waits       state = "waits"
	failed      state = "failed"
	unknown     state = "unknown"
	notRecorded state = "not_recorded"
)

// step is one step of the chain.
type step struct {
	Step   string               `json:"step" enum:"heard,admitted,session,waited,run,tool,learnt,asked,gate,sent,recorded,ended"`
	At     *time.Time           `json:"at,omitempty"`
	Took   int64                `json:"took_ms,omitempty"`
	State  state                `json:"state" enum:"ok,stopped,waits,failed,unknown,not_recorded"`
	Text   string               `json:"text"`
	Object *object              `json:"object,omitempty"`
	Label  string               `json:"label,omitempty"`
	Rules  []policy.CheckResult `json:"rules,omitempty" doc:"the rules that were checked, as they were then"`
	Facts  []fact               `json:"facts,omitempty"`
}

type object struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type change struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
}

type links struct {
	Page string `json:"page"`
	API  string `json:"api"`
	CLI  string `json:"cli"`
}

// Explanation is why something is as it is.
type Explanation struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind" enum:"message,run,delivery,approval,exchange,job,trigger,alert,memory,refusal,entry"`
	Status string   `json:"status"`
	Title  string   `json:"title"`
	Answer string   `json:"answer" doc:"one sentence: why"`
	Change []change `json:"change" doc:"what would change it"`
	Steps  []step   `json:"steps"`
	Links  links    `json:"links"`
}

// Input names what is to be explained. It is exported because the API library only sees exported types.
type Input struct {
	ID      string `path:"id" maxLength:"512" doc:"id of a run, delivery, approval, exchange, message, memory, job's time, request to a hook or refusal; cron/ and a job's id; aud_ and the id of an audit entry; key or short name of an alert"`
	Session string `query:"session" maxLength:"512" doc:"of a message: the id of its session"`
}

// Get explains one thing.
func (a *API) Get(ctx context.Context, in *Input) (*wire.Body[Explanation], error) {
	c := &chain{API: a, ctx: ctx, out: Explanation{ID: in.ID, Change: []change{}, Steps: []step{}}}
	if err := c.explain(in.ID, sessions.ID(in.Session)); err != nil {
		return nil, err
	}
	c.out.Links = linksOf(in.ID, in.Session)
	return wire.NewBody(c.out), nil
}

// linksOf are the ways to the explanation of an id. Ids of jobs' times, of requests to hooks and of alerts have slashes, and
// an alert's key may have any character.
func linksOf(id, session string) links {
	path, query, command := "/why/"+url.PathEscape(id), "", "sluice why "+shellWord(id)
	if session != "" {
		query, command = "?session="+url.QueryEscape(session), command+" --session "+shellWord(session)
	}
	return links{path + query, "/v1" + path + query, command}
}

// shellWord writes a text as one word of a shell's command line.
func shellWord(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+"
	if strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// chain puts an explanation together for one caller.
type chain struct {
	*API
	ctx context.Context //nolint:containedctx // of one request
	out Explanation
}

func (c *chain) add(s step) { c.out.Steps = append(c.out.Steps, s) }

// explain finds what an id names and explains it.
func (c *chain) explain(id string, of sessions.ID) error {
	switch {
	case strings.HasPrefix(id, "dlv_"):
		d, err := c.Rows.Delivery(c.ctx, ledger.DeliveryID(id))
		if err := c.see(err, denials.Object{Kind: "delivery", ID: id, Label: d.Label}, d.Session); err != nil {
			return err
		}
		return c.delivery(d)
	case strings.HasPrefix(id, "run_"):
		run, err := c.Rows.Run(c.ctx, sessions.RunID(id))
		if err := c.see(err, denials.Object{Kind: "run", ID: id, Label: run.Label}, run.Session); err != nil {
			return err
		}
		return c.runItself(run)
	case strings.HasPrefix(id, "apr_"):
		p, err := c.Rows.Approval(c.ctx, ledger.ApprovalID(id))
		if err := c.see(err, denials.Object{Kind: "approval", ID: id, Label: p.Label}, p.Session); err != nil {
			return err
		}
		return c.approval(p)
	case strings.HasPrefix(id, "ref_"):
		return c.refusal(id)
	case strings.HasPrefix(id, "xch_"):
		return c.exchange(id)
	case strings.HasPrefix(id, memoryPrefix):
		return c.memory(id)
	case strings.HasPrefix(id, entryPrefix):
		return c.entry(strings.TrimPrefix(id, entryPrefix))
	case strings.HasPrefix(id, jobPrefix), strings.HasPrefix(id, "hook/"):
		if err := c.trigger(id); !errors.Is(err, wire.ErrNotFound) {
			return err
		}
		if err := c.job(id); !errors.Is(err, wire.ErrNotFound) {
			return err
		}
		return c.alert(id) // the key of an alert of a job or hook
	case of == "":
		return c.alert(id)
	}
	m, err := c.Rows.Message(c.ctx, of, sessions.MessageID(id))
	if err := c.see(err, denials.Object{Kind: "message", ID: id, Label: m.Label}, of); err != nil {
		return err
	}
	return c.message(m)
}

// see passes the result of reading an object, see [view.Visibility.Check].
func (c *chain) see(err error, o denials.Object, of sessions.ID) error {
	return c.Visible.Check(c.ctx, err, o, of)
}

// seen reports whether the caller may know of another object of the chain.
func (c *chain) seen(label flow.Label, of sessions.ID) (bool, error) {
	who := auth.CallerOf(c.ctx)
	if of == "" {
		return who.Sees(label), nil
	}
	taint, err := c.Visible.Taint(c.ctx, who, of)
	return err == nil && who.Sees(label) && who.Sees(taint), err
}

// message explains a message of a transcript by the run that it belongs to.
func (c *chain) message(m sessions.Message) error {
	c.out.Kind, c.out.Status, c.out.Title = "message", string(m.Role), "message of "+string(m.Role)
	c.out.Answer = "It is part of the conversation."
	if m.Run == "" {
		c.add(step{Step: "run", State: notRecorded, Text: "The run that it belongs to is not recorded."})
		return nil
	}
	run, err := c.Rows.Run(c.ctx, m.Run)
	if errors.Is(err, sessions.ErrNotFound) {
		c.add(step{Step: "run", State: notRecorded, Text: "The run that it belongs to is no longer kept.", Object: &object{"run", string(m.Run)}})
		return nil
	}
	if err != nil {
		return err
	}
	if visible, err := c.seen(run.Label, run.Session); err != nil || !visible {
		return err
	}
	kind, title := c.out.Kind, c.out.Title
	if err := c.runItself(run); err != nil {
		return err
	}
	c.out.Kind, c.out.Title = kind, title
	return nil
}

// runItself explains a run with what was sent because of it.
func (c *chain) runItself(run sessions.Run) error {
	c.out.Kind, c.out.Status = "run", string(run.Status)
	c.out.Title = "run for " + cause(run)
	c.out.Answer = runAnswer(run)
	if err := c.steps(run); err != nil {
		return err
	}
	sent, err := c.Rows.ListDeliveries(c.ctx, ledger.Query{
		MaxLevel: auth.CallerOf(c.ctx).Level, QueryFilter: ledger.QueryFilter{Run: run.ID}, Limit: deliveriesMax,
	})
	if err != nil {
		return err
	}
	for i := len(sent) - 1; i >= 0; i-- {
		d := sent[i]
		c.gate(d)
		c.sends(d)
		if d.Kind == ledger.KindReply {
			c.out.Answer = deliveryAnswer(d)
			c.out.Change = changes(d)
		}
	}
	if len(sent) == 0 {
		c.silence(run)
	}
	return nil
}

// deliveriesMax is how many deliveries of a run are explained with it.
const deliveriesMax = 20

// silence says why nothing was sent for a run.
func (c *chain) silence(run sessions.Run) {
	s := step{Step: "sent", State: stopped, At: view.Optional(run.Finished)}
	switch {
	case !run.Status.Terminal():
		s.State, s.Text = waits, "Nothing has been sent yet: the run has not ended."
	case run.Leader != "" && run.Leader != run.ID:
		s.Text = "It was answered together with another run."
		s.Object = &object{"run", string(run.Leader)}
	case sessions.Silent(run.Reply) && run.Reply != "":
		s.Text = "The agent chose to stay silent (" + run.Reply + ")."
	case run.Route.IsZero():
		s.Text = "It has no conversation to answer in; the session or program that started it got the result."
	case run.Status == sessions.RunDone && run.Reply == "":
		s.Text = "The agent had nothing to say."
	case run.Status == sessions.RunDone:
		s.State, s.Text = notRecorded, "The delivery is no longer kept, or the answer was read over the API."
	default:
		s.Text = "Nothing was sent: the run ended as " + string(run.Status) + "."
	}
	c.add(s)
	if run.Status.Terminal() && run.Status == sessions.RunDone {
		c.out.Answer = s.Text
	}
}

// delivery explains a delivery from its cause to the receipt.
func (c *chain) delivery(d ledger.Delivery) error {
	c.out.Kind, c.out.Status = "delivery", string(d.Status)
	c.out.Title = string(d.Kind) + " to " + placeOf(d.Route)
	c.out.Answer, c.out.Change = deliveryAnswer(d), changes(d)
	earlier, again, err := c.tries(&d)
	if err != nil {
		return err
	}
	if d.Run != "" {
		run, err := c.Rows.Run(c.ctx, d.Run)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			c.add(step{Step: "run", State: notRecorded, Text: "The run that it answers is no longer kept.", Object: &object{"run", string(d.Run)}})
		case err != nil:
			return err
		default:
			visible, err := c.seen(run.Label, run.Session)
			if err != nil {
				return err
			}
			if visible {
				if err := c.steps(run); err != nil {
					return err
				}
			}
		}
	} else if err := c.origin(d, cmp.Or(again, d.ID)); err != nil {
		return err
	}
	if err := c.asks(d.Session, func(p ledger.Approval) bool { return p.Delivery == d.ID }, d.Created, time.Time{}); err != nil {
		return err
	}
	c.gate(d)
	for _, s := range earlier {
		c.add(s)
	}
	c.sends(d)
	return nil
}

// origin says who has caused a delivery that answers no run, as it is recorded for the delivery or for the one that repeats it.
func (c *chain) origin(d ledger.Delivery, of ledger.DeliveryID) error {
	if found, err := c.told(&d, of); found || err != nil {
		return err
	}
	s := step{Step: "heard", At: &d.Created, State: notRecorded, Text: "Who caused it is not recorded."}
	switch d.Kind {
	case ledger.KindNotice:
		s.State, s.Text = ok, "The gateway sent it: an answer to a command, a question, or a notice."
	case ledger.KindAnnounce:
		s.State, s.Text = ok, "It tells people the result of an exchange between agents."
	}
	entries, err := c.Rows.ListAudit(c.ctx, ledger.AuditQuery{Action: "message.send", Object: string(of), Since: d.Created.Add(-time.Minute), Until: d.Created.Add(time.Minute), MaxLevel: auth.CallerOf(c.ctx).Level, Limit: 1})
	if err != nil {
		return err
	}
	for _, e := range entries {
		s.State, s.Text = ok, "It was sent by "+e.Actor+"."
	}
	c.add(s)
	return nil
}

// approval explains a question by what it is about.
func (c *chain) approval(p ledger.Approval) error {
	if err := c.asksAbout(p); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.out.Steps, func(s step) bool { return s.Object != nil && *s.Object == object{"approval", string(p.ID)} }) {
		c.asked(p)
	}
	c.out.Change = []change{}
	if p.Status == ledger.ApprovalPending {
		c.out.Change = []change{{Text: "Allow it.", Command: "sluice approvals allow " + string(p.ID)}, {Text: "Deny it.", Command: "sluice approvals deny " + string(p.ID)}}
	}
	c.out.Kind, c.out.Status, c.out.Title = "approval", string(p.Status), "question about "+cmp.Or(p.Tool, "a message")
	c.out.Answer = cmp.Or(p.Why, "The agent's permission mode asks for it.") + " " + cmp.Or(p.Outcome(), "It waits for a decision until "+p.Expires.UTC().Format(time.RFC3339)+".")
	return nil
}

// asksAbout explains the message or the tool call that a question is about, as far as the caller may know of it.
func (c *chain) asksAbout(p ledger.Approval) error {
	if p.Delivery == "" {
		return c.ranOf(p.Run)
	}
	d, visible, err := c.sentOf(p.Delivery)
	if err != nil || !visible {
		return err
	}
	return c.delivery(d)
}

// gone reports whether a row is no longer kept.
func gone(err error) bool { return errors.Is(err, sessions.ErrNotFound) }

// refusal explains why somebody got no answer.
func (c *chain) refusal(id string) error {
	r, err := c.Rows.Refusal(c.ctx, id)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	if err != nil || view.NeedOperator(c.ctx) != nil || !c.Visible.ChannelSeen(c.ctx, r.Channel, r.Account) || !flow.CanFlow(r.Level, auth.CallerOf(c.ctx).Level) {
		return wire.ErrNotFound
	}
	c.out.Kind, c.out.Status = "refusal", "ignored"
	c.out.Title = "no answer to " + cmp.Or(r.User.Name, string(r.User.ID)) + " on " + r.Channel
	c.out.Answer = "The message was refused: " + r.Reason + "."
	c.add(step{Step: "heard", At: &r.Last, State: stopped, Text: c.out.Answer, Facts: []fact{
		{"person", sessions.Principal(r.Channel, r.User.ID)}, {"place", string(r.Chat)}, {"times", itoa(r.Count)}, {"first", r.First.UTC().Format(time.RFC3339)},
	}})
	c.add(step{Step: "sent", State: notRecorded, Text: "The text of the message was not recorded."})
	if setting := r.Limit(); setting != "" {
		c.out.Change = []change{{Text: "Raise limits." + setting + ", or wait until the period ends."}}
		return nil
	}
	c.out.Change = []change{{Text: "Admit them: change the setting that the reason names, or approve their request.", Command: "sluice pairing list"}}
	return nil
}
