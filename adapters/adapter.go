// Package adapters is the port to chat platforms: incoming events, outgoing messages, failures, and optional
// abilities. An adapter speaks to one platform, normalises its data, and knows nothing else.
package adapters

import (
	"context"
	"io"
	"net/http"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Page is the channel of the gateway's own page. An owner might not open it for days.
const Page = "webchat"

// Finder finds the adapter of an account; ok is false if the account is not configured. It is safe for concurrent use.
type Finder func(channel, account string) (Adapter, bool)

// Adapter is one account (a bot) on one channel (a platform). All methods are
// safe for concurrent use.
type Adapter interface {
	// Channel is the platform's name, for example "telegram".
	Channel() string
	// Account is the account's name in the configuration, for example "default".
	Account() string

	// Run receives until ctx ends and then returns nil. The supervisor calls it from one goroutine at a time, on the
	// one replica that holds the account's lease, and again with backoff after an error. After a *[Failure] of kind
	// Auth, it is not called again before the configuration changes. Run confirms nothing to the platform before
	// in.Accept has returned nil for it.
	Run(ctx context.Context, in Acceptor) error

	// Send posts one message. Any replica may call it, whether it runs the adapter or not. An error is a *[Failure].
	Send(ctx context.Context, out Outbound) (Receipt, error)
}

// Acceptor accepts a platform's events.
type Acceptor interface {
	// Accept returns nil once the event is stored, was stored before (a repeat), or needs no action. After an error
	// nothing was stored, and the platform must keep the event. Events of one conversation are passed one after the
	// other, in order; different conversations may be passed in parallel.
	Accept(ctx context.Context, in Inbound) error
}

// Inbound is one event of a platform, normalised. It is a message, unless
// Edited, Deleted, Reaction, Press or Migrated says otherwise. A command of the platform's own menu is a message
// too: its Text is "/name arguments", and Mentioned is set.
type Inbound struct {
	// Event identifies the event within channel and account forever: when it is delivered again, it has the same
	// name. A message's name is "<conversation>/<message id>"; edits, deletions, reactions and presses are events of
	// their own.
	Event string
	// Route is the place of the message; its ReplyTo is the message itself, so that an answer can refer to it.
	Route  sessions.Route
	Sender sessions.Peer
	// Roles are the ids of the sender's roles, if the platform has roles.
	Roles []string
	// Text is what the sender wrote: plain, valid UTF-8, without mentions of the bot. Words of other people are not
	// in it but in Quotations.
	Text string
	// Quotations are other people's words in the message: what it answers, forwards, shares or links to. The files of
	// a forwarded message are in Attachments and are named in the quotation. A mention of the bot in a quotation does
	// not address it.
	Quotations  []sessions.Quotation
	Attachments []sessions.Attachment
	// Mentioned means that the message mentions the bot or replies to it, or that the chat is direct.
	Mentioned bool
	MessageID sessions.PlatformMessageID
	// OpensThread means that Route.Thread does not exist yet: the answer will open it below this message, which is in
	// the conversation itself. A command in it applies to the conversation.
	OpensThread bool
	// Edited means that the message replaces an earlier text with the same MessageID.
	Edited bool
	// Deleted means that the message MessageID was deleted. Text is empty.
	Deleted bool
	// Reaction is set when a person added a reaction to the message MessageID or removed one; Text is empty.
	Reaction *Reaction
	// Press is set when the sender pressed a button under the message MessageID: it is the Press of that button. Text
	// is empty: the gateway decides what a press means, never the platform. Mentioned is set.
	Press string
	// More means that the sender's next message may belong to this one: it is a picture of an album, or a text of the
	// platform's maximum length.
	More bool
	// Unread names a field of the platform's event that could not be read; empty if all could. The message has the
	// remaining fields: it is untrusted, and never a command.
	Unread string
	// Migrated is set when a conversation has got a new id; the event has no other content.
	Migrated *Migration
	SentAt   time.Time
}

// Migration says that a conversation continues under another id (for example when a Telegram group becomes a
// supergroup).
type Migration struct {
	From, To sessions.ConversationID
}

// Reaction is one emoji on a message.
type Reaction struct {
	Emoji   string // the character itself, or the platform's name for a custom emoji
	Removed bool
	Own     bool // the message is from the bot
}

// Outbound is an outgoing message.
type Outbound struct {
	// DeliveryID is the same for all retries of a message; platforms that deduplicate get it.
	DeliveryID string
	// Part is the index of this message among the chunks of its delivery, from 0.
	Part  int
	Route sessions.Route
	// Session is the session of the text, or empty. Reply means that the text is a run's answer, which the session's
	// own history shows.
	Session sessions.ID
	Reply   bool
	// Text is Markdown, cut by [Splitter.Split] if the adapter has it.
	Text  string
	Label flow.Label // of the text and of everything sent with it
	// Plain asks for a text without markup.
	Plain bool
	// Silent asks the platform not to notify.
	Silent bool
	// Buttons are shown below the text if the adapter is a [Buttoner]. A platform gets their Label and Press.
	Buttons []Button
}

// Button is a button below a message; its Press comes back in [Inbound] when it is pressed.
type Button = sessions.Button

// File is the content of an outgoing file.
type File struct {
	Name string
	MIME string
	Size int64 // bytes
	// Open returns the content from its beginning. A retry may call it again.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// Receipt is the platform's answer to a message that it has accepted.
type Receipt struct {
	MessageID sessions.PlatformMessageID `json:"messageId"`
	// Moved is set if the conversation answered under another id (migration).
	Moved *Migration `json:"moved,omitempty"`
	At    time.Time  `json:"at"`
}

// The following optional abilities are found by type assertion.

// Splitter cuts a long Markdown text into chunks that each fit one platform message after rendering. Fences, links
// and styles are never cut, and no text is lost. The same text always gives the same chunks.
type Splitter interface {
	Split(text string) []string
}

// Editor replaces the text and the buttons of a sent message; without Buttons, the message loses its buttons. An unchanged text is not an error.
type Editor interface {
	Edit(ctx context.Context, id sessions.PlatformMessageID, out Outbound) error
}

// Retirer shows that the question in a message is decided, for adapters that have no [Editor]: it removes the buttons
// and adds out.Text, the decision.
type Retirer interface {
	Retire(ctx context.Context, id sessions.PlatformMessageID, out Outbound) error
}

// Deleter deletes a message of the bot. It is not an error if the message is already gone.
type Deleter interface {
	Delete(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID) error
}

// Reactor adds the bot's reaction to a message or removes it. It is not an error if nothing changes.
type Reactor interface {
	React(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID, r Reaction) error
}

// Buttoner can show buttons, at most MaxButtons below one message.
type Buttoner interface {
	MaxButtons() int
}

// FileSender posts a file as its own message; out.Text may be a caption. A file above the platform's limit is a
// TooLarge failure.
type FileSender interface {
	SendFile(ctx context.Context, out Outbound, f File) (Receipt, error)
}

// FileFetcher reads the content of an incoming attachment. The caller closes it and limits how much is read.
type FileFetcher interface {
	Fetch(ctx context.Context, at sessions.Attachment) (io.ReadCloser, error)
}

// ThreadReader reads the messages of a route's thread before a given message: the thread's root, and the newest of
// the others, at most limit in total, oldest first. It includes the bot's own messages.
type ThreadReader interface {
	ReadThread(ctx context.Context, route sessions.Route, before sessions.PlatformMessageID, limit int) ([]ThreadMessage, error)
}

// ThreadMessage is a message of a thread.
type ThreadMessage struct {
	ID    sessions.PlatformMessageID
	From  sessions.Peer
	Text  string   // plain text, valid UTF-8
	Files []string // names or kinds
}

// Reconciler finds out whether a message was posted although the platform's answer was lost. out is the message, and
// sentAt is not later than the call. ok is false if the platform certainly did not accept the message, so that it may
// be sent again; otherwise the receipt is that of the posted message. An error means that the result is still
// unknown.
type Reconciler interface {
	Reconcile(ctx context.Context, out Outbound, sentAt time.Time) (receipt Receipt, ok bool, err error)
}

// Directory knows names and members.
type Directory interface {
	// Find resolves "#name", "@name", a user id or a conversation's id to a conversation, with its ChatType. For a
	// person it opens the direct chat. An unknown name is a Permanent failure.
	Find(ctx context.Context, name string) (sessions.Route, error)
	// Members lists the members of a conversation, at most limit.
	Members(ctx context.Context, route sessions.Route, limit int) ([]sessions.Peer, error)
}

// Typer shows that an answer is being written; the platform removes the sign after some seconds.
type Typer interface {
	Typing(ctx context.Context, route sessions.Route) error
}

// Callback handles the platform's own HTTP requests, mounted at /channels/<channel>/<account>. It checks the
// platform's signature and answers 200 only after Accept.
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

// Prober asks the platform for the account's profile, for doctor and status. It must not disturb Run.
type Prober interface {
	Probe(ctx context.Context) (sessions.Peer, error)
}

// Previewer says how often a message may be edited while it is being written.
type Previewer interface {
	PreviewEvery() time.Duration
}

// ConversationTyper derives the kind of a conversation from its id alone. The result is empty if the id does not show
// it, for example because it belongs to a person: then the [Directory] is asked.
type ConversationTyper interface {
	ConversationType(id sessions.ConversationID) sessions.ChatType
}

// Backlogger counts the events that wait at the platform. detail is the platform's explanation, if any.
type Backlogger interface {
	Backlog(ctx context.Context) (waiting int, detail string, err error)
}

// Stater reports the account's state for status, doctor and metrics.
type Stater interface {
	State() State
}
