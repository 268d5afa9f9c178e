package slacktest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/slack"
	"sluice/sessions"
)

// The group of a platform, and its thread.
const (
	groupID   = "C0GROUP"
	groupName = "general"
)

// quickPing makes a deaf socket known in a test's time.
const quickPing = time.Second

// Platform drives a [Server] for the suite of all adapters.
type Platform struct {
	*Server
	t      *testing.T
	thread string // ts of the message that the thread hangs on
}

var (
	_ adaptertest.Platform = (*Platform)(nil)
	_ adaptertest.Garbler  = (*Platform)(nil)
)

// StartPlatform starts a server for one test, with a group, a thread in it and three people.
func StartPlatform(t *testing.T, opts Options) *Platform {
	t.Helper()
	if opts.Redeliver == 0 {
		opts.Redeliver = 300 * time.Millisecond
	}
	p := &Platform{Server: Start(t, opts), t: t}
	p.Join(DirectID(1), Direct, "", Person(1))
	p.Join(groupID, Public, groupName, Person(1), Person(2), Person(3))
	p.mu.Lock()
	root := &message{ts: p.ts(), user: Person(1), text: "the thread hangs here"}
	p.places[groupID].messages = append(p.places[groupID].messages, root)
	p.thread = root.ts
	p.mu.Unlock()
	return p
}

// Adapter implements adaptertest.Platform.
func (p *Platform) Adapter(t *testing.T) adapters.Adapter {
	t.Helper()
	cfg := slack.Config{
		BotToken: BotToken, AppToken: AppToken, SigningSecret: SigningSecret, APIBase: p.URL(),
		PingTimeout: quickPing, CallTimeout: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	if p.opts.HTTP {
		cfg.Mode = slack.HTTP
	}
	a, err := slack.New(cfg)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	if p.opts.HTTP {
		return &mounted{Adapter: a, platform: p}
	}
	return a
}

// Limits implements adaptertest.Platform.
func (p *Platform) Limits() adaptertest.Limits {
	return adaptertest.Limits{
		Text: 4000, File: 1 << 30, Confirms: true, RetryAfter: true, Fails: true, Posts: p.opts.HTTP, Overtakes: !p.opts.HTTP,
		Hears: true, Forwards: true, Edits: true, Deletes: true, Reactions: true, Uploads: true, Commands: true,
	}
}

// Direct implements adaptertest.Platform.
func (p *Platform) Direct() sessions.Route {
	return p.place(sessions.Direct, DirectID(1), "")
}

// Group implements adaptertest.Platform.
func (p *Platform) Group() sessions.Route { return p.place(sessions.Group, groupID, "") }

// Thread implements adaptertest.Platform.
func (p *Platform) Thread() sessions.Route { return p.place(sessions.Group, groupID, p.thread) }

func (p *Platform) place(kind sessions.ChatType, id, thread string) sessions.Route {
	return sessions.Route{
		Channel: "slack", Account: "default", ChatType: kind, Space: TeamID,
		Conversation: sessions.ConversationID(id), Thread: sessions.ThreadID(thread),
	}
}

// Mention implements adaptertest.Platform.
func (p *Platform) Mention() string { return "<@" + BotUser + ">" }

// Person implements adaptertest.Platform.
func (p *Platform) Person(n int) sessions.Peer {
	name := fmt.Sprintf("Person %d", n+1)
	return sessions.Peer{ID: sessions.UserID(Person(n + 1)), Name: name, Username: strings.ToLower(strings.ReplaceAll(name, " ", "."))}
}

// Redeliver implements adaptertest.Platform.
func (p *Platform) Redeliver(said adaptertest.Said) { p.Server.Redeliver(said.Event) }

// Confirmed implements adaptertest.Platform.
func (p *Platform) Confirmed(said adaptertest.Said) bool { return p.Server.Confirmed(said.Event) }

// WaitConfirmed implements adaptertest.Platform.
func (p *Platform) WaitConfirmed(ctx context.Context, said adaptertest.Said) error {
	return p.wait(ctx, func() bool { return p.confirmed(said.Event) })
}

// Flood implements adaptertest.Platform.
func (p *Platform) Flood() []adaptertest.Said {
	var all []adaptertest.Said
	for _, name := range p.Server.Flood() {
		all = append(all, adaptertest.Said{Event: name})
	}
	return all
}

// DropConnections implements adaptertest.Platform.
func (p *Platform) DropConnections() {
	p.settle()
	p.Drop()
}

// Deafen implements adaptertest.Platform.
func (p *Platform) Deafen() {
	p.settle()
	p.Server.Deafen()
}

// settle waits until an app that has sockets has both: one that opens only
// after the others broke would make that go unnoticed.
func (p *Platform) settle() {
	err := p.wait(p.t.Context(), func() bool {
		working := 0
		for _, c := range p.sockets {
			if !c.lost {
				working++
			}
		}
		return len(p.sockets) == 0 || working >= 2
	})
	require.NoError(p.t, err)
}

// Fault implements adaptertest.Platform.
func (p *Platform) Fault(f adaptertest.Fault) {
	fault := map[adaptertest.FaultKind]*Fault{
		adaptertest.RateLimited: RateLimit(int((f.After + time.Second - 1) / time.Second)),
		adaptertest.ServerError: Status(http.StatusServiceUnavailable, "<html>Slack is down</html>"),
		adaptertest.Garbage:     Status(http.StatusBadGateway, "<html>proxy</html>"),
		adaptertest.Hang:        Hang(),
		adaptertest.ResetBefore: DropBefore(),
		adaptertest.ResetAfter:  DropAfter(),
		adaptertest.Refused:     Code("channel_not_found"),
	}[f.Kind]
	require.NotNil(p.t, fault, "fault %s", f.Kind)
	p.Inject(fault.For(f.Times))
}

// Misdate implements adaptertest.Misdater.
func (p *Platform) Misdate() adapters.Receipt {
	const ts = "1700000000000.000100"
	p.Inject(Status(http.StatusOK, `{"ok":true,"channel":"D0001","ts":"`+ts+`"}`))
	return adapters.Receipt{MessageID: ts}
}

// Shown implements adaptertest.Platform.
func (p *Platform) Shown(place sessions.Route) []adaptertest.Shown {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen(place)
}

// seen is what a place shows of the app; mu is held.
func (p *Platform) seen(place sessions.Route) []adaptertest.Shown {
	var all []adaptertest.Shown
	for _, m := range p.places[string(place.Conversation)].messages {
		if !m.own || m.deleted || m.thread != string(place.Thread) {
			continue
		}
		labels, _, _ := m.buttons()
		shown := adaptertest.Shown{
			ID: sessions.PlatformMessageID(m.ts), Text: m.text, Plain: m.plainText(), Buttons: labels, Edited: m.edited != "", Private: m.private,
		}
		for _, reaction := range m.reactions {
			for char, name := range names() {
				if name == reaction {
					shown.Reactions = append(shown.Reactions, char)
				}
			}
		}
		if m.file != nil {
			shown.File, shown.Content = m.file.name, m.file.content
		}
		all = append(all, shown)
	}
	return all
}

// WaitShown implements adaptertest.Platform.
func (p *Platform) WaitShown(ctx context.Context, place sessions.Route, n int) ([]adaptertest.Shown, error) {
	var shown []adaptertest.Shown
	err := p.wait(ctx, func() bool {
		shown = p.seen(place)
		return len(shown) >= n
	})
	if err != nil {
		return shown, fmt.Errorf("wait for %d messages in %s, have %d: %w", n, place.Conversation, len(shown), err)
	}
	return shown, nil
}

// Typing implements adaptertest.Platform: apps can't show on Slack that they type.
func (p *Platform) Typing(sessions.Route) int { return 0 }
