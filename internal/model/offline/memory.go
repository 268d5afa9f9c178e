package offline

import (
	"fmt"
	"strings"
	"unicode"

	"sluice/internal/pattern"
)

// remembering has the sentences about memories.
var remembering = []sentence{
	{
		pattern.New(`(?is)^(?:please )?remember(?: that|:)? +(.+?)[.!]?$`),
		"memory_save",
		func(m []string) map[string]any { return map[string]any{"key": keyOf(m[1]), "content": m[1]} },
	},
	{
		pattern.New(`(?is)^what do you (?:know|remember)(?: about| of)? +(.+?)[.!?]?$`),
		"memory_search",
		func(m []string) map[string]any { return map[string]any{"query": m[1]} },
	},
	{
		pattern.New(`(?i)^(?:please )?(?:(?:list|show)(?: me)?(?: all| my| your| the)? memories|what do you (?:know|remember))[.!?]?$`),
		"memory_list",
		func([]string) map[string]any { return map[string]any{} },
	},
	{
		pattern.New("(?is)^(?:please )?forget(?: that|:)? +`?(.+?)`?[.!]?$"),
		"memory_delete",
		func(m []string) map[string]any { return map[string]any{"key": keyOf(m[1])} },
	},
}

// keyWords is how many words of a memory form its key.
const keyWords = 6

// keyOf returns the key of a memory: its first words. A key is its own key.
func keyOf(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) })
	key := []rune(strings.Join(words[:min(keyWords, len(words))], "-"))
	const most = 60 // characters, which are at most 240 bytes
	return string(key[:min(most, len(key))])
}

// remembered is a row of the memory tools' results.
type remembered struct {
	Key     string `json:"key"`
	Content string `json:"content"`
}

func renderMemories(found []remembered) string {
	if len(found) == 0 {
		return "I remember nothing of that."
	}
	var b strings.Builder
	b.WriteString("I remember:\n")
	for _, m := range found {
		fmt.Fprintf(&b, "\n- %s (`%s`)", short(m.Content), m.Key)
	}
	return b.String()
}
