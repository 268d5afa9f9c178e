package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// RoundTrip parses a text, and parses it again after it was written back; both as HTML.
func RoundTrip(text string) (first, second, written string) {
	blocks := parse(text)
	written = source(blocks)
	return telegramHTML(blocks), telegramHTML(parse(written)), written
}

// TelegramHTML and Structured parse a text for one thing of it.
func TelegramHTML(text string) string { return Parse(text).TelegramHTML() }

func Structured(text string) bool { return Parse(text).Structured() }

// SurelyFits is what Split asks before it parses a text, and Fits what it would find out by parsing.
func SurelyFits(text string, limit int) bool { return certainlyFits(text, limit) }

func Fits(text string, limit int) bool { return len(split(text, telegram(limit))) == 1 }

// Units is the length in UTF-16 code units.
func Units(s string) int { return units(s) }

// SplitSlackAt and SplitDiscordAt split at other limits than the platform's.
func SplitSlackAt(text string, limit int) []string { return split(text, slack(limit)) }

func SplitDiscordAt(text string, limit int) []string { return split(text, discord(limit)) }

// The bounds of what is parsed.
const (
	SectionMax = sectionMax
	NestingMax = nestingMax
)

// Section is a section as tests see it.
type Section struct {
	Text  string
	Fence bool
}

// Sections are those that a text is parsed in.
func Sections(source string) (all []Section) {
	for _, s := range sections(source) {
		all = append(all, Section{s.text, s.fence})
	}
	return all
}

// Depth is how deep quotes and lists stand in each other in a text.
func Depth(source string) (most int) {
	depth := 0
	tree := reader.Parse(text.NewReader([]byte(source)))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch kind := n.Kind(); {
		case kind != ast.KindBlockquote && kind != ast.KindList:
		case entering:
			depth++
			most = max(most, depth)
		default:
			depth--
		}
		return ast.WalkContinue, nil
	})
	return most
}
