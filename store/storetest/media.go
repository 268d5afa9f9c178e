package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router"
	"sluice/sessions"
)

func newMedia(expires time.Time) router.Media {
	return router.Media{
		ID: sessions.NewMediaID(), Session: "sess_1", Name: "übersicht.pdf", MIME: "application/pdf", Size: 4, SHA256: "abc",
		Content: []byte("\x00\xff%P"), Label: secret, Created: start, Expires: expires,
	}
}

func testMedia(t *testing.T, b *bundle) {
	m, empty := newMedia(at(1)), newMedia(at(1))
	empty.Content, empty.Size = nil, 0
	b.commit(router.Change{Media: []router.Media{m, empty}})
	b.refuse(sessions.ErrDuplicate, router.Change{Media: []router.Media{m}})
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

// testMediaSweep: what expired goes, unless a delivery that is not done has it.
func testMediaSweep(t *testing.T, b *bundle) {
	fresh, old, held := newMedia(at(10)), newMedia(at(1)), newMedia(at(1))
	b.commit(router.Change{Media: []router.Media{fresh, old, held}})
	d := newDelivery("c|x")
	d.Files = []sessions.MediaID{"med_other", held.ID}
	b.commit(router.Change{Deliver: []router.Delivery{d}})
	sweep := func(want int) {
		t.Helper()
		n, err := b.SweepMedia(b.ctx, at(5), 100)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	sweep(1)
	sweep(0)
	_, err := b.Media(b.ctx, old.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	d.Status = router.DeliverySent
	b.commit(moveDelivery(router.DeliveryQueued, d))
	sweep(1)
	_, err = b.Media(b.ctx, fresh.ID)
	require.NoError(t, err)
}
