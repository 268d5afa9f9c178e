package discord

import (
	"encoding/json"
	"time"

	"github.com/bwmarrin/discordgo"
)

// What Discord sends, cut down to what is used. The library's own Message, Guild, Role and
// Member refuse to be read as a whole for one thing that is newer than the library, a
// kind of component or a permission's bit; see doc.go.

// frame is one gateway payload.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

type message struct {
	ID          string                         `json:"id"`
	ChannelID   string                         `json:"channel_id"`
	GuildID     string                         `json:"guild_id"`
	Type        discordgo.MessageType          `json:"type"`
	Content     *string                        `json:"content"`
	Author      *discordgo.User                `json:"author"`
	Member      *member                        `json:"member"`
	WebhookID   string                         `json:"webhook_id"`
	Timestamp   time.Time                      `json:"timestamp"`
	Edited      *time.Time                     `json:"edited_timestamp"`
	Mentions    []mentioned                    `json:"mentions"`
	RoleIDs     []string                       `json:"mention_roles"`
	Attachments []*discordgo.MessageAttachment `json:"attachments"`
	Stickers    []*discordgo.StickerItem       `json:"sticker_items"`
	Embeds      []json.RawMessage              `json:"embeds"`
	Components  []json.RawMessage              `json:"components"`
	Poll        json.RawMessage                `json:"poll"`
	Reply       *message                       `json:"referenced_message"`
	Snapshots   []snapshot                     `json:"message_snapshots"`
	Nonce       json.RawMessage                `json:"nonce"` // a string or a number
}

// snapshot is a message that was forwarded.
type snapshot struct {
	Message message `json:"message"`
}

// mentioned is a person who is named in a message, and, in a guild's events, as its member.
type mentioned struct {
	discordgo.User
	Member *member `json:"member"`
}

type member struct {
	User  *discordgo.User `json:"user"`
	Nick  string          `json:"nick"`
	Roles []string        `json:"roles"`
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
	Recipients []discordgo.User      `json:"recipients"`
}

// guild is GUILD_CREATE, and what GET /guilds/{id} gives.
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
	UserID    string          `json:"user_id"`
	ChannelID string          `json:"channel_id"`
	MessageID string          `json:"message_id"`
	GuildID   string          `json:"guild_id"`
	Member    *member         `json:"member"`
	AuthorID  string          `json:"message_author_id"`
	Emoji     discordgo.Emoji `json:"emoji"`
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
	User      *discordgo.User           `json:"user"`
	Message   *message                  `json:"message"`
	Data      struct {
		Name     string   `json:"name"`
		CustomID string   `json:"custom_id"`
		Options  []option `json:"options"`
	} `json:"data"`
}

// option is one argument of a slash command.
type option struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

type ready struct {
	SessionID string          `json:"session_id"`
	ResumeURL string          `json:"resume_gateway_url"`
	User      *discordgo.User `json:"user"`
}

// gatewayInfo is the answer to GET /gateway/bot.
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
