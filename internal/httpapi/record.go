package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/policy"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

// sessionRecord is a session as programs see it. The first nine fields are those of other implementations of this API.
type sessionRecord struct {
	ID           sessions.ID         `json:"id" example:"sess_a86118c06688"`
	CreatedAt    float64             `json:"created_at" doc:"seconds since 1970"`
	LastActivity float64             `json:"last_activity" doc:"seconds since 1970"`
	Busy         bool                `json:"busy" doc:"a message is being worked on or waits"`
	Persistent   bool                `json:"persistent" doc:"false: it ends five minutes after its last answer"`
	TTL          int64               `json:"ttl" doc:"seconds from its creation to its end; 0: none"`
	Status       string              `json:"status" enum:"ready"`
	Metadata     json.RawMessage     `json:"metadata" doc:"what its creator attached"`
	FileAccess   sessions.FileAccess `json:"file_access"`
	Key          sessions.Key        `json:"key"`
	Agent        string              `json:"agent"`
	Taint        string              `json:"taint" doc:"the label of what it has learnt" example:"PUBLIC/trusted"`
	Clearance    string              `json:"clearance" doc:"the highest level that it may learn" example:"RESTRICTED"`
	Carries      string              `json:"carries,omitempty" doc:"of one session: the highest level that may be said where it was last spoken to; absent where that is above the caller's"`
	Held         string              `json:"held,omitempty" doc:"of one session: why its answers may not be said there any more, and what to change"`
	SendPolicy   string              `json:"send_policy,omitempty" doc:"override: allow or deny; absent: it follows the configuration"`
	Activation   string              `json:"group_activation,omitempty" enum:"mention,always" doc:"override of whether a group must mention the bot; absent: it follows the configuration"`
	QueueMode    string              `json:"queue_mode,omitempty" enum:"steer,followup,collect,interrupt" doc:"override of what becomes of messages that come while a run works; absent: it follows the configuration"`
	Thinking     string              `json:"thinking_level,omitempty" enum:"off,low,medium,high" doc:"override of how much the model may reason; absent: it follows the agent"`
	Verbose      string              `json:"verbose_level,omitempty" enum:"off,on,full" doc:"override of how much of the work people are shown; absent: it follows the agent"`
	Label        string              `json:"label,omitempty" doc:"the name that people gave it"`
	Title        string              `json:"title,omitempty"`
	Model        string              `json:"model"`
	Channel      string              `json:"channel,omitempty" doc:"where it was last spoken to"`
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

// record is a session as the caller may see it.
func (s *Server) record(who caller, r sessions.Record, busy bool) sessionRecord {
	quotes := who.quotes()
	out := sessionRecord{
		ID: r.ID, CreatedAt: seconds(r.Created), LastActivity: seconds(r.LastActivity), Busy: busy, Persistent: r.Persistent,
		TTL: int64(r.TTL / time.Second), Status: "ready", Metadata: r.Metadata, FileAccess: r.FileAccess, Key: r.Key, Agent: r.Agent,
		Taint: r.Taint.String(), Clearance: r.Clearance.String(), SendPolicy: string(r.SendPolicy), Activation: string(r.Activation),
		QueueMode: string(r.QueueMode), Thinking: string(r.ThinkingLevel), Verbose: string(r.VerboseLevel), Label: quotes.Or(r.Label, ""), Title: quotes.Or(r.Title, ""), Channel: r.Route.Channel,
	}
	out.Model = cmp.Or(quotes.Or(r.Model, ""), s.cfg.ModelName(r.Agent))
	if len(out.Metadata) == 0 {
		out.Metadata = json.RawMessage("{}")
	}
	return out
}

// messageRecord is one message of a transcript. Role notice is the gateway's own word, or a message that was not an answer.
type messageRecord struct {
	ID      string            `json:"id"`
	Role    string            `json:"role" enum:"user,agent,assistant,toolResult,summary,notice"`
	Text    string            `json:"text"`
	Sender  *sessions.Peer    `json:"sender,omitempty"`
	Parts   []sessions.Part   `json:"parts,omitempty"`
	Files   []mediaRecord     `json:"files,omitempty" doc:"content: GET /v1/media/{id}"`
	Buttons []sessions.Button `json:"buttons,omitempty" doc:"press: what to send to press one"`
	Run     sessions.RunID    `json:"run,omitempty"`
	Model   string            `json:"model,omitempty"`
	Label   string            `json:"label"`
	Created time.Time         `json:"created"`

	Withheld *withheldRecord `json:"withheld,omitempty" doc:"the agent has said something that may not be told over the API; text is empty"`
}

func messageOf(m sessions.Message) messageRecord {
	out := messageRecord{
		ID: string(m.ID), Role: string(m.Role), Text: m.Text(), Parts: m.Parts, Run: m.Run, Model: m.Model,
		Label: m.Label.String(), Created: m.Created,
	}
	if m.Sender != (sessions.Peer{}) {
		out.Sender = &m.Sender
	}
	if m.Role == sessions.RoleAssistant && sessions.Silent(out.Text) {
		out.Text = "" // a word that means silence is shown to nobody
		out.Parts = slices.DeleteFunc(slices.Clone(out.Parts), func(p sessions.Part) bool { return p.Type == sessions.PartText })
	}
	return out
}

func (s *Server) notice(ctx context.Context, d ledger.Delivery) messageRecord {
	return messageRecord{ID: string(d.ID), Role: "notice", Text: d.Text, Files: s.media(ctx, d), Buttons: openButtons(d), Label: d.Label.String(), Created: d.Created}
}

// runRecord is a run as programs see it.
type runRecord struct {
	ID       sessions.RunID     `json:"id"`
	Session  sessions.ID        `json:"session"`
	Status   sessions.RunStatus `json:"status"`
	Kind     sessions.RunKind   `json:"kind"`
	Input    string             `json:"input"`
	Reply    string             `json:"reply,omitempty"`
	Error    string             `json:"error,omitempty"`
	Model    string             `json:"model,omitempty"`
	Leader   sessions.RunID     `json:"leader,omitempty" doc:"the run that this one was merged into"`
	Attempts int                `json:"attempts"`
	Usage    sessions.Usage     `json:"usage"`
	Route    *sessions.Route    `json:"route,omitempty"`
	Label    string             `json:"label"`
	Accepted time.Time          `json:"accepted"`
	Started  *time.Time         `json:"started,omitempty"`
	Finished *time.Time         `json:"finished,omitempty"`
	Withheld *withheldRecord    `json:"withheld,omitempty" doc:"there is a reply that may not be told over the API"`
}

func runOf(r sessions.Run) runRecord {
	out := runRecord{
		ID: r.ID, Session: r.Session, Status: r.Status, Kind: r.Kind, Input: router.InputText(r.Input), Reply: r.Reply, Error: r.Error, Model: r.Model,
		Leader: r.Leader, Attempts: r.Attempts, Usage: r.Usage, Label: r.Label.String(), Accepted: r.Accepted,
		Started: optional(r.Started), Finished: optional(r.Finished),
	}
	if !r.Route.IsZero() {
		route := publicRoute(r.Route)
		out.Route = &route
	}
	return out
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// deliveryRecord is a delivery as programs see it.
type deliveryRecord struct {
	ID       ledger.DeliveryID     `json:"id"`
	Kind     ledger.DeliveryKind   `json:"kind"`
	Status   ledger.DeliveryStatus `json:"status"`
	Route    sessions.Route        `json:"route"`
	Text     string                `json:"text"`
	Buttons  []sessions.Button     `json:"buttons,omitempty" doc:"press: what to send to press one, with POST /v1/sessions/{id}/messages"`
	Files    []mediaRecord         `json:"files,omitempty" doc:"content: GET /v1/media/{id}"`
	Label    string                `json:"label"`
	Session  sessions.ID           `json:"session,omitempty"`
	Run      sessions.RunID        `json:"run,omitempty"`
	ResendOf ledger.DeliveryID     `json:"resend_of,omitempty" doc:"the unknown delivery that this one repeats"`
	Attempts int                   `json:"attempts"`
	Error    string                `json:"error,omitempty"`
	Decision *policy.Decision      `json:"decision,omitempty" doc:"what the gate decided, with every rule that it looked at"`
	Receipts []adapters.Receipt    `json:"receipts,omitempty"`
	NextTry  *time.Time            `json:"next_try,omitempty"`
	Created  time.Time             `json:"created"`
	Expires  time.Time             `json:"expires"`
	Finished *time.Time            `json:"finished,omitempty"`
}

// publicRoute is a route without the platform's handle, with which others could answer in its place.
func publicRoute(r sessions.Route) sessions.Route {
	r.Handle = ""
	return r
}

func (s *Server) delivery(ctx context.Context, d ledger.Delivery) deliveryRecord {
	out := deliveryRecord{
		ID: d.ID, Kind: d.Kind, Status: d.Status, Route: publicRoute(d.Route), Buttons: openButtons(d), Files: s.media(ctx, d), Text: d.Text, Label: d.Label.String(), Session: d.Session, Run: d.Run,
		ResendOf: d.ResendOf, Attempts: d.Attempts, Error: d.LastError, Decision: d.Decision, Receipts: d.Receipts,
		Created: d.Created, Expires: d.Expires, Finished: optional(d.Finished),
	}
	if d.Status == ledger.DeliveryQueued {
		out.NextTry = optional(d.NextTry)
	}
	return out
}

// pairingRecord is a pairing as programs see it.
type pairingRecord struct {
	Channel string               `json:"channel"`
	Account string               `json:"account"`
	User    sessions.Peer        `json:"user"`
	Code    string               `json:"code,omitempty"`
	Status  ledger.PairingStatus `json:"status"`
	Created time.Time            `json:"created"`
	Expires *time.Time           `json:"expires,omitempty"`
	Note    string               `json:"note,omitempty" doc:"of an approval: what the person can learn now, and the setting that prevents it"`
}

func pairingOf(p ledger.Pairing) pairingRecord {
	out := pairingRecord{Channel: p.Channel, Account: p.Account, User: p.User, Code: p.Code, Status: p.Status, Created: p.Created}
	if p.Status == ledger.PairingPending {
		out.Expires = optional(p.Expires)
	}
	return out
}
