package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/request"
)

// ruleMax is the maximum length in bytes of a rule that a chat shows.
const ruleMax = 1500

const alwaysUsage = "Usage: `/approve ID always` shows a rule that allows the call and all calls like it. To allow other values of an argument, add `NAME=PATTERN`, where * matches any characters, one per line."

// always shows the rule that would allow a call and all calls like it, or saves it. To save it, a person repeats the code
// that came with the rule, so nobody saves a rule that they have not been shown. words are what follows "always".
func always(ctx context.Context, k *Commands, c Call, id ledger.ApprovalID, words string) (Answer, error) {
	code, patterns := "", words
	if w := strings.Fields(words); len(w) > 0 && w[0] == "save" {
		patterns = strings.TrimSpace(strings.TrimPrefix(words, "save"))
		if len(w) > 1 && !strings.Contains(w[1], "=") {
			code, patterns = w[1], strings.TrimSpace(strings.TrimPrefix(patterns, w[1]))
		}
	}
	v := c.verdict()
	v.Allow = true
	elsewhere := fmt.Sprintf("The rule can't be shown here. `sluice approvals always %s` and the web page show it.", id)
	_, p, err := k.Approvals.Verdict(ctx, id, v)
	if err != nil {
		return notDecided(k, c, id, p, err)
	}
	// An error about a rule or a pattern would tell something about the arguments of the call, too.
	if _, may := c.Quotes.Show(flow.NewText("", p.Label)); v.Owner && !may {
		return Answer{Text: elsewhere}, nil
	}
	rule, change, p, err := k.Approvals.AlwaysChange(ctx, id, v, nil)
	if err == nil && patterns != "" {
		var args json.RawMessage
		if args, err = withPatterns(rule.Args, patterns); err == nil {
			rule, change, p, err = k.Approvals.AlwaysChange(ctx, id, v, args)
		}
	}
	if err != nil {
		return notDecided(k, c, id, p, err)
	}
	yaml, err := rule.YAML()
	if err != nil {
		return Answer{}, err
	}
	text := visible.Text(strings.TrimRight(yaml, "\n"))
	if len(text) > ruleMax {
		return Answer{Text: elsewhere}, nil
	}
	text, may := c.Quotes.Show(flow.NewText(visible.Block(text), p.Label))
	if !may {
		return Answer{Text: elsewhere}, nil
	}
	if want := codeOf(yaml); code != want {
		return proposal(id, text, strings.TrimSpace("save "+want+" "+patterns), code != ""), nil
	}
	return Answer{
		Text:   fmt.Sprintf("Allowed: I will run %s, and from now on all calls that match the rule `%s`. To end the rule: `sluice policy end-rule %[2]s`, or the view Policy.", visible.CodeSpan(p.Tool), rule.ID),
		Change: change,
	}, nil
}

// proposal shows a rule, with the button that saves it.
func proposal(id ledger.ApprovalID, yaml, save string, wrong bool) Answer {
	control := ledger.Control{Label: "Save rule and allow", Command: "approve", Args: string(id) + " always " + save}
	text := "This rule would allow the call, and all calls like it from now on:\n\n"
	if wrong {
		text = "Nothing is saved yet: the code belongs to another rule. This is the rule:\n\n"
	}
	text += yaml + "\n\nSave it with the button, or send:\n\n" + visible.Block(control.CommandLine())
	return Answer{Text: text, Asks: id, Controls: []ledger.Control{control}}
}

// codeOf is a code for a rule as it was shown.
func codeOf(yaml string) string {
	sum := sha256.Sum256([]byte(yaml))
	return hex.EncodeToString(sum[:4])
}

// withPatterns replaces arguments of a call by patterns: NAME=PATTERN, one per line.
func withPatterns(exact json.RawMessage, patterns string) (json.RawMessage, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(exact, &args); err != nil {
		return nil, fmt.Errorf("read the arguments of a call: %w", err)
	}
	for line := range strings.Lines(patterns) {
		name, pattern, ok := strings.Cut(strings.TrimSpace(line), "=")
		if _, known := args[name]; !ok || !known {
			return nil, &request.Error{Text: fmt.Sprintf("%s does not name an argument of the call. %s", visible.CodeSpan(strings.TrimSpace(line)), strings.TrimSuffix(alwaysUsage, "."))}
		}
		text, err := json.Marshal(pattern)
		if err != nil {
			return nil, fmt.Errorf("write a pattern: %w", err)
		}
		args[name] = text
	}
	return json.Marshal(args)
}
