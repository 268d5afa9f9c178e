package commands

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// set shows or sets how the model answers in this session: its temperature, the length of its answers and its effort.
func (k *Commands) set(ctx context.Context, c Call) (ledger.Change, string, error) {
	name, value, _ := strings.Cut(c.Args, " ")
	c.Args = strings.TrimSpace(value)
	switch strings.ToLower(name) {
	case "":
		return ledger.Change{}, fmt.Sprintf("Temperature: %s. Maximum tokens of a reply: %s. Effort: %s.", k.temperatureText(c), maxTokensText(c), effortText(c)), nil
	case "temperature":
		return k.temperature(ctx, c)
	case "tokens", "maxtokens":
		return k.maxTokens(ctx, c)
	case "effort":
		return effort(k, c)
	}
	return ledger.Change{}, "Usage: `/set temperature N`, `/set tokens N` or `/set effort off|low|medium|high`, each also with `default`.", nil
}

// effort shows or sets how much the model may reason.
func effort(k *Commands, c Call) (ledger.Change, string, error) {
	if c.Args == "" {
		return ledger.Change{}, "Effort: " + effortText(c) + ".", nil
	}
	level := sessions.ThinkingLevel(strings.ToLower(c.Args))
	if inherits(c.Args) {
		level = sessions.ThinkingInherit
	}
	change := k.override(c, sessions.Patch{ThinkingLevel: &level}, "thinkingLevel", string(level))
	switch {
	case !level.Valid():
		return ledger.Change{}, "Usage: `/set effort off`, `/set effort low`, `/set effort medium`, `/set effort high` or `/set effort default`.", nil
	case level == sessions.ThinkingInherit:
		return change, "My effort follows the configuration again.", nil
	}
	return change, fmt.Sprintf("From your next message on, I answer with effort %s.", level), nil
}

// effortText is how much a session's model may reason.
func effortText(c Call) string {
	if c.Session.ThinkingLevel == sessions.ThinkingInherit {
		return "as configured"
	}
	return string(c.Session.ThinkingLevel) + " (set for this session)"
}

// temperature shows or sets how freely the model chooses its words.
func (k *Commands) temperature(_ context.Context, c Call) (ledger.Change, string, error) {
	if c.Args == "" {
		return ledger.Change{}, "Temperature: " + k.temperatureText(c) + ".", nil
	}
	if inherits(c.Args) {
		return k.override(c, sessions.Patch{Temperature: new(sessions.Temperature(""))}, "temperature", ""), "The temperature follows the configuration again.", nil
	}
	t, err := sessions.ParseTemperature(c.Args)
	if limit := k.maxTemperature(c.Session.Model, c.Session.Agent); err != nil || *t.Value() > limit {
		return ledger.Change{}, fmt.Sprintf("Usage: `/temperature N` or `/temperature default`. For the model %s, N is a number from 0 to %g with at most two decimals, such as 0.7.", k.modelText(c), limit), nil //nolint:nilerr // the usage is the answer
	}
	change := k.override(c, sessions.Patch{Temperature: &t}, "temperature", string(t))
	return change, fmt.Sprintf("From your next message on, I answer with temperature %s.", t), nil
}

// temperatureText is the temperature of a session's answers.
func (k *Commands) temperatureText(c Call) string {
	t := c.Session.Temperature
	switch limit := k.maxTemperature(c.Session.Model, c.Session.Agent); {
	case t == "":
		return "as configured"
	case *t.Value() > limit:
		return fmt.Sprintf("%s (set for this session; the model takes at most %g, so I use %g)", t, limit, limit)
	}
	return string(t) + " (set for this session)"
}

// maxTemperature is the highest temperature that a session's model takes.
func (k *Commands) maxTemperature(model flow.Text, agent string) float32 {
	checker, ok := k.Models.(TemperatureChecker)
	if !ok {
		return sessions.TemperatureMax
	}
	return checker.MaxTemperature(cmp.Or(model.Raw(), k.Models.ModelName(agent)))
}

// maxTokens shows or sets how long an answer may be.
func (k *Commands) maxTokens(_ context.Context, c Call) (ledger.Change, string, error) {
	switch {
	case c.Args == "":
		return ledger.Change{}, "Maximum tokens of a reply: " + maxTokensText(c) + ".", nil
	case inherits(c.Args):
		return k.override(c, sessions.Patch{MaxTokens: new(int)}, "maxOutputTokens", ""), "The length of my replies follows the configuration again.", nil
	}
	n, ok := numberUpTo(sessions.OutputTokensMax, c.Args)
	if !ok {
		return ledger.Change{}, fmt.Sprintf("Usage: `/maxtokens N` or `/maxtokens default`. N is a whole number from 1 to %d.", sessions.OutputTokensMax), nil
	}
	change := k.override(c, sessions.Patch{MaxTokens: &n}, "maxOutputTokens", strconv.Itoa(n))
	return change, fmt.Sprintf("From your next message on, my replies have at most %d tokens.", n), nil
}

// maxTokensText is the maximum length of a session's answers.
func maxTokensText(c Call) string {
	if c.Session.MaxTokens == 0 {
		return "as configured"
	}
	return strconv.Itoa(c.Session.MaxTokens) + " (set for this session)"
}

// answerLines are the lines of /status about how the model answers, where the session has settings of its own. Only an owner
// in private sees them.
func (k *Commands) answerLines(c Call) (lines string) {
	if c.private() && c.Session.Temperature != "" {
		lines += "\n- temperature: " + k.temperatureText(c)
	}
	if c.private() && c.Session.MaxTokens != 0 {
		lines += "\n- maximum tokens of a reply: " + maxTokensText(c)
	}
	if c.private() && c.Session.ThinkingLevel != sessions.ThinkingInherit {
		lines += "\n- effort: " + effortText(c)
	}
	return lines
}

// newModelText is the answer to a new model, which may take less than the session's temperature.
func (k *Commands) newModelText(c Call, model flow.Text, text string) string {
	t, limit := c.Session.Temperature, k.maxTemperature(model, c.Session.Agent)
	if t == "" || *t.Value() <= limit {
		return text
	}
	return text + fmt.Sprintf(" It takes a temperature of at most %g, so I use %g instead of %s.", limit, limit, t)
}
