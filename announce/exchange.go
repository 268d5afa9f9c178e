// Package announce is the protocol between two agents: one sends a message to
// the other's session, they answer each other for some turns, and the other one
// may announce the outcome where it speaks to people. It is made of pure
// functions: the caller stores an [Exchange] and carries each [Step] as a run of
// the session that it names, in the same transaction as the end of the run before.
//
//	ask ──► reply (turn 1, requester) ──► reply (turn 2, target) ──► … ──► announce ──► ended
//	 │                    └── skip, nothing to say, failure, last turn ──┘
//	 └── failed or nothing to say ──► ended
//
// A sub-agent's task is an exchange without turns: its session works, and then
// reports to those who speak to the requester. The report is made whether or not the work succeeded.
//
//	ask ──► announce ──► ended
package announce

import (
	"strings"
	"time"

	"sluice/sessions"
)

// TurnsMax is the highest number of turns that may be configured; it is also the default.
const TurnsMax = 5

// Party is one side of an exchange.
type Party struct {
	Session sessions.ID  `json:"session"`
	Key     sessions.Key `json:"key"`
	Agent   string       `json:"agent"`
}

// Exchange is the state of one sessions_send or sessions_spawn.
type Exchange struct {
	ID        string  `json:"id"`
	Kind      Kind    `json:"kind"`
	Requester Party   `json:"requester"` // zero if a person or program asked
	Target    Party   `json:"target"`
	Request   string  `json:"request"` // the request's text
	Reply     string  `json:"reply"`   // of the first run
	Latest    string  `json:"latest"`  // the last message of either side
	Turn      int     `json:"turn"`    // current or last reply turn, from 1; 0 before
	MaxTurns  int     `json:"maxTurns"`
	Blind     bool    `json:"blind,omitempty"`   // the requester may not see the target: nothing comes back
	Name      string  `json:"name,omitempty"`    // of a task, for people
	Discard   bool    `json:"discard,omitempty"` // of a task: its session ends with the report
	Phase     Phase   `json:"phase"`
	Outcome   Outcome `json:"outcome,omitempty"` // set with phase ended
	// Status is how the target's first run ended; empty before.
	Status sessions.RunStatus `json:"status,omitempty"`
	// Usage, Cost and Runtime are those of the target's first run; Cost is a text, and empty if no model call was counted.
	Usage   sessions.Usage `json:"usage,omitzero"`
	Cost    string         `json:"cost,omitempty"`
	Runtime time.Duration  `json:"runtime,omitempty"`
	Detail  string         `json:"detail,omitempty"` // why it ended this way, for both sides
	// Audience says whose memories the requester may read. A sub-agent may read the same.
	Audience sessions.Audience `json:"audience,omitempty"`
	Started  time.Time         `json:"started"`
	Ended    time.Time         `json:"ended,omitzero"`
}

// Kind distinguishes a request from a task.
type Kind string

// The kinds.
const (
	Send  Kind = "send"  // to an existing session
	Spawn Kind = "spawn" // to a sub-agent created for it
)

// Phase is the step that an exchange waits for.
type Phase string

// The phases.
const (
	Asking     Phase = "asking"     // the target works on the request
	Replying   Phase = "replying"   // one side answers the other
	Announcing Phase = "announcing" // the target writes what its people should know
	Ended      Phase = "ended"
)

// Outcome says how an exchange ended.
type Outcome string

// The outcomes.
const (
	Announced Outcome = "announced" // the target's people were told
	Silent    Outcome = "silent"    // the target chose to say nothing to them
	NoAnswer  Outcome = "no_reply"  // the target had no answer
	Failed    Outcome = "failed"    // a step failed that could not be skipped
	Stopped   Outcome = "stopped"   // by a person, a cycle or a budget
)

// Step is the next run of an exchange.
type Step struct {
	Phase Phase
	Party Party // the side whose session runs it
	Turn  int   // of phase replying
	// Text is the input of the session: the request, the other side's message, or the order to announce.
	Text string
}

// Result is the end of a step's run.
type Result struct {
	Status sessions.RunStatus // a terminal one
	Text   string             // of status done
	Error  string             // public error text of any other status
	// Usage, Cost and Runtime are what the run took.
	Usage   sessions.Usage
	Cost    string
	Runtime time.Duration
}

// Start starts an exchange: its first step is the target's work on the request.
func Start(x Exchange) (Exchange, Step) {
	x.MaxTurns = min(max(x.MaxTurns, 0), TurnsMax)
	x.Phase = Asking
	return x, Step{Phase: Asking, Party: x.Target, Text: x.Request}
}

// Next takes the result of the current step. The returned step is nil once the exchange has ended. An ended exchange
// does not change.
func Next(x Exchange, r Result, now time.Time) (Exchange, *Step) {
	switch x.Phase {
	case Asking:
		return x.asked(r, now)
	case Replying:
		return x.replied(r, now)
	case Announcing:
		return x.announced(r, now), nil
	default:
		return x, nil
	}
}

// Stop ends an exchange from outside: a cycle, a budget, a person.
func Stop(x Exchange, why string, now time.Time) Exchange {
	if x.Phase == Ended {
		return x
	}
	return x.end(Stopped, why, now)
}

func (x Exchange) asked(r Result, now time.Time) (Exchange, *Step) {
	said, ok := words(r)
	x.Status, x.Usage, x.Cost, x.Runtime = r.Status, r.Usage, r.Cost, r.Runtime
	switch {
	case r.Status == sessions.RunAborted:
		return x.end(Stopped, "the target's run was stopped", now), nil
	case x.Kind == Spawn:
		x.Reply, x.Latest = said, said
		if !ok {
			x.Detail = r.Error
		}
		return x.announce()
	case !ok:
		return x.end(Failed, "the target's run ended as "+string(r.Status)+": "+r.Error, now), nil
	case said == "":
		return x.end(NoAnswer, "the target had nothing to say", now), nil
	}
	x.Reply, x.Latest = said, said
	return x.next()
}

// next gives the turn to the other side, or ends the turns.
func (x Exchange) next() (Exchange, *Step) {
	if x.Blind || x.Turn >= x.MaxTurns || x.Requester.Session == "" || x.Requester.Session == x.Target.Session {
		return x.announce()
	}
	x.Phase = Replying
	x.Turn++
	return x, &Step{Phase: Replying, Party: x.Speaker(), Turn: x.Turn, Text: x.Latest}
}

// Speaker is the side of the current step: the requester has the odd turns.
func (x Exchange) Speaker() Party {
	if x.Phase == Replying && x.Turn%2 == 1 {
		return x.Requester
	}
	return x.Target
}

func (x Exchange) replied(r Result, now time.Time) (Exchange, *Step) {
	if r.Status == sessions.RunAborted {
		return x.end(Stopped, "a turn was stopped", now), nil
	}
	said, ok := words(r)
	if !ok || said == "" {
		return x.announce()
	}
	x.Latest = said
	return x.next()
}

func (x Exchange) announce() (Exchange, *Step) {
	x.Phase = Announcing
	text := announceRequest
	if x.Kind == Spawn {
		text = reportRequest
	}
	return x, &Step{Phase: Announcing, Party: x.Target, Text: text}
}

func (x Exchange) announced(r Result, now time.Time) Exchange {
	said, ok := words(r)
	switch {
	case r.Status == sessions.RunAborted:
		return x.end(Stopped, "the announcement was stopped", now)
	case x.Kind == Spawn && (!ok || strings.TrimSpace(r.Text) != sessions.AnnounceSkip): // a task is reported whatever else it says
		return x.end(Announced, x.Detail, now)
	case !ok:
		return x.end(Failed, "the announcement ended as "+string(r.Status)+": "+r.Error, now)
	case said == "":
		return x.end(Silent, x.Detail, now)
	}
	return x.end(Announced, x.Detail, now)
}

func (x Exchange) end(o Outcome, detail string, now time.Time) Exchange {
	x.Phase, x.Outcome, x.Detail, x.Ended = Ended, o, detail, now
	return x
}

// words is the text of a step; not ok if its run failed.
func words(r Result) (string, bool) {
	return sessions.VisibleText(r.Text), r.Status == sessions.RunDone
}
