package work

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/internal/spending"
	"sluice/policy"
	"sluice/router/attach"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/quota"
	"sluice/sessions"
)

// intake adds people's messages to a session's thread, with their files and earlier thread messages, as far as the
// monitor admits them.
type intake struct {
	monitor Monitor
	adapter adapters.Finder
	places  *place.Places
	quotas  Quotas
	fetch   Fetch
	now     func() time.Time
	log     *slog.Logger
}

// files fetches the files of a message. Its sender pays for this. The run may not have begun yet, so no epoch ends the calls.
func (in *intake) files(ctx context.Context, session *sessions.Session, run *sessions.Run, space *quota.Files) attach.Fetched {
	if len(run.Input.Attachments) > 0 {
		o := ledger.OriginOf(run, session.Record().Agent)
		o.Partition, o.Epoch = 0, 0
		ctx = spending.With(ctx, o)
	}
	return in.fetch(ctx, run, space)
}

// admitText asks the monitor about a run's input and redacts it. The caller stores the decision with its effects.
// files are the texts of attached files.
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

// quotedTexts are all texts of quotations, in a copy that the caller may change.
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

// sourceOf names the origin of a run's text, as rules know it.
func sourceOf(kind sessions.RunKind) string {
	switch {
	case kind == sessions.KindNote:
		return "note"
	case kind == sessions.KindTrigger:
		return "trigger"
	case kind.Step():
		return "agent"
	}
	return "message"
}
