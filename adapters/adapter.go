// Package adapters is the port to chat platforms: what comes in, what goes out,
// how it fails, and what a platform may be able to do besides. An adapter
// speaks one platform, normalises, and knows nothing else.
package adapters

import (
	"context"
	"io"
	"net/http"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Finder finds the adapter of an account; false if none is configured. It is safe for concurrent use.
type Finder func(channel, account string) (Adapter, bool)

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

// Acceptor takes a platform's events.
type Acceptor interface {
	// Accept returns nil once the event is stored, was stored before (a repeat), or
	// needs no action. On an error nothing was stored and the platform must keep the
	// event. Events of one conversation are given one after the other, in their order;
	// different conversations may be given in parallel.
	Accept(ctx context.Context, in Inbound) error
}

// Inbound is one event of a platform, normalised. It is a message, unless
// Edited, Deleted, Reaction, Press or Migrated says otherwise. A command of the platform's own menu is a message
// too: its Text is "/name arguments", and Mentioned is set.
type Inbound struct {
	// Event names the event within channel and account for ever: the same event
	// delivered again has the same name. A message's is "<conversation>/<message id>"; an edit,
	// a deletion, a reaction and a press are events of their own.
	Event string
	// Route says where it was said; its ReplyTo is the message itself, so that an answer can refer to it.
	Route  sessions.Route
	Sender sessions.Peer
	// Roles are the ids of the sender's roles, where the platform has roles.
	Roles []string
	// Text is what the sender has written, as plain text, valid UTF-8, mentions of the bot itself removed. It holds nothing
	// of what others wrote: that is in Quotations.
	Text string
	// Quotations are other people's words that the message carries: what it answers, forwards, shares or links to. The files of a
	// forwarded message are among the Attachments, and named in the quotation. A mention of the bot in a quotation does not address it.
	Quotations  []sessions.Quotation
	Attachments []sessions.Attachment
	// Mentioned: the bot was mentioned, or the message replies to the bot, or the chat is direct.
	Mentioned bool
	MessageID sessions.PlatformMessageID
	// OpensThread: Route.Thread is a thread that the answer will open below this very message, which itself stands in
	// the conversation. A command in it is for the conversation.
	OpensThread bool
	// Edited: the message replaces an earlier text of the same MessageID.
	Edited bool
	// Deleted: the message MessageID was deleted. Text is empty.
	Deleted bool
	// Reaction is set when a person added a reaction to the message MessageID or removed one; Text is empty.
	Reaction *Reaction
	// Press is set when the sender pressed a button under the message MessageID: it is the Press of that button, as it was
	// shown. Text is empty: the gateway decides what a press means, never the platform. Mentioned is set.
	Press string
	// More: the same sender's next message may belong to this one: a picture of an
	// album, a text as long as the platform allows.
	More bool
	// Unread names a field of the platform's event that could not be read; empty if all could. The message is what
	// was left: it is untrusted, and never a command.
	Unread string
	// Migrated is set when a conversation has got a new id; the event then says nothing else.
	Migrated *Migration
	SentAt   time.Time
}

// Migration says that a conversation goes on under another id (a Telegram group become a supergroup).
type Migration struct {
	From, To sessions.ConversationID
}

// Reaction is one emoji on a message.
type Reaction struct {
	Emoji   string // the character itself, or the platform's name of its own emoji
	Removed bool
	Own     bool // the message is the bot's
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
	Text  string
	Label flow.Label // of the text and of what is sent with it
	// Plain asks for no markup.
	Plain bool
	// Silent asks the platform not to ring.
	Silent bool
	// Buttons are shown below the text, where the adapter has [Buttoner]. A platform gets their Label and Press.
	Buttons []Button
}

// Button stands below a message; Press comes back in [Inbound] when it is pressed.
type Button = sessions.Button

// File is content on its way out.
type File struct {
	Name string
	MIME string
	Size int64 // bytes
	// Open gives the content from its beginning; it may be called again for another try.
	Open func(ctx context.Context) (io.ReadCloser, error)
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

// Editor replaces the text and the buttons of a sent message; without Buttons, the message loses its buttons. An unchanged text is not an error.
type Editor interface {
	Edit(ctx context.Context, id sessions.PlatformMessageID, out Outbound) error
}

// Retirer shows that the question in a message is decided, for adapters that are not an [Editor]: it removes the buttons and adds out.Text, the decision.
type Retirer interface {
	Retire(ctx context.Context, id sessions.PlatformMessageID, out Outbound) error
}

// Deleter deletes a message of the bot. A message that is gone already is not an error.
type Deleter interface {
	Delete(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID) error
}

// Reactor adds the bot's reaction to a message or removes it. A reaction that is there, or gone, already is not an error.
type Reactor interface {
	React(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID, r Reaction) error
}

// Buttoner can show buttons; at most MaxButtons below one message.
type Buttoner interface {
	MaxButtons() int
}

// FileSender posts one file as a message of its own; out.Text may be a caption.
// A file above the platform's bound is a TooLarge failure.
type FileSender interface {
	SendFile(ctx context.Context, out Outbound, f File) (Receipt, error)
}

// FileFetcher reads the content of an attachment that came in. The caller
// closes it, and bounds how much is read.
type FileFetcher interface {
	Fetch(ctx context.Context, at sessions.Attachment) (io.ReadCloser, error)
}

// ThreadReader reads what was said in the thread of a route before a message: the message that the thread hangs on, and the
// newest of the others, at most limit together, oldest first. The bot's own words are among them.
type ThreadReader interface {
	ReadThread(ctx context.Context, route sessions.Route, before sessions.PlatformMessageID, limit int) ([]ThreadMessage, error)
}

// ThreadMessage is what was said in a thread.
type ThreadMessage struct {
	ID    sessions.PlatformMessageID
	From  sessions.Peer
	Text  string   // plain text, valid UTF-8
	Files []string // names or kinds
}

// Reconciler finds out whether a message was posted whose answer was lost. out is
// what was sent, sentAt not later than when. The receipt is that of the message that shows;
// ok is false if the platform certainly has not taken it, so that it may be
// sent again. An error means that it is still not known.
type Reconciler interface {
	Reconcile(ctx context.Context, out Outbound, sentAt time.Time) (receipt Receipt, ok bool, err error)
}

// Directory knows names and members.
type Directory interface {
	// Find resolves "#name", "@name", a user id or a conversation's id to the conversation to write to, with its
	// ChatType. For a person it opens the direct chat.
	// An unknown name is a Permanent failure.
	Find(ctx context.Context, name string) (sessions.Route, error)
	// Members lists who is in a conversation, at most limit.
	Members(ctx context.Context, route sessions.Route, limit int) ([]sessions.Peer, error)
}

// Typer shows that an answer is being written; the platform ends it after some seconds.
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

// ConversationTyper tells the kind of a conversation from its id alone, where the platform's ids show it. Empty where
// this id does not, for example because it is a person's: the [Directory] is asked then.
type ConversationTyper interface {
	ConversationType(id sessions.ConversationID) sessions.ChatType
}

// Backlogger knows how many events are waiting at the platform. detail is the platform's explanation, if it gives one.
type Backlogger interface {
	Backlog(ctx context.Context) (waiting int, detail string, err error)
}

// Stater reports the account's state for status, doctor and metrics.
type Stater interface {
	State() State
}
