package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/policy"
	"sluice/internal/cli/terminal"
)

func approvalsCommand(g command.Deps) *cobra.Command {
	return command.Group("approvals", "Tool calls and messages that wait for approval", approvalsList(g), approvalsShow(g), approvalsAllow(g), policy.Always(g), approvalsDeny(g))
}

func approvalsList(g command.Deps) *cobra.Command {
	var p command.Page
	var all bool
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List what waits for approval, soonest to expire first", Args: command.Args(0, 0)}, command.Get("/v1/approvals", func() url.Values {
		if p.Status = ""; all {
			p.Status = "all"
		}
		return p.Query()
	}), printApprovals)
	cmd.Flags().BoolVar(&all, "all", false, "also list decided ones, newest first")
	p.Filter(cmd, "kind", "kind", "show only this `kind`: call (of a tool) or message (held by a rule)")
	p.Filter(cmd, "channel", "channel", "show only what concerns this `channel`")
	return p.Add(cmd)
}

func printApprovals(s terminal.Screen, got api.ApprovalList) error {
	return terminal.List(s, `No approvals found. "--all" includes those that have been decided.`, []string{"ID", "STATUS", "AGENT", "TOOL", "CONTENT", "SESSION", "ASKED", "LEFT"}, got.Approvals, func(p api.Approval) []string {
		return []string{p.ID, p.Status, p.Agent, cmp.Or(p.Tool, "message"), terminal.Short(p.Summary()), p.Session, s.Ago(p.Created), left(p, s.Now())}
	})
}

func approvalsShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{
		Use: "show ID", Short: "Show a tool call or message in full, why it waits, and who may decide", Args: command.Args(1, 1),
	}, command.One("approvals"), printApproval)
}

func printApproval(s terminal.Screen, p api.Approval) error {
	m := p.Message()
	err := s.Pairs("id", p.ID, "status", p.Status, "tool", p.Tool, "message to", m.Place(), "kind", m.Kind, "agent", p.Agent, "session", p.Session, "run", p.Run,
		"delivery", p.Delivery, "reason", cmp.Or(p.Why, "the agent's permission mode asks"), "asked by", strings.Join(p.Rules, ", "), "level", p.Label,
		"deciders", p.Deciders(), "asked", s.Ago(p.Created), "expires", expiry(p, s.Now()), "decided", decided(s, p))
	if err != nil {
		return err
	}
	if err := s.Printf("\n%s", terminal.Text(p.Content())); err != nil || p.Status != api.Pending {
		return err
	}
	id := terminal.Line(p.ID)
	return s.Printf("\nsluice approvals allow %s\nsluice approvals deny %s --reason TEXT", id, id)
}

// left is the time until a question expires.
func left(p api.Approval, now time.Time) string {
	if p.Status != api.Pending || p.Expires.IsZero() {
		return ""
	}
	return max(0, p.Expires.Sub(now)).Round(time.Second).String()
}

// expiry says when the question expires, and how it is decided then.
func expiry(p api.Approval, now time.Time) string {
	if p.Status != api.Pending {
		return ""
	}
	result := "denied"
	if p.OnTimeout == "allow" {
		result = "allowed"
	}
	at, left := p.Expires.Format(time.RFC3339), p.Expires.Sub(now).Round(time.Second)
	if left <= 0 {
		return fmt.Sprintf("%s (expired; counts as %s)", at, result)
	}
	return fmt.Sprintf("%s (in %s; no answer counts as %s)", at, left, result)
}

// decided says who decided, when and why.
func decided(s terminal.Screen, p api.Approval) string {
	if p.Decided.IsZero() {
		return ""
	}
	text := s.Ago(p.Decided) + " by " + p.By
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

func approvalsAllow(g command.Deps) *cobra.Command {
	var none string
	return decide(g, &cobra.Command{Use: "allow ID", Short: "Allow a tool call or a message", Args: command.Args(1, 1)}, "allow", &none)
}

func approvalsDeny(g command.Deps) *cobra.Command {
	var reason string
	cmd := decide(g, &cobra.Command{Use: "deny ID", Short: "Deny a tool call or a message", Args: command.Args(1, 1)}, "deny", &reason)
	cmd.Flags().StringVar(&reason, "reason", "", "tell the agent this `reason`")
	return cmd
}

// decide is the command that allows or denies an approval.
func decide(g command.Deps, cmd *cobra.Command, verb string, reason *string) *cobra.Command {
	return command.Doing(g, cmd, func(args []string) (api.Request, error) {
		return api.DecisionRequest(args[0], verb, *reason), nil
	}, func(s terminal.Screen, answer api.Answer, _ []string) error {
		p, err := api.Decode[api.Approval](answer)
		if err != nil {
			return err
		}
		word := map[string]string{"allow": "Allowed", "deny": "Denied"}[verb]
		return s.Printf("%s: %s", word, terminal.Line(cmp.Or(p.Tool, "message")))
	})
}
