package inbound

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

func TestTurnsOfBots(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)
	ago := func(minutes ...int) (turns []time.Time) {
		for _, m := range minutes {
			turns = append(turns, now.Add(-time.Duration(m)*time.Minute))
		}
		return turns
	}
	for name, c := range map[string]struct {
		turns []time.Time
		many  bool
		next  []time.Time
	}{
		"the first":                            {nil, false, ago(0)},
		"the sixth":                            {ago(5, 4, 3, 2, 1), false, ago(5, 4, 3, 2, 1, 0)},
		"the seventh":                          {ago(6, 5, 4, 3, 2, 1), true, nil},
		"the seventh, just within the time":    {append([]time.Time{now.Add(time.Nanosecond - 10*time.Minute)}, ago(5, 4, 3, 2, 1)...), true, nil},
		"the seventh, slowly":                  {ago(10, 5, 4, 3, 2, 1), false, ago(5, 4, 3, 2, 1, 0)},
		"more than are kept, slowly":           {ago(12, 11, 10, 5, 4, 3, 2, 1), false, ago(5, 4, 3, 2, 1, 0)},
		"old ones before those that count":     {ago(90, 6, 5, 4, 3, 2, 1), true, nil},
		"a clock that was set back in between": {ago(-60, 5, 4, 3, 2, 1), true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.many, tooMany(c.turns, now))
			if !c.many {
				before := append([]time.Time(nil), c.turns...)
				require.Equal(t, c.next, withTurn(c.turns, now))
				require.Equal(t, before, append([]time.Time(nil), c.turns...), "what was read is not changed")
			}
		})
	}
}

// The threads of a conversation are counted together.
func TestPlaceOfBotTurns(t *testing.T) {
	t.Parallel()
	route := sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Group, Conversation: "g"}
	inThread, elsewhere := route, route
	inThread.Thread, elsewhere.Conversation = "t", "h"
	require.Equal(t, botPlace(route), botPlace(inThread))
	require.NotEqual(t, botPlace(route), botPlace(elsewhere))
	require.NotEqual(t, inThread.Lane(), botPlace(inThread))
}
