package notes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/notes"
)

func TestMemoryPlaceCursor(t *testing.T) {
	t.Parallel()
	for _, place := range []notes.MemoryPlace{
		{},
		{Key: "user-name", Audience: notes.AudienceOwner},
		{Namespace: "office", Key: "straße / 道", Audience: "agent:main:telegram:group:-1"},
	} {
		got, err := notes.ParseMemoryPlace(place.Cursor())
		require.NoError(t, err)
		require.Equal(t, place, got)
	}
	for _, cursor := range []string{"nonsense", "", "a\nb\nc", notes.MemoryPlace{Key: "a\nb"}.Cursor()} {
		_, err := notes.ParseMemoryPlace(cursor)
		require.EqualError(t, err, "want the value of next from a page", "%q", cursor)
	}
}
