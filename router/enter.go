package router

import (
	"fmt"
	"slices"

	"sluice/policy"
	"sluice/sessions"
)

// admitText lets the monitor judge what a run brings into its session's thread, and takes out of it what it
// says. The decision is stored with what follows from it. files are the texts of those that came with it.
func (w *sessionWorker) admitText(session *sessions.Session, run *sessions.Run, files []string) error {
	in := &run.Input
	texts := []*string{&in.Text, &in.Sender.Name, &in.Sender.Username}
	in.History, in.Attachments = slices.Clone(in.History), slices.Clone(in.Attachments)
	texts = append(texts, quotedTexts(&in.Quotations)...)
	for i := range in.History {
		line := &in.History[i]
		texts = append(texts, &line.Text, &line.Sender.Name, &line.Sender.Username)
		texts = append(texts, quotedTexts(&line.Quotations)...)
	}
	for i := range in.Attachments {
		texts = append(texts, &in.Attachments[i].Name)
	}
	for i := range files {
		texts = append(texts, &files[i])
	}
	entry := policy.Entry{
		ID: string(run.ID), Record: session.Record(), Route: run.Route, Label: run.Label, Source: sourceOf(run.Kind),
		User: run.Speaker(), Owner: in.Owner,
	}
	for _, text := range texts {
		if *text != "" {
			entry.Texts = append(entry.Texts, *text)
		}
	}
	d := w.monitor.Enter(entry)
	session.Audit(sessions.AuditEntry{
		At: w.now(), Actor: "gateway", Action: "input." + string(d.Action), Object: string(run.ID), Session: run.Session, Label: run.Label, Detail: d,
	})
	if d.Action == policy.Block {
		return &sessions.WorkError{
			Status: sessions.RunFailed, Err: fmt.Errorf("not let in: %s", d.Reason),
			Public: "I may not read this message. My owner can see why with `sluice audit list`.",
		}
	}
	for _, text := range texts {
		*text = d.Redacted(*text)
	}
	return nil
}

// quotedTexts are all texts of quotations, which are made the caller's own to change.
func quotedTexts(all *[]sessions.Quotation) []*string {
	*all = slices.Clone(*all)
	var texts []*string
	for i := range *all {
		q := &(*all)[i]
		texts = append(texts, &q.Text, &q.From.Name, &q.From.Username)
		q.Files = slices.Clone(q.Files)
		for j := range q.Files {
			texts = append(texts, &q.Files[j])
		}
	}
	return texts
}

// sourceOf says where a run's text is from, as rules call it.
func sourceOf(kind sessions.RunKind) string {
	switch {
	case kind == sessions.KindNote:
		return "note"
	case kind.Step():
		return "agent"
	}
	return "message"
}
