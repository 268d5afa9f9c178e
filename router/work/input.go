package work

import (
	"context"
	"errors"
	"strings"

	"sluice/router/queue"
	"sluice/router/usertext"
	"sluice/sessions"
)

// userMessage is a run's input as the agent reads it; files are the contents of its text files.
func userMessage(run sessions.Run, files []string) sessions.Message {
	in := run.Input
	m := sessions.Message{Run: run.ID, Role: sessions.RoleUser, Sender: in.Sender, Label: run.Label}
	if queue.Alone(run) && run.Kind != sessions.KindTrigger {
		m.Role = sessions.RoleAgent
		m.Parts = []sessions.Part{sessions.TextPart(in.Text, run.Label)}
		return m
	}
	add := func(text string) { m.Parts = append(m.Parts, sessions.TextPart(text, run.Label)) }
	if len(in.History) > 0 {
		var b strings.Builder
		b.WriteString("[Messages here since your last reply that were not addressed to you]")
		for _, l := range in.History {
			b.WriteString("\n" + usertext.WithSpeaker(l.Sender, l.Text, l.Quotations))
		}
		add(b.String())
	}
	for _, q := range in.Quotations {
		add(usertext.Quotation(q))
	}
	if in.Unread != "" {
		add("[Part of this message could not be read: " + in.Unread + "]")
	}
	text := in.Text
	if run.Route.ChatType != sessions.Direct && text != "" && run.Kind != sessions.KindTrigger {
		text = usertext.WithSpeaker(in.Sender, text, nil)
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

// appendInput adds a run's input to the thread, in memory: as its newest message, or as its order says.
func appendInput(ctx context.Context, session *sessions.Session, run sessions.Run, files []string) error {
	order := run.Input.Order
	switch {
	case order == nil:
		session.Append(userMessage(run, files))
	case order.Do == sessions.OrderEdit:
		if old := usertext.NewestMessage(session.Messages()); old.Run == order.Run {
			m := userMessage(run, files)
			id, err := session.Edit(ctx, old.ID, m.Parts)
			if err != nil {
				return err
			}
			return session.SetMessage(id, m)
		}
		session.Append(userMessage(run, files))
	case order.Do == sessions.OrderRetry:
		return refusal(session.Retry(ctx, ""), "There is nothing to answer again.")
	}
	return nil
}

// refusal turns the error for a missing turn into a sentence for people.
func refusal(err error, text string) error {
	if errors.Is(err, sessions.ErrNoTurn) {
		return &sessions.WorkError{Status: sessions.RunFailed, Public: text, Err: err}
	}
	return err
}
