package discord_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]discordtest.Options{
		"nonces unknown": {},
		"nonces told":    {HistoryNonces: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Heartbeat = 300 * time.Millisecond
			adaptertest.Run(t, func(t *testing.T) adaptertest.Platform {
				return &platform{Server: discordtest.Start(t, opts), cursors: newCursors()}
			})
		})
	}
}

// platform is the fake as the suite drives it. What the adapter keeps of where it stands
// is kept as by the program; it counts as a confirmation, which Discord does not have.
type platform struct {
	*discordtest.Server
	cursors *cursors
}

var (
	_ adaptertest.Platform = (*platform)(nil)
	_ adaptertest.Garbler  = (*platform)(nil)
)

func (p *platform) Adapter(t *testing.T) adapters.Adapter {
	t.Helper()
	cfg := discord.Config{
		Token: adapters.Secret(p.Token()), APIBase: p.URL(), Cursors: p.cursors, Log: slog.New(slog.DiscardHandler),
	}
	discord.Hurry(&cfg)
	a, err := discord.New(cfg)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func (p *platform) Limits() adaptertest.Limits {
	return adaptertest.Limits{
		Text: 2000, File: 10 << 20, Confirms: true, Dedupes: true, RetryAfter: true, Fails: true,
		Hears: true, Replies: true, Forwards: true, Edits: true, Deletes: true, Reactions: true, Uploads: true, Commands: true,
	}
}

func (p *platform) Direct() sessions.Route { return direct(ada) }

func (p *platform) Group() sessions.Route {
	return sessions.Route{
		Channel: "discord", Account: "default", ChatType: sessions.Group,
		Conversation: discordtest.General, Space: discordtest.GuildID,
	}
}

func (p *platform) Thread() sessions.Route {
	r := p.Group()
	r.Thread = discordtest.ThreadID
	return r
}

func (p *platform) Mention() string { return "<@" + discordtest.BotID + ">" }

func (p *platform) Person(n int) sessions.Peer {
	id := strconv.Itoa(ada + n)
	return sessions.Peer{ID: sessions.UserID(id), Name: "Person " + id, Username: "person" + id}
}

func channelOf(r sessions.Route) string {
	if r.Thread != "" {
		return string(r.Thread)
	}
	return string(r.Conversation)
}

func personOf(p sessions.Peer) int {
	n, err := strconv.Atoi(string(p.ID))
	if err != nil {
		panic(err) // the suite names only people that Person gave
	}
	return n
}

func (p *platform) Say(place sessions.Route, from sessions.Peer, text string) adaptertest.Said {
	return p.said(place, discordtest.Writing{Text: text, Person: personOf(from), ReplyTo: string(place.ReplyTo)})
}

// Forward passes on what Discord gives a bot of a forwarded message, which is not who wrote it.
func (p *platform) Forward(place sessions.Route, from, _ sessions.Peer, text string) adaptertest.Said {
	return p.said(place, discordtest.Writing{Person: personOf(from), Extra: map[string]any{
		"message_reference": map[string]any{"type": 1, "message_id": "900", "channel_id": "901"},
		"message_snapshots": []any{map[string]any{"message": map[string]any{
			"content": text, "timestamp": "2026-01-02T03:04:05Z", "embeds": []any{}, "attachments": []any{}, "mentions": []any{}, "type": 0,
		}}},
	}})
}

func (p *platform) SayGarbled(place sessions.Route, from sessions.Peer, text string) adaptertest.Said {
	return p.said(place, discordtest.Writing{Person: personOf(from), Text: text, Extra: map[string]any{"attachments": "two"}})
}

func (p *platform) Upload(place sessions.Route, from sessions.Peer, name, mime string, content []byte) adaptertest.Said {
	return p.said(place, discordtest.Writing{Person: personOf(from), File: name, MIME: mime, Content: content})
}

func (p *platform) said(place sessions.Route, w discordtest.Writing) adaptertest.Said {
	w.Channel = channelOf(place)
	id := p.Write(w)
	return adaptertest.Said{Event: w.Channel + "/" + id, Place: place, ID: sessions.PlatformMessageID(id)}
}

func (p *platform) Edit(said adaptertest.Said, text string) {
	p.Server.Edit(channelOf(said.Place), string(said.ID), text)
}

func (p *platform) Delete(said adaptertest.Said) {
	p.Server.Delete(channelOf(said.Place), string(said.ID))
}

func (p *platform) React(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, r adapters.Reaction) {
	p.Server.React(channelOf(place), string(id), personOf(from), r.Emoji, r.Removed)
}

func (p *platform) Press(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, label string) {
	for _, m := range p.Server.Shown(channelOf(place)) {
		for _, b := range m.Buttons {
			if m.ID == string(id) && b.Label == label {
				p.Server.Press(m.Channel, m.ID, personOf(from), b.Value)
			}
		}
	}
}

func (p *platform) Command(place sessions.Route, from sessions.Peer, name, arguments string) adaptertest.Said {
	return adaptertest.Said{Event: p.Server.Command(channelOf(place), personOf(from), name, arguments), Place: place}
}

func (p *platform) Redeliver(said adaptertest.Said) {
	p.Repeat(channelOf(said.Place), string(said.ID))
}

func (p *platform) Confirmed(said adaptertest.Said) bool {
	if said.ID == "" {
		return p.Acked(said.Event)
	}
	last, _ := p.cursors.get(channelOf(said.Place))
	return reached(last, said)
}

func (p *platform) WaitConfirmed(ctx context.Context, said adaptertest.Said) error {
	if said.ID == "" {
		return p.WaitAcked(ctx, said.Event)
	}
	return p.cursors.wait(ctx, channelOf(said.Place), func(last string) bool { return reached(last, said) })
}

// reached reports whether a channel's cursor is at a message or beyond it; ids of one time are of one length.
func reached(cursor string, said adaptertest.Said) bool { return cursor >= string(said.ID) }

func (p *platform) Flood() []adaptertest.Said {
	p.Occur("SOMETHING_NEW", map[string]any{"id": "1"})
	p.Occur("MESSAGE_CREATE", map[string]any{"id": 7, "channel_id": []int{1}})
	p.SendRaw("this is no JSON")
	p.SendRaw(`{"op": 99, "d": {}}`)
	return nil
}

func (p *platform) Shown(place sessions.Route) []adaptertest.Shown {
	return shownAs(p.Server.Shown(channelOf(place)))
}

func (p *platform) WaitShown(ctx context.Context, place sessions.Route, n int) ([]adaptertest.Shown, error) {
	all, err := p.Server.WaitShown(ctx, channelOf(place), n)
	return shownAs(all), err
}

func shownAs(all []discordtest.Message) []adaptertest.Shown {
	var out []adaptertest.Shown
	for _, m := range all {
		s := adaptertest.Shown{
			ID: sessions.PlatformMessageID(m.ID), Text: m.Content, Plain: unmarked(m.Content),
			ReplyTo: sessions.PlatformMessageID(m.ReplyTo), Reactions: m.Reactions, Edited: m.Edited, Private: m.Private,
		}
		for _, b := range m.Buttons {
			s.Buttons = append(s.Buttons, b.Label)
		}
		for name, content := range m.Files {
			s.File, s.Content = name, content
		}
		out = append(out, s)
	}
	return out
}

func (p *platform) Typing(place sessions.Route) int { return p.Server.Typing(channelOf(place)) }

// unmarked is a text as Discord shows it: without fences, emphasis and the escapes of both.
func unmarked(text string) string {
	var b strings.Builder
	fenced := false
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			b.WriteString(line)
			continue
		}
		for i := 0; i < len(line); i++ {
			switch {
			case line[i] == '\\' && i+1 < len(line):
				i++
				b.WriteByte(line[i])
			case strings.ContainsRune("*`", rune(line[i])):
			default:
				b.WriteByte(line[i])
			}
		}
	}
	return b.String()
}
