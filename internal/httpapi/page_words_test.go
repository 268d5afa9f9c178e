package httpapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page offers words of the API to choose from. A word that the API has and the page does not is a state that nobody can look for.
func TestThePageOffersTheWordsOfTheAPI(t *testing.T) {
	t.Parallel()
	var doc any
	require.NoError(t, json.Unmarshal(call(serve(t, newGateway()), "GET", "/openapi.json", "").Body.Bytes(), &doc))
	known := map[string]bool{}
	enums(doc, known)
	for _, c := range []struct{ file, before, besides string }{
		{"views/runs.js", "statuses =", ""},
		{"views/runs.js", `text: t("col.kind"),` + "\n          options:", ""},
		{"views/deliveries.js", "statuses =", ""},
		{"views/conversations.js", "kinds =", ""},
		{"views/inbox.js", `text: t("col.status"),` + "\n          options:", "pending"}, // without a choice
		{"views/alerts.js", "options:", "open"},                                          // without a choice
		{"views/automation.js", `text: t("automation.state"), options:`, ""},
		{"views/people.js", "states =", "all"},
		{"views/access.js", "roles =", ""},
		{"views/logs.js", "levels =", ""},
		{"views/policy.js", "kindsToTry =", ""},
		{"views/policy.js", "chats =", ""},
		{"views/skills.js", "tones =", ""},
		{"views/why.js", "tone =", ""},
		{"ui/settings.js", "send_policy:", "inherit"},
		{"ui/settings.js", "group_activation:", "inherit"},
		{"ui/settings.js", "queue_mode:", "inherit"},
		{"ui/settings.js", "thinking_level:", "inherit"},
		{"ui/settings.js", "verbose_level:", "inherit"},
	} {
		text, err := os.ReadFile(filepath.Join("..", "console", "page", c.file))
		require.NoError(t, err)
		words := wordsAfter(string(text), c.before)
		require.NotEmpty(t, words, "%s: %s", c.file, c.before)
		words = append(words, strings.Fields(c.besides)...)
		require.True(t, known[sorted(words)], "%s: %s has %q, and no list of the API has the same words", c.file, c.before, words)
	}
}

var (
	quoted = regexp.MustCompile(`"([^"]+)"`)
	keys   = regexp.MustCompile(`(\w+):`)
)

// wordsAfter reads the words of the list, or the keys of the object, that follows a text in a module.
func wordsAfter(module, before string) (words []string) {
	_, rest, _ := strings.Cut(module, before+" ")
	of, end := quoted, "]"
	if strings.HasPrefix(rest, "{") {
		of, end = keys, "}"
	}
	list, _, _ := strings.Cut(rest, end)
	for _, found := range of.FindAllStringSubmatch(list, -1) {
		words = append(words, found[1])
	}
	return words
}

// enums collects the lists of words of the description.
func enums(at any, into map[string]bool) {
	switch at := at.(type) {
	case []any:
		for _, below := range at {
			enums(below, into)
		}
	case map[string]any:
		for key, below := range at {
			list, ok := below.([]any)
			if key != "enum" || !ok {
				enums(below, into)
				continue
			}
			var words []string
			for _, word := range list {
				if text, ok := word.(string); ok { // null is not a word
					words = append(words, text)
				}
			}
			into[sorted(words)] = true
		}
	}
}

func sorted(words []string) string { return strings.Join(slices.Sorted(slices.Values(words)), " ") }
