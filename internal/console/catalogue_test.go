package console_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var (
	entry  = regexp.MustCompile(`"([\w.#]+)": "((?:[^"\\]|\\.)*)"`)
	hole   = regexp.MustCompile(`\{\w+\}`)
	used   = regexp.MustCompile(`["'\x60]([a-z]+\.[\w.]+)["'\x60]`)
	prefix = regexp.MustCompile(`\bt\("([\w.]+\.)" \+|known\("([a-z]+)",|\bwords: "([a-z]+)"`)
)

// catalogue reads the texts of a language.
func catalogue(t *testing.T, language string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Clean("page/text/" + language + ".js"))
	require.NoError(t, err)
	texts := map[string]string{}
	for _, m := range entry.FindAllStringSubmatch(string(content), -1) {
		_, twice := texts[m[1]]
		require.False(t, twice, "%s is twice in %s", m[1], language)
		texts[m[1]] = m[2]
	}
	require.Greater(t, len(texts), 100)
	return texts
}

// scripts are the page's own modules with their content, without the catalogues.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range []string{"base", "page"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".js" || strings.HasPrefix(path, "page/text/") || path == "page/base.js" {
				return err
			}
			content, err := os.ReadFile(filepath.Clean(path))
			found[path] = string(content)
			return err
		}))
	}
	return found
}

// No text is missing in any language, and none is left over: each has the same keys, and the same places for values.
func TestTheCataloguesAreComplete(t *testing.T) {
	t.Parallel()
	english := catalogue(t, "en")
	german := catalogue(t, "de")
	for key, text := range english {
		_, both := german[key]
		require.True(t, both, "the German text %s", key)
		want, got := hole.FindAllString(text, -1), hole.FindAllString(german[key], -1)
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, key)
	}
	for key := range german {
		_, both := english[key]
		require.True(t, both, "the English text %s", key)
	}

	asked, prefixes := map[string]bool{}, map[string]bool{}
	for path, content := range scripts(t) {
		for _, m := range regexp.MustCompile(`\b(?:t|words)\("([\w.]+\w)"`).FindAllStringSubmatch(content, -1) {
			_, known := english[m[1]]
			require.True(t, known, "%s: %s", path, m[1])
		}
		for _, m := range used.FindAllStringSubmatch(content, -1) {
			asked[m[1]] = true
		}
		for _, m := range prefix.FindAllStringSubmatch(content, -1) {
			prefixes[m[1]] = true
			prefixes[m[2]+"."], prefixes[m[3]+"."] = true, true
		}
	}
	delete(prefixes, "")
	delete(prefixes, ".")
	for key := range english {
		key = strings.TrimSuffix(key, "#one")
		byPrefix := false
		for p := range prefixes {
			byPrefix = byPrefix || strings.HasPrefix(key, p)
		}
		require.True(t, asked[key] || byPrefix, "nothing shows the text %s", key)
	}
}

// Words that stand in a template are in one language only.
func TestNoTextStandsInATemplate(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`>\s*[A-Za-z][a-z]+[ \w,.]*</`)
	attributes := regexp.MustCompile(`(?:aria-label|title|placeholder)="[^"$]*[a-z]`)
	for path, content := range scripts(t) {
		if strings.Contains(path, "palette.js") {
			continue // names of keys
		}
		for _, found := range append(words.FindAllString(content, -1), attributes.FindAllString(content, -1)...) {
			require.Contains(t, []string{">Sluice</", ">Ctrl K</"}, found, path)
		}
	}
}

// Text becomes text: nothing in the page makes markup or code of it.
func TestNothingMakesMarkupOfText(t *testing.T) {
	t.Parallel()
	for path, content := range scripts(t) {
		for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML", "document.write", "eval(", "new Function", "setAttribute(\"on", "javascript:", "srcdoc"} {
			require.NotContains(t, content, sink, path)
		}
	}
}

// The page's modules can be read: one element or text on each line, and no long lines.
func TestLinesOfThePageAreShort(t *testing.T) {
	t.Parallel()
	for path, content := range scripts(t) {
		for i, line := range strings.Split(content, "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 160, "%s:%d", path, i+1)
		}
	}
}
