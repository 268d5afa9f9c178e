package operator

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/internal/alert/intake"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// MessagesPath is where messages are sent; its requests may carry files.
const MessagesPath = "/v1/messages"

// Outbox sends messages.
type Outbox interface {
	// Send queues a message that answers nothing.
	Send(ctx context.Context, p outbound.Proactive) (ledger.Delivery, error)
}

// Directory finds conversations.
type Directory interface {
	// LookUp finds a conversation by its name or id, and who is in it.
	LookUp(ctx context.Context, channel, account, to string) (sessions.Route, []sessions.Peer, error)
}

// DeliveryKeeper sends deliveries again and discards them.
type DeliveryKeeper interface {
	// RetryDelivery queues a delivery again that has failed.
	RetryDelivery(ctx context.Context, id ledger.DeliveryID, actor string) (ledger.Delivery, error)
	// DiscardDelivery gives a delivery up. To discard a held one is to deny it.
	DiscardDelivery(ctx context.Context, id ledger.DeliveryID, by decider.Verdict) (ledger.Delivery, error)
}

// DeliveryRows reads deliveries.
type DeliveryRows interface {
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error)
	// CountDeliveries counts the deliveries of each status but sent and discarded, up to a level.
	CountDeliveries(ctx context.Context, upTo flow.Level) (map[ledger.DeliveryStatus]int, error)
}

// DeliveryAPI serves what is sent to people, and where it can be sent.
type DeliveryAPI struct {
	Visible   *view.Visibility
	Outbox    Outbox
	Directory Directory
	Keeper    DeliveryKeeper
	Rows      DeliveryRows
	Names     view.FileNames
	Identity  view.Identity
}

// deliveryRecord is a delivery as programs see it.
type deliveryRecord struct {
	ID       ledger.DeliveryID     `json:"id"`
	Kind     ledger.DeliveryKind   `json:"kind"`
	Status   ledger.DeliveryStatus `json:"status"`
	Route    sessions.Route        `json:"route"`
	Text     string                `json:"text"`
	Buttons  []sessions.Button     `json:"buttons,omitempty" doc:"press: what to send to press one, with POST /v1/sessions/{id}/messages"`
	Files    []view.MediaRecord    `json:"files,omitempty" doc:"content: GET /v1/media/{id}"`
	Label    string                `json:"label"`
	Session  sessions.ID           `json:"session,omitempty"`
	Run      sessions.RunID        `json:"run,omitempty"`
	ResendOf ledger.DeliveryID     `json:"resend_of,omitempty" doc:"the unknown delivery that this one repeats"`
	Attempts int                   `json:"attempts"`
	Error    string                `json:"error,omitempty"`
	Decision *policy.Decision      `json:"decision,omitempty" doc:"what the gate decided, with every rule that it checked"`
	Receipts []adapters.Receipt    `json:"receipts,omitempty"`
	NextTry  *time.Time            `json:"next_try,omitempty"`
	Created  time.Time             `json:"created"`
	Expires  time.Time             `json:"expires"`
	Finished *time.Time            `json:"finished,omitempty"`
}

func (a *DeliveryAPI) record(ctx context.Context, d ledger.Delivery) deliveryRecord {
	out := deliveryRecord{
		ID: d.ID, Kind: d.Kind, Status: d.Status, Route: view.PublicRoute(d.Route), Buttons: view.OpenButtons(d), Files: a.Names.Of(ctx, d), Text: d.Text, Label: d.Label.String(), Session: d.Session, Run: d.Run,
		ResendOf: d.ResendOf, Attempts: d.Attempts, Error: d.LastError, Decision: d.Decision, Receipts: d.Receipts,
		Created: d.Created, Expires: d.Expires, Finished: view.Optional(d.Finished),
	}
	if d.Status == ledger.DeliveryQueued {
		out.NextTry = view.Optional(d.NextTry)
	}
	return out
}

type sendInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"the same as key in the body"`
	Body struct {
		Channel  string `json:"channel" minLength:"1" example:"telegram"`
		Account  string `json:"account,omitempty" doc:"default: default"`
		To       string `json:"to" minLength:"1" doc:"the conversation's id; owner for the owner's direct chat; #name or @name if the channel can look names up"`
		ChatType string `json:"chat_type,omitempty" enum:"direct,group,channel" doc:"default: what the platform says, else direct"`
		Thread   string `json:"thread,omitempty"`
		Text     string `json:"text,omitempty" doc:"may be absent if there are files"`
		Label    string `json:"label,omitempty" doc:"level of the text and the files, or LEVEL/trust; default PUBLIC"`
		Key      string `json:"key,omitempty" maxLength:"200" doc:"the same key again is the same message, sent once"`

		Severity intake.Severity `json:"severity,omitempty" enum:"critical,error,warning,info" doc:"critical and error put a sign before the text, so that it is noticed"`

		Buttons []buttonJSON `json:"buttons,omitempty" maxItems:"5" doc:"below the text; channels without buttons add each value to the text"`
		Files   []fileJSON   `json:"files,omitempty" maxItems:"10" doc:"sent after the text, each as its own message"`
	}
}

// marked is a text with the sign of its severity. Without a text, there is nothing to mark.
func marked(s intake.Severity, text string) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	return s.Sign() + text
}

// Send queues a message that answers nothing.
func (a *DeliveryAPI) Send(ctx context.Context, in *sendInput) (*wire.Body[deliveryRecord], error) {
	who := auth.CallerOf(ctx)
	label, err := who.InputLabel(in.Body.Label)
	if err != nil {
		return nil, err
	}
	if err := a.Visible.NeedChannel(ctx, in.Body.Channel, in.Body.Account); err != nil {
		return nil, err
	}
	d, err := a.Outbox.Send(ctx, outbound.Proactive{
		Channel: in.Body.Channel, Account: in.Body.Account, To: in.Body.To, ChatType: sessions.ChatType(in.Body.ChatType),
		Thread: in.Body.Thread, Text: marked(in.Body.Severity, in.Body.Text), Label: label, Idempotency: who.Key(cmp.Or(in.Body.Key, in.Key)), Reader: who.Level, Actor: who.Actor(),
		Buttons: buttonsOf(in.Body.Buttons), Files: filesOf(in.Body.Files),
	})
	if err != nil {
		return nil, err
	}
	if !who.Sees(d.Label) { // of the first request with this key, when the token had a higher level
		a.Visible.Denials.Hidden(ctx, denials.Object{Kind: "delivery", ID: string(d.ID), Session: d.Session, Label: d.Label}, denials.AboveLevel)
		return nil, wire.ErrNotFound
	}
	return wire.NewBody(a.record(ctx, d)), nil
}

type deliveryList struct {
	Deliveries []deliveryRecord              `json:"deliveries"`
	Counts     map[ledger.DeliveryStatus]int `json:"counts" doc:"number of deliveries by status, without sent and discarded"`
}

// DeliveryFilter has the filters of a list that search. It is exported because the API library only sees exported embedded
// types.
type DeliveryFilter struct {
	Kind    string    `query:"kind" enum:"reply,notice,announce,command,message"`
	Account string    `query:"account" maxLength:"200"`
	To      string    `query:"to" maxLength:"512" doc:"id of the conversation"`
	Rule    string    `query:"rule" maxLength:"512" doc:"a rule that has matched it, as its decision names it"`
	Text    string    `query:"q" maxLength:"512" doc:"part of its text"`
	Run     string    `query:"run" maxLength:"64" doc:"the run that it answers"`
	Since   time.Time `query:"since" doc:"only those made from this time on"`
	Until   time.Time `query:"until" doc:"only those made before this time"`
}

// List lists deliveries and counts the unsettled ones.
func (a *DeliveryAPI) List(ctx context.Context, in *struct {
	view.PageQuery
	Status  string `query:"status" enum:"preview,queued,held,sending,sent,blocked,failed,unknown,expired,discarded" doc:"only deliveries with this status"`
	Channel string `query:"channel"`
	Session string `query:"session" doc:"a session's id"`
	DeliveryFilter
},
) (*view.Page[deliveryList], error) {
	level, bound := auth.CallerOf(ctx).Level, view.NewBound()
	found, err := a.Rows.ListDeliveries(ctx, ledger.Query{
		MaxLevel: level, Status: in.Status, Channel: in.Channel, Session: sessions.ID(in.Session), Limit: in.Limit, After: in.After, Bound: bound,
		Since: in.Since, Until: in.Until, QueryFilter: ledger.QueryFilter{Kind: in.Kind, Text: in.Text, Run: sessions.RunID(in.Run), Account: in.Account, To: in.To, Rule: in.Rule},
	})
	if err != nil {
		return nil, err
	}
	counts, err := a.Rows.CountDeliveries(ctx, level)
	if err != nil {
		return nil, err
	}
	out := deliveryList{Deliveries: make([]deliveryRecord, len(found)), Counts: counts}
	for i, d := range found {
		out.Deliveries[i] = a.record(ctx, d)
	}
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(found, func(d ledger.Delivery) string { return string(d.ID) })), out), nil
}

type deliveryPath struct {
	Delivery string `path:"delivery"`
}

// find is a delivery that the caller may know of.
func (a *DeliveryAPI) find(ctx context.Context, id string) (ledger.Delivery, error) {
	d, err := a.Rows.Delivery(ctx, ledger.DeliveryID(id))
	return d, a.Visible.Check(ctx, err, denials.Object{Kind: "delivery", ID: string(d.ID), Label: d.Label}, d.Session)
}

// Get answers with a delivery.
func (a *DeliveryAPI) Get(ctx context.Context, in *deliveryPath) (*wire.Body[deliveryRecord], error) {
	d, err := a.find(ctx, in.Delivery)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(a.record(ctx, d)), nil
}

// Retry queues a delivery again.
func (a *DeliveryAPI) Retry(ctx context.Context, in *deliveryPath) (*wire.Body[deliveryRecord], error) {
	d, err := a.find(ctx, in.Delivery)
	if err != nil {
		return nil, err
	}
	if d, err = a.Keeper.RetryDelivery(ctx, d.ID, auth.CallerOf(ctx).Actor()); err != nil {
		return nil, err
	}
	return wire.NewBody(a.record(ctx, d)), nil
}

// Discard gives a delivery up.
func (a *DeliveryAPI) Discard(ctx context.Context, in *deliveryPath) (*wire.Body[deliveryRecord], error) {
	d, err := a.find(ctx, in.Delivery)
	if err != nil {
		return nil, err
	}
	if d, err = a.Keeper.DiscardDelivery(ctx, d.ID, a.Identity.Verdict(auth.CallerOf(ctx))); err != nil {
		return nil, err
	}
	return wire.NewBody(a.record(ctx, d)), nil
}

// directoryRecord is a conversation that was looked up.
type directoryRecord struct {
	Route   sessions.Route  `json:"route"`
	Members []sessions.Peer `json:"members,omitempty" doc:"at most 200; absent if the platform does not list them"`
}

// LookUp finds a conversation and its members.
func (a *DeliveryAPI) LookUp(ctx context.Context, in *struct {
	Channel string `query:"channel" required:"true"`
	Account string `query:"account"`
	To      string `query:"to" required:"true" doc:"a conversation's id, owner, #name or @name"`
},
) (*wire.Body[directoryRecord], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	if err := a.Visible.NeedChannel(ctx, in.Channel, in.Account); err != nil {
		return nil, err
	}
	route, members, err := a.Directory.LookUp(ctx, in.Channel, in.Account, in.To)
	if err != nil {
		return nil, fmt.Errorf("look up: %w", err)
	}
	return wire.NewBody(directoryRecord{view.PublicRoute(route), members}), nil
}
