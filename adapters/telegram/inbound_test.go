package telegram_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

var (
	adaModel = &models.User{ID: 1001, FirstName: "Ada", LastName: "L", Username: "ada"}
	group    = models.Chat{ID: -1007, Type: models.ChatTypeSupergroup, Title: "Team"}
	forum    = models.Chat{ID: -1008, Type: models.ChatTypeSupergroup, Title: "Forum", IsForum: true}
	private  = models.Chat{ID: 1001, Type: models.ChatTypePrivate, FirstName: "Ada"}
)

func entity(kind models.MessageEntityType, offset, length int) models.MessageEntity {
	return models.MessageEntity{Type: kind, Offset: offset, Length: length}
}

func TestInbound(t *testing.T) {
	t.Parallel()
	mention := models.MessageEntityTypeMention
	command := models.MessageEntityTypeBotCommand
	self := &models.User{ID: 1000000, IsBot: true, Username: "test0_bot"}
	for name, c := range map[string]struct {
		message models.Message
		check   func(*testing.T, adapters.Inbound)
	}{
		"direct": {models.Message{ID: 4, From: adaModel, Chat: private, Date: 1700000000, Text: "hi"}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, adapters.Inbound{
				Event: "1001/4",
				Route: sessions.Route{
					Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "1001", ReplyTo: "4", Title: "Ada",
				},
				Sender: sessions.Peer{ID: "1001", Name: "Ada L", Username: "ada"},
				Text:   "hi", Mentioned: true, MessageID: "4", SentAt: time.Unix(1700000000, 0),
			}, in)
		}},
		"group, not addressed": {models.Message{From: adaModel, Chat: group, Text: "hi all"}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, sessions.Group, in.Route.ChatType)
			require.False(t, in.Mentioned)
			require.Equal(t, "Team", in.Route.Title)
		}},
		"mention": {models.Message{From: adaModel, Chat: group, Text: "😀 @Test0_Bot, hello", Entities: []models.MessageEntity{entity(mention, 3, 10)}}, func(t *testing.T, in adapters.Inbound) {
			require.True(t, in.Mentioned)
			require.Equal(t, "😀 , hello", in.Text)
		}},
		"mention first": {models.Message{From: adaModel, Chat: group, Text: "@test0_bot, hello", Entities: []models.MessageEntity{entity(mention, 0, 10)}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, "hello", in.Text)
		}},
		"mention of another": {models.Message{From: adaModel, Chat: group, Text: "@other hello", Entities: []models.MessageEntity{entity(mention, 0, 6)}}, func(t *testing.T, in adapters.Inbound) {
			require.False(t, in.Mentioned)
			require.Equal(t, "@other hello", in.Text)
		}},
		"text mention": {models.Message{From: adaModel, Chat: group, Text: "Bot do it", Entities: []models.MessageEntity{{Type: models.MessageEntityTypeTextMention, Offset: 0, Length: 3, User: self}}}, func(t *testing.T, in adapters.Inbound) {
			require.True(t, in.Mentioned)
			require.Equal(t, "do it", in.Text)
		}},
		"command to the bot": {models.Message{From: adaModel, Chat: group, Text: "/status@test0_bot now", Entities: []models.MessageEntity{entity(command, 0, 17)}}, func(t *testing.T, in adapters.Inbound) {
			require.True(t, in.Mentioned)
			require.Equal(t, "/status now", in.Text)
		}},
		"command to another bot": {models.Message{From: adaModel, Chat: group, Text: "/status@other_bot", Entities: []models.MessageEntity{entity(command, 0, 17)}}, func(t *testing.T, in adapters.Inbound) {
			require.False(t, in.Mentioned)
			require.Equal(t, "/status@other_bot", in.Text)
		}},
		"entity out of range": {models.Message{From: adaModel, Chat: group, Text: "x", Entities: []models.MessageEntity{entity(mention, 5, math.MaxInt), entity(mention, -1, 1)}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, "x", in.Text)
		}},
		"reply to the bot": {models.Message{From: adaModel, Chat: group, Text: "and?", ReplyToMessage: &models.Message{ID: 1, From: self, Text: "earlier"}}, func(t *testing.T, in adapters.Inbound) {
			require.True(t, in.Mentioned)
			require.Equal(t, "earlier", in.Quotations[0].Text)
		}},
		"quote of a part": {models.Message{From: adaModel, Chat: group, Text: "this?", Quote: &models.TextQuote{Text: "part"}, ReplyToMessage: &models.Message{ID: 1, From: adaModel, Text: "whole part"}}, func(t *testing.T, in adapters.Inbound) {
			require.False(t, in.Mentioned)
			require.Equal(t, "part", in.Quotations[0].Text)
		}},
		"topic": {models.Message{From: adaModel, Chat: forum, MessageThreadID: 7, IsTopicMessage: true, Text: "x", ReplyToMessage: &models.Message{ID: 7, From: self}}, func(t *testing.T, in adapters.Inbound) {
			require.EqualValues(t, "7", in.Route.Thread)
			require.False(t, in.Mentioned, "the topic's own first message is no reply")
		}},
		"general topic": {models.Message{From: adaModel, Chat: forum, Text: "x"}, func(t *testing.T, in adapters.Inbound) {
			require.EqualValues(t, "1", in.Route.Thread)
		}},
		"replies are no topic": {models.Message{From: adaModel, Chat: group, MessageThreadID: 7, Text: "x"}, func(t *testing.T, in adapters.Inbound) {
			require.Empty(t, in.Route.Thread)
		}},
		"channel post": {models.Message{Chat: models.Chat{ID: -1009, Type: models.ChatTypeChannel, Title: "News"}, Text: "x"}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, sessions.Channel, in.Route.ChatType)
			require.Equal(t, sessions.Peer{ID: "-1009", Name: "News"}, in.Sender)
		}},
		"anonymous admin": {models.Message{From: &models.User{ID: 1087968824, IsBot: true}, SenderChat: &group, Chat: group, Text: "x"}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, sessions.Peer{ID: "-1007", Name: "Team"}, in.Sender)
		}},
		"another bot": {models.Message{From: &models.User{ID: 5, IsBot: true, FirstName: "B"}, Chat: group, Text: "x"}, func(t *testing.T, in adapters.Inbound) {
			require.True(t, in.Sender.Bot)
		}},
		"edit": {models.Message{ID: 3, From: adaModel, Chat: private, EditDate: 1700000001, Text: "new"}, func(t *testing.T, in adapters.Inbound) {
			require.Regexp(t, `^1001/3/edit/\d+$`, in.Event)
			require.True(t, in.Edited)
			require.EqualValues(t, "3", in.MessageID)
		}},
		"photo": {models.Message{From: adaModel, Chat: private, Caption: "see", Photo: []models.PhotoSize{{FileID: "s", Width: 9, Height: 9}, {FileID: "l", Width: 90, Height: 90, FileSize: 7}}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, "see", in.Text)
			require.Equal(t, []sessions.Attachment{{Kind: "photo", Ref: "l", Size: 7, MIME: "image/jpeg"}}, in.Attachments)
		}},
		"document": {models.Message{From: adaModel, Chat: private, Document: &models.Document{FileID: "d", FileName: "a.pdf", MimeType: "application/pdf", FileSize: 9}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "document", Name: "a.pdf", MIME: "application/pdf", Size: 9, Ref: "d"}}, in.Attachments)
		}},
		"voice": {models.Message{From: adaModel, Chat: private, Voice: &models.Voice{FileID: "v", Duration: 3, MimeType: "audio/ogg"}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "voice", MIME: "audio/ogg", Ref: "v", Duration: 3}}, in.Attachments)
		}},
		"audio": {models.Message{From: adaModel, Chat: private, Audio: &models.Audio{FileID: "a", Title: "Song", Duration: 3, MimeType: "audio/mpeg", FileSize: 9}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "audio", Name: "Song", MIME: "audio/mpeg", Size: 9, Ref: "a", Duration: 3}}, in.Attachments)
		}},
		"video": {models.Message{From: adaModel, Chat: private, Video: &models.Video{FileID: "v", FileName: "v.mp4", Duration: 3, MimeType: "video/mp4", FileSize: 9}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "video", Name: "v.mp4", MIME: "video/mp4", Size: 9, Ref: "v", Duration: 3}}, in.Attachments)
		}},
		"video note": {models.Message{From: adaModel, Chat: private, VideoNote: &models.VideoNote{FileID: "n", Duration: 3, FileSize: 9}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "video", Size: 9, Ref: "n", Duration: 3}}, in.Attachments)
		}},
		"animation is one file": {models.Message{From: adaModel, Chat: private, Animation: &models.Animation{FileID: "g", FileName: "g.mp4", MimeType: "video/mp4"}, Document: &models.Document{FileID: "g", FileName: "g.mp4"}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "video", Name: "g.mp4", MIME: "video/mp4", Ref: "g"}}, in.Attachments)
		}},
		"sticker": {models.Message{From: adaModel, Chat: private, Sticker: &models.Sticker{FileID: "s", Emoji: "😀", FileSize: 9}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "sticker", Name: "😀", Size: 9, Ref: "s"}}, in.Attachments)
		}},
		"venue is one place": {models.Message{From: adaModel, Chat: private, Location: &models.Location{Latitude: 1.5, Longitude: -2}, Venue: &models.Venue{Title: "Inn", Address: "1 Road", Location: models.Location{Latitude: 1.5, Longitude: -2}}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "location", Name: "Inn, 1 Road (1.500000,-2.000000)"}}, in.Attachments)
		}},
		"reply to a caption": {models.Message{From: adaModel, Chat: group, Text: "this?", ReplyToMessage: &models.Message{ID: 1, From: adaModel, Caption: "seen"}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, "seen", in.Quotations[0].Text)
		}},
		"place and person": {models.Message{From: adaModel, Chat: private, Location: &models.Location{Latitude: 1.5, Longitude: -2}, Contact: &models.Contact{FirstName: "B", PhoneNumber: "+1"}}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, []sessions.Attachment{{Kind: "location", Name: "1.500000,-2.000000"}, {Kind: "contact", Name: "B +1"}}, in.Attachments)
		}},
		"migration": {models.Message{ID: 9, Chat: models.Chat{ID: -5, Type: models.ChatTypeGroup}, MigrateToChatID: -1005}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, &adapters.Migration{From: "-5", To: "-1005"}, in.Migrated)
		}},
		"migration seen from the new chat": {models.Message{ID: 9, Chat: models.Chat{ID: -1005, Type: models.ChatTypeSupergroup}, MigrateFromChatID: -5}, func(t *testing.T, in adapters.Inbound) {
			require.Equal(t, &adapters.Migration{From: "-5", To: "-1005"}, in.Migrated)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, nil)
			s.srv.Post(c.message)
			s.run(t)
			c.check(t, s.inbox.wait(t, 1)[0])
		})
	}
}

func TestIgnoredMessages(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Post(models.Message{From: adaModel, Chat: group, NewChatTitle: "New"})
	s.srv.Post(models.Message{From: &models.User{ID: 1000000, IsBot: true}, Chat: group, Text: "my own words"})
	s.srv.Post(models.Message{From: adaModel, Chat: group, Text: "last"})
	s.run(t)
	require.Equal(t, "last", s.inbox.wait(t, 1)[0].Text)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
}

func TestInvalidUTF8GoesNoFurther(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.PostRaw(func(int64) string {
		return `{"update_id":1001,"message":{"message_id":1,"date":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001,"is_bot":false,"first_name":"A` + "\xff" + `"},"text":"x\ud800y` + "\xc3" + `"}}`
	})
	s.run(t)
	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, "x\uFFFDy\uFFFD", in.Text)
	require.Equal(t, "A\uFFFD", in.Sender.Name)
}

func TestWhatMayBelongTogetherSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message models.Message
		more    bool
	}{
		"a picture of an album": {models.Message{MediaGroupID: "77", Photo: []models.PhotoSize{{FileID: "p"}}}, true},
		"a picture by itself":   {models.Message{Photo: []models.PhotoSize{{FileID: "p"}}}, false},
		"as long as allowed":    {models.Message{Text: strings.Repeat("a", 4096)}, true},
		"cut at a space":        {models.Message{Text: strings.Repeat("a", 4000)}, true},
		"just shorter":          {models.Message{Text: strings.Repeat("a", 3999)}, false},
		"bytes are not units":   {models.Message{Text: strings.Repeat("ü", 2100)}, false},
		"emoji are two units":   {models.Message{Text: strings.Repeat("😀", 2000)}, true},
		"an edit":               {models.Message{Text: strings.Repeat("a", 4096), EditDate: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, nil)
			c.message.From, c.message.Chat = adaModel, private
			s.srv.Post(c.message)
			s.run(t)
			require.Equal(t, c.more, s.inbox.wait(t, 1)[0].More)
		})
	}
}
