package memories

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	wordMax     = 64 // characters of a word that count
	questionMax = 8  // words of a question that count
)

// words splits a text the way both databases index it: lower-case letters, digits, and the marks of scripts that need
// them, without accents. Each Chinese or Japanese character is a word. The result has no character with a meaning in
// a query language.
func words(text string) []string {
	var found []string
	var word strings.Builder
	length := 0
	end := func() {
		if word.Len() > 0 {
			found = append(found, norm.NFC.String(word.String()))
		}
		word.Reset()
		length = 0
	}
	for _, r := range decomposed(text) {
		switch {
		case accent(r):
		case ideograph(r):
			end()
			found = append(found, string(r))
		case !unicode.In(r, unicode.L, unicode.N, unicode.Mn, unicode.Mc) || r == utf8.RuneError:
			end()
		case length < wordMax:
			length++
			word.WriteRune(folded(r))
		}
	}
	end()
	return found
}

// decomposed separates accents from their letters; most texts have no accents.
func decomposed(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return norm.NFKD.String(text)
		}
	}
	return text
}

// accent reports whether a mark belongs to a letter of Latin, Greek or Cyrillic.
func accent(r rune) bool { return r >= 0x300 && r <= 0x36f }

func ideograph(r rune) bool {
	return r >= 0x3040 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// folded returns a letter in lower case. The Turkish dotless i becomes i, as people without a Turkish keyboard write
// it.
func folded(r rune) rune {
	if r == 'ı' {
		return 'i'
	}
	return unicode.ToLower(r)
}

// question returns the words to search for: each once, without common words, and of a long text the longest.
func question(text string) []string {
	var asked, rest []string
	seen := map[string]bool{}
	for _, w := range words(text) {
		switch {
		case seen[w]:
		case stopWords[w] || len(w) == 1 && w[0] >= 'a':
			rest = append(rest, w)
		default:
			asked = append(asked, w)
		}
		seen[w] = true
	}
	if len(asked) == 0 {
		asked = rest
	}
	if len(asked) > questionMax {
		slices.SortStableFunc(asked, func(a, b string) int { return cmp.Compare(utf8.RuneCountInString(b), utf8.RuneCountInString(a)) })
		asked = asked[:questionMax]
	}
	return asked
}

// stopWords are English words that say nothing about the subject of a question.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		about after again all also am an and any are as at be because been before being but by can could did do does doing don down
		for from further had has have having he her here hers him his how i if in into is it its itself just know let ll me more most my
		no nor not now of off on once only or other our ours out over own please re remember same she should so some such
		tell than that the their theirs them then there these they this those through to too under until up us ve very was we were what
		when where which while who whom why will with would you your yours`) {
		m[w] = true
	}
	return m
}()
