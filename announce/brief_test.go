package announce_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/sessions"
)

// Each step's model is told what the step is, who the other side is and how to stop, and nothing of the other steps.
func TestBriefs(t *testing.T) {
	t.Parallel()
	x := between(3)
	x.Requester.Key, x.Target.Key = "agent:a:main", "agent:b:main"
	x.Request, x.Reply, x.Latest = "how many?", "seven", "eight, rather"
	task := x
	task.Kind = announce.Spawn
	blind := x
	blind.Blind = true
	for name, c := range map[string]struct {
		x         announce.Exchange
		phase     announce.Phase
		turn      int
		says, not []string
	}{
		"request":            {x, announce.Asking, 0, []string{"agent a, session agent:a:main", "not from a person", sessions.NoReply}, []string{"seven", sessions.ReplySkip}},
		"blind request":      {blind, announce.Asking, 0, []string{"does not go to it", sessions.NoReply}, []string{"Your answer goes"}},
		"requester's turn":   {x, announce.Replying, 1, []string{"agent b, session agent:b:main", "turn 1 of at most 3", "in which you asked", sessions.ReplySkip}, []string{sessions.AnnounceSkip}},
		"target's turn":      {x, announce.Replying, 2, []string{"agent a, session agent:a:main", "turn 2 of at most 3", "in which you were asked", sessions.ReplySkip}, []string{sessions.AnnounceSkip}},
		"announcement":       {x, announce.Announcing, 2, []string{"agent a, session agent:a:main", "how many?", "seven", "eight, rather", sessions.AnnounceSkip}, []string{sessions.ReplySkip}},
		"blind announcement": {blind, announce.Announcing, 0, []string{"An exchange with another agent", "Its request was: how many?", sessions.AnnounceSkip}, []string{sessions.NoReply, "does not go to it"}},
		"task":               {task, announce.Asking, 0, []string{"You are a sub-agent"}, []string{sessions.NoReply, sessions.AnnounceSkip, "agent:a:main"}},
		"report":             {task, announce.Announcing, 0, []string{"Your task has ended", sessions.AnnounceSkip}, []string{sessions.ReplySkip, "agent:a:main"}},
		"nothing to be told": {x, announce.Ended, 3, nil, []string{"agent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.x.Phase, c.x.Turn = c.phase, c.turn
			brief := announce.Brief(c.x)
			for _, text := range c.says {
				require.Contains(t, brief, text)
			}
			for _, text := range c.not {
				require.NotContains(t, brief, text)
			}
		})
	}
}
