package config

import (
	"strings"

	"sluice/internal/pattern"

	"go.yaml.in/yaml/v3"
)

// In YAML a brace inside { … } ends a plain text, so that { token: ${TOKEN} }
// would want quotes. The braces of references are hidden from the YAML library
// behind two letters of private use, as long as the braces, which keeps every
// place where it is.
var (
	bareReference = pattern.New(`\$\{[^{}"'\s,\[\]]*\}`)
	privateUse    = pattern.New(`[\x{e000}\x{e001}]|(?i)\\u0*e00[01]`)
)

// hideReferences reports whether it could: not if the text has the two letters itself.
func hideReferences(text string) (string, bool) {
	if privateUse.MatchString(text) {
		return text, false
	}
	return bareReference.Regexp().ReplaceAllStringFunc(text, strings.NewReplacer("{", "\ue000", "}", "\ue001").Replace), true
}

// showReferences puts the braces back into a text that came of hideReferences.
func showReferences(text string) string {
	return strings.NewReplacer("\ue000", "{", "\ue001", "}").Replace(text)
}

// showAll puts them back into every text below a node.
func showAll(n *yaml.Node) {
	n.Value = showReferences(n.Value)
	for _, child := range n.Content {
		showAll(child)
	}
}
