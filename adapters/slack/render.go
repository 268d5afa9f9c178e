package slack

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/internal/markdown"
)

const (
	maxSection = 3000 // characters of the text in one section block
	maxButtons = 25   // elements of one actions block
	maxLabel   = 75   // characters on a button
)

// Split cuts Markdown into pieces that fit one message each: 4,000 characters when rendered.
func (a *Adapter) Split(text string) []string { return markdown.SplitSlack(text) }

// MaxButtons is how many buttons one message may have.
func (a *Adapter) MaxButtons() int { return maxButtons }

// render converts an outbound text to mrkdwn, or to plain text with & < > encoded.
func render(out adapters.Outbound) string {
	if out.Plain {
		return escape(out.Text)
	}
	return mrkdwn(out.Text)
}

// mrkdwn renders Markdown for Slack. Markdown of which nothing would be shown is shown as it is written, because Slack refuses
// a message without text.
func mrkdwn(text string) string { return cmp.Or(markdown.SlackMrkdwn(text), escape(text)) }

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// blocks returns the blocks of a text with buttons. If a message has blocks, Slack shows its text only in notifications.
func blocks(out adapters.Outbound) []slackapi.Block {
	var all []slackapi.Block
	for _, text := range sections(out) {
		kind := slackapi.MarkdownType
		if out.Plain {
			kind = slackapi.PlainTextType
		}
		all = append(all, slackapi.NewSectionBlock(slackapi.NewTextBlockObject(kind, text, false, false), nil, nil))
	}
	var elements []slackapi.BlockElement
	for i, b := range out.Buttons[:min(len(out.Buttons), maxButtons)] {
		label := slackapi.NewTextBlockObject(slackapi.PlainTextType, cut(b.Label, maxLabel), false, false)
		elements = append(elements, slackapi.NewButtonBlockElement(fmt.Sprintf("sluice_%d", i), b.Press, label))
	}
	return append(all, slackapi.NewActionBlock("sluice_buttons", elements...))
}

// sections cuts a text so that each rendered piece fits a section block. Encoding & < > makes a text up to five times as
// long.
func sections(out adapters.Outbound) []string {
	for limit := maxSection; ; limit /= 2 {
		var pieces []string
		fits := true
		for _, piece := range markdown.Split(out.Text, limit) {
			text := piece
			if !out.Plain {
				text = mrkdwn(piece)
			}
			pieces = append(pieces, text)
			fits = fits && utf8.RuneCountInString(text) <= maxSection
		}
		if fits || limit < maxSection/8 {
			return pieces
		}
	}
}

// cut shortens a label.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
