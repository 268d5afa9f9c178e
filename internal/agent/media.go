package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/port"
)

// Limits of the pictures in one request, newest first: they are sent again with each completion.
const (
	picturesMax     = 8
	pictureBytesMax = 16 << 20
)

// seeing is a model that sees the pictures of the thread. Messages only have references; the content is added for
// each request.
type seeing struct {
	sessions.Model
	read func(ctx context.Context, id sessions.MediaID) ([]byte, error)
	log  *slog.Logger
	// blind: the model has refused a request with pictures and then accepted it without them.
	blind atomic.Bool
}

var (
	_ sessions.Model      = (*seeing)(nil)
	_ sessions.Classified = (*seeing)(nil)
	_ sessions.Tempered   = (*seeing)(nil)
	_ port.Windowed       = (*seeing)(nil)
	_ port.Turning        = (*seeing)(nil)
)

// Classification implements [sessions.Classified].
func (m *seeing) Classification() flow.Level { return sessions.ModelLevel(m.Model) }

// MaxTemperature implements [sessions.Tempered].
func (m *seeing) MaxTemperature() float32 { return sessions.MaxTemperature(m.Model) }

// WindowFor implements [port.Windowed].
func (m *seeing) WindowFor(label flow.Label) int { return port.WindowFor(m.Model, label) }

// BeginTurn implements [port.Turning].
func (m *seeing) BeginTurn() { port.BeginTurn(m.Model) }

// Complete implements [sessions.Model]. Thousands of goroutines wait here at once for a request without pictures, so
// that way uses little stack.
func (m *seeing) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	if !m.blind.Load() {
		if shown := m.withPictures(ctx, &req); shown != nil {
			return m.show(ctx, shown, &req, on)
		}
	}
	return m.Model.Complete(ctx, req, on)
}

// show sends the request with pictures. A model that does not accept them gets the request in words.
func (m *seeing) show(ctx context.Context, shown, inWords *sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	completion, err := m.Model.Complete(ctx, *shown, on)
	refused, ok := errors.AsType[*sessions.ModelError](err)
	if !ok || refused.Kind != sessions.ModelRefused || errors.Is(err, port.ErrDeclined) {
		return completion, err
	}
	completion, err = m.Model.Complete(ctx, *inWords, on)
	if err == nil {
		m.blind.Store(true)
		m.log.Warn("model does not accept pictures; it gets a note in words instead", "model", m.Name(), "err", refused)
	}
	return completion, err
}

// withPictures is the request with the content of its newest pictures; nil: it has none.
func (m *seeing) withPictures(ctx context.Context, req *sessions.Request) (shown *sessions.Request) {
	count, bytes := 0, 0
	for i := len(req.Messages) - 1; i >= 0; i-- {
		message := req.Messages[i]
		for j := len(message.Parts) - 1; j >= 0; j-- {
			a := message.Parts[j].Attachment
			if !a.IsPicture() || count == picturesMax || int64(bytes)+a.Size > pictureBytesMax { // what does not fit is not even read
				continue
			}
			content := m.content(ctx, a.Media)
			if content == nil || bytes+len(content) > pictureBytesMax {
				continue
			}
			if shown == nil {
				shown = &sessions.Request{}
				*shown = *req
				shown.Messages = slices.Clone(req.Messages)
			}
			if &shown.Messages[i].Parts[0] == &req.Messages[i].Parts[0] {
				shown.Messages[i].Parts = slices.Clone(message.Parts)
			}
			shown.Messages[i].Parts[j].Content = content
			shown.Messages[i].Parts = slices.Insert(shown.Messages[i].Parts, j+1, named(message.Parts[j]))
			count, bytes = count+1, bytes+len(content)
		}
	}
	return shown
}

// named tells the model the id with which it can send the preceding picture.
func named(picture sessions.Part) sessions.Part {
	saved := ""
	if picture.Attachment.Path != "" {
		saved = ", and is saved as " + picture.Attachment.Path
	}
	return sessions.TextPart(fmt.Sprintf("[the %s above has the id %s%s]", picture.Attachment.Kind, picture.Attachment.Media, saved), picture.Label)
}

// content reads a file; nil if it is no longer stored.
func (m *seeing) content(ctx context.Context, id sessions.MediaID) []byte {
	content, err := m.read(ctx, id)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) && ctx.Err() == nil {
		m.log.Error("picture not read", "media", string(id), "err", err)
	}
	return content
}
