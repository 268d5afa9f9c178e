package work

import (
	"context"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/quota"
	"sluice/sessions"
)

// attached are the files of an answer, to be stored with it.
type attached struct {
	media []ledger.Media
	label flow.Label
}

// files prepares an answer's files. Those for which there is no room are left out, and the answer says so. An answer that is not sent to a chat, such
// as one to another agent, has no files: the agent's tool says so.
func (f *finisher) files(ctx context.Context, run *sessions.Run, taint flow.Label, answer *Answer) attached {
	if len(answer.Files) == 0 || run.Route.IsZero() {
		return attached{}
	}
	a := attached{label: taint.Join(answer.FilesLabel)}
	for _, file := range answer.Files {
		m := f.composer.NewMedia(file, a.label)
		a.media = append(a.media, m)
	}
	err := f.quotas.Of("").AdmitAll(ctx, a.media)
	if err == nil {
		return a
	}
	f.log.Warn("files of an answer not sent", "run", string(run.ID), "session", string(run.Session), "err", err)
	why, full := quota.NotKept(err)
	if !full {
		why = "my owner can see why in the log"
	}
	answer.Tell("_(I could not attach the files: " + why + ".)_")
	return attached{}
}

// deliverFiles adds the delivery of an answer with files. Its visible preview becomes the text; without a text, the preview is removed.
func (f *finisher) deliverFiles(change *ledger.Change, d ledger.Delivery, files attached, preview []ledger.DeliveryMove) {
	for _, m := range files.media {
		d.Files = append(d.Files, m.ID)
	}
	d.Label = d.Label.Join(files.label)
	if d.Text == "" {
		change.Deliveries, preview = f.composer.Withdraw(preview), nil
	}
	f.deliver(change, d, preview)
}

// spoken reports whether people also get an answer as a recording.
func (f *finisher) spoken(record sessions.Record, text string) bool {
	return record.Voice && f.speaks != nil && f.speaks() && !sessions.Silent(text)
}
