package adaptertest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var pressing = []subtest{
	{"a press names its button and says nothing", press},
	{"an edit without buttons takes them off", retire},
	{"as many buttons as promised, as long as allowed", manyButtons},
}

func press(w *world) {
	able[adapters.Buttoner](w)
	w.warm()
	place, who := w.Direct(), w.Person(0)
	if !w.Group().IsZero() {
		place, who = w.Group(), w.Person(1)
	}
	o := out("dlv_1", place, "May I?")
	o.Buttons = []adapters.Button{{Label: "Yes", Value: "yes", Press: "/dlv_1/0"}, {Label: "No", Value: "no", Press: "/dlv_1/1"}}
	id := w.send(o).MessageID
	require.Equal(w.t, []string{"Yes", "No"}, w.shown(place, 1)[0].Buttons)
	names := map[string]bool{}
	for range 2 {
		w.Press(place, id, who, "No")
		in := w.only(place, who)
		require.Equal(w.t, "/dlv_1/1", in.Press)
		require.Empty(w.t, in.Text, "what a press means is not the platform's to say")
		require.True(w.t, in.Mentioned)
		require.Equal(w.t, id, in.MessageID)
		require.Equal(w.t, who.ID, in.Sender.ID)
		require.Equal(w.t, place.Conversation, in.Route.Conversation)
		require.Equal(w.t, place.ChatType, in.Route.ChatType)
		names[in.Event] = true
	}
	require.Len(w.t, names, 2, "each press is an event of its own")
}

func retire(w *world) {
	able[adapters.Buttoner](w)
	editor := able[adapters.Editor](w)
	o := out("dlv_1", w.Direct(), "May I?")
	o.Buttons = []adapters.Button{{Label: "Yes", Press: "dlv_1/0"}}
	id := w.send(o).MessageID
	require.Equal(w.t, []string{"Yes"}, w.shown(w.Direct(), 1)[0].Buttons)
	for range 2 {
		require.NoError(w.t, editor.Edit(w.t.Context(), id, out("dlv_2", w.Direct(), "May I? Allowed.")))
	}
	shown := w.shown(w.Direct(), 1)[0]
	require.Empty(w.t, shown.Buttons)
	require.Equal(w.t, "May I? Allowed.", shown.Plain)
}

func manyButtons(w *world) {
	most := able[adapters.Buttoner](w).MaxButtons()
	o := out("dlv_1", w.Direct(), "Choose")
	var labels []string
	for i := range most {
		label := strings.Repeat("ü", 38) + string(rune('a'+i/26)) + string(rune('a'+i%26))
		labels = append(labels, label)
		o.Buttons = append(o.Buttons, adapters.Button{Label: label, Press: strings.Repeat("v", 62) + label[len(label)-2:]})
	}
	w.send(o)
	require.Equal(w.t, labels, w.shown(w.Direct(), 1)[0].Buttons)
}
