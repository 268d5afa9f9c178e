package work

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/policy"
	"sluice/router/place"
	"sluice/sessions"
)

// intake brings what people say into a session's thread: with the files and the thread that it came with, and as far as
// the monitor lets it in.
type intake struct {
	monitor  Monitor
	adapter  adapters.Finder
	places   *place.Places
	rooms    Rooms
	settings func() *place.Settings
	fetches  chan struct{} // holds one for each run that fetches files
	now      func() time.Time
	log      *slog.Logger
}

// admitText lets the monitor judge what a run brings into its session's thread, and takes out of it what it
// says. The decision is stored with what follows from it. files are the texts of those that came with it.
func (in *intake) admitText(session *sessions.Session, run *sessions.Run, files []string) error {
	said := &run.Input
	texts := []*string{&said.Text, &said.Sender.Name, &said.Sender.Username}
	said.History, said.Attachments = slices.Clone(said.History), slices.Clone(said.Attachments)
	texts = append(texts, quotedTexts(&said.Quotations)...)
	for i := range said.History {
		line := &said.History[i]
		texts = append(texts, &line.Text, &line.Sender.Name, &line.Sender.Username)
		texts = append(texts, quotedTexts(&line.Quotations)...)
	}
	for i := range said.Attachments {
		texts = append(texts, &said.Attachments[i].Name)
	}
	for i := range files {
		texts = append(texts, &files[i])
	}
	entry := policy.Entry{
		ID: string(run.ID), Record: session.Record(), Route: run.Route, Label: run.Label, Source: sourceOf(run.Kind),
		User: run.Speaker(), Owner: said.Owner,
	}
	for _, text := range texts {
		if *text != "" {
			entry.Texts = append(entry.Texts, *text)
		}
	}
	d := in.monitor.Enter(entry)
	session.Audit(sessions.AuditEntry{
		At: in.now(), Actor: "gateway", Action: "input." + string(d.Action), Object: string(run.ID), Session: run.Session, Label: run.Label, Detail: d,
	})
	if d.Action == policy.Block {
		return &sessions.WorkError{
			Status: sessions.RunFailed, Err: fmt.Errorf("input refused: %s", d.Reason),
			Public: "I am not allowed to read this message. My owner can see why with `sluice audit list`.",
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
