package adaptertest

import (
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

var recalling = []subtest{
	{"what was said in a thread is read up to a message, the newest of it, oldest first", readThread},
	{"where there is no thread nothing is read", readNoThread},
}

func readThread(w *world) {
	reader := able[adapters.ThreadReader](w)
	w.needs(!w.Thread().IsZero(), "threads")
	w.warm()
	texts := []string{"one", "two", "three", "four", "five"}
	said := make([]Said, len(texts))
	for i, text := range texts {
		said[i] = w.Say(w.Thread(), w.Person(i%2), text)
	}
	for limit := 1; limit <= 4; limit++ {
		got, err := reader.ReadThread(w.t.Context(), w.Thread(), said[4].ID, limit)
		require.NoError(w.t, err)
		require.NotEmpty(w.t, got)
		require.LessOrEqual(w.t, len(got), limit)
		// The first may be the root of the thread. The others are the newest.
		for back := 1; back < len(got); back++ {
			m := got[len(got)-back]
			require.Equal(w.t, said[4-back].ID, m.ID)
			require.Equal(w.t, texts[4-back], m.Text)
			require.Equal(w.t, w.Person((4-back)%2).ID, m.From.ID)
			require.NotEmpty(w.t, m.From.Name)
		}
	}
}

func readNoThread(w *world) {
	reader := able[adapters.ThreadReader](w)
	w.needs(!w.Thread().IsZero(), "threads")
	w.warm()
	said := w.Say(w.Thread(), w.Person(0), "words")
	got, err := reader.ReadThread(w.t.Context(), w.Thread(), said.ID, 0)
	require.NoError(w.t, err)
	require.Empty(w.t, got, "none were asked for")
	place := w.Thread()
	place.Thread = sessions.ThreadID("")
	got, err = reader.ReadThread(w.t.Context(), place, said.ID, 10)
	require.NoError(w.t, err)
	require.Empty(w.t, got)
}
