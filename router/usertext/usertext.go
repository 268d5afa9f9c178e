// Package usertext formats what people said, for the model and in the gateway's own messages. Its functions are pure.
//
// People choose their names and their words, and write in them what they like. Nothing that they write may look like
// another person's words or the gateway's: a quotation has a mark before each line, and a name stays on one line.
package usertext

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/adapters"
	"sluice/policy"
	"sluice/sessions"
)

// MaxQuoted bounds the total size of a message's quotations, in bytes.
const MaxQuoted = 60000

const (
	maxQuotations = 50 // of one message; the model is told how many were left out
	maxSpeaker    = 60 // characters of a speaker's name
)

// IsForward reports whether a message forwards somebody else's words. Such a message is never a command.
func IsForward(in adapters.Inbound) bool {
	return slices.ContainsFunc(in.Quotations, sessions.Quotation.PassedOn)
}

// IsEmpty reports whether a message contains nothing for an agent to work on. A quoted or linked message alone is not
// enough.
func IsEmpty(in adapters.Inbound) bool {
	return in.Text == "" && len(in.Attachments) == 0 && in.Unread == "" && !IsForward(in)
}

// CutQuotations cuts the quotations of a message to a total size in bytes. A shortened text says how much is missing.
func CutQuotations(all []sessions.Quotation, most int) []sessions.Quotation {
	kept := slices.Clone(all)
	if left := len(kept) - maxQuotations; left > 0 {
		kept = kept[:maxQuotations]
		last := &kept[len(kept)-1]
		last.Text += fmt.Sprintf("\n… and %d more quotations, left out", left)
	}
	for i := range kept {
		q := &kept[i]
		if len(q.Text) > most {
			q.Text = strings.ToValidUTF8(q.Text[:most], "") + fmt.Sprintf("\n… and %d more bytes, left out", len(q.Text)-most)
			most = 0
		}
		most = max(0, most-len(q.Text))
		q.Files = q.Files[:min(len(q.Files), maxQuotations)]
	}
	return kept
}

// Text is a message as one text: its sender's words, and what it forwards.
func Text(in sessions.Input) string {
	texts := make([]string, 0, 1)
	if in.Text != "" {
		texts = append(texts, in.Text)
	}
	for _, q := range in.Quotations {
		if q.PassedOn() {
			texts = append(texts, Quotation(q))
		}
	}
	return strings.Join(texts, "\n\n")
}

// Quotation formats a quotation for the model: a line that names the writer, then the text with "> " before each
// line, so that the text can neither end the quotation nor imitate another writer.
func Quotation(q sessions.Quotation) string {
	lead := "The message that this one replies to"
	switch q.Kind {
	case sessions.QuoteForward:
		lead = "Forwarded by the sender, not written by the sender"
	case sessions.QuoteThread:
		lead = "Earlier in this thread"
	case sessions.QuoteLink:
		lead = "The platform's preview of a link in this message"
	case sessions.QuoteCheck:
		lead = "What a check of the gateway found, as JSON"
	case sessions.QuoteResult:
		lead = "The result of a function that you called"
	case sessions.QuoteWake:
		lead = "Left for this heartbeat"
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

// quotedName is a writer's name in quotes, on one line and without invisible characters.
func quotedName(p sessions.Peer) string {
	if p == (sessions.Peer{}) {
		return "an unknown person"
	}
	name := speaker(p)
	if utf8.RuneCountInString(name) > maxSpeaker {
		name = string([]rune(name)[:maxSpeaker]) + "…"
	}
	quoted := strconv.QuoteToGraphic(name)
	if p.ID != "" && string(p.ID) != name {
		quoted += " (id " + strconv.QuoteToGraphic(string(p.ID)) + ")"
	}
	return quoted
}

// lines splits a text at everything that might be shown as a new line.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(lineBreaks.Replace(text), "\n")
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// spokenName is the name before a person's words; the person's id if nothing of the name is visible.
func spokenName(p sessions.Peer) string {
	if policy.CheckSpeaker.Skipped() {
		return speaker(p)
	}
	return cmp.Or(sessions.HeadWord(speaker(p)), sessions.HeadWord(p.Username), sessions.HeadWord(string(p.ID)), "somebody")
}

// WithSpeaker formats a person's words where several people speak. Only the first line starts with a name; the others are
// indented, so that nobody can imitate another speaker.
func WithSpeaker(from sessions.Peer, text string, quoted []sessions.Quotation) string {
	parts := make([]string, 0, 1+len(quoted))
	if text != "" {
		parts = append(parts, strings.Join(lines(text), "\n  "))
	}
	for _, q := range quoted {
		parts = append(parts, strings.ReplaceAll(Quotation(q), "\n", "\n  "))
	}
	return spokenName(from) + ": " + strings.Join(parts, "\n  ")
}

// Quote puts a text in quotation marks and shortens it to 60 characters.
func Quote(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) > most {
		return "“" + string(runes[:most]) + "…”"
	}
	return "“" + text + "”"
}

// speaker is the best name of a person: as shown, as written, or the id.
func speaker(p sessions.Peer) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Username != "":
		return p.Username
	}
	return string(p.ID)
}

// NewestMessage is the newest message of a user in a thread, or the zero value.
func NewestMessage(thread []sessions.Message) sessions.Message {
	for _, m := range slices.Backward(thread) {
		if m.Role == sessions.RoleUser {
			return m
		}
	}
	return sessions.Message{}
}

// Duration is a duration in words if it is a whole number of hours, minutes or seconds.
func Duration(d time.Duration) string {
	d = d.Round(time.Second)
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := d / unit.length; n > 0 && d%unit.length == 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}
