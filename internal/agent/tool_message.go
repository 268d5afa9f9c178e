package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

const messageSchema = `{"type":"object","additionalProperties":false,"properties":{
"message":{"type":"string","description":"the text, in Markdown; may be left out only with media"},
"channel":{"type":"string","description":"for example telegram; default: this conversation's"},
"to":{"type":"string","description":"the conversation's id on the channel, owner for its owner, or #name or @name where the channel knows names; default: this conversation"},
"accountId":{"type":"string","description":"the bot to speak as; default: this conversation's"},
"threadId":{"type":"string","description":"topic or thread in the conversation"},
"buttons":{"type":"array","maxItems":5,"description":"shown below the text; who presses one tells you its value, which is never a command","items":{"type":"object","additionalProperties":false,"required":["label","value"],"properties":{
"label":{"type":"string","minLength":1,"maxLength":40},"value":{"type":"string","minLength":1,"description":"at most 60 bytes"}}}},
"media":{"type":"array","maxItems":10,"description":"ids of files that came into this conversation, sent after the text","items":{"type":"string"}}}}`

type messageArgs struct {
	Message   string `json:"message"`
	Channel   string `json:"channel"`
	To        string `json:"to"`
	AccountID string `json:"accountId"`
	ThreadID  string `json:"threadId"`
	Buttons   []struct {
		Label string `json:"label"`
		Value string `json:"value"`
	} `json:"buttons"`
	Media []sessions.MediaID `json:"media"`
}

// messageResult is the result of the message tool.
type messageResult struct {
	Status     string            `json:"status"` // accepted | blocked
	DeliveryID ledger.DeliveryID `json:"deliveryId"`
	Channel    string            `json:"channel"`
	To         string            `json:"to"`
	Reason     string            `json:"reason,omitempty"` // blocked: why
}

// messageTool may be repeated after a crash: its idempotency key is made of the call.
func (l *Loop) messageTool() sessions.Tool {
	return sessions.Tool{
		Spec: sessions.ToolSpec{
			Name: "message", Parameters: json.RawMessage(messageSchema),
			Description: "Sends a message on its own, besides your answer: to another conversation, or to this one before you have finished.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowDelivery}, Idempotent: true,
		Run: l.message, Beyond: messageBeyond,
		Check: func(ctx context.Context, caller sessions.Caller, raw json.RawMessage) error {
			p, err := messagePlan(caller, raw)
			if err != nil {
				return err
			}
			return l.leaves(ctx, p)
		},
	}
}

// messageBeyond reports whether a message goes to another conversation. What the tool refuses by itself goes nowhere,
// so that nobody is asked about it.
func messageBeyond(_ context.Context, caller sessions.Caller, raw json.RawMessage) (bool, error) {
	p, err := messagePlan(caller, raw)
	return err == nil && !here(caller, p), nil
}

func (l *Loop) message(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	request, err := messagePlan(caller, raw)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	request.Idempotency = callKey(caller, raw)
	d, err := l.send(ctx, request)
	if err != nil {
		return sessions.ToolResult{}, publicSendError(err)
	}
	result := messageResult{Status: "accepted", DeliveryID: d.ID, Channel: d.Route.Channel, To: string(d.Route.Conversation)}
	if d.Decision != nil && d.Decision.Action == policy.Block {
		result.Status, result.Reason = "blocked", d.Decision.Reason
	}
	text, err := jsonResult(result)
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(caller.Taint.Level(), flow.Trusted)}, err
}

// messagePlan reads a call and says where its message goes, or why it is refused.
func messagePlan(caller sessions.Caller, raw json.RawMessage) (router.Proactive, error) {
	var args messageArgs
	if err := decodeArgs(raw, &args); err != nil {
		return router.Proactive{}, err
	}
	switch silent := sessions.Silent(args.Message); {
	case silent && len(args.Media) > 0:
		args.Message = "" // the files come without a word
	case args.Message == "":
		return router.Proactive{}, errors.New("message: is required")
	case silent:
		return router.Proactive{}, fmt.Errorf("message: %q says nothing: to keep silent, do not send a message", strings.TrimSpace(args.Message))
	}
	return addressed(caller, args)
}

// addressed completes a message's address from the run's own route. Only an
// owner's words may make an agent speak somewhere else.
func addressed(caller sessions.Caller, args messageArgs) (router.Proactive, error) {
	p := router.Proactive{
		Channel: args.Channel, Account: args.AccountID, To: args.To, Thread: args.ThreadID, Text: args.Message,
		Label: caller.Taint, Session: caller.Session, Agent: caller.Agent, Actor: "agent:" + caller.Agent,
		Media: args.Media, Reader: caller.Reader,
	}
	for _, b := range args.Buttons {
		p.Buttons = append(p.Buttons, adapters.Button{Label: b.Label, Value: b.Value})
	}
	own := caller.Route
	p.Channel = cmp.Or(p.Channel, own.Channel)
	if p.Channel == own.Channel {
		p.Account = cmp.Or(p.Account, own.Account)
	}
	if p.To == "" && p.Channel == own.Channel {
		p.To, p.Thread = string(own.Conversation), cmp.Or(p.Thread, string(own.Thread))
	}
	switch {
	case p.Channel == "":
		return p, errors.New("channel: this run has no conversation of its own; say which channel")
	case p.To == "":
		return p, errors.New("to: say which conversation on the channel")
	}
	if here(caller, p) {
		p.ChatType = own.ChatType
	} else if !caller.Owner {
		return p, errors.New("to: only an owner may have messages sent to another conversation")
	}
	return p, nil
}

// here reports whether a message goes to the conversation of the run. A name that means it counts as another.
func here(caller sessions.Caller, p router.Proactive) bool {
	own := caller.Route
	return p.Channel == own.Channel && p.Account == own.Account && p.To == string(own.Conversation)
}

// publicSendError lets a model see what is wrong with what it asked for, and nothing else.
func publicSendError(err error) error {
	if wrong, ok := errors.AsType[*request.Error](err); ok {
		return wrong
	}
	return inside("queue message", err)
}
