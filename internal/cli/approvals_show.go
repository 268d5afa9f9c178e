package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) approvalsShow() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "show ID", Short: "Show all of a call or message that waits, why, and who may decide", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, named("/v1/approvals"), a.printApproval),
	})
}

func (a *app) printApproval(p approval) error {
	m := p.message()
	err := a.pairs("id", p.ID, "status", p.Status, "tool", p.Tool, "message to", m.place(), "kind", m.Kind, "agent", p.Agent, "session", p.Session, "run", p.Run,
		"delivery", p.Delivery, "why", orText(p.Why, "the agent's permission mode asks"), "asked by", strings.Join(p.Rules, ", "), "level", p.Label,
		"may decide", p.deciders(), "asked", a.ago(p.Created), "until", a.until(p), "decided", a.decided(p))
	if err == nil {
		_, err = fmt.Fprintf(a.Stdout, "\n%s\n", safe(p.whole()))
	}
	if err == nil && p.Status == pending {
		_, err = fmt.Fprintf(a.Stdout, "\nsluice approvals allow %s\nsluice approvals deny %s --reason TEXT\n", clean(p.ID), clean(p.ID))
	}
	return err
}

// until is when silence decides, and how.
func (a *app) until(p approval) string {
	if p.Status != pending {
		return ""
	}
	silence := "a no"
	if p.OnTimeout == "allow" {
		silence = "a yes"
	}
	at, left := p.Expires.Format(time.RFC3339), p.Expires.Sub(a.Now()).Round(time.Second)
	if left <= 0 {
		return fmt.Sprintf("%s, which is past: silence was %s", at, silence)
	}
	return fmt.Sprintf("%s, in %s: silence is %s", at, left, silence)
}

// decided is who has decided, when and why.
func (a *app) decided(p approval) string {
	if p.Decided.IsZero() {
		return ""
	}
	text := a.ago(p.Decided) + " by " + p.By
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// deciders are those who may decide: somebody of each of the lists.
func (p approval) deciders() string {
	var lists []string
	for _, who := range p.Approvers {
		who := orText(strings.Join(who, ", "), theOwners)
		if !slices.Contains(lists, who) {
			lists = append(lists, who)
		}
	}
	return orText(strings.Join(lists, "; and of these only "), theOwners)
}

// theOwners is what an approval without approvers is left to.
const theOwners = "the owners"

// whole is all that it is about: a message's text, or a call's arguments.
func (p approval) whole() string {
	if p.Tool == "" {
		return p.message().Text
	}
	var args bytes.Buffer
	if json.Indent(&args, p.Args, "", "  ") != nil {
		return string(p.Args)
	}
	return args.String()
}

// heldMessage is what an approval says of a message.
type heldMessage struct{ Channel, Account, To, Thread, Kind, Text string }

// place is where it is to go; empty for none.
func (m heldMessage) place() string {
	return route{Channel: m.Channel, Account: m.Account, Conversation: m.To, Thread: m.Thread}.String()
}

// message is the one that an approval is about; empty where it is about a call.
func (p approval) message() heldMessage {
	var m heldMessage
	if p.Tool != "" || json.Unmarshal(p.Args, &m) != nil {
		return heldMessage{}
	}
	return m
}
