package discord

import (
	"encoding/json"
	"time"

	"github.com/bwmarrin/discordgo"
)

// The fields of Discord's data that are used. Other fields can have any type. [adapters.Decode] reads the data and leaves
// out unreadable fields; so no type here has an UnmarshalJSON that can fail, and times are texts. Data that is sent uses
// the library's types, see doc.go.

// frame is one gateway payload.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

type message struct {
	ID          string                `json:"id"`
	ChannelID   string                `json:"channel_id"`
	GuildID     string                `json:"guild_id"`
	Type        discordgo.MessageType `json:"type"`
	Content     *string               `json:"content"`
	Author      *user                 `json:"author"`
	Member      *member               `json:"member"`
	WebhookID   string                `json:"webhook_id"`
	Timestamp   string                `json:"timestamp"`
	Edited      json.RawMessage       `json:"edited_timestamp"`
	Mentions    []mentioned           `json:"mentions"`
	RoleIDs     []string              `json:"mention_roles"`
	Attachments []attachment          `json:"attachments"`
	Stickers    []sticker             `json:"sticker_items"`
	Embeds      json.RawMessage       `json:"embeds"`
	Components  json.RawMessage       `json:"components"`
	Poll        json.RawMessage       `json:"poll"`
	Reply       *message              `json:"referenced_message"`
	Snapshots   []snapshot            `json:"message_snapshots"`
	Nonce       json.RawMessage       `json:"nonce"` // a string or a number

	unread string // a field that could not be read
}

// at returns the time of the message, from its timestamp or its id.
func (m *message) at() time.Time {
	if t, err := time.Parse(time.RFC3339Nano, m.Timestamp); err == nil {
		return t
	}
	return idTime(m.ID, time.Time{})
}

// edited returns the time of the last edit and a name for it. ok is false for a message without edits.
func (m *message) edited() (at time.Time, name string, ok bool) {
	if blank(m.Edited) {
		return at, "", false
	}
	var text string
	if json.Unmarshal(m.Edited, &text) != nil {
		text = string(m.Edited)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return m.at(), valid(text[:min(len(text), maxEditName)]), true
	}
	return at, at.UTC().Format(time.RFC3339Nano), true
}

// maxEditName bounds the part of an event's name that stands for an unreadable time.
const maxEditName = 64

// blank reports whether a field is missing or empty, whatever its type.
func blank(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "[]", "{}", `""`:
		return true
	}
	return false
}

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

// attachment is a file of a message.
type attachment struct {
	Filename    string  `json:"filename"`
	ContentType string  `json:"content_type"`
	Size        int64   `json:"size"`
	URL         string  `json:"url"`
	Seconds     float64 `json:"duration_secs"`
	Waveform    string  `json:"waveform"` // of a voice message
}

type sticker struct {
	ID     string                  `json:"id"`
	Name   string                  `json:"name"`
	Format discordgo.StickerFormat `json:"format_type"`
}

type emoji struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// snapshot is a forwarded message.
type snapshot struct {
	Message message `json:"message"`
}

// mentioned is a person who is mentioned in a message. Events of a guild have the member, too.
type mentioned struct {
	user
	Member *member `json:"member"`
}

type member struct {
	User  *user    `json:"user"`
	Nick  string   `json:"nick"`
	Roles []string `json:"roles"`
}

type role struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Tags struct {
		BotID string `json:"bot_id"`
	} `json:"tags"`
}

type channel struct {
	ID         string                `json:"id"`
	GuildID    string                `json:"guild_id"`
	Type       discordgo.ChannelType `json:"type"`
	Name       string                `json:"name"`
	ParentID   string                `json:"parent_id"`
	Recipients []user                `json:"recipients"`
}

// guild is GUILD_CREATE and the response to GET /guilds/{id}.
type guild struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Unavailable bool      `json:"unavailable"`
	PremiumTier int       `json:"premium_tier"`
	Roles       []role    `json:"roles"`
	Members     []member  `json:"members"`
	Channels    []channel `json:"channels"`
	Threads     []channel `json:"threads"`
}

type reaction struct {
	UserID    string  `json:"user_id"`
	ChannelID string  `json:"channel_id"`
	MessageID string  `json:"message_id"`
	GuildID   string  `json:"guild_id"`
	Member    *member `json:"member"`
	AuthorID  string  `json:"message_author_id"`
	Emoji     emoji   `json:"emoji"`
}

type deletion struct {
	ID        string   `json:"id"`
	IDs       []string `json:"ids"` // MESSAGE_DELETE_BULK
	ChannelID string   `json:"channel_id"`
	GuildID   string   `json:"guild_id"`
}

type interaction struct {
	ID        string                    `json:"id"`
	AppID     string                    `json:"application_id"`
	Type      discordgo.InteractionType `json:"type"`
	Token     string                    `json:"token"`
	GuildID   string                    `json:"guild_id"`
	ChannelID string                    `json:"channel_id"`
	Member    *member                   `json:"member"`
	User      *user                     `json:"user"`
	Message   *message                  `json:"message"`
	Data      struct {
		Name     string   `json:"name"`
		CustomID string   `json:"custom_id"`
		Options  []option `json:"options"`
	} `json:"data"`

	unread string // a field that could not be read
}

// option is one argument of a slash command.
type option struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

type ready struct {
	SessionID string `json:"session_id"`
	ResumeURL string `json:"resume_gateway_url"`
	User      *user  `json:"user"`
}

// gatewayInfo is the response to GET /gateway/bot.
type gatewayInfo struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"`
	Limit  struct {
		Total          int   `json:"total"`
		Remaining      int   `json:"remaining"`
		ResetAfter     int64 `json:"reset_after"` // milliseconds
		MaxConcurrency int   `json:"max_concurrency"`
	} `json:"session_start_limit"`
}

// application is the part of GET /applications/@me that is used.
type application struct {
	ID    string `json:"id"`
	Flags int    `json:"flags"`
}
