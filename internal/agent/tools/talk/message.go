// Package talk has the tools by which an agent speaks: message to people, sessions_send to other sessions,
// and sessions_spawn, with agents_list, to sub-agents.
//
// A call names what it starts, so a call that runs again after a crash starts nothing twice.
package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/internal/agent/visibility"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
)

type messageArgs struct {
	Message   string   `json:"message,omitempty" jsonschema:"the text, in Markdown; can be left out only with media" also:"text"`
	Channel   string   `json:"channel,omitempty" jsonschema:"for example telegram; default: this conversation's"`
	To        string   `json:"to,omitempty" jsonschema:"the conversation's id on the channel, owner for its owner, the name of a configured target without a channel, or #name or @name where the channel knows names; default: this conversation" also:"recipient"`
	AccountID string   `json:"accountId,omitempty" jsonschema:"the bot to speak as; default: this conversation's"`
	ThreadID  string   `json:"threadId,omitempty" jsonschema:"topic or thread in the conversation"`
	Buttons   []button `json:"buttons,omitempty" jsonschema:"shown below the text; pressing one sends you its value, which is never a command" bounds:"maxItems=5"`
	Media     []string `json:"media,omitempty" jsonschema:"files to send after the text: ids of files that this conversation received, or paths in the workspace" bounds:"maxItems=10"`
}

type button struct {
	Label string `json:"label" bounds:"minLength=1,maxLength=40"`
	Value string `json:"value" jsonschema:"at most 60 bytes" bounds:"minLength=1"`
}

// messageResult is the result of the message tool.
type messageResult struct {
	Status     string            `json:"status"` // accepted | blocked
	DeliveryID ledger.DeliveryID `json:"deliveryId"`
	Channel    string            `json:"channel"`
	To         string            `json:"to"`
	Reason     string            `json:"reason,omitempty"` // blocked: why
}

// Exchanges begins exchanges with other sessions, see [exchange.Exchanges].
type Exchanges interface {
	StartExchange(ctx context.Context, a exchange.Ask) (ledger.Exchange, error)
	WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error)
}

// talkSessions reads a session by its id.
type talkSessions interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
}

// Tools are the tools by which an agent speaks to people and to other agents.
type Tools struct {
	Store     talkSessions
	Sight     *visibility.Checker
	Roster    *roster.Roster
	Exchanges Exchanges
	// Send queues a proactive message.
	Send func(ctx context.Context, p outbound.Proactive) (ledger.Delivery, error)
	// Target finds the place of a configured target, such as owner; nil if no targets are configured.
	Target func(name string) (outbound.Proactive, bool)
	// Files opens the files of the calling session; nil if agents have none.
	Files func(ctx context.Context, caller sessions.Caller) (*workspace.Files, error)
	// FileMax is the maximum size of a file that is sent, in bytes; nil or 0: that of the workspace.
	FileMax func() int64
	// CheckPolicy returns the gate's decision without effects.
	CheckPolicy func(ctx context.Context, c outbound.Check) (policy.Decision, error)
	// Models finds a model by its name "<provider>/<model>".
	Models func(name string) (sessions.Model, error)
	// CheckModel returns an error for a model that a session with data of the level may not use.
	CheckModel func(name string, knows flow.Level) error
	Now        func() time.Time
	Log        *slog.Logger
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	return []sessions.Tool{ts.messageTool(), ts.attachTool(), ts.sendTool(), ts.spawnTool(), ts.agentsTool()}
}

// messageTool may be repeated after a crash: its idempotency key is derived from the call.
func (ts *Tools) messageTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        "message",
			Description: "Sends a separate message besides your reply: to another conversation, or to this one before you have finished.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowDelivery}, Idempotent: true,
	}, tools.Work[messageArgs]{Run: ts.message, Beyond: ts.messageBeyond, Check: func(ctx context.Context, call tools.Call[messageArgs]) error {
		p, err := ts.messagePlan(call)
		if err != nil {
			return err
		}
		if p, err = ts.labelled(ctx, call, p); err != nil {
			return err
		}
		return ts.leaves(ctx, p)
	}})
}

// messageBeyond reports whether a message goes to another conversation. A call that the tool refuses goes nowhere, so
// nobody is asked about it. A session without people may reach the targets that the configuration names.
func (ts *Tools) messageBeyond(_ context.Context, call tools.Call[messageArgs]) (bool, error) {
	p, err := ts.messagePlan(call)
	if err != nil || here(call.Caller, p) {
		return false, nil //nolint:nilerr // a call that is wrong is refused by the tool, and reaches nobody
	}
	_, configured := ts.named(call.Args)
	return !configured || !call.Caller.Key.Unattended(), nil
}

// named is the configured target that a call names; false for any other address.
func (ts *Tools) named(args messageArgs) (outbound.Proactive, bool) {
	if ts.Target == nil || args.Channel != "" || args.AccountID != "" || args.ThreadID != "" {
		return outbound.Proactive{}, false
	}
	return ts.Target(args.To)
}

func (ts *Tools) message(ctx context.Context, call tools.Call[messageArgs]) (sessions.ToolResult, error) {
	request, err := ts.messagePlan(call)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	if request, err = ts.withFiles(ctx, call, request); err != nil {
		return sessions.ToolResult{}, err
	}
	request.Idempotency = call.Key()
	d, err := ts.Send(ctx, request)
	if err != nil {
		return sessions.ToolResult{}, publicSendError(err)
	}
	result := messageResult{Status: "accepted", DeliveryID: d.ID, Channel: d.Route.Channel, To: string(d.Route.Conversation)}
	if d.Decision != nil && d.Decision.Action == policy.Block {
		result.Status, result.Reason = "blocked", d.Decision.Reason
	}
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(call.Caller.Taint.Level(), flow.Trusted)}, err
}

// messagePlan says where its message goes, or why it is refused.
func (ts *Tools) messagePlan(call tools.Call[messageArgs]) (outbound.Proactive, error) {
	args := call.Args
	switch silent := sessions.Silent(args.Message); {
	case silent && len(args.Media) > 0:
		args.Message = "" // the files are sent without a text
	case args.Message == "":
		return outbound.Proactive{}, errors.New("message: is required")
	case silent:
		return outbound.Proactive{}, fmt.Errorf("message: %q means silence: to stay silent, do not send a message", strings.TrimSpace(args.Message))
	}
	return ts.addressed(call.Caller, args)
}

// addressed completes a message's address: from a configured target that it names, else from the run's own route. Only an
// owner's message may make an agent write elsewhere.
func (ts *Tools) addressed(caller sessions.Caller, args messageArgs) (outbound.Proactive, error) {
	p := outbound.Proactive{
		Channel: args.Channel, Account: args.AccountID, To: args.To, Thread: args.ThreadID, Text: args.Message,
		Label: caller.Taint, Session: caller.Session, Agent: caller.Agent, Actor: "agent:" + caller.Agent,
		Reader: caller.Reader,
	}
	for _, m := range args.Media {
		if received(m) {
			p.Media = append(p.Media, sessions.MediaID(m))
		}
	}
	for _, b := range args.Buttons {
		p.Buttons = append(p.Buttons, adapters.Button{Label: b.Label, Value: b.Value})
	}
	own := caller.Route
	if to, ok := ts.named(args); ok && (to.To != outbound.ToOwner || own.Channel == "" || caller.Key.Unattended()) {
		p.Channel, p.Account, p.To, p.Thread = to.Channel, to.Account, to.To, to.Thread
	}
	p.Channel = cmp.Or(p.Channel, own.Channel)
	if p.Channel == own.Channel {
		p.Account = cmp.Or(p.Account, own.Account)
	}
	if p.To == "" && p.Channel == own.Channel {
		p.To, p.Thread = string(own.Conversation), cmp.Or(p.Thread, string(own.Thread))
	}
	switch {
	case p.Channel == "":
		return p, errors.New("channel: this run has no conversation of its own; name a channel")
	case p.To == "":
		return p, errors.New("to: name a conversation on the channel")
	}
	if here(caller, p) {
		p.ChatType = own.ChatType
	} else if !caller.Owner {
		return p, errors.New("to: only an owner may ask for messages to another conversation")
	}
	return p, nil
}

// received reports whether an entry of media is a file that the conversation received, and not a path.
func received(media string) bool {
	return strings.HasPrefix(media, "med_") && !strings.ContainsAny(media, "/.")
}

// labelled is a message with the label of the files of the workspace that it takes along, which are not read.
func (ts *Tools) labelled(ctx context.Context, call tools.Call[messageArgs], p outbound.Proactive) (outbound.Proactive, error) {
	label, err := ts.eachFile(ctx, call.Caller, "media", call.Args.Media, func(*workspace.Files, string) error { return nil })
	p.Label = p.Label.Join(label)
	return p, err
}

// withFiles is a message with the files of the workspace that it takes along.
func (ts *Tools) withFiles(ctx context.Context, call tools.Call[messageArgs], p outbound.Proactive) (outbound.Proactive, error) {
	label, err := ts.eachFile(ctx, call.Caller, "media", call.Args.Media, func(files *workspace.Files, name string) error {
		file, err := taken(files, name)
		p.Files = append(p.Files, file)
		return err
	})
	p.Label = p.Label.Join(label)
	return p, err
}

// taken is a file of the workspace as it is sent.
func taken(files *workspace.Files, name string) (outbound.NewFile, error) {
	content, err := files.Read(name)
	if err != nil {
		return outbound.NewFile{}, err
	}
	kind := cmp.Or(recordings[strings.ToLower(path.Ext(name))], mime.TypeByExtension(path.Ext(name)), http.DetectContentType(content))
	return outbound.NewFile{Name: path.Base(name), MIME: kind, Content: content}, nil
}

// recordings are types by which platforms play a file. Not every machine knows them.
var recordings = map[string]string{".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg", ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".wav": "audio/wav", ".mp4": "video/mp4"}

// eachFile calls do for each name that is a path of the workspace, and returns the join of the files' labels. field is the parameter with
// the names.
func (ts *Tools) eachFile(ctx context.Context, caller sessions.Caller, field string, names []string, do func(files *workspace.Files, name string) error) (label flow.Label, err error) {
	label = flow.Bottom()
	var files *workspace.Files
	for i, name := range names {
		if received(name) {
			continue
		}
		if files == nil {
			if files, err = ts.files(ctx, caller); err != nil {
				return label, fmt.Errorf("%s[%d]: %w", field, i, err)
			}
			defer files.Close() //nolint:errcheck // only read from
		}
		read, err := files.Reading(ctx, name, func() error { return do(files, name) })
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			return label, fmt.Errorf("%s[%d]: there is no file %q in the workspace; use list to see the files", field, i, name)
		case err != nil:
			return label, fmt.Errorf("%s[%d]: %q: %w", field, i, name, err)
		}
		label = label.Join(read)
	}
	return label, nil
}

// files opens the caller's files, if its agent may read files.
func (ts *Tools) files(ctx context.Context, caller sessions.Caller) (*workspace.Files, error) {
	if d, _ := ts.Roster.Definition(caller.Agent); ts.Files == nil || !d.Tools.Has("read", d.Sandbox) {
		return nil, errors.New("this agent may not read files")
	}
	return ts.Files(ctx, caller)
}

// here reports whether a message goes to the conversation of the run. Another name of the same conversation counts as
// another one.
func here(caller sessions.Caller, p outbound.Proactive) bool {
	own := caller.Route
	return p.Channel == own.Channel && p.Account == own.Account && p.To == string(own.Conversation)
}

// publicSendError lets a model read what is wrong with its request, and nothing else.
func publicSendError(err error) error {
	if wrong, ok := errors.AsType[*request.Error](err); ok {
		return wrong
	}
	return tools.Inside("queue message", err)
}

// leaves asks whether the gate would let a message out.
func (ts *Tools) leaves(ctx context.Context, p outbound.Proactive) error {
	d, err := ts.CheckPolicy(ctx, outbound.Check{
		Channel: p.Channel, Account: p.Account, To: p.To, Thread: p.Thread, ChatType: p.ChatType, Label: p.Label, Kind: ledger.KindMessage, Text: p.Text, Reader: p.Reader,
	})
	if err != nil {
		return publicSendError(err)
	}
	if d.Action != policy.Allow {
		return &tools.GateError{Decision: d}
	}
	return nil
}
