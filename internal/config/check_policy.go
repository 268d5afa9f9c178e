package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/internal/expr"
	"sluice/policy"
	"sluice/policy/condition"
)

// rules compiles the rules and reports each fault at its field.
func (k checker) rules() {
	for i, r := range k.c.Policy.Rules {
		k.rule(fmt.Sprintf("policy.rules[%d]", i), r)
	}
	_, err := condition.NewRules(k.c.Policy.PolicyRules())
	for _, fault := range ruleFaults(err) {
		path := fmt.Sprintf("policy.rules[%d].%s", fault.Index, fault.Field)
		if !k.faulty[path] {
			k.addAt(k.ruleFault(path, fault), path, "%v", fault.Err)
		}
	}
}

// vault checks the named secrets.
func (k checker) vault() {
	for _, name := range slices.Sorted(maps.Keys(k.c.Vault)) {
		s, path := k.c.Vault[name], "secrets."+name
		k.must(policy.IsSecretName(name), path, "%q: a name has letters, digits, dots, - and _, 64 at most", name)
		k.must(s.Value != "", path+".value", "is missing: use ${VARIABLE} or ${file:/path}")
		k.must(s.Value == "" || len(s.Value) >= policy.SecretLengthMin, path+".value", "has %d characters: want at least %d, because shorter values can't be recognized and removed reliably", len(s.Value), policy.SecretLengthMin)
		k.must(len(s.Tools) > 0, path+".tools", "is missing: list the tools that may receive it, for example [mcp_%s_*]", name)
		k.patterns(path+".tools", s.Tools)
	}
}

// rule checks what the engine would report in terms other than the file's.
func (k checker) rule(path string, r Rule) {
	k.must(r.Name != "", path+".name", "is missing: decisions and errors show it")
	k.must(r.Hook != "", path+".hook", "is missing: want one of %v", policy.Hooks())
	k.must(r.Action != "", path+".action", "is missing: want block, redact or require_approval")
	if possible := actionsAt(r.Point()); r.Action != "" && len(possible) > 0 {
		k.must(slices.Contains(possible, r.Action), path+".action", "%s has no %s: want %s", r.Point(), r.Action, choices(possible))
	}
	_, rated := k.places[path+".rate"]
	k.must(!rated || r.Rate != (Rate{}), path+".rate", "is empty: set limit and per, for example { limit: 10, per: 1h }")
	for i, who := range r.Approvers {
		k.principal(fmt.Sprintf("%s.approvers[%d]", path, i), who)
	}
}

// actionsAt returns the actions that a rule may take at a hook; none for an unknown hook.
func actionsAt(hook policy.Hook) []string {
	var words []string
	for _, action := range hook.Actions() {
		for word, a := range actions {
			if a == action {
				words = append(words, word)
			}
		}
	}
	return words
}

// ruleFaults splits a joined error.
func ruleFaults(err error) []*policy.RuleError {
	var faults []*policy.RuleError
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			if fault, ok := errors.AsType[*policy.RuleError](one); ok {
				faults = append(faults, fault)
			}
		}
	}
	return faults
}

// ruleFault locates a fault.
func (k checker) ruleFault(path string, fault *policy.RuleError) Place {
	inside, _ := errors.AsType[*expr.Fault](fault)
	return k.within(path, inside, k.c.Policy.Rules[fault.Index].When)
}

// within is the place of a fault inside an expression, if the file has it unchanged; else that of its key.
func (k checker) within(path string, inside *expr.Fault, text string) Place {
	at := k.place(path)
	if inside == nil || inside.Line != 1 || at.Line < 1 || at.Line > len(k.lines) {
		return at
	}
	line := []rune(k.lines[at.Line-1])
	if from := at.Column - 1; from <= len(line) && strings.HasPrefix(string(line[from:]), text) {
		return Place{at.Line, at.Column + inside.Column - 1}
	}
	return at
}
