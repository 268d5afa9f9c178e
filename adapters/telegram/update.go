package telegram

import (
	"github.com/go-telegram/bot/models"
)

// allowedUpdates are the requested kinds of update.
var allowedUpdates = []string{
	models.AllowedUpdateMessage, models.AllowedUpdateEditedMessage,
	models.AllowedUpdateChannelPost, models.AllowedUpdateEditedChannelPost,
	models.AllowedUpdateCallbackQuery, models.AllowedUpdateMessageReaction,
}

// update has the used fields of an update. The library's own models.Update is not used for reading: one unknown value
// deep in a message (such as a new kind of forward origin) makes it reject the whole update, and it costs several
// times as much.
type update struct {
	ID                int64    `json:"update_id"`
	Message           *message `json:"message"`
	EditedMessage     *message `json:"edited_message"`
	ChannelPost       *message `json:"channel_post"`
	EditedChannelPost *message `json:"edited_channel_post"`

	CallbackQuery   *callbackQuery   `json:"callback_query"`
	MessageReaction *messageReaction `json:"message_reaction"`

	unread string // a field that could not be read
}

// message returns the update's message and whether it is an edit; nil for other kinds.
func (u *update) message() (m *message, edited bool) {
	switch {
	case u.Message != nil:
		return u.Message, false
	case u.ChannelPost != nil:
		return u.ChannelPost, false
	case u.EditedMessage != nil:
		return u.EditedMessage, true
	case u.EditedChannelPost != nil:
		return u.EditedChannelPost, true
	}
	return nil, false
}

// chat returns the chat whose updates must stay in order; 0 for an update without a chat.
func (u *update) chat() int64 {
	m, _ := u.message()
	switch {
	case m != nil:
		return m.Chat.ID
	case u.CallbackQuery != nil && u.CallbackQuery.Message != nil:
		return u.CallbackQuery.Message.Chat.ID
	case u.MessageReaction != nil:
		return u.MessageReaction.Chat.ID
	}
	return 0
}

// callbackQuery is a pressed button.
type callbackQuery struct {
	ID      string       `json:"id"`
	From    *models.User `json:"from"`
	Message *message     `json:"message"` // the bot's message with the button; nil for a message in a chat of others
	Data    string       `json:"data"`
}

// messageReaction is a change of a person's reactions to a message.
type messageReaction struct {
	Chat      models.Chat  `json:"chat"`
	MessageID int64        `json:"message_id"`
	User      *models.User `json:"user"`
	ActorChat *models.Chat `json:"actor_chat"` // set instead of User if a chat speaks for itself
	Date      int64        `json:"date"`
	Old       []reaction   `json:"old_reaction"`
	New       []reaction   `json:"new_reaction"`
}

// reaction is one emoji, in both directions.
type reaction struct {
	Type          string `json:"type"` // emoji, custom_emoji or paid
	Emoji         string `json:"emoji,omitempty"`
	CustomEmojiID string `json:"custom_emoji_id,omitempty"`
}

// message has the used fields of a message.
type message struct {
	ID              int64                  `json:"message_id"`
	ThreadID        int64                  `json:"message_thread_id"`
	IsTopicMessage  bool                   `json:"is_topic_message"`
	From            *models.User           `json:"from"`
	SenderChat      *models.Chat           `json:"sender_chat"`
	Chat            models.Chat            `json:"chat"`
	Date            int64                  `json:"date"`
	Text            string                 `json:"text"`
	Entities        []models.MessageEntity `json:"entities"`
	Caption         string                 `json:"caption"`
	CaptionEntities []models.MessageEntity `json:"caption_entities"`
	ReplyTo         *repliedMessage        `json:"reply_to_message"`
	Quote           *models.TextQuote      `json:"quote"`
	ExternalReply   *externalReply         `json:"external_reply"`
	ViaBot          *models.User           `json:"via_bot"`             // the bot whose offer the sender chose
	BusinessBot     *models.User           `json:"sender_business_bot"` // the bot that wrote in the sender's name
	origins
	MediaGroupID string `json:"media_group_id"`
	MigrateTo    int64  `json:"migrate_to_chat_id"`
	MigrateFrom  int64  `json:"migrate_from_chat_id"`

	Photo     []models.PhotoSize `json:"photo"`
	Document  *models.Document   `json:"document"`
	Voice     *models.Voice      `json:"voice"`
	Audio     *models.Audio      `json:"audio"`
	Video     *models.Video      `json:"video"`
	VideoNote *models.VideoNote  `json:"video_note"`
	Animation *models.Animation  `json:"animation"`
	Sticker   *models.Sticker    `json:"sticker"`
	Location  *models.Location   `json:"location"`
	Venue     *models.Venue      `json:"venue"`
	Contact   *models.Contact    `json:"contact"`
}

// repliedMessage is the message that another one replies to.
type repliedMessage struct {
	ID                int64        `json:"message_id"`
	From              *models.User `json:"from"`
	SenderChat        *models.Chat `json:"sender_chat"`
	Text              string       `json:"text"`
	Caption           string       `json:"caption"`
	ForumTopicCreated *struct{}    `json:"forum_topic_created"`
	origins
}
