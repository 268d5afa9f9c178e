// Package adaptertest is the conformance suite for adapters. It drives an adapter against a fake of its platform,
// which speaks the real protocol and misbehaves on request: see [Platform], which the adapter's tests implement on
// top of the fake, and [Run].
package adaptertest

import (
	"context"
	"testing"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// Platform is a fake of a chat platform with one bot, as the suite drives it. It is safe for concurrent use. Limits
// lists what the fake can't do, and the suite skips the tests that need it.
type Platform interface {
	// Adapter creates an adapter for the bot. Several calls give adapters like those of several processes with the
	// same account.
	Adapter(t *testing.T) adapters.Adapter
	// Limits describes the platform.
	Limits() Limits

	// Direct, Group and Thread are existing places, as the routes of messages there, without ReplyTo. Thread is a
	// thread in Group; zero if the platform has no threads.
	Direct() sessions.Route
	Group() sessions.Route
	Thread() sessions.Route
	// Mention is the text with which a person mentions the bot.
	Mention() string
	// Person returns one of three people, 0 to 2, as the adapter shows them. All are in Group; Direct is the chat
	// with Person(0).
	Person(n int) sessions.Peer

	// Say lets a person write in a place; place.ReplyTo is the message that is answered, if any. It does not wait
	// until the adapter has received it.
	Say(place sessions.Route, from sessions.Peer, text string) Said
	// Forward lets a person forward or share what a writer said elsewhere, without words of their own.
	Forward(place sessions.Route, from, writer sessions.Peer, text string) Said
	// Edit and Delete let the writer change or delete a message. React adds an emoji to any message, or removes it.
	Edit(said Said, text string)
	Delete(said Said)
	React(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, r adapters.Reaction)
	// Press presses the button with the label below a message of the bot.
	Press(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, label string)
	// Command uses a command of the platform's own menu, for example "status" with the arguments "now".
	Command(place sessions.Route, from sessions.Peer, name, arguments string) Said
	// Upload lets a person send a file.
	Upload(place sessions.Route, from sessions.Peer, name, mime string, content []byte) Said

	// Redeliver repeats an event, as platforms do if the confirmation was lost.
	Redeliver(said Said)
	// Confirmed reports whether the adapter has confirmed an event, and WaitConfirmed waits for that. Platforms
	// without confirmations report the events that they have sent.
	Confirmed(said Said) bool
	WaitConfirmed(ctx context.Context, said Said) error
	// Flood sends the adapter an event of an unknown kind and an invalid one. It returns those that can be confirmed.
	Flood() []Said
	// DropConnections cuts all connections of the adapter, which may reconnect.
	DropConnections()
	// Deafen keeps the connections open but blocks all data until the adapter drops them.
	Deafen()

	// Fault makes the adapter's next call that posts a text fail.
	Fault(f Fault)
	// Revoke makes the account's token invalid.
	Revoke()

	// Shown returns the bot's messages in a place as they look now, in order. WaitShown waits until there are at
	// least n.
	Shown(place sessions.Route) []Shown
	WaitShown(ctx context.Context, place sessions.Route, n int) ([]Shown, error)
	// Typing returns how often the adapter has shown in a place that an answer is being written.
	Typing(place sessions.Route) int
	// Violations returns the requests that the platform's published description forbids.
	Violations() []string
}

// Reorderer is a Platform whose events may arrive in another order than they were caused.
type Reorderer interface {
	// SayReordered lets a person write texts that the platform delivers in reverse order.
	SayReordered(place sessions.Route, from sessions.Peer, texts ...string) []Said
}

// Garbler is a Platform whose events come from a remote side.
type Garbler interface {
	// SayGarbled lets a person write a message with one additional field, which the adapter uses and which has an
	// undocumented type.
	SayGarbled(place sessions.Route, from sessions.Peer, text string) Said
}

// Misdater is a Platform whose receipts come from a remote side.
type Misdater interface {
	// Misdate makes the platform answer the next message with a date in milliseconds. It returns the receipt that the
	// adapter should produce; a zero At stands for the time of the answer.
	Misdate() adapters.Receipt
}

// Limits describes a platform.
type Limits struct {
	Text       int  // maximum characters per message, as the platform counts; 0: no limit
	File       int  // maximum bytes of a file from a bot; 0: no files
	Confirms   bool // events are repeated until they are confirmed
	Dedupes    bool // a message that is sent twice with the same delivery is shown once
	RetryAfter bool // rate limits come with a time to wait
	Rendered   bool // every text is parsed as Markdown: plain text is not possible
	Fails      bool // calls can fail: there is a network
	Posts      bool // events are posted to the adapter, which has no connection for them
	Overtakes  bool // events come over several connections, so they may overtake each other

	// What people can do that the bot learns about.
	Hears     bool // anything at all comes in through Run
	Replies   bool // answer a certain message
	Forwards  bool // pass a message on
	Edits     bool
	Deletes   bool
	Reactions bool
	Uploads   bool
	Commands  bool // use the platform's own menu of commands
}

// Said is one event caused by a person.
type Said struct {
	Event string // its name in the fake
	Place sessions.Route
	ID    sessions.PlatformMessageID
}

// Shown is a message of the bot as people see it.
type Shown struct {
	ID        sessions.PlatformMessageID
	Text      string // as sent to the platform, with markup
	Plain     string // without markup
	ReplyTo   sessions.PlatformMessageID
	Buttons   []string // labels
	File      string   // name of the file; empty for a text
	Content   []byte   // of the file
	Reactions []string // the bot's reactions to this message
	Edited    bool
	Private   bool // visible only to the person who caused it
}

// Fault makes calls fail in a given way.
type Fault struct {
	Kind  FaultKind
	After time.Duration // RateLimited: how long to wait
	Times int           // number of failing calls; 0: one
}

// FaultKind names a fault.
type FaultKind string

// The faults. A reset before the effect shows nothing; a reset after it shows the message but loses the answer.
const (
	RateLimited FaultKind = "rate limited"
	ServerError FaultKind = "server error"
	Garbage     FaultKind = "not the platform's answer" // a proxy's page with status 502
	Hang        FaultKind = "no answer"                 // until the caller gives up
	ResetBefore FaultKind = "reset before the effect"
	ResetAfter  FaultKind = "reset after the effect"
	Refused     FaultKind = "refused" // the conversation is gone
)
