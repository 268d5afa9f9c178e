package queue

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/sessions"
)

// joinWithin is the longest gap between two parts of a message: platforms deliver the pictures of an album, and the
// parts of a long text that an app splits, within a second.
const joinWithin = 1200 * time.Millisecond

// voice is one person in one place.
type voice struct {
	sender sessions.UserID
	lane   sessions.Lane
}

// Messages groups runs that are parts of one message, in the order in which the messages began. The same runs always
// give the same messages.
func Messages(runs []sessions.Run) [][]sessions.Run {
	if len(runs) == 1 { // as nearly always
		return [][]sessions.Run{slices.Clip(runs)}
	}
	var found [][]sessions.Run
	newest := map[voice]int{}
	for _, run := range runs {
		v := voice{run.Input.Sender.ID, run.Route.Lane()}
		if i, ok := newest[v]; ok && run.Input.Order == nil && follows(found[i][len(found[i])-1], run.Accepted) {
			found[i] = append(found[i], run)
			continue
		}
		newest[v] = len(found)
		found = append(found, []sessions.Run{run})
	}
	return found
}

// follows reports whether a message of the same person at a time continues a run. A run from the future has no
// further parts: a clock was set back.
func follows(run sessions.Run, at time.Time) bool {
	after := at.Sub(run.Accepted)
	return run.Input.More && after >= 0 && after < joinWithin
}

// Continues reports whether an event is a further part of a waiting message.
func Continues(queued []sessions.Run, sender sessions.UserID, lane sessions.Lane, now time.Time) bool {
	v := voice{sender, lane}
	for i := len(queued) - 1; i >= 0; i-- {
		if (voice{queued[i].Input.Sender.ID, queued[i].Route.Lane()}) == v {
			return follows(queued[i], now)
		}
	}
	return false
}

// WaitForMore is how long to wait for further parts of a message; 0: it is complete.
func WaitForMore(message []sessions.Run, now time.Time) time.Duration {
	last := message[len(message)-1]
	if !follows(last, now) {
		return 0
	}
	return joinWithin - now.Sub(last.Accepted)
}

// Joined joins the parts of a message under its first run.
func Joined(message []sessions.Run) sessions.Run {
	whole := message[0]
	if len(message) == 1 {
		return whole
	}
	in := &whole.Input
	var texts []string
	in.Attachments, in.History, in.Quotations = nil, nil, nil
	for _, part := range message {
		if part.Input.Text != "" {
			texts = append(texts, part.Input.Text)
		}
		for _, q := range part.Input.Quotations {
			if q.PassedOn() || !slices.ContainsFunc(in.Quotations, q.Same) { // all parts of an album answer the same message
				in.Quotations = append(in.Quotations, q)
			}
		}
		in.Unread = cmp.Or(in.Unread, part.Input.Unread)
		in.Attachments = append(in.Attachments, part.Input.Attachments...)
		in.History = append(in.History, part.Input.History...)
		whole.Label = whole.Label.Join(part.Label)
	}
	in.Text = strings.Join(texts, "\n")
	return whole
}

// SetSpeaker sets the speaker of a batch on its run. If several people have spoken, the run has no speaker. It is an
// owner's run only if owners wrote everything in the batch: other people who join an owner's run must not get the
// owner's authority.
func SetSpeaker(run *sessions.Run, batch []sessions.Run) {
	run.Input.Owner = !slices.ContainsFunc(batch, func(other sessions.Run) bool { return !other.Input.Owner })
	if slices.ContainsFunc(batch, func(other sessions.Run) bool { return other.Input.Sender.ID != run.Input.Sender.ID }) {
		run.Input.Sender = sessions.Peer{}
	}
}
