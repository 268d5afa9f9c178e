package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// inherits reports whether an argument takes a session's own setting back.
func inherits(args string) bool {
	return slices.Contains([]string{"inherit", "default", "reset"}, strings.ToLower(args))
}

// override changes one of the session's own settings, or makes the session with it, and says so in the audit trail.
func (r *Router) override(c commandCall, p sessions.Patch, setting, value string) (change ledger.Change) {
	change.Audit = []sessions.AuditEntry{{
		At: r.now(), Actor: c.in.speaker(), Action: "session." + setting,
		Object: string(c.session.Key), Session: c.session.ID, Label: r.places.Label(c.in.Route, c.owner), Detail: map[string]string{"override": value},
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
func (r *Router) commandQueue(_ context.Context, c commandCall) (ledger.Change, string, error) {
	if c.args == "" {
		mode := r.settings.Load().QueueMode(c.session)
		from := "as configured"
		if c.session.QueueMode != sessions.QueueInherit {
			from = "set for this session"
		}
		return ledger.Change{}, fmt.Sprintf("Queue mode: `%s` (%s). %s", mode, from, queueWord(mode)), nil
	}
	mode := sessions.QueueMode(strings.ToLower(c.args))
	if inherits(c.args) {
		mode = sessions.QueueInherit
	}
	if !mode.Valid() {
		return ledger.Change{}, "Usage: `/queue steer`, `/queue followup`, `/queue collect`, `/queue interrupt` or `/queue inherit`.", nil
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
	// CheckModel gives an error for a model that no session may be given. It names those that a session may be given that knows what is of a level.
	CheckModel(name string, knows flow.Level) error
}

// commandModel shows a session's model, and sets the session's own one.
func (r *Router) commandModel(_ context.Context, c commandCall) (ledger.Change, string, error) {
	agents := r.models.ModelName(c.session.Agent)
	if c.args == "" {
		return ledger.Change{}, presentModel(c, agents), nil
	}
	name := c.args
	if inherits(name) {
		name = ""
	} else if err := r.checkModel(name); err != nil {
		return ledger.Change{}, sentence(err.Error()), nil
	}
	change := r.override(c, sessions.Patch{Model: new(flow.NewText(name, r.places.Label(c.in.Route, c.owner)))}, "model", name)
	if name == "" {
		return change, fmt.Sprintf("The agent's model answers again: `%s`.", agents), nil
	}
	return change, fmt.Sprintf("From your next message on %s answers.", visible.CodeSpan(name)), nil
}

// presentModel is the answer to /model.
func presentModel(c commandCall, agents string) string {
	switch name, shown := c.quotes.Show(c.session.Model); {
	case !shown && c.private():
		return fmt.Sprintf("Model: set for this session, and not shown here; the agent's is `%s`. `/model default` takes it back.", agents)
	case name != "":
		return fmt.Sprintf("Model: %s (set for this session; the agent's is `%s`).", visible.CodeSpan(name), agents)
	}
	return fmt.Sprintf("Model: `%s` (the agent's).", agents)
}

// checkModel says what is wrong with a model's name, as far as the agent can. Which models it names does not hang on what the session knows: others may read it.
func (r *Router) checkModel(name string) error {
	checker, ok := r.models.(ModelChecker)
	if !ok {
		return nil
	}
	return checker.CheckModel(name, flow.Public)
}

// sentence makes an error a sentence of its own.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// commandUsage says how many tokens a session has used.
func (r *Router) commandUsage(_ context.Context, c commandCall) (ledger.Change, string, error) {
	if c.fresh {
		return ledger.Change{}, "There is no session here yet, so it has used nothing.", nil
	}
	return ledger.Change{}, usageLines(c), nil
}
