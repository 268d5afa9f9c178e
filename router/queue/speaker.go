package queue

import (
	"slices"

	"sluice/sessions"
)

// SetSpeaker gives a run the speaker of its batch. If several people have spoken the run has no speaker. It is an owner's only if
// owners have said everything in the batch: whoever speaks into an owner's run must not speak with the owner's authority.
func SetSpeaker(run *sessions.Run, batch []sessions.Run) {
	run.Input.Owner = !slices.ContainsFunc(batch, func(other sessions.Run) bool { return !other.Input.Owner })
	if slices.ContainsFunc(batch, func(other sessions.Run) bool { return other.Input.Sender.ID != run.Input.Sender.ID }) {
		run.Input.Sender = sessions.Peer{}
	}
}
