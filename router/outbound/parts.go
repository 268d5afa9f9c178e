package outbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// part is one platform message of a delivery: a part of its text, or a file.
type part struct {
	index   int // its position in the delivery
	text    string
	buttons []adapters.Button
	file    sessions.MediaID
}

// outboundOf is a part as the adapter receives it.
func outboundOf(d ledger.Delivery, p part) adapters.Outbound {
	out := adapters.Outbound{
		DeliveryID: string(d.ID), Part: p.index, Route: d.Route, Session: d.Session, Reply: answers(d),
		Text: p.text, Buttons: p.buttons, Label: d.Label,
	}
	if p.index > 0 {
		out.Route.ReplyTo = ""
	}
	return out
}

// partsOf splits a delivery into platform messages: the parts of its text, the last one with the buttons, and then the
// files. Buttons and files that the channel can't show become text. The same delivery always gives the same parts.
func partsOf(ctx context.Context, media mediaInfo, d *ledger.Delivery, a adapters.Adapter) ([]part, error) {
	files := d.Files
	if _, ok := a.(adapters.FileSender); !ok {
		files = nil
	}
	buttons := d.ShownButtons()
	shown := shownButtons(buttons, a)
	if len(d.Parts) == 0 && d.Kind != ledger.KindVoice {
		text, err := wholeText(ctx, media, *d, buttons[len(shown):], len(files) < len(d.Files))
		if err != nil {
			return nil, err
		}
		d.Parts = split(a, text)
	}
	parts := make([]part, 0, len(d.Parts)+len(files))
	for i, text := range d.Parts {
		parts = append(parts, part{index: i, text: text})
	}
	if n := len(parts); n > 0 {
		parts[n-1].buttons = shown
	}
	for _, id := range files {
		parts = append(parts, part{index: len(parts), file: id})
	}
	if len(d.Parts) == 1 && d.Parts[0] == d.Text {
		d.Parts = nil // the text is not stored twice
	}
	return parts, nil
}

// split divides a text as the channel needs it; an empty text has no parts.
func split(a adapters.Adapter, text string) []string {
	if text == "" {
		return nil
	}
	if splitter, ok := a.(adapters.Splitter); ok {
		return splitter.Split(text)
	}
	return []string{text}
}

// shownButtons are the first buttons, up to the channel's maximum.
func shownButtons(buttons []adapters.Button, a adapters.Adapter) []adapters.Button {
	if b, ok := a.(adapters.Buttoner); ok {
		return buttons[:min(len(buttons), b.MaxButtons())]
	}
	return nil
}

// wholeText is the text of a delivery, with the buttons and files that the channel can't show.
func wholeText(ctx context.Context, media mediaInfo, d ledger.Delivery, said []adapters.Button, sayFiles bool) (string, error) {
	lines := []string{}
	for _, b := range said {
		lines = append(lines, fmt.Sprintf("`%s` – %s", b.Value, b.Label))
	}
	if sayFiles {
		for _, id := range d.Files {
			m, err := media.MediaInfo(ctx, id)
			if err != nil && !errors.Is(err, sessions.ErrNotFound) {
				return "", fmt.Errorf("read file: %w", err)
			}
			lines = append(lines, fmt.Sprintf("File %q is not shown: this channel does not support files.", d.FileName(m)))
		}
	}
	text := slices.DeleteFunc([]string{d.Text, strings.Join(lines, "\n")}, func(s string) bool { return s == "" })
	return strings.Join(text, "\n\n"), nil
}

// PreviewOf is the preview as the adapter receives it. It has its own delivery id: if the preview's message is gone
// when the answer is ready, the platform must not take the answer for a repetition.
func PreviewOf(d ledger.Delivery, text string) adapters.Outbound {
	out := outboundOf(d, part{text: text})
	out.DeliveryID += "/preview"
	return out
}
