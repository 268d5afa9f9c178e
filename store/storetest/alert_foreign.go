package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/alert"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Every text of a sender of alerts can be stored and read again: a row that can't be written would be reported for ever, and
// one that can't be read would block its group.
func testAlertForeignValues(t *testing.T, b *bundle) {
	rapid.Check(t, func(r *rapid.T) {
		text := func(name string) string { return foreignText(r, name) }
		when := foreignTime(r, "at")
		a, g := newAlert(string(sessions.NewID())+text("key"), 1), newAlertGroup(string(sessions.NewID())+text("group"))
		a.Source, a.Started, a.Ends, a.Updated, a.Ended = text("source"), when, when, when, when
		a.Title, a.Text, a.GeneratorURL, a.By = text("title"), text("text"), text("url"), text("by")
		a.Labels, a.Annotations = map[string]string{text("name"): text("value")}, map[string]string{text("annotation"): text("its text")}
		a.Links = []alert.Link{{Title: text("link"), URL: text("address")}}
		a.Groups = []string{g.Key}
		g.Receiver, g.Labels, g.Created = text("receiver"), a.Labels, when
		g.Posts = map[string]alert.Post{text("target"): {Delivery: text("delivery"), At: at(1)}}
		n := newNote(text("target"), 1)
		n.Key, n.Group, n.Alerts, n.Why, n.Delivery = string(sessions.NewID())+text("note"), g.Key, []string{a.Key}, text("why"), text("message")
		s := alert.Silence{
			ID: string(sessions.NewID()) + text("silence"), Revision: 1, Starts: when, Ends: when, Updated: when, Label: secret,
			SilenceDetail: alert.SilenceDetail{Matchers: []alert.Matcher{{Name: text("matcher"), Value: text("matched")}}, Author: text("author"), Comment: text("comment")},
		}
		audit := sessions.AuditEntry{At: start, Actor: text("actor"), Action: "silence.set", Object: text("object"), Label: secret, Detail: map[string]any{"matchers": s.Matchers, "author": s.Author}}
		change := changeAlerts(ledger.AlertChange{
			Alerts: []alert.Alert{a}, AlertTouches: []alert.Touch{touch(g, a.Key)}, AlertNotes: []alert.Note{n}, Silences: []alert.Silence{s},
		})
		change.Audit = []sessions.AuditEntry{audit}
		b.commit(change)

		found, err := b.AlertsByKey(b.ctx, []string{a.Key})
		require.NoError(r, err)
		require.Len(r, found, 1)
		a.Revision = 2
		b.commit(changeAlerts(ledger.AlertChange{Alerts: []alert.Alert{a}}))
		in, err := b.GroupAlerts(b.ctx, g.Key, 10)
		require.NoError(r, err)
		require.Len(r, in, 1)
		_, err = b.AlertGroup(b.ctx, g.Key)
		require.NoError(r, err)
		notes, err := b.GroupNotes(b.ctx, g.Key, 10)
		require.NoError(r, err)
		require.Len(r, notes, 1)
		_, err = b.Silence(b.ctx, s.ID)
		require.NoError(r, err)
	})
}
