package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/announce"
	"sluice/internal/agent/tools"
	"sluice/internal/agent/visibility"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/request"
	"sluice/sessions"
)

const (
	sendWaitDefault = 30  // seconds
	sendWaitMax     = 600 // seconds
	sendTextMax     = 64 << 10
)

type sendArgs struct {
	SessionKey     string `json:"sessionKey" jsonschema:"the key or sessionId of the session to speak to, as sessions_list shows it; agent:<id>:main is another agent" also:"session_id"`
	Message        string `json:"message" jsonschema:"the question or message for its agent" bounds:"minLength=1" also:"content"`
	TimeoutSeconds *int   `json:"timeoutSeconds,omitempty" jsonschema:"how long to wait for the reply; default 30; 0: do not wait" bounds:"minimum=0,maximum=600,lowered"`
}

func (a *sendArgs) check() error {
	switch {
	case a.SessionKey == "":
		return errors.New("sessionKey: is required")
	case strings.TrimSpace(a.Message) == "":
		return errors.New("message: is required")
	case len(a.Message) > sendTextMax:
		return fmt.Errorf("message: is %d bytes long, the maximum is %d", len(a.Message), sendTextMax)
	}
	return nil
}

func (a *sendArgs) wait() time.Duration {
	if a.TimeoutSeconds == nil {
		return sendWaitDefault * time.Second
	}
	return time.Duration(min(*a.TimeoutSeconds, sendWaitMax)) * time.Second
}

// sendResult is the result of sessions_send.
type sendResult struct {
	RunID      sessions.RunID `json:"runId"`
	Status     string         `json:"status"` // accepted | ok | timeout | error
	SessionKey sessions.Key   `json:"sessionKey"`
	Reply      string         `json:"reply,omitempty"`
	Error      string         `json:"error,omitempty"`
}

// sendTool may be repeated after a crash: the call names the exchange, so that it waits for the same one.
func (ts *Tools) sendTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        "sessions_send",
			Description: "Sends a message to the agent of another session and waits for the reply. Afterwards the two of you may exchange a few more messages, and the other agent may tell the people in its conversation.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowAgent}, Idempotent: true, Timeout: (sendWaitMax + 30) * time.Second,
	}, tools.Work[sendArgs]{Run: ts.sendTo, Beyond: ts.sendBeyond, Check: func(ctx context.Context, call tools.Call[sendArgs]) error {
		_, err := ts.sendPlan(ctx, call)
		return err
	}})
}

// sendBeyond reports whether people in another conversation would see the effects of a request: the exchange ends
// with an announcement in the target's conversation. A target without people announces nothing. A sub-agent's message
// to its requester stays with those it works for. A message to a hidden main session always counts as accepted, so
// that trying reveals nothing.
func (ts *Tools) sendBeyond(ctx context.Context, call tools.Call[sendArgs]) (bool, error) {
	to, err := ts.sendPlan(ctx, call)
	if broken, ok := errors.AsType[*tools.InsideError](err); ok {
		return true, broken
	}
	if err != nil || to.Blind || to.Parent || to.Record.Route.IsZero() {
		return false, nil //nolint:nilerr // a request that is wrong is refused by the tool, and reaches nobody
	}
	return to.Record.Route.Lane() != call.Caller.Route.Lane(), nil
}

func (ts *Tools) sendTo(ctx context.Context, call tools.Call[sendArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	to, err := ts.sendPlan(ctx, call)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	x, err := ts.Exchanges.StartExchange(ctx, exchange.Ask{
		Kind: announce.Send, Caller: caller, Target: to.Record, Create: to.Create, Text: args.Message, Label: caller.Taint, Key: call.Key(), Blind: to.Blind,
	})
	if to.Blind && errors.Is(err, request.ErrQueueFull) {
		ts.Log.Warn("message dropped: the target's queue is full, and the sender must not learn that", "session", string(to.Record.ID), "run", string(caller.Run))
		x.First, err = sessions.NewRunID(), nil
	}
	if err != nil {
		return sessions.ToolResult{}, publicSendError(err)
	}
	result := sendResult{RunID: x.First, Status: "accepted", SessionKey: ts.Sight.Shown(caller, to.Record.Key)}
	label := flow.NewLabel(caller.Taint.Level(), flow.Trusted)
	if wait := args.wait() - ts.Now().Sub(x.Started); !to.Blind && args.wait() > 0 {
		run, err := ts.Exchanges.WaitRun(ctx, x.First, max(wait, 0))
		if err != nil {
			return sessions.ToolResult{}, tools.Inside("wait for run", err)
		}
		label = answered(&result, run, caller)
	}
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: label}, err
}

// sendPlan finds the target of a call, or says why it is refused.
func (ts *Tools) sendPlan(ctx context.Context, call tools.Call[sendArgs]) (to visibility.Addressee, err error) {
	if err := call.Args.check(); err != nil {
		return to, err
	}
	return ts.Sight.Addressee(ctx, call.Caller, call.Args.SessionKey)
}

// answered adds the state of the target's run. Data above the caller's level is left out.
func answered(result *sendResult, run sessions.Run, caller sessions.Caller) flow.Label {
	label := flow.NewLabel(caller.Taint.Level(), flow.Trusted)
	switch {
	case !run.Status.Terminal():
		result.Status, result.Error = "timeout", "no reply yet, the agent is still working; see sessions_history later"
	case !policy.CallerOf(caller).May(policy.CheckSessionsReply, run.Label):
		result.Status = "accepted"
	case run.Status == sessions.RunDone:
		result.Status, result.Reply = "ok", sessions.VisibleText(run.Reply)
		label = run.Label
	default:
		result.Status, result.Error = "error", "the run ended as "+string(run.Status)+": "+run.Error
	}
	return label
}
