package discord

import (
	"strconv"
	"strings"
	"time"

	"sluice/internal/pattern"
)

// markup is how Discord writes what is more than text: <@1> <@!1> a person, <@&1> a
// role, <#1> a channel, <:name:1> <a:name:1> an emoji, </name:1> a command, <t:1:R> a time. Each
// has its kind in one group, and what it is about in the next.
var markup = pattern.New(`<(@[!&]?|#)(\d{1,20})>|<(:|a:)(\w{1,40}):\d{1,20}>|<(/)([^<>:\n]{1,100}):\d{1,20}>|<(t:)(\d{1,12})(?::[a-zA-Z])?>`)

// parts returns the kind and the subject of one piece of markup.
func parts(raw string, at []int) (kind, what string) {
	for i := 2; i+3 < len(at); i += 4 {
		if at[i] >= 0 {
			return raw[at[i]:at[i+1]], raw[at[i+2]:at[i+3]]
		}
	}
	return "", ""
}

// reader converts a message's text to plain text.
type reader struct {
	places  *places
	guild   string
	self    *user
	message *message
}

// read replaces mentions by names and removes those of the bot. named reports whether the bot was mentioned.
func (r reader) read(raw string) (text string, named bool) {
	raw = valid(raw)
	if !strings.Contains(raw, "<") {
		return strings.TrimSpace(raw), false
	}
	var b strings.Builder
	from, first := 0, false
	for _, at := range markup.Regexp().FindAllStringSubmatchIndex(raw, -1) {
		kind, what := parts(raw, at)
		shown, own := r.resolve(raw[at[0]:at[1]], kind, what)
		b.WriteString(raw[from:at[0]])
		from = at[1]
		if !own {
			b.WriteString(shown)
			continue
		}
		named = true
		first = first || strings.TrimSpace(b.String()) == ""
		if before := b.String(); before == "" || strings.HasSuffix(before, " ") {
			from += len(raw[from:]) - len(strings.TrimLeft(raw[from:], " ")) // no double space where it stood
		}
	}
	b.WriteString(raw[from:])
	text = strings.TrimSpace(b.String())
	if first {
		text = strings.TrimLeft(text, " ,:\t") // an address's comma
	}
	return text, named
}

// resolve returns the text of one piece of markup; own: it mentions the bot.
func (r reader) resolve(whole, kind, what string) (shown string, own bool) {
	switch kind {
	case "@", "@!":
		return r.person(whole, what)
	case "@&":
		mine := known(r.places, r.guild, func(g *guildInfo) string { return g.botRole })
		if what == mine && mine != "" {
			return "", true
		}
		return prefixed("@", known(r.places, r.guild, func(g *guildInfo) string { return g.roles[what] }), whole), false
	case "#":
		c, _ := r.places.channel(what)
		return prefixed("#", valid(c.Name), whole), false
	case ":", "a:":
		return ":" + what + ":", false
	case "/":
		return "/" + what, false
	}
	return moment(whole, what), false
}

func (r reader) person(whole, id string) (shown string, own bool) {
	if id == r.self.ID {
		return "", true
	}
	for _, m := range r.message.Mentions {
		if m.ID == id {
			return "@" + peer(&m.user, m.Member).Name, false
		}
	}
	return whole, false
}

func prefixed(sign, name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return sign + name
}

// moment converts Discord's form of a time to an unambiguous text.
func moment(whole, what string) string {
	s, err := strconv.ParseInt(what, 10, 64)
	if err != nil {
		return whole
	}
	return time.Unix(s, 0).UTC().Format(time.RFC3339)
}
