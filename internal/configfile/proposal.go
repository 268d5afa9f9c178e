package configfile

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
	"sluice/policy"
	"sluice/policy/condition"
)

// proposedMax is the maximum number of rules of a proposal.
const proposedMax = 50

var errNoRule = errors.New("has no rule: give a rule, a list of rules, or policy.rules and session.sendPolicy as in sluice.yaml")

// Proposal reads a proposed policy: one rule, a list of rules, or a document with policy.rules and session.sendPolicy, as
// in sluice.yaml. References to the environment and to files are refused, because they would show their values to everybody
// who may test a policy.
func (f *File) Proposal(text string) (policy.Proposal, error) {
	var p policy.Proposal
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		return p, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(root.Content) == 0 {
		return p, errNoRule
	}
	if err := plain(root.Content[0]); err != nil {
		return p, err
	}
	document, err := f.around(root.Content[0])
	if err != nil {
		return p, err
	}
	whole, err := yaml.Marshal(document)
	if err != nil {
		return p, fmt.Errorf("write the proposal as YAML: %w", err)
	}
	nothing := config.Loader{Getenv: func(name string) (string, bool) { return f.Running().State, name == config.EnvState }}
	c, err := nothing.Parse("proposal", whole)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		lines := make([]string, len(faults))
		for i, fault := range faults {
			lines[i] = fault.Path + ": " + fault.Text
		}
		return p, errors.New(strings.Join(lines, "\n"))
	}
	if err != nil {
		return p, err
	}
	if _, given := document["session"]; !given && len(c.Policy.Rules) == 0 {
		return p, errNoRule
	}
	if len(c.Policy.Rules) > proposedMax {
		return p, fmt.Errorf("has %d rules, the maximum is %d", len(c.Policy.Rules), proposedMax)
	}
	if p.Rules, err = condition.NewRules(c.Policy.PolicyRules()); err != nil {
		return p, err
	}
	if _, given := document["session"]; given {
		p.Send, err = c.Session.SendPolicy.Compiled()
	}
	return p, err
}

// plain refuses references and aliases, however they are written.
func plain(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: a proposal cannot have aliases: write the value", node.Line)
	case strings.Contains(node.Value, "${"):
		return fmt.Errorf("line %d: a proposal cannot have references such as ${NAME}: write the value", node.Line)
	}
	for _, part := range node.Content {
		if err := plain(part); err != nil {
			return err
		}
	}
	return nil
}

// around returns the document of a proposal, with the agents of the running configuration, which rules may name.
func (f *File) around(root *yaml.Node) (map[string]any, error) {
	document := map[string]any{}
	switch {
	case root.Kind == yaml.SequenceNode:
		document["policy"] = map[string]any{"rules": root}
	case value(root, "hook") != nil || value(root, "action") != nil:
		document["policy"] = map[string]any{"rules": []any{root}}
	default:
		rules, send := value(value(root, "policy"), "rules"), value(value(root, "session"), "sendPolicy")
		if rules != nil {
			document["policy"] = map[string]any{"rules": rules}
		}
		if send != nil {
			document["session"] = map[string]any{"sendPolicy": send}
		}
	}
	if len(document) == 0 {
		return nil, errNoRule
	}
	var agents []any
	for _, a := range f.Running().Agents.List {
		agents = append(agents, map[string]any{"id": a.ID})
	}
	if len(agents) > 0 {
		document["agents"] = map[string]any{"list": agents}
	}
	return document, nil
}

// value returns the value of a key in a mapping; nil if the mapping does not have it.
func value(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}
