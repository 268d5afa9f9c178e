package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

// messagesPath is where messages are sent; its requests may bring files.
const messagesPath = "/v1/messages"

func (s *Server) deliveryRoutes(api huma.API) {
	huma.Register(api, op(http.MethodPost, messagesPath, "send-message", "Send a message that nobody waits for, through the gate", http.StatusAccepted), s.sendMessage)
	huma.Register(api, op(http.MethodGet, "/v1/deliveries", "list-deliveries", "List deliveries, newest first, and count the unsettled ones"), s.listDeliveries)
	huma.Register(api, op(http.MethodGet, "/v1/deliveries/{delivery}", "get-delivery", "Show a delivery"), s.getDelivery)
	huma.Register(api, op(http.MethodPost, "/v1/deliveries/{delivery}/retry", "retry-delivery", "Send a delivery again that ended without success"), s.changeDelivery(s.cfg.Router.RetryDelivery))
	huma.Register(api, op(http.MethodPost, "/v1/deliveries/{delivery}/discard", "discard-delivery", "Give a delivery up"), s.changeDelivery(s.discard))
	huma.Register(api, op(http.MethodPost, "/v1/policy/simulate", "simulate-tool-call", "What a call of a tool by a session would come to, asked by an owner there, and every rule that was looked at; no effects"), s.simulate)
	huma.Register(api, op(http.MethodGet, "/v1/policy/check", "check-policy", "What the gate would decide, and every rule it looked at; no effects"), s.checkPolicy)
}

type sendInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"the same as key in the body"`
	Body struct {
		Channel  string `json:"channel" minLength:"1" example:"telegram"`
		Account  string `json:"account,omitempty" doc:"default: default"`
		To       string `json:"to" minLength:"1" doc:"the conversation's id; owner for the owner's direct chat; #name or @name where the channel can look names up"`
		ChatType string `json:"chat_type,omitempty" enum:"direct,group,channel" doc:"default: as the platform says, else direct"`
		Thread   string `json:"thread,omitempty"`
		Text     string `json:"text,omitempty" doc:"may be absent if there are files"`
		Label    string `json:"label,omitempty" doc:"level of the text and the files, or LEVEL/trust; default PUBLIC"`
		Key      string `json:"key,omitempty" maxLength:"200" doc:"a repeated key is the same message, sent once"`

		Buttons []buttonJSON `json:"buttons,omitempty" maxItems:"5" doc:"below the text; channels without buttons say each value in the text"`
		Files   []fileJSON   `json:"files,omitempty" maxItems:"10" doc:"sent after the text, each as a message of its own"`
	}
}

func (s *Server) sendMessage(ctx context.Context, in *sendInput) (*body[deliveryRecord], error) {
	label, err := said(ctx, in.Body.Label)
	if err != nil {
		return nil, err
	}
	if err := s.needChannel(ctx, in.Body.Channel, in.Body.Account); err != nil {
		return nil, err
	}
	key := in.Body.Key
	if key == "" {
		key = in.Key
	}
	d, err := s.cfg.Router.Send(ctx, router.Proactive{
		Channel: in.Body.Channel, Account: in.Body.Account, To: in.Body.To, ChatType: sessions.ChatType(in.Body.ChatType),
		Thread: in.Body.Thread, Text: in.Body.Text, Label: label, Idempotency: named(ctx, key), Reader: callerOf(ctx).Level, Actor: callerOf(ctx).actor(),
		Buttons: buttonsOf(in.Body.Buttons), Files: filesOf(in.Body.Files),
	})
	if err != nil {
		return nil, s.problem(err)
	}
	if !callerOf(ctx).sees(d.Label) { // of the first request of this name, when the token had a higher level
		s.denied(ctx, object{"delivery", string(d.ID), d.Session, d.Label}, whyAbove)
		return nil, errNotFound
	}
	return &body[deliveryRecord]{s.delivery(ctx, d)}, nil
}

// labelOf reads a level or a label; none is that of a fresh text.
func labelOf(text string) (flow.Label, error) {
	if text == "" {
		return flow.Label{}, nil
	}
	if level, err := flow.ParseLevel(text); err == nil {
		return flow.NewLabel(level, flow.Trusted), nil
	}
	l, err := flow.Parse(text)
	if err != nil {
		return l, badRequest(fmt.Sprintf("label: %q: want PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED", text))
	}
	return l, nil
}

type deliveryList struct {
	Deliveries []deliveryRecord              `json:"deliveries"`
	Counts     map[ledger.DeliveryStatus]int `json:"counts" doc:"how many there are of each status but sent and discarded"`
}

func (s *Server) listDeliveries(ctx context.Context, in *struct {
	PageQuery
	Status  string `query:"status" enum:"preview,queued,held,sending,sent,blocked,failed,unknown,expired,discarded" doc:"only those that are so"`
	Channel string `query:"channel"`
	Session string `query:"session" doc:"a session's id"`
},
) (*page[deliveryList], error) {
	bound := newBound()
	found, err := s.cfg.Store.ListDeliveries(ctx, ledger.Query{
		MaxLevel: callerOf(ctx).Level, Status: in.Status, Channel: in.Channel, Session: sessions.ID(in.Session), Limit: in.Limit, After: in.After, Bound: bound,
	})
	if err != nil {
		return nil, s.problem(err)
	}
	counts, err := s.cfg.Store.CountDeliveries(ctx, callerOf(ctx).Level)
	if err != nil {
		return nil, s.problem(err)
	}
	out := deliveryList{Deliveries: make([]deliveryRecord, len(found)), Counts: counts}
	for i, d := range found {
		out.Deliveries[i] = s.delivery(ctx, d)
	}
	return &page[deliveryList]{next(ctx, bound, lastOf(found, func(d ledger.Delivery) string { return string(d.ID) })), out}, nil
}

type deliveryPath struct {
	Delivery string `path:"delivery"`
}

func (s *Server) getDelivery(ctx context.Context, in *deliveryPath) (*body[deliveryRecord], error) {
	d, err := s.visibleDelivery(ctx, in.Delivery)
	if err != nil {
		return nil, err
	}
	return &body[deliveryRecord]{s.delivery(ctx, d)}, nil
}

// visibleDelivery is a delivery that the caller may know of.
func (s *Server) visibleDelivery(ctx context.Context, id string) (ledger.Delivery, error) {
	d, err := s.cfg.Store.Delivery(ctx, ledger.DeliveryID(id))
	return d, s.visible(ctx, err, object{kind: "delivery", id: string(d.ID), label: d.Label}, d.Session)
}

func (s *Server) changeDelivery(change func(context.Context, ledger.DeliveryID, string) (ledger.Delivery, error)) func(context.Context, *deliveryPath) (*body[deliveryRecord], error) {
	return func(ctx context.Context, in *deliveryPath) (*body[deliveryRecord], error) {
		d, err := s.visibleDelivery(ctx, in.Delivery)
		if err != nil {
			return nil, err
		}
		if d, err = change(ctx, d.ID, callerOf(ctx).actor()); err != nil {
			return nil, s.problem(err)
		}
		return &body[deliveryRecord]{s.delivery(ctx, d)}, nil
	}
}

// discard gives a delivery up. One that is held is denied by that.
func (s *Server) discard(ctx context.Context, id ledger.DeliveryID, _ string) (ledger.Delivery, error) {
	return s.cfg.Router.DiscardDelivery(ctx, id, s.decider(ctx))
}

func (s *Server) checkPolicy(ctx context.Context, in *struct {
	Channel  string `query:"channel" required:"true"`
	ChatType string `query:"chatType" enum:"direct,group,channel"`
	Account  string `query:"account"`
	To       string `query:"to"`
	Thread   string `query:"thread"`
	Session  string `query:"session" doc:"key or id of the session that speaks"`
	Label    string `query:"label" doc:"level of the text; default: what the session has learnt, else PUBLIC"`
	Kind     string `query:"kind" enum:"reply,announce,notice,message"`
	Text     string `query:"text" doc:"what would be said, for the rules that look at it; absent: nothing"`
},
) (*body[policy.Decision], error) {
	label, err := labelOf(in.Label)
	if err != nil {
		return nil, err
	}
	if err := s.needChannel(ctx, in.Channel, in.Account); err != nil {
		return nil, err
	}
	d, err := s.cfg.Router.CheckPolicy(ctx, router.Check{
		Channel: in.Channel, ChatType: sessions.ChatType(in.ChatType), Account: in.Account, To: in.To, Thread: in.Thread,
		Session: in.Session, Label: label, Kind: ledger.DeliveryKind(in.Kind), Text: in.Text, Reader: callerOf(ctx).Level,
	})
	if errors.Is(err, sessions.ErrNotFound) && in.Session != "" {
		_, _ = s.lookup(ctx, in.Session) // notes one that is hidden; whatever it gives, the answer is the same
	}
	if err != nil {
		return nil, s.problem(fmt.Errorf("check policy: %w", err))
	}
	return &body[policy.Decision]{d}, nil
}
