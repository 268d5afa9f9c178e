package adaptertest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var pressing = []subtest{
	{"a button says its value", press},
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
	o.Buttons = []adapters.Button{{Label: "Yes", Value: "/approve k7w2 yes"}, {Label: "No", Value: "/approve k7w2 no"}}
	id := w.send(o).MessageID
	require.Equal(w.t, []string{"Yes", "No"}, w.shown(place, 1)[0].Buttons)
	names := map[string]bool{}
	for range 2 {
		w.Press(place, id, who, "No")
		in := w.only(place, who)
		require.True(w.t, in.Pressed)
		require.True(w.t, in.Mentioned)
		require.Equal(w.t, "/approve k7w2 no", in.Text)
		require.Equal(w.t, id, in.MessageID)
		require.Equal(w.t, who.ID, in.Sender.ID)
		require.Equal(w.t, place.Conversation, in.Route.Conversation)
		require.Equal(w.t, place.ChatType, in.Route.ChatType)
		names[in.Event] = true
	}
	require.Len(w.t, names, 2, "each press is an event of its own")
}

func manyButtons(w *world) {
	most := able[adapters.Buttoner](w).MaxButtons()
	o := out("dlv_1", w.Direct(), "Choose")
	var labels []string
	for i := range most {
		label := strings.Repeat("ü", 38) + string(rune('a'+i/26)) + string(rune('a'+i%26))
		labels = append(labels, label)
		o.Buttons = append(o.Buttons, adapters.Button{Label: label, Value: strings.Repeat("v", 58) + label[len(label)-2:]})
	}
	w.send(o)
	require.Equal(w.t, labels, w.shown(w.Direct(), 1)[0].Buttons)
}
