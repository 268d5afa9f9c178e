// Package adaptertest is the suite that every adapter passes. It drives an
// adapter against a fake of its platform which speaks the real wire and
// misbehaves when it is told to: see [Platform], which the adapter's tests
// implement over the fake, and [Run].
package adaptertest

import (
	"context"
	"testing"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// Platform is a fake of one chat platform with one bot on it, as the suite
// drives it. It is safe for concurrent use. What the fake can't do at all it says in
// Limits, and the suite then leaves out what needs it.
type Platform interface {
	// Adapter makes an adapter of the bot. It may be called more than once: the adapters
	// are then like those of two processes with the same account.
	Adapter(t *testing.T) adapters.Adapter
	// Limits says what the platform is like.
	Limits() Limits

	// Direct, Group and Thread are places that exist, as the routes of what is said
	// there, without ReplyTo. Thread is a thread in Group; zero if there are none.
	Direct() sessions.Route
	Group() sessions.Route
	Thread() sessions.Route
	// Mention is how a person writes the bot's name to address it.
	Mention() string
	// Person is one of three people, 0 to 2, as the adapter shows them. All of them are in Group; Direct is the chat with Person(0).
	Person(n int) sessions.Peer

	// Say lets a person write in a place; place.ReplyTo is the message that it
	// answers, if any. It does not wait until the adapter has it.
	Say(place sessions.Route, from sessions.Peer, text string) Said
	// Forward lets a person pass on what a writer said elsewhere, as people do on the platform: forwarded or shared, without words of their own.
	Forward(place sessions.Route, from, writer sessions.Peer, text string) Said
	// Edit and Delete let the writer change a message, or take it back. React puts an emoji on any message, or takes it off.
	Edit(said Said, text string)
	Delete(said Said)
	React(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, r adapters.Reaction)
	// Press presses the button with the label below a message of the bot.
	Press(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, label string)
	// Command uses a command of the platform's own menu, for example "status" with the arguments "now".
	Command(place sessions.Route, from sessions.Peer, name, arguments string) Said
	// Upload lets a person send a file.
	Upload(place sessions.Route, from sessions.Peer, name, mime string, content []byte) Said

	// Redeliver gives an event once more, as platforms do whose confirmation was lost.
	Redeliver(said Said)
	// Confirmed reports whether the adapter has confirmed an event, and WaitConfirmed
	// waits until it has; platforms without confirmations report what they have handed out.
	Confirmed(said Said) bool
	WaitConfirmed(ctx context.Context, said Said) error
	// Flood gives the adapter an event of a kind that it doesn't know, and one that
	// is no event at all. It returns those that can be confirmed.
	Flood() []Said
	// DropConnections cuts all connections that the adapter has; it may connect again.
	DropConnections()
	// Deafen keeps connections open but lets nothing through them any more, until they are dropped by the adapter.
	Deafen()

	// Fault makes the next call of the adapter that posts a text go wrong.
	Fault(f Fault)
	// Revoke makes the account's token invalid.
	Revoke()

	// Shown is what the bot's messages in a place look like now, in order, and WaitShown the
	// same once there are at least n.
	Shown(place sessions.Route) []Shown
	WaitShown(ctx context.Context, place sessions.Route, n int) ([]Shown, error)
	// Typing is how often the adapter has shown in a place that an answer is being written.
	Typing(place sessions.Route) int
	// Violations are the requests that the platform's published description forbids.
	Violations() []string
}

// Reorderer is what a Platform has besides if its events may come in another
// order than they were caused in.
type Reorderer interface {
	// SayReordered lets a person write texts that the platform hands out last first.
	SayReordered(place sessions.Route, from sessions.Peer, texts ...string) []Said
}

// Garbler is what a Platform has besides if its events are read from what a remote side writes.
type Garbler interface {
	// SayGarbled lets a person write a text in a message with one more field, which the adapter uses and whose type is not the documented one.
	SayGarbled(place sessions.Route, from sessions.Peer, text string) Said
}

// Misdater is what a Platform has besides if receipts are read from what a remote side answers.
type Misdater interface {
	// Misdate lets the platform answer the next message with a date in milliseconds. It returns the receipt that the adapter
	// should make of it; a zero At stands for the moment of the answer.
	Misdate() adapters.Receipt
}

// Limits is what a platform is like.
type Limits struct {
	Text       int  // most characters of one message, as the platform counts; 0 for no bound
	File       int  // most bytes of one file that a bot may send; 0 if there are none
	Confirms   bool // events are given again until they are confirmed
	Dedupes    bool // a message that is sent again with the same delivery is shown once
	RetryAfter bool // limits come with a time
	Rendered   bool // every text is read as Markdown: nothing can go out plain
	Fails      bool // calls can fail: there is a network in between
	Posts      bool // events are posted to the adapter, which keeps no connection for them
	Overtakes  bool // events come over several connections, so they may overtake each other

	// What people can do there that the bot is told of.
	Hears     bool // anything at all comes in through Run
	Replies   bool // answer a certain message
	Forwards  bool // pass a message on
	Edits     bool
	Deletes   bool
	Reactions bool
	Uploads   bool
	Commands  bool // use the platform's own menu of commands
}

// Said is one event that a person caused.
type Said struct {
	Event string // names it at the fake
	Place sessions.Route
	ID    sessions.PlatformMessageID
}

// Shown is one message of the bot as people see it.
type Shown struct {
	ID        sessions.PlatformMessageID
	Text      string // as the platform got it, markup included
	Plain     string // without markup
	ReplyTo   sessions.PlatformMessageID
	Buttons   []string // labels
	File      string   // name of the file; empty for a text
	Content   []byte   // of the file
	Reactions []string // the bot's own, on this message
	Edited    bool
	Private   bool // only the one who caused it sees it
}

// Fault is one way in which a call goes wrong.
type Fault struct {
	Kind  FaultKind
	After time.Duration // RateLimited: how long to wait
	Times int           // calls that go wrong; 0 is one
}

// FaultKind names a fault.
type FaultKind string

// The faults. A reset before the effect shows nothing; one after it shows the message but loses the answer.
const (
	RateLimited FaultKind = "rate limited"
	ServerError FaultKind = "server error"
	Garbage     FaultKind = "not the platform's answer" // a proxy's page with status 502
	Hang        FaultKind = "no answer"                 // until the caller gives up
	ResetBefore FaultKind = "reset before the effect"
	ResetAfter  FaultKind = "reset after the effect"
	Refused     FaultKind = "refused" // the conversation is gone
)
