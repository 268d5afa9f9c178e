package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// approval is the API's approval: a tool call, or a message, that somebody has to decide about.
type approval struct {
	ID        string          `json:"id"`
	Session   string          `json:"session"`
	Run       string          `json:"run"`
	Agent     string          `json:"agent"`
	Tool      string          `json:"tool"` // empty: a message
	Delivery  string          `json:"delivery"`
	Args      json.RawMessage `json:"args"`
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

// pending is the status of one that nobody has decided about yet.
const pending = "pending"

// about is what a line of the list says of it: a call's arguments, or where a message is to go and its text.
func (p approval) about() string {
	if p.Tool != "" {
		return string(p.Args)
	}
	m := p.message()
	return m.Channel + " " + m.To + ": " + m.Text
}

// approvalList is the API's list of them.
type approvalList struct {
	Approvals []approval `json:"approvals"`
}

func (a *app) approvalsCommand() *cobra.Command {
	return group("approvals", "Tool calls, and messages that a rule holds, that wait for your word", a.approvalsList(), a.approvalsShow(), a.approvalsAllow(), a.approvalsDeny())
}

func (a *app) approvalsList() *cobra.Command {
	var o output
	var every bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the calls and messages that wait", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/approvals", func() url.Values {
			if every {
				return queryOf("status", "all")
			}
			return nil
		}), func(got approvalList) error {
			return list(a, []string{"ID", "STATUS", "AGENT", "TOOL", "ARGUMENTS", "SESSION", "ASKED"}, got.Approvals, func(p approval) []string {
				return []string{p.ID, p.Status, p.Agent, orText(p.Tool, "message"), short(p.about()), p.Session, a.ago(p.Created)}
			})
		}),
	}
	cmd.Flags().BoolVar(&every, "all", false, "those that are decided too")
	return o.flag(cmd)
}

func (a *app) approvalsAllow() *cobra.Command {
	return &cobra.Command{
		Use: "allow ID", Short: "Let a call run, or a message be sent", Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error { return a.decide(ctx, args[0], "allow", "", "runs") }),
	}
}

func (a *app) approvalsDeny() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "deny ID", Short: "Refuse a call or a message", Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.decide(ctx, args[0], "deny", reason, "does not run")
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "what the agent is told")
	return cmd
}

// decide says yes or no to a call; done is what then holds for its tool.
func (a *app) decide(ctx context.Context, id, verb, reason, done string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	r := request{method: http.MethodPost, path: "/v1/approvals/" + url.PathEscape(id) + "/" + verb}
	if reason != "" {
		r.body = map[string]string{"reason": reason}
	}
	raw, err := c.call(ctx, r)
	if err != nil {
		return err
	}
	var p approval
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if p.Tool == "" {
		p.Tool, done = "message", map[string]string{"allow": "is sent", "deny": "is not sent"}[verb]
	}
	_, err = fmt.Fprintf(a.Stdout, "%s %s\n", clean(p.Tool), done)
	return err
}
