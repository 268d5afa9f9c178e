package telegram

import (
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// stripMentions removes the bot's own mentions from a text and reports whether there were any: "@bot", a link to its
// profile, and the suffix of "/command@bot".
func stripMentions(text string, entities []models.MessageEntity, self *models.User) (string, bool) {
	if len(entities) == 0 {
		return text, false
	}
	units := utf16.Encode([]rune(text)) // entities count UTF-16 code units
	keep := make([]bool, len(units))
	for i := range keep {
		keep[i] = true
	}
	found := false
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(units)-e.Length {
			continue
		}
		from, to, ok := ownMention(units[e.Offset:e.Offset+e.Length], e, self)
		if !ok {
			continue
		}
		found = true
		for i := e.Offset + from; i < e.Offset+to; i++ {
			keep[i] = false
		}
	}
	if !found {
		return text, false
	}
	return tidy(units, keep), true
}

// ownMention returns the part of an entity's text that names the bot.
func ownMention(units []uint16, e models.MessageEntity, self *models.User) (from, to int, ok bool) {
	name := "@" + self.Username
	text := string(utf16.Decode(units))
	switch e.Type {
	case models.MessageEntityTypeMention:
		return 0, len(units), self.Username != "" && strings.EqualFold(text, name)
	case models.MessageEntityTypeTextMention:
		return 0, len(units), e.User != nil && e.User.ID == self.ID
	case models.MessageEntityTypeBotCommand:
		at := strings.IndexByte(text, '@')
		if at < 0 || self.Username == "" || !strings.EqualFold(text[at:], name) {
			return 0, 0, false
		}
		return at, len(units), true // commands and user names are ASCII: bytes are units
	}
	return 0, 0, false
}

// tidy joins the kept units, without a double space where something was removed, and without a leading comma.
func tidy(units []uint16, keep []bool) string {
	kept := make([]uint16, 0, len(units))
	removed := false
	for i, u := range units {
		if !keep[i] {
			removed = true
			continue
		}
		if removed && u == ' ' && (len(kept) == 0 || kept[len(kept)-1] == ' ') {
			continue
		}
		removed = false
		kept = append(kept, u)
	}
	text := string(utf16.Decode(kept))
	if len(keep) > 0 && !keep[0] {
		text = strings.TrimLeft(text, " ,:\t")
	}
	return strings.TrimSpace(text)
}
