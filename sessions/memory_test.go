package sessions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

func TestMemoryPlaceCursor(t *testing.T) {
	t.Parallel()
	for _, place := range []sessions.MemoryPlace{
		{},
		{Key: "user-name", Audience: sessions.AudienceOwner},
		{Namespace: "office", Key: "straße / 道", Audience: "agent:main:telegram:group:-1"},
	} {
		got, err := sessions.ParseMemoryPlace(place.Cursor())
		require.NoError(t, err)
		require.Equal(t, place, got)
	}
	for _, cursor := range []string{"nonsense", "", "a\nb\nc", sessions.MemoryPlace{Key: "a\nb"}.Cursor()} {
		_, err := sessions.ParseMemoryPlace(cursor)
		require.EqualError(t, err, "want the next of a page", "%q", cursor)
	}
}
