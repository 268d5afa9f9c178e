package discord

import (
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"sluice/adapters"
	"sluice/internal/markdown"
)

// Bounds of what stands below a message, as Discord has them.
const (
	perRow   = 5
	rows     = 5
	maxLabel = 80
)

// MaxButtons is what Discord shows below one message: five rows of five.
func (a *Adapter) MaxButtons() int { return rows * perRow }

// components lays buttons out in rows. Of several with one name the first is
// shown: Discord wants each once, and they would do the same.
func components(buttons []adapters.Button) []discordgo.MessageComponent {
	var out []discordgo.MessageComponent
	var row []discordgo.MessageComponent
	seen := map[string]bool{}
	for _, b := range buttons {
		if b.Press == "" || seen[b.Press] || len(seen) == rows*perRow {
			continue
		}
		seen[b.Press] = true
		row = append(row, discordgo.Button{Label: label(b), Style: discordgo.SecondaryButton, CustomID: b.Press})
		if len(row) == perRow {
			out, row = append(out, discordgo.ActionsRow{Components: row}), nil
		}
	}
	if len(row) > 0 {
		out = append(out, discordgo.ActionsRow{Components: row})
	}
	return out
}

func label(b adapters.Button) string {
	return shorten(or(strings.TrimSpace(valid(b.Label)), b.Press), maxLabel)
}

// Split cuts a text into pieces that each fit one Discord message.
func (a *Adapter) Split(text string) []string { return markdown.SplitDiscord(valid(text)) }

// render gives a message's content. A text that renders to nothing goes out as it is.
func render(out adapters.Outbound) string {
	text := valid(out.Text)
	if out.Plain {
		return plain(text)
	}
	if shown := markdown.Discord(text); strings.TrimSpace(shown) != "" {
		return shown
	}
	return text
}

// marks are the characters that Discord takes for markup.
var marks = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, ">", `\>`, "<", `\<`, "#", `\#`, "[", `\[`, ":", `\:`, "-", `\-`,
)

// plain is a text whose markup shows as it is written, where there is room for that.
func plain(text string) string {
	if escaped := marks.Replace(text); utf8.RuneCountInString(escaped) <= maxText {
		return escaped
	}
	return text
}
