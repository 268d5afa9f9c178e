package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/internal/visible"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// send sets whether the gateway writes in a conversation and its threads. Its own answer always goes out.
func (k *Commands) send(ctx context.Context, c Call) (ledger.Change, string, error) {
	where := reach(c.In.Route, k.Settings().Keyer)
	var override sessions.SendPolicy
	var answer string
	switch strings.ToLower(c.Args) {
	case "on", "allow":
		override, answer = sessions.SendAllow, "Sending is on "+where+"."
	case "off", "deny":
		override, answer = sessions.SendDeny, "Sending is off "+where+": I still listen and work, but I write nothing there until you send `/send on` or `/send inherit`."
	case "inherit", "default", "reset":
		override, answer = sessions.SendInherit, "Sending "+where+" follows the configuration again."
		if c.Session.Key.Conversation() != c.Session.Key {
			answer = "Sending " + where + " follows the " + conversationTerm(c.In.Route.Channel) + " again."
		}
	default:
		return ledger.Change{}, "Usage: `/send on`, `/send off` or `/send inherit`.", nil
	}
	below, err := k.Store.SendersBelow(ctx, c.Session.Key, maxBelow)
	if err != nil {
		return ledger.Change{}, "", fmt.Errorf("read sessions of the threads: %w", err)
	}
	change := k.override(c, sessions.Patch{SendPolicy: &override}, "sendPolicy", string(override))
	change.Patch = append(change.Patch, followAgain(below)...)
	return change, answer + included(c.In.Route.Channel, len(below)), nil
}

// activation sets which messages of a group the session answers.
func (k *Commands) activation(_ context.Context, c Call) (ledger.Change, string, error) {
	if c.In.Route.ChatType == sessions.Direct {
		return ledger.Change{}, "In a direct chat I answer every message. `/activation` is for groups.", nil
	}
	var override sessions.Activation
	var answer string
	switch strings.ToLower(c.Args) {
	case "mention":
		override, answer = sessions.ActivationMention, "I answer here only when somebody mentions me or replies to me."
	case "always":
		override, answer = sessions.ActivationAlways, "I answer every message here now, until you send `/activation mention` or `/activation inherit`."
	case "inherit", "default", "reset":
		override, answer = sessions.ActivationInherit, "Whether you have to mention me follows the configuration again."
	default:
		return ledger.Change{}, "Usage: `/activation mention`, `/activation always` or `/activation inherit`.", nil
	}
	return k.override(c, sessions.Patch{Activation: &override}, "activation", string(override)), answer, nil
}

func (k *Commands) pair(ctx context.Context, c Call) (ledger.Change, string, error) {
	action, code, _ := strings.Cut(c.Args, " ")
	code = strings.ToUpper(strings.TrimSpace(code))
	to, done := ledger.PairingApproved, "may talk to me now"
	switch strings.ToLower(action) {
	case "approve":
	case "deny":
		to, done = ledger.PairingDenied, "may not talk to me"
	default:
		code = ""
	}
	if code == "" {
		return ledger.Change{}, "Usage: `/pair approve CODE` or `/pair deny CODE`.", nil
	}
	p, change, err := k.Settle(ctx, code, c.In.Speaker(), to)
	var bad *request.Error
	switch {
	case errors.As(err, &bad):
		return change, sentence(bad.Text), nil
	case err != nil:
		return ledger.Change{}, "", err
	}
	answer := fmt.Sprintf("%s (`%s`) %s.", visible.CodeSpan(p.User.Name), sessions.Principal(p.Channel, p.User.ID), done)
	if to == ledger.PairingApproved {
		answer = k.Settings().WarnShared(answer)
	}
	return change, answer, nil
}
