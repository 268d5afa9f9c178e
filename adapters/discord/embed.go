package discord

import (
	"encoding/json"
	"strings"

	"sluice/adapters"
	"sluice/sessions"
)

// Bounds of what is read of one message's embeds: Discord takes ten, with 6,000 characters together.
const (
	maxEmbeds     = 10
	maxEmbedBytes = 24_000
)

// embed is a card below a message: what a bot says there, or what Discord shows of a link.
type embed struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	URL         string `json:"url"`
	Description string `json:"description"`
	Author      struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"author"`
	Provider struct {
		Name string `json:"name"`
	} `json:"provider"`
	Fields []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"fields"`
	Footer struct {
		Text string `json:"text"`
	} `json:"footer"`
}

// embeds are those of a message. One that can't be read costs no other.
func (m *message) embeds() []embed {
	var raw []json.RawMessage
	if blank(m.Embeds) || json.Unmarshal(m.Embeds, &raw) != nil {
		return nil
	}
	var all []embed
	for _, r := range raw[:min(len(raw), maxEmbeds)] {
		var e embed
		if _, err := adapters.Decode(r, &e); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// source is all that an embed shows, in Discord's markup.
func (e *embed) source() string {
	lines := []string{e.Provider.Name, linked(e.Author.Name, e.Author.URL), linked(e.Title, e.URL), e.Description}
	for _, f := range e.Fields {
		lines = append(lines, strings.TrimPrefix(f.Name+": "+f.Value, ": "))
	}
	return joined(append(lines, e.Footer.Text)...)
}

// linked is a text with the address that it leads to.
func linked(text, url string) string {
	if url == "" || text == url {
		return text
	}
	return strings.TrimSpace(text + " " + url)
}

// joined are texts in lines of their own, bounded.
func joined(texts ...string) string { return adapters.JoinLines(maxEmbedBytes, texts...) }

// program reports whether a program has written a message. People write no embeds: Discord makes theirs of links.
func (m *message) program() bool {
	return m.WebhookID != "" || m.Author == nil || m.Author.Bot
}

// cards is all that a message's embeds show.
func (m *message) cards() string {
	var texts []string
	for _, e := range m.embeds() {
		texts = append(texts, e.source())
	}
	return joined(texts...)
}

// shown is all that the sender of a message says: the text, and the embeds where they are the sender's own.
func (m *message) shown() string {
	if m.program() {
		return joined(m.text(), m.cards())
	}
	return m.text()
}

// previews are what Discord shows of the links in a person's message: others' words.
func (m *message) previews(words reader) []sessions.Quotation {
	if m.program() {
		return nil
	}
	var all []sessions.Quotation
	for _, e := range m.embeds() {
		if text, _ := words.read(e.source()); text != "" {
			all = append(all, sessions.Quotation{Kind: sessions.QuoteLink, Text: text})
		}
	}
	return all
}
