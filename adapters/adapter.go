// Package adapters is the port to chat platforms: what comes in, what goes out,
// how it fails, and what a platform may be able to do besides. An adapter
// speaks one platform, normalises, and knows nothing else.
package adapters

import (
	"context"
	"net/http"
	"time"

	"sluice/sessions"
)

// Adapter is one account (a bot) on one channel (a platform). All methods are
// safe for concurrent use.
type Adapter interface {
	// Channel is the platform's name, for example "telegram".
	Channel() string
	// Account is the account's name in the configuration, for example "default".
	Account() string

	// Run receives until ctx ends and then returns nil. The supervisor calls it
	// from one goroutine at a time, on the one replica that holds the account's
	// lease, and again with backoff after an error. A *[Failure] of kind Auth is
	// not tried again before the configuration changes. Run confirms nothing to
	// the platform before in.Accept has returned nil for it.
	Run(ctx context.Context, in Acceptor) error

	// Send posts one platform message. Any replica may call it, whether it runs
	// the adapter or not. An error is a *[Failure].
	Send(ctx context.Context, out Outbound) (Receipt, error)
}

// Acceptor takes what a platform delivered.
type Acceptor interface {
	// Accept returns nil once the event is durable, or was before (a repeat), or
	// needs nothing. On an error nothing was stored and the platform must keep the
	// event. Events of one conversation are given one after the other, in their order;
	// different conversations may be given in parallel.
	Accept(ctx context.Context, in Inbound) error
}

// Inbound is one event of a platform, normalised.
type Inbound struct {
	// Event names the event within channel and account for ever: the same event
	// delivered again has the same name. An edit is an event of its own.
	Event string
	// Route says where it was said; its ReplyTo is the message itself, so that an answer can refer to it.
	Route  sessions.Route
	Sender sessions.Peer
	// Text is plain text, valid UTF-8, mentions of the bot itself removed.
	Text        string
	Attachments []sessions.Attachment
	// Mentioned: the bot was mentioned, or the message replies to the bot, or the chat is direct.
	Mentioned bool
	MessageID sessions.PlatformMessageID
	// Edited: the message replaces an earlier text of the same MessageID.
	Edited bool
	// Quoted is the text of the message that it replies to.
	Quoted string
	// Migrated is set when a conversation has got a new id; the event then says nothing else.
	Migrated *Migration
	SentAt   time.Time
}

// Migration says that a conversation goes on under another id (a Telegram group become a supergroup).
type Migration struct {
	From, To sessions.ConversationID
}

// Outbound is one platform message on its way out.
type Outbound struct {
	// DeliveryID is stable over retries of the same message; platforms that can deduplicate get it.
	DeliveryID string
	// Part is the place of this message among those that the delivery was split into, from 0.
	Part  int
	Route sessions.Route
	// Session is the session that the text belongs to; empty for none. Reply says that
	// it is a run's answer, which the session's own history shows.
	Session sessions.ID
	Reply   bool
	// Text is Markdown, as given by [Splitter.Split] where the adapter has it.
	Text string
	// Plain asks for no markup.
	Plain bool
	// Silent asks the platform not to ring.
	Silent bool
}

// Receipt is the platform's answer to a message that it has taken.
type Receipt struct {
	MessageID sessions.PlatformMessageID `json:"messageId"`
	// Route is set when the conversation answered under another id (migration).
	Moved *Migration `json:"moved,omitempty"`
	At    time.Time  `json:"at"`
}

// What follows are optional abilities, found by type assertion.

// Splitter cuts a long Markdown text into pieces that each fit one platform
// message after rendering. Fences, links and styles are never cut; the pieces
// together lose no text. The same text gives the same pieces.
type Splitter interface {
	Split(text string) []string
}

// Editor replaces the text of a message that was sent. An unchanged text is no error.
type Editor interface {
	Edit(ctx context.Context, id sessions.PlatformMessageID, out Outbound) error
}

// Typer shows that an answer is being written; the platform ends it by itself after some seconds.
type Typer interface {
	Typing(ctx context.Context, route sessions.Route) error
}

// Callback takes the platform's own HTTP requests, mounted at /channels/<channel>/<account>.
// It checks the platform's signature itself and answers 200 only after Accept.
type Callback interface {
	ServeCallback(w http.ResponseWriter, r *http.Request, in Acceptor)
}

// CommandSetter publishes the chat commands in the platform's own menu.
type CommandSetter interface {
	SetCommands(ctx context.Context, commands []Command) error
}

// Command is a chat command as a platform's menu shows it.
type Command struct {
	Name        string // without the slash
	Description string
}

// Prober asks the platform who the account is, for doctor and status. It must not disturb Run.
type Prober interface {
	Probe(ctx context.Context) (sessions.Peer, error)
}

// Previewer says how often a message may be edited while it is being written.
type Previewer interface {
	PreviewEvery() time.Duration
}

// ConversationTyper tells the kind of a conversation from its id alone, where the platform's ids show it.
type ConversationTyper interface {
	ConversationType(id sessions.ConversationID) sessions.ChatType
}

// Stater says how the account is doing, for status, doctor and metrics.
type Stater interface {
	State() State
}
