package telegram

import (
	"github.com/go-telegram/bot/models"
)

// allowedUpdates are the kinds of update that are asked for.
var allowedUpdates = []string{
	models.AllowedUpdateMessage, models.AllowedUpdateEditedMessage,
	models.AllowedUpdateChannelPost, models.AllowedUpdateEditedChannelPost,
}

// update is the part of an update that matters here. The library's own
// models.Update is not used for reading: one unknown kind in a corner of a
// message (a new sort of forward origin) makes it refuse the whole update, and
// it costs several times as much.
type update struct {
	ID                int64    `json:"update_id"`
	Message           *message `json:"message"`
	EditedMessage     *message `json:"edited_message"`
	ChannelPost       *message `json:"channel_post"`
	EditedChannelPost *message `json:"edited_channel_post"`
}

// message is the update's message and whether it is an edit; nil for other kinds.
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

// chat is what keeps updates in order; 0 for an update without a chat.
func (u *update) chat() int64 {
	if m, _ := u.message(); m != nil {
		return m.Chat.ID
	}
	return 0
}

// message is the part of a message that matters here.
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
	MigrateTo       int64                  `json:"migrate_to_chat_id"`
	MigrateFrom     int64                  `json:"migrate_from_chat_id"`

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
	Text              string       `json:"text"`
	Caption           string       `json:"caption"`
	ForumTopicCreated *struct{}    `json:"forum_topic_created"`
}
