package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/policy"
)

// rules checks the rules as the engine compiles them, and says each fault at its field.
func (k checker) rules() {
	for i, r := range k.c.Policy.Rules {
		k.rule(fmt.Sprintf("policy.rules[%d]", i), r)
	}
	_, err := policy.NewRules(k.c.Policy.PolicyRules())
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

// rule checks what the engine would say in other words than the file's.
func (k checker) rule(path string, r Rule) {
	k.must(r.Name != "", path+".name", "is missing: decisions and errors show it")
	k.must(r.Hook != "", path+".hook", "is missing: want one of %v", policy.Hooks())
	k.must(r.Action != "", path+".action", "is missing: want block, redact or require_approval")
	if possible := actionsAt(r.hook()); r.Action != "" && len(possible) > 0 {
		k.must(slices.Contains(possible, r.Action), path+".action", "%s has no %s: want %s", r.hook(), r.Action, choices(possible))
	}
	_, rated := k.places[path+".rate"]
	k.must(!rated || r.Rate != (Rate{}), path+".rate", "is empty: set limit and per, for example { limit: 10, per: 1h }")
	for i, who := range r.Approvers {
		k.principal(fmt.Sprintf("%s.approvers[%d]", path, i), who)
	}
}

// actionsAt are the words for what a rule may do at a hook; none for an unknown one.
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

// ruleFaults takes a joined error apart.
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

// ruleFault is the place of a fault: inside an expression, where that stands in the file as it is read, else its field.
func (k checker) ruleFault(path string, fault *policy.RuleError) Place {
	at := k.place(path)
	inside, ok := errors.AsType[*policy.ConditionError](fault)
	if !ok || inside.Line != 1 || at.Line < 1 || at.Line > len(k.lines) {
		return at
	}
	line := []rune(k.lines[at.Line-1])
	if from := at.Column - 1; from <= len(line) && strings.HasPrefix(string(line[from:]), k.c.Policy.Rules[fault.Index].When) {
		return Place{at.Line, at.Column + inside.Column - 1}
	}
	return at
}
