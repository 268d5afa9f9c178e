package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

func newMedia(created time.Time) ledger.Media {
	return ledger.Media{
		ID: sessions.NewMediaID(), Session: "sess_1", Name: "übersicht.pdf", MIME: "application/pdf", Size: 4, SHA256: "abc",
		Content: []byte("\x00\xff%P"), Label: secret, Created: created,
	}
}

func testMedia(t *testing.T, b *bundle) {
	m, empty := newMedia(at(1)), newMedia(at(1))
	empty.Content, empty.Size = nil, 0
	b.commit(ledger.Change{Media: []ledger.Media{m, empty}})
	b.refuse(sessions.ErrDuplicate, ledger.Change{Media: []ledger.Media{m}})
	got, err := b.Media(b.ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, m, got)
	got, err = b.Media(b.ctx, empty.ID)
	require.NoError(t, err)
	require.Empty(t, got.Content)
	for id, read := range map[sessions.MediaID]error{m.ID: nil, "med_none": sessions.ErrNotFound} {
		_, err = b.Media(b.ctx, id)
		require.ErrorIs(t, err, read)
		got, err = b.MediaInfo(b.ctx, id)
		require.ErrorIs(t, err, read)
		require.Nil(t, got.Content)
	}
}

// testMediaHeld counts the bytes of one session's files, and of files without a session.
func testMediaHeld(t *testing.T, b *bundle) {
	m, second, other, empty := newMedia(at(1)), newMedia(at(2)), newMedia(at(3)), newMedia(at(4))
	second.Size, other.Session, empty.Session = 20_000_000_000, "", ""
	b.commit(ledger.Change{Media: []ledger.Media{m, second, other, empty}})
	for id, want := range map[sessions.ID]int64{"sess_1": 20_000_000_204, "": 208, "sess_2": 0} {
		held, err := b.MediaHeld(b.ctx, id, 100)
		require.NoError(t, err)
		require.Equal(t, want, held, "session %q", id)
	}
}

// testPruneMedia removes old files, except those of unsettled deliveries and of sessions with unfinished runs.
func testPruneMedia(t *testing.T, b *bundle) {
	s := b.create(newSession("agent:main:main"))
	file := func(session sessions.ID, created time.Time) ledger.Media {
		m := newMedia(created)
		m.Session = session
		b.commit(ledger.Change{Media: []ledger.Media{m}})
		return m
	}
	for range 50 {
		file("sess_1", at(1))
	}
	young, old, held, worked := file("sess_1", at(10)), file("sess_1", at(1)), file("sess_1", at(1)), file(s.ID, at(1))
	d := newDelivery("c|x")
	d.Files = []sessions.MediaID{"med_other", held.ID}
	run := newRun(s.ID)
	b.commit(ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{run}}, Deliver: []ledger.Delivery{d}})
	b.prune(ledger.PruneMedia, at(5), 51)
	b.prune(ledger.PruneMedia, at(5), 0)
	_, err := b.Media(b.ctx, old.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	for _, m := range []ledger.Media{young, held, worked} {
		_, err = b.Media(b.ctx, m.ID)
		require.NoError(t, err)
	}
	d.Status, run.Status, run.Finished = ledger.DeliverySent, sessions.RunDone, at(2)
	b.commit(moveDelivery(ledger.DeliveryQueued, d))
	b.prune(ledger.PruneMedia, at(5), 1)
	b.commit(ledger.Change{Change: sessions.Change{Runs: []sessions.RunMove{{From: sessions.RunQueued, Run: run}}}})
	b.prune(ledger.PruneMedia, at(5), 1)
	_, err = b.Media(b.ctx, young.ID)
	require.NoError(t, err)
}
