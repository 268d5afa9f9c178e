package slacktest

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/sessions"
)

// What people do on a platform.

// Say implements adaptertest.Platform.
func (p *Platform) Say(place sessions.Route, from sessions.Peer, text string) adaptertest.Said {
	return p.write(place, from, text, nil)
}

func (p *Platform) write(place sessions.Route, from sessions.Peer, text string, f *file) adaptertest.Said {
	ts := p.Write(Line{
		Channel: string(place.Conversation), Thread: string(place.Thread), User: string(from.ID), Text: p.typed(text), file: f,
	})
	return adaptertest.Said{Event: string(place.Conversation) + "/" + ts, Place: place, ID: sessions.PlatformMessageID(ts)}
}

// Forward implements adaptertest.Platform.
func (p *Platform) Forward(place sessions.Route, from, writer sessions.Peer, text string) adaptertest.Said {
	ts := p.Write(Line{
		Channel: string(place.Conversation), Thread: string(place.Thread), User: string(from.ID),
		Attachments: []any{map[string]any{
			"id": 1, "is_msg_unfurl": true, "is_share": true, "channel_id": groupID, "channel_team": TeamID, "ts": "1600000000.000100", "author_id": string(writer.ID),
			"author_name": "shown name", "author_subname": "shown name", "from_url": "https://example.slack.com/archives/C0GROUP/p1600000000000100",
			"fallback": "[a day] person: " + text, "text": p.typed(text), "footer": "Posted in #general", "mrkdwn_in": []string{"text"},
		}},
	})
	return adaptertest.Said{Event: string(place.Conversation) + "/" + ts, Place: place, ID: sessions.PlatformMessageID(ts)}
}

// SayGarbled implements adaptertest.Garbler.
func (p *Platform) SayGarbled(place sessions.Route, from sessions.Peer, text string) adaptertest.Said {
	ts := p.Write(Line{
		Channel: string(place.Conversation), Thread: string(place.Thread), User: string(from.ID), Text: p.typed(text),
		Attachments: []any{"not an attachment"},
	})
	return adaptertest.Said{Event: string(place.Conversation) + "/" + ts, Place: place, ID: sessions.PlatformMessageID(ts)}
}

// typed is a text as Slack's apps send it: & < > encoded, but not those of the mention.
func (p *Platform) typed(text string) string {
	parts := strings.Split(text, p.Mention())
	for i, part := range parts {
		parts[i] = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(part)
	}
	return strings.Join(parts, p.Mention())
}

// Edit implements adaptertest.Platform.
func (p *Platform) Edit(said adaptertest.Said, text string) {
	p.Server.Edit(string(said.Place.Conversation), string(said.ID), p.typed(text))
}

// Delete implements adaptertest.Platform.
func (p *Platform) Delete(said adaptertest.Said) {
	p.Server.Delete(string(said.Place.Conversation), string(said.ID))
}

// names are the emoji that the suite uses, by Slack's names.
func names() map[string]string { return map[string]string{"👍": "+1", "👀": "eyes"} }

// React implements adaptertest.Platform.
func (p *Platform) React(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, r adapters.Reaction) {
	p.Server.React(string(place.Conversation), string(id), string(from.ID), names()[r.Emoji], r.Removed)
}

// Press implements adaptertest.Platform.
func (p *Platform) Press(place sessions.Route, id sessions.PlatformMessageID, from sessions.Peer, label string) {
	p.mu.Lock()
	m := p.places[string(place.Conversation)].find(string(id))
	labels, actions, values := m.buttons()
	p.mu.Unlock()
	at := slices.Index(labels, label)
	require.GreaterOrEqual(p.t, at, 0, "a button %q", label)
	p.Server.Press(string(place.Conversation), string(id), string(from.ID), actions[at], values[at])
}

// Command implements adaptertest.Platform.
func (p *Platform) Command(place sessions.Route, from sessions.Peer, name, arguments string) adaptertest.Said {
	return adaptertest.Said{Event: p.Server.Command(string(place.Conversation), string(from.ID), "/"+name, arguments), Place: place}
}

// Upload implements adaptertest.Platform.
func (p *Platform) Upload(place sessions.Route, from sessions.Peer, name, mime string, content []byte) adaptertest.Said {
	p.mu.Lock()
	f := &file{id: p.id("F"), name: name, mime: mime, content: content, owner: string(from.ID)}
	p.files[f.id] = f
	p.mu.Unlock()
	return p.write(place, from, "", f)
}
