package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// Which of the messages that wait are given to a run while it works.
func TestSteerable(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	here := sessions.Route{Channel: "test", ChatType: sessions.Group, Conversation: "g"}
	elsewhere := sessions.Route{Channel: "test", ChatType: sessions.Group, Conversation: "h"}
	private := here
	private.Handle = "hook"
	run := sessions.Run{ID: "works", Route: here, Status: sessions.RunRunning}
	said := func(id sessions.RunID, change ...func(*sessions.Run)) sessions.Run {
		r := sessions.Run{ID: id, Kind: sessions.KindMessage, Status: sessions.RunQueued, Route: here, Accepted: now}
		r.Input.Sender.ID = sessions.UserID(id)
		for _, c := range change {
			c(&r)
		}
		return r
	}
	at := func(route sessions.Route) func(*sessions.Run) { return func(r *sessions.Run) { r.Route = route } }
	more := func(r *sessions.Run) { r.Input.More = true }
	command := func(r *sessions.Run) { r.Input.Order = &sessions.Order{Do: sessions.OrderUndo} }
	step := func(r *sessions.Run) { r.Kind = sessions.KindAsk }
	by := func(sender sessions.UserID) func(*sessions.Run) {
		return func(r *sessions.Run) { r.Input.Sender.ID = sender }
	}
	for name, c := range map[string]struct {
		waiting []sessions.Run
		refused sessions.RunID
		want    []sessions.RunID // the first run of each message
		waits   bool
	}{
		"nothing waits":                       {[]sessions.Run{run}, "", nil, false},
		"what is said here":                   {[]sessions.Run{run, said("a"), said("b")}, "", []sessions.RunID{"a", "b"}, true},
		"what is said elsewhere":              {[]sessions.Run{said("a", at(elsewhere)), said("b")}, "", []sessions.RunID{"b"}, true},
		"what only its sender is to be told":  {[]sessions.Run{said("a", at(private))}, "", nil, false},
		"what was not let in":                 {[]sessions.Run{said("a"), said("b")}, "a", []sessions.RunID{"b"}, true},
		"what was said behind a command":      {[]sessions.Run{said("a"), said("b", command), said("c")}, "", []sessions.RunID{"a"}, true},
		"a message that may have more parts":  {[]sessions.Run{said("a", more)}, "", nil, true},
		"what was said behind that message":   {[]sessions.Run{said("a"), said("b", more), said("c")}, "", []sessions.RunID{"a"}, true},
		"a message with its parts":            {[]sessions.Run{said("a", more), said("b", by("a"))}, "", []sessions.RunID{"a"}, true},
		"what another agent asks":             {[]sessions.Run{said("a", step), said("b")}, "", []sessions.RunID{"b"}, true},
		"only what another agent asks":        {[]sessions.Run{said("a", step)}, "", nil, false},
		"only what was refused, and commands": {[]sessions.Run{said("a"), said("b", command)}, "a", nil, false},
	} {
		got, waits := steerable(c.waiting, run, map[sessions.RunID]bool{c.refused: true}, now)
		var ids []sessions.RunID
		for _, message := range got {
			ids = append(ids, message[0].ID)
		}
		require.Equal(t, c.want, ids, name)
		require.Equal(t, c.waits, waits, name)
	}
}
