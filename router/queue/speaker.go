package queue

import (
	"slices"

	"sluice/sessions"
)

// SetSpeaker sets the speaker of a batch on its run. If several people have spoken, the run has no speaker. It is an
// owner's run only if owners wrote everything in the batch: other people who join an owner's run must not get the
// owner's authority.
func SetSpeaker(run *sessions.Run, batch []sessions.Run) {
	run.Input.Owner = !slices.ContainsFunc(batch, func(other sessions.Run) bool { return !other.Input.Owner })
	if slices.ContainsFunc(batch, func(other sessions.Run) bool { return other.Input.Sender.ID != run.Input.Sender.ID }) {
		run.Input.Sender = sessions.Peer{}
	}
}
