package router

import (
	"fmt"
	"strings"

	"sluice/sessions"
)

// userMessage is what the agent sees of a run's input; files are the texts of those that are text.
func userMessage(run sessions.Run, files []string) sessions.Message {
	in := run.Input
	m := sessions.Message{Run: run.ID, Role: sessions.RoleUser, Sender: in.Sender, Label: run.Label}
	if workedAlone(run) {
		m.Role = sessions.RoleAgent
		m.Parts = []sessions.Part{sessions.TextPart(in.Text, run.Label)}
		return m
	}
	add := func(text string) { m.Parts = append(m.Parts, sessions.TextPart(text, run.Label)) }
	if len(in.History) > 0 {
		var b strings.Builder
		b.WriteString("[Said here since your last answer, not to you]")
		for _, l := range in.History {
			fmt.Fprintf(&b, "\n%s: %s", speaker(l.Sender), l.Text)
		}
		add(b.String())
	}
	if in.Quoted != "" {
		add("[In reply to] " + in.Quoted)
	}
	text := in.Text
	if run.Route.ChatType != sessions.Direct && text != "" {
		text = speaker(in.Sender) + ": " + text
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

func speaker(p sessions.Peer) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Username != "":
		return p.Username
	}
	return string(p.ID)
}
