package markdown

// RoundTrip parses a text, and parses it again after it was written back; both as HTML.
func RoundTrip(text string) (first, second, written string) {
	blocks := parse(text)
	written = source(blocks)
	return telegramHTML(blocks), telegramHTML(parse(written)), written
}

// Units is the length in UTF-16 code units.
func Units(s string) int { return units(s) }

// SplitSlackAt and SplitDiscordAt split at other limits than the platform's.
func SplitSlackAt(text string, limit int) []string { return split(text, slack(limit)) }

func SplitDiscordAt(text string, limit int) []string { return split(text, discord(limit)) }
