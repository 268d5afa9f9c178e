package discord

import (
	"math"
	"strings"

	"github.com/bwmarrin/discordgo"

	"sluice/sessions"
)

// stickerBase is where Discord keeps the pictures of stickers.
const stickerBase = "https://cdn.discordapp.com/stickers/"

// attachments returns the files of a message and of the message that it forwards. Ref is the file's address.
func attachments(m *message) []sessions.Attachment {
	var out []sessions.Attachment
	for _, f := range m.Attachments {
		if f == (attachment{}) {
			continue // it could not be read at all
		}
		out = append(out, sessions.Attachment{
			Kind: attachmentKind(f), Name: valid(f.Filename), MIME: valid(f.ContentType), Size: f.Size,
			Ref: valid(f.URL), Duration: int(math.Ceil(f.Seconds)),
		})
	}
	for _, s := range m.Stickers {
		if s != (sticker{}) {
			out = append(out, sessions.Attachment{Kind: "sticker", Name: valid(s.Name), Ref: stickerRef(s)})
		}
	}
	for i := range m.Snapshots {
		out = append(out, attachments(&m.Snapshots[i].Message)...)
	}
	return out
}

func attachmentKind(f attachment) string {
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

// stickerRef is the picture's address; empty for a Lottie animation, which has no picture.
func stickerRef(s sticker) string {
	switch s.Format {
	case discordgo.StickerFormatTypePNG, discordgo.StickerFormatTypeAPNG:
		return stickerBase + s.ID + ".png"
	case discordgo.StickerFormatTypeGIF:
		return stickerBase + s.ID + ".gif"
	}
	return ""
}
