package router

import (
	"strings"

	"sluice/router/queue"
	"sluice/router/speech"
	"sluice/sessions"
)

// userMessage is what the agent sees of a run's input; files are the texts of those that are text.
func userMessage(run sessions.Run, files []string) sessions.Message {
	in := run.Input
	m := sessions.Message{Run: run.ID, Role: sessions.RoleUser, Sender: in.Sender, Label: run.Label}
	if queue.Alone(run) {
		m.Role = sessions.RoleAgent
		m.Parts = []sessions.Part{sessions.TextPart(in.Text, run.Label)}
		return m
	}
	add := func(text string) { m.Parts = append(m.Parts, sessions.TextPart(text, run.Label)) }
	if len(in.History) > 0 {
		var b strings.Builder
		b.WriteString("[Said here since your last answer, not to you]")
		for _, l := range in.History {
			b.WriteString("\n" + speech.Said(l.Sender, l.Text, l.Quotations))
		}
		add(b.String())
	}
	for _, q := range in.Quotations {
		add(speech.Quotation(q))
	}
	if in.Unread != "" {
		add("[Part of this message could not be read: " + in.Unread + "]")
	}
	text := in.Text
	if run.Route.ChatType != sessions.Direct && text != "" {
		text = speech.Said(in.Sender, text, nil)
	}
	if text != "" {
		add(text)
	}
	for _, a := range in.Attachments {
		m.Parts = append(m.Parts, sessions.Part{Type: sessions.PartAttachment, Attachment: &a, Label: run.Label})
	}
	for _, text := range files {
		add(text)
	}
	return m
}
