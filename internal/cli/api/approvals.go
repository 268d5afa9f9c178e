package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Pending is the status of an approval that waits for a decision.
const Pending = "pending"

// ApprovalList is a page of approvals.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
}

// Approval is a tool call, or a message, that somebody has to allow or deny.
type Approval struct {
	ID        string          `json:"id"`
	Session   string          `json:"session"`
	Run       string          `json:"run"`
	Agent     string          `json:"agent"`
	Channel   string          `json:"channel"`
	Tool      string          `json:"tool"` // empty for a message
	Delivery  string          `json:"delivery"`
	Args      json.RawMessage `json:"args"` // the call's arguments, or a [HeldMessage]
	Label     string          `json:"label"`
	Status    string          `json:"status"`
	Why       string          `json:"why"`
	Rules     []string        `json:"rules"`
	Approvers [][]string      `json:"approvers"`
	OnTimeout string          `json:"on_timeout"`
	Reason    string          `json:"reason"`
	By        string          `json:"by"`
	Created   time.Time       `json:"created"`
	Expires   time.Time       `json:"expires"`
	Decided   time.Time       `json:"decided"`
}

// HeldMessage is the message of an approval.
type HeldMessage struct{ Channel, Account, To, Thread, Kind, Text string }

// Place is where the message goes; empty for no message.
func (m HeldMessage) Place() string {
	return Route{Channel: m.Channel, Account: m.Account, Conversation: m.To, Thread: m.Thread}.String()
}

// Message is the message to decide about; empty for a tool call.
func (p Approval) Message() HeldMessage {
	var m HeldMessage
	if p.Tool != "" || json.Unmarshal(p.Args, &m) != nil {
		return HeldMessage{}
	}
	return m
}

// Summary is the call's arguments, or the message with its destination, on one line.
func (p Approval) Summary() string {
	if p.Tool != "" {
		return string(p.Args)
	}
	m := p.Message()
	return m.Channel + " " + m.To + ": " + m.Text
}

// Content is the call's arguments, indented, or the message's text.
func (p Approval) Content() string {
	if p.Tool == "" {
		return p.Message().Text
	}
	var args bytes.Buffer
	if json.Indent(&args, p.Args, "", "  ") != nil {
		return string(p.Args)
	}
	return args.String()
}

const owners = "the owners"

// Deciders says who may decide. Each rule may have its own list; a person must be on all of them.
func (p Approval) Deciders() string {
	var lists []string
	for _, list := range p.Approvers {
		who := cmp.Or(strings.Join(list, ", "), owners)
		if !slices.Contains(lists, who) {
			lists = append(lists, who)
		}
	}
	if len(lists) < 2 {
		return cmp.Or(strings.Join(lists, ""), owners)
	}
	return "anyone who is in each of these groups: " + strings.Join(lists, "; ")
}

// Waiting lists the approvals that wait for a decision.
func (c *Client) Waiting(ctx context.Context) ([]Approval, error) {
	got, err := Get[ApprovalList](ctx, c, Request{Path: "/v1/approvals", Query: Query("status", Pending, "limit", "200")})
	return got.Approvals, err
}

// DecisionRequest allows or denies an approval. verb is "allow" or "deny"; the agent is told the reason of a denial.
func DecisionRequest(id, verb, reason string) Request {
	r := Request{Method: http.MethodPost, Path: Path("approvals", id, verb)}
	if reason != "" {
		r.Body = map[string]string{"reason": reason}
	}
	return r
}
