package discord

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"sluice/adapters"
	"sluice/internal/markdown"
)

// Discord's limits of the buttons below a message.
const (
	perRow   = 5
	rows     = 5
	maxLabel = 80
)

// MaxButtons is Discord's limit for one message: five rows of five.
func (a *Adapter) MaxButtons() int { return rows * perRow }

// components arranges buttons in rows. Of several buttons with the same id only the first is shown: Discord wants unique ids,
// and they would do the same.
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
	return shorten(cmp.Or(strings.TrimSpace(valid(b.Label)), b.Press), maxLabel)
}

// Split cuts a text into pieces that fit one Discord message each.
func (a *Adapter) Split(text string) []string { return markdown.SplitDiscord(valid(text)) }

// render returns a message's content. A text that renders to an empty one is sent unchanged.
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

// marks are the characters of Discord's markup.
var marks = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, ">", `\>`, "<", `\<`, "#", `\#`, "[", `\[`, ":", `\:`, "-", `\-`,
)

// plain escapes the markup in a text, if the result is short enough.
func plain(text string) string {
	if escaped := marks.Replace(text); utf8.RuneCountInString(escaped) <= maxText {
		return escaped
	}
	return text
}
