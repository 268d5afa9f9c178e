package commands

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

// inherits reports whether an argument clears a session's own setting.
func inherits(args string) bool {
	return slices.Contains([]string{"inherit", "default", "reset"}, strings.ToLower(args))
}

// override changes one of the session's own settings, with an audit entry. It creates the session if it does not exist yet.
func (k *Commands) override(c Call, p sessions.Patch, setting, value string) (change ledger.Change) {
	change.Audit = []sessions.AuditEntry{{
		At: k.Now(), Actor: c.In.Speaker(), Action: "session." + setting,
		Object: string(c.Session.Key), Session: c.Session.ID, Label: k.Places.Label(c.In.Route, c.Owner), Detail: map[string]string{"override": value},
	}}
	if !c.Fresh {
		p.ID = c.Session.ID
		change.Patch = []sessions.Patch{p}
		return change
	}
	record := c.Session
	p.Apply(&record)
	change.Create = []sessions.Record{record}
	return change
}

// queue shows or sets a session's queue mode.
func (k *Commands) queue(_ context.Context, c Call) (ledger.Change, string, error) {
	if c.Args == "" {
		mode := k.Settings().QueueMode(c.Session)
		from := "as configured"
		if c.Session.QueueMode != sessions.QueueInherit {
			from = "set for this session"
		}
		return ledger.Change{}, fmt.Sprintf("Queue mode: `%s` (%s). %s", mode, from, queueText(mode)), nil
	}
	mode := sessions.QueueMode(strings.ToLower(c.Args))
	if inherits(c.Args) {
		mode = sessions.QueueInherit
	}
	if !mode.Valid() {
		return ledger.Change{}, "Usage: `/queue steer`, `/queue followup`, `/queue collect`, `/queue interrupt` or `/queue inherit`.", nil
	}
	change := k.override(c, sessions.Patch{QueueMode: &mode}, "queueMode", string(mode))
	if mode == sessions.QueueInherit {
		return change, "The queue follows the configuration again.", nil
	}
	return change, queueText(mode), nil
}

// queueText explains a queue mode.
func queueText(mode sessions.QueueMode) string {
	switch mode {
	case sessions.QueueSteer:
		return "While I work, I read new messages between two steps."
	case sessions.QueueFollowup:
		return "While I work, new messages wait. Then I answer them one by one."
	case sessions.QueueInterrupt:
		return "A new message stops my current work, and I continue with the new message."
	}
	return "While I work, new messages wait. Then I answer them all at once."
}

// model shows or sets a session's model.
func (k *Commands) model(ctx context.Context, c Call) (ledger.Change, string, error) {
	agents := k.Models.ModelName(c.Session.Agent)
	if c.Args == "" {
		return ledger.Change{}, presentModel(c, agents), nil
	}
	if p, ok := k.Models.(ProgramKnower); ok && p.IsProgram(c.Session.Agent) {
		return ledger.Change{}, "A program answers here. It has no model that can be set.", nil
	}
	if rest, ok := strings.CutPrefix(c.Args, "clear"); ok && (rest == "" || rest[0] == ' ') {
		return clearModels(ctx, k, c, strings.TrimSpace(rest))
	}
	name, by := c.Args, k.Places.Label(c.In.Route, c.Owner)
	switch {
	case inherits(name):
		name = ""
	case strings.EqualFold(name, autoModel):
		if c.Session.Model.Raw() == "" {
			return ledger.Change{}, fmt.Sprintf("The agent's own model answers: `%s`. If there are several, the next one answers when those before it fail.", agents), nil
		}
		name, by = c.Session.Model.Raw(), by.Join(c.Session.Model.Label())
		fallthrough
	default:
		name = withAuto(name, strings.EqualFold(c.Args, autoModel))
		if err := k.checkModel(name); err != nil {
			return ledger.Change{}, sentence(err.Error()), nil
		}
	}
	model := flow.NewText(name, by)
	change := k.override(c, sessions.Patch{Model: &model}, "model", name)
	shown, ok := c.Quotes.Show(model)
	if !ok {
		shown = "The model of this session"
	} else {
		shown = visible.CodeSpan(strings.TrimSuffix(shown, ", "+autoModel))
	}
	text := shown + " answers from your next message on."
	switch {
	case name == "":
		text = fmt.Sprintf("The agent's own model answers again: `%s`.", agents)
	case strings.HasSuffix(name, ", "+autoModel):
		text += " If it fails, the agent's own models replace it: `" + agents + "`."
	case !strings.Contains(name, ",") && strings.Contains(agents, ","):
		text += " If it fails, no other model answers. `/model auto` lets the agent's own models replace it."
	}
	return change, k.newModelText(c, model, text), nil
}

// autoModel behind a model lets the agent's own models stand in for it.
const autoModel = "auto"

// withAuto is a model's name as sessions store it. "PROVIDER/MODEL auto" is another way to write the two.
func withAuto(name string, auto bool) string {
	name = strings.TrimSpace(name)
	for _, end := range []string{" " + autoModel, "," + autoModel} {
		if rest, ok := strings.CutSuffix(name, end); ok {
			name, auto = strings.TrimRight(rest, ", "), true
		}
	}
	if auto {
		name += ", " + autoModel
	}
	return name
}

// ModelClearer is the optional ability of [Models] to use keys and models again that have failed.
type ModelClearer interface {
	ClearModels(ctx context.Context, provider string) (cleared []string, err error)
}

// clearModels uses a provider's keys and models again.
func clearModels(ctx context.Context, k *Commands, c Call, provider string) (ledger.Change, string, error) {
	models, ok := k.Models.(ModelClearer)
	if !ok {
		return ledger.Change{}, "There is nothing to clear.", nil
	}
	cleared, err := models.ClearModels(ctx, provider)
	if err != nil {
		return ledger.Change{}, "", err
	}
	if len(cleared) == 0 {
		return ledger.Change{}, "There is nothing to clear: no such key or model has failed.", nil
	}
	change := ledger.Change{}
	change.Audit = []sessions.AuditEntry{{
		At: k.Now(), Actor: c.In.Speaker(), Action: "model.clear", Object: provider, Session: c.Session.ID, Label: k.Places.Label(c.In.Route, c.Owner),
		Detail: map[string]string{"cleared": strings.Join(cleared, ", ")},
	}}
	return change, "These are used again: " + strings.Join(cleared, ", ") + ".", nil
}

// presentModel is the answer to /model.
func presentModel(c Call, agents string) string {
	switch name, shown := c.Quotes.Show(c.Session.Model); {
	case !shown && c.private():
		return fmt.Sprintf("Model: set for this session, but not shown here. The agent's own model is `%s`; `/model default` returns to it.", agents)
	case name != "":
		return fmt.Sprintf("Model: %s (set for this session; the agent's own model is `%s`).", visible.CodeSpan(name), agents)
	}
	return fmt.Sprintf("Model: `%s` (the agent's own).", agents)
}

// checkModel says what is wrong with a model's name. Others may read the answer, so it does not name models that only
// sessions with secrets may use.
func (k *Commands) checkModel(name string) error {
	checker, ok := k.Models.(ModelChecker)
	if !ok {
		return nil
	}
	return checker.CheckModel(name, flow.Public)
}

// sentence turns an error text into a sentence.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// usage says what a session has used.
func (k *Commands) usage(ctx context.Context, c Call) (ledger.Change, string, error) {
	if c.Fresh {
		return ledger.Change{}, "There is no session here yet, so no tokens were used.", nil
	}
	text, err := usageLines(ctx, k.Spending, c)
	return ledger.Change{}, text, err
}
