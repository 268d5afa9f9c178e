package router

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

// commandSend sets what may be said in a place and below it. It is never gated itself.
func (r *Router) commandSend(ctx context.Context, c commandCall) (ledger.Change, string, error) {
	reach := reachWord(c.in.Route, r.settings.Load().Keyer)
	var override sessions.SendPolicy
	var answer string
	switch strings.ToLower(c.args) {
	case "on", "allow":
		override, answer = sessions.SendAllow, "Sending is on "+reach+"."
	case "off", "deny":
		override, answer = sessions.SendDeny, "Sending is off "+reach+": I still listen and work, but I say nothing there until `/send on` or `/send inherit`."
	case "inherit", "default", "reset":
		override, answer = sessions.SendInherit, "Sending "+reach+" follows the configuration again."
		if c.session.Key.Conversation() != c.session.Key {
			answer = "Sending " + reach + " follows the " + placeWord(c.in.Route.Channel) + " again."
		}
	default:
		return ledger.Change{}, "Usage: `/send on`, `/send off` or `/send inherit`.", nil
	}
	below, err := r.store.SendersBelow(ctx, c.session.Key, sessionsBelowMost)
	if err != nil {
		return ledger.Change{}, "", fmt.Errorf("read sessions of the threads: %w", err)
	}
	change := r.override(c, sessions.Patch{SendPolicy: &override}, "sendPolicy", string(override))
	change.Patch = append(change.Patch, followAgain(below)...)
	return change, answer + followWord(c.in.Route.Channel, len(below)), nil
}

// commandActivation sets the session's own word on whether a group must mention the bot.
func (r *Router) commandActivation(_ context.Context, c commandCall) (ledger.Change, string, error) {
	if c.in.Route.ChatType == sessions.Direct {
		return ledger.Change{}, "Here I hear everything anyway; `/activation` is for groups.", nil
	}
	var override sessions.Activation
	var answer string
	switch strings.ToLower(c.args) {
	case "mention":
		override, answer = sessions.ActivationMention, "I answer here only where I am mentioned or answered."
	case "always":
		override, answer = sessions.ActivationAlways, "I answer everything here now, until `/activation mention` or `/activation inherit`."
	case "inherit", "default", "reset":
		override, answer = sessions.ActivationInherit, "Whether I must be mentioned follows the configuration again."
	default:
		return ledger.Change{}, "Usage: `/activation mention`, `/activation always` or `/activation inherit`.", nil
	}
	return r.override(c, sessions.Patch{Activation: &override}, "activation", string(override)), answer, nil
}

func (r *Router) commandPair(ctx context.Context, c commandCall) (ledger.Change, string, error) {
	action, code, _ := strings.Cut(c.args, " ")
	code = strings.ToUpper(strings.TrimSpace(code))
	to, done := ledger.PairingApproved, "admitted"
	switch strings.ToLower(action) {
	case "approve":
	case "deny":
		to, done = ledger.PairingDenied, "not admitted"
	default:
		code = ""
	}
	if code == "" {
		return ledger.Change{}, "Usage: `/pair approve CODE` or `/pair deny CODE`.", nil
	}
	p, change, err := r.Pairings.Settlement(ctx, code, c.in.speaker(), to)
	var bad *request.Error
	switch {
	case errors.As(err, &bad):
		return change, bad.Text, nil
	case err != nil:
		return ledger.Change{}, "", err
	}
	answer := fmt.Sprintf("%s (`%s`) is %s.", visible.CodeSpan(p.User.Name), sessions.Principal(p.Channel, p.User.ID), done)
	if to == ledger.PairingApproved {
		answer = r.settings.Load().WarnShared(answer)
	}
	return change, answer, nil
}
