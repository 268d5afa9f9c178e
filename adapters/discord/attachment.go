package discord

import (
	"math"
	"strings"

	"github.com/bwmarrin/discordgo"

	"sluice/sessions"
)

// stickerBase is where Discord keeps the pictures of stickers.
const stickerBase = "https://cdn.discordapp.com/stickers/"

// attachments are the files of a message, and of one that it forwards. Ref is the file's address.
func attachments(m *message) []sessions.Attachment {
	var out []sessions.Attachment
	for _, f := range m.Attachments {
		if f == nil {
			continue
		}
		out = append(out, sessions.Attachment{
			Kind: attachmentKind(f), Name: valid(f.Filename), MIME: valid(f.ContentType), Size: int64(f.Size),
			Ref: valid(f.URL), Duration: int(math.Ceil(f.DurationSecs)),
		})
	}
	for _, s := range m.Stickers {
		if s != nil {
			out = append(out, sessions.Attachment{Kind: "sticker", Name: valid(s.Name), Ref: stickerRef(s)})
		}
	}
	for i := range m.Snapshots {
		out = append(out, attachments(&m.Snapshots[i].Message)...)
	}
	return out
}

func attachmentKind(f *discordgo.MessageAttachment) string {
	kind, _, _ := strings.Cut(f.ContentType, "/")
	switch {
	case f.Waveform != "":
		return "voice"
	case kind == "image":
		return "photo"
	case kind == "audio", kind == "video":
		return kind
	}
	return "document"
}

// stickerRef is the picture's address; a Lottie animation has none that is a picture.
func stickerRef(s *discordgo.StickerItem) string {
	switch s.FormatType {
	case discordgo.StickerFormatTypePNG, discordgo.StickerFormatTypeAPNG:
		return stickerBase + s.ID + ".png"
	case discordgo.StickerFormatTypeGIF:
		return stickerBase + s.ID + ".gif"
	}
	return ""
}
