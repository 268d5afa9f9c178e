package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/sessions"
)

// inherits reports whether an argument takes a session's own setting back.
func inherits(args string) bool {
	return slices.Contains([]string{"inherit", "default", "reset"}, strings.ToLower(args))
}

// setting is the audit entry of a change of one of a session's settings.
func (r *Router) setting(c commandCall, field, value string) policy.AuditEntry {
	return policy.AuditEntry{
		At: r.now(), Actor: sessions.Principal(c.in.Route.Channel, c.in.Sender.ID), Action: "session." + field,
		Object: string(c.session.Key), Session: c.session.ID, Label: noticeLabel(), Detail: map[string]string{"override": value},
	}
}

// commandQueue shows a session's queue mode, and sets the session's own one.
func (r *Router) commandQueue(_ context.Context, c commandCall) (Change, string, error) {
	if c.args == "" {
		mode := r.settings.Load().queueMode(c.session)
		from := "as configured"
		if c.session.QueueMode != sessions.QueueInherit {
			from = "set for this session"
		}
		return Change{}, fmt.Sprintf("Queue mode: `%s` (%s). %s", mode, from, queueWord(mode)), nil
	}
	mode := sessions.QueueMode(strings.ToLower(c.args))
	if inherits(c.args) {
		mode = sessions.QueueInherit
	}
	if !mode.Valid() {
		return Change{}, "Usage: `/queue steer`, `/queue followup`, `/queue collect`, `/queue interrupt` or `/queue inherit`.", nil
	}
	change := c.patch(sessions.Patch{QueueMode: &mode})
	change.Audit = []policy.AuditEntry{r.setting(c, "queueMode", string(mode))}
	if mode == sessions.QueueInherit {
		return change, "The queue follows the configuration again.", nil
	}
	return change, queueWord(mode), nil
}

// queueWord says what a queue mode does.
func queueWord(mode sessions.QueueMode) string {
	switch mode {
	case sessions.QueueSteer:
		return "What you say while I work, I hear between two steps of my work."
	case sessions.QueueFollowup:
		return "What you say while I work, I answer afterwards, one message after the other."
	case sessions.QueueInterrupt:
		return "What you say while I work ends that work; I go on with what you said."
	}
	return "What you say while I work, I answer afterwards, all of it at once."
}
