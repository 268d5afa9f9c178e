package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// CheckPath is where the gate is asked about a message.
const CheckPath = "/v1/policy/check"

// PolicyChecker says what the gate would decide about a message, and why.
type PolicyChecker interface {
	CheckPolicy(ctx context.Context, c outbound.Check) (policy.Decision, error)
}

// Simulator says how a tool call of a session would be decided.
type Simulator interface {
	Simulate(ctx context.Context, c Simulated) (policy.Simulation, error)
}

// Simulated is a tool call to simulate.
type Simulated struct {
	Session sessions.Record
	Tool    string
	Args    json.RawMessage
	Owner   bool       // the gateway's own token asks
	Speaker string     // who asks, as a principal; empty for the gateway's own token
	Reader  flow.Level // of who asks: what is above it looks missing, whatever the session may know
}

// PolicyAPI serves what the policy would decide.
type PolicyAPI struct {
	Visible   *view.Visibility
	Checker   PolicyChecker
	Simulator Simulator
	Identity  view.Identity
}

// aboutMessage asks about a message, in an address or in a body.
type aboutMessage struct {
	Channel  string `query:"channel" json:"channel" required:"true" minLength:"1"`
	ChatType string `query:"chatType" json:"chatType,omitempty" enum:"direct,group,channel"`
	Account  string `query:"account" json:"account,omitempty"`
	To       string `query:"to" json:"to,omitempty"`
	Thread   string `query:"thread" json:"thread,omitempty"`
	Session  string `query:"session" json:"session,omitempty" doc:"key or id of the session that speaks"`
	Label    string `query:"label" json:"label,omitempty" doc:"level of the text; default: what the session has learned, else PUBLIC"`
	Kind     string `query:"kind" json:"kind,omitempty" enum:"reply,announce,notice,message"`
	Text     string `query:"text" json:"text,omitempty" doc:"what would be said, for rules that look at the text; default: empty. Logs contain addresses: send a private text with POST"`
}

// Check answers with what the gate would decide about a message.
func (a *PolicyAPI) Check(ctx context.Context, in *aboutMessage) (*wire.Body[policy.Decision], error) {
	return a.check(ctx, *in)
}

// CheckMessage is Check with the message in the body: the text is in no address, and so in no log or history of a browser.
func (a *PolicyAPI) CheckMessage(ctx context.Context, in *struct{ Body aboutMessage }) (*wire.Body[policy.Decision], error) {
	return a.check(ctx, in.Body)
}

func (a *PolicyAPI) check(ctx context.Context, in aboutMessage) (*wire.Body[policy.Decision], error) {
	label, err := auth.ParseLabel(in.Label)
	if err != nil {
		return nil, err
	}
	if err := a.Visible.NeedChannel(ctx, in.Channel, in.Account); err != nil {
		return nil, err
	}
	d, err := a.Checker.CheckPolicy(ctx, outbound.Check{
		Channel: in.Channel, ChatType: sessions.ChatType(in.ChatType), Account: in.Account, To: in.To, Thread: in.Thread,
		Session: in.Session, Label: label, Kind: ledger.DeliveryKind(in.Kind), Text: in.Text, Reader: auth.CallerOf(ctx).Level,
	})
	if errors.Is(err, sessions.ErrNotFound) && in.Session != "" {
		_, _ = a.Visible.Existing(ctx, in.Session) // notes a hidden session for the operator; the answer is the same either way
	}
	if err != nil {
		return nil, fmt.Errorf("check policy: %w", err)
	}
	return wire.NewBody(d), nil
}

// simulatedCall asks about a tool call.
type simulatedCall struct {
	Tool    string                     `json:"tool_name" minLength:"1"`
	Args    map[string]json.RawMessage `json:"args,omitempty" doc:"the call's arguments"`
	Session string                     `json:"session,omitempty" doc:"key or id of the session that would make it; default: the default agent's main session"`
}

// Simulate answers with how a tool call would be decided.
func (a *PolicyAPI) Simulate(ctx context.Context, in *struct{ Body simulatedCall }) (*wire.Body[policy.Simulation], error) {
	record, err := a.Visible.Resolver.SessionOrMain(ctx, in.Body.Session)
	if err != nil {
		return nil, err
	}
	if record, err = a.Visible.UnlessHidden(ctx, record); err != nil {
		return nil, err
	}
	if !a.Visible.ChannelSeen(ctx, record.Route.Channel, record.Route.Account) {
		record.Route = sessions.Route{} // as if nobody had spoken to it
	}
	args, err := json.Marshal(in.Body.Args)
	if err != nil {
		return nil, fmt.Errorf("encode arguments: %w", err)
	}
	a.noteChannel(ctx, args)
	who := auth.CallerOf(ctx)
	record.Taint = record.Taint.Join(who.LowestInputLabel()) // as if the call followed from what the caller says
	got, err := a.Simulator.Simulate(ctx, Simulated{
		Session: record, Tool: in.Body.Tool, Args: args, Owner: who.Owner(), Speaker: a.Identity.Principal(who), Reader: who.Level,
	})
	if err != nil {
		return nil, err
	}
	return wire.NewBody(got), nil
}

// noteChannel notes for the operator that a call names a channel that is hidden from the caller.
func (a *PolicyAPI) noteChannel(ctx context.Context, args json.RawMessage) {
	var to struct {
		Channel   string `json:"channel"`
		AccountID string `json:"accountId"`
	}
	if json.Unmarshal(args, &to) == nil && !a.Visible.ChannelSeen(ctx, to.Channel, to.AccountID) {
		a.Visible.NoteChannel(ctx, "channel", to.Channel, to.AccountID, "")
	}
}
