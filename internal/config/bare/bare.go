// Package bare lets references such as ${TOKEN} stand in YAML without quotes.
package bare

import (
	"strings"

	"sluice/internal/pattern"

	"go.yaml.in/yaml/v3"
)

// In YAML a brace inside { … } ends a plain text, so { token: ${TOKEN} } would need quotes. Before the YAML library
// sees them, the braces of references are replaced by two private-use characters of the same length, so that all
// positions stay the same.
var (
	bareReference = pattern.New(`\$\{[^{}"'\s,\[\]]*\}`)
	privateUse    = pattern.New(`[\x{e000}\x{e001}]|(?i)\\u0*e00[01]`)
	hide          = strings.NewReplacer("{", "\ue000", "}", "\ue001")
	show          = strings.NewReplacer("\ue000", "{", "\ue001", "}")
)

// Hide reports false if the text already contains these characters.
func Hide(text string) (string, bool) {
	if privateUse.MatchString(text) {
		return text, false
	}
	return bareReference.Regexp().ReplaceAllStringFunc(text, hide.Replace), true
}

// Show restores the braces in a text from Hide.
func Show(text string) string {
	return show.Replace(text)
}

// ShowAll restores the braces in every text below a node.
func ShowAll(n *yaml.Node) {
	n.Value = Show(n.Value)
	for _, child := range n.Content {
		ShowAll(child)
	}
}
