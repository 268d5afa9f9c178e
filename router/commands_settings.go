package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/sessions"
)

// inherits reports whether an argument takes a session's own setting back.
func inherits(args string) bool {
	return slices.Contains([]string{"inherit", "default", "reset"}, strings.ToLower(args))
}

// override changes one of the session's own settings, or makes the session with it, and says so in the audit trail.
func (r *Router) override(c commandCall, p sessions.Patch, setting, value string) (change Change) {
	change.Audit = []sessions.AuditEntry{{
		At: r.now(), Actor: c.in.speaker(), Action: "session." + setting,
		Object: string(c.session.Key), Session: c.session.ID, Label: noticeLabel(), Detail: map[string]string{"override": value},
	}}
	if !c.fresh {
		p.ID = c.session.ID
		change.Patch = []sessions.Patch{p}
		return change
	}
	record := c.session
	p.Apply(&record)
	change.Create = []sessions.Record{record}
	return change
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
	change := r.override(c, sessions.Patch{QueueMode: &mode}, "queueMode", string(mode))
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

// ModelChecker is the optional ability of an [Agent] to say whether a model is configured.
type ModelChecker interface {
	// CheckModel gives an error that says what to configure, or nil.
	CheckModel(name string) error
}

// commandModel shows a session's model, and sets the session's own one.
func (r *Router) commandModel(_ context.Context, c commandCall) (Change, string, error) {
	agents := r.agent.ModelName(c.session.Agent)
	if c.args == "" {
		if c.session.Model == "" {
			return Change{}, fmt.Sprintf("Model: `%s` (the agent's).", agents), nil
		}
		return Change{}, fmt.Sprintf("Model: `%s` (set for this session; the agent's is `%s`).", c.session.Model, agents), nil
	}
	name := c.args
	if inherits(name) {
		name = ""
	} else if !r.hasModel(name) {
		return Change{}, fmt.Sprintf("There is no model %s in the configuration. `/model` shows the present one.", codeSpan(name)), nil
	}
	change := r.override(c, sessions.Patch{Model: &name}, "model", name)
	if name == "" {
		return change, fmt.Sprintf("The agent's model answers again: `%s`.", agents), nil
	}
	return change, fmt.Sprintf("From your next message on %s answers.", codeSpan(name)), nil
}

// hasModel reports whether a model is configured, as far as the agent can say.
func (r *Router) hasModel(name string) bool {
	checker, ok := r.agent.(ModelChecker)
	return !ok || checker.CheckModel(name) == nil
}

// commandUsage says how many tokens a session has used.
func (r *Router) commandUsage(_ context.Context, c commandCall) (Change, string, error) {
	if c.fresh {
		return Change{}, "There is no session here yet, so it has used nothing.", nil
	}
	used := c.session.Usage
	text := fmt.Sprintf("- tokens in: %d", used.InputTokens)
	if used.CachedTokens > 0 {
		text += fmt.Sprintf(" (%d of them from the provider's cache)", used.CachedTokens)
	}
	text += fmt.Sprintf("\n- tokens out: %d\n- what I read with an answer: %d", used.OutputTokens, c.session.ContextSize)
	return Change{}, text, nil
}
