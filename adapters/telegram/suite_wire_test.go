package telegram_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

func (p *suitePlatform) Redeliver(said adaptertest.Said) { p.Server.Redeliver(updateID(said)) }

func (p *suitePlatform) Confirmed(said adaptertest.Said) bool {
	return p.Server.Confirmed(updateID(said))
}

func (p *suitePlatform) WaitConfirmed(ctx context.Context, said adaptertest.Said) error {
	return p.WaitConfirmedOne(ctx, updateID(said))
}

func (p *suitePlatform) Flood() []adaptertest.Said {
	var all []adaptertest.Said
	for _, body := range []string{`"new_thing":{"x":[1,2]}`, `"message":7`, `"message":{}`, `"message_reaction":{}`, `"callback_query":{"id":"1"}`} {
		id := p.PostRaw(func(id int64) string { return fmt.Sprintf(`{"update_id":%d,%s}`, id, body) })
		all = append(all, adaptertest.Said{Event: strconv.FormatInt(id, 10)})
	}
	return all
}

func (p *suitePlatform) DropConnections() { p.Drop() }

func (p *suitePlatform) Fault(f adaptertest.Fault) {
	fault := map[adaptertest.FaultKind]*telegramtest.Fault{
		adaptertest.RateLimited: telegramtest.RateLimit(int(f.After / time.Second)),
		adaptertest.ServerError: telegramtest.APIError(500, "Internal Server Error"),
		adaptertest.Garbage:     telegramtest.Status(502, "<html>bad gateway</html>"),
		adaptertest.Hang:        telegramtest.Hang(),
		adaptertest.ResetBefore: telegramtest.DropBefore(),
		adaptertest.ResetAfter:  telegramtest.DropAfter(),
		adaptertest.Refused:     telegramtest.Blocked(),
	}[f.Kind]
	p.Inject(fault.On("sendMessage").For(max(1, f.Times)))
}

// Misdate implements adaptertest.Misdater.
func (p *suitePlatform) Misdate() adapters.Receipt {
	p.Inject(telegramtest.Status(200, `{"ok":true,"result":{"message_id":77,"date":1700000000000,"chat":{"id":1001,"type":"private"},"text":"hello"}}`).On("sendMessage"))
	return adapters.Receipt{MessageID: "77"}
}

func (p *suitePlatform) Revoke() { p.Server.Revoke(true) }

func (p *suitePlatform) Shown(place sessions.Route) []adaptertest.Shown {
	var shown []adaptertest.Shown
	for _, m := range p.Sent(p.chat(place).ID) {
		if (m.Thread == topic) == (place.Thread == p.Thread().Thread) {
			shown = append(shown, show(m))
		}
	}
	return shown
}

func show(m telegramtest.Message) adaptertest.Shown {
	s := adaptertest.Shown{
		ID: sessions.PlatformMessageID(strconv.FormatInt(m.ID, 10)), Text: m.Text, Plain: m.Plain,
		Content: m.Content, Reactions: m.Reactions, Edited: m.Edits > 0,
	}
	if m.ReplyTo != 0 {
		s.ReplyTo = sessions.PlatformMessageID(strconv.FormatInt(m.ReplyTo, 10))
	}
	if m.File != nil {
		s.File = m.File.FileName
	}
	for _, b := range m.Buttons {
		s.Buttons = append(s.Buttons, b.Label)
	}
	return s
}

func (p *suitePlatform) WaitShown(ctx context.Context, place sessions.Route, n int) ([]adaptertest.Shown, error) {
	for total := n; ; {
		sent, err := p.WaitSent(ctx, p.chat(place).ID, total)
		if shown := p.Shown(place); err != nil || len(shown) >= n {
			return shown, err
		}
		total = len(sent) + 1
	}
}

func (p *suitePlatform) Typing(place sessions.Route) int { return p.Server.Typing(p.chat(place).ID) }
