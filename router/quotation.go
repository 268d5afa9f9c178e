package router

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/adapters"
	"sluice/policy"
	"sluice/sessions"
)

const (
	quotationsMost = 50    // of one message; further ones are left out, and the model is told how many
	quotedMost     = 60000 // bytes of all quotations of one message together
	speakerMost    = 60    // characters of a name before what somebody said
)

// passesOn reports whether a message is there to pass on what somebody else has said. Then it is no command, whatever stands beside it.
func passesOn(in adapters.Inbound) bool {
	return slices.ContainsFunc(in.Quotations, sessions.Quotation.PassedOn)
}

// saysNothing reports whether there is nothing in a message for an agent to work on. What it answers or links to is not enough.
func saysNothing(in adapters.Inbound) bool {
	return in.Text == "" && len(in.Attachments) == 0 && in.Unread == "" && !passesOn(in)
}

// boundQuotations is what is kept of a message's quotations. A text that is cut says how much is missing.
func boundQuotations(all []sessions.Quotation, most int) []sessions.Quotation {
	kept := slices.Clone(all)
	if left := len(kept) - quotationsMost; left > 0 {
		kept = kept[:quotationsMost]
		last := &kept[len(kept)-1]
		last.Text += fmt.Sprintf("\n… and %d quotations more, which are left out", left)
	}
	for i := range kept {
		q := &kept[i]
		if len(q.Text) > most {
			q.Text = strings.ToValidUTF8(q.Text[:most], "") + fmt.Sprintf("\n… and %d bytes more, which are left out", len(q.Text)-most)
			most = 0
		}
		most = max(0, most-len(q.Text))
		q.Files = q.Files[:min(len(q.Files), quotationsMost)]
	}
	return kept
}

// InputText is what a message says, in one text: what its sender has written, and what it passes on.
func InputText(in sessions.Input) string {
	texts := make([]string, 0, 1)
	if in.Text != "" {
		texts = append(texts, in.Text)
	}
	for _, q := range in.Quotations {
		if q.PassedOn() {
			texts = append(texts, quotationText(q))
		}
	}
	return strings.Join(texts, "\n\n")
}

// quotationText shows a quotation to the model: a line that says whose words follow, and the words, each line of them behind "> ",
// so that nothing in them can end the quotation or begin somebody else's words.
func quotationText(q sessions.Quotation) string {
	lead := "In reply to what this message answers"
	switch q.Kind {
	case sessions.QuoteForward:
		lead = "Passed on by the sender, not said by the sender"
	case sessions.QuoteThread:
		lead = "Said before in this thread"
	case sessions.QuoteLink:
		lead = "Shown by the platform of a link in this message"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%s; words of %s:]", lead, quotedName(q.From))
	for _, line := range lines(q.Text) {
		b.WriteString("\n> " + line)
	}
	for _, file := range q.Files {
		b.WriteString("\n> (file) " + strconv.QuoteToGraphic(file))
	}
	return b.String()
}

// quotedName names a writer in quotes, on one line and without invisible characters.
func quotedName(p sessions.Peer) string {
	if p == (sessions.Peer{}) {
		return "an unknown person"
	}
	name := speaker(p)
	if utf8.RuneCountInString(name) > speakerMost {
		name = string([]rune(name)[:speakerMost]) + "…"
	}
	quoted := strconv.QuoteToGraphic(name)
	if p.ID != "" && string(p.ID) != name {
		quoted += " (id " + strconv.QuoteToGraphic(string(p.ID)) + ")"
	}
	return quoted
}

// lines cuts a text wherever something may show it as a new line.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(lineBreaks.Replace(text), "\n")
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// spokenName names somebody before what they said. A name of which nothing can be shown is their id.
func spokenName(p sessions.Peer) string {
	if policy.CheckSpeaker.Skipped() {
		return speaker(p)
	}
	return cmp.Or(sessions.HeadWord(speaker(p)), sessions.HeadWord(p.Username), sessions.HeadWord(string(p.ID)), "somebody")
}

// saidText is what somebody said where several speak. Only the first line begins with a name: the others are indented, so that
// nobody can write a line in another one's name.
func saidText(from sessions.Peer, text string, quoted []sessions.Quotation) string {
	parts := make([]string, 0, 1+len(quoted))
	if text != "" {
		parts = append(parts, strings.Join(lines(text), "\n  "))
	}
	for _, q := range quoted {
		parts = append(parts, strings.ReplaceAll(quotationText(q), "\n", "\n  "))
	}
	return spokenName(from) + ": " + strings.Join(parts, "\n  ")
}
