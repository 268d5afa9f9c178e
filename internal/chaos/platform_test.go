package chaos_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/adaptertest"
	"sluice/adapters/discord/discordtest"
	"sluice/adapters/slack/slacktest"
	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/chaos/child"
)

// platform is a fake of a chat platform with one bot on it, which every person
// has a direct chat with. It is safe for concurrent use.
type platform interface {
	// channels are the lines of the gateway's configuration below "channels:".
	channels() string
	// attend says where the gateway listens; it is called before the gateway starts.
	attend(listen string)
	// say lets a person write, and names the event; redeliver gives an event again.
	say(person int64, text string) (event string)
	redeliver(event string)
	// late reports whether the platform gave an event again, perhaps after later ones.
	late(event string) bool
	// waitConfirmed waits until the gateway has confirmed all events.
	waitConfirmed(ctx context.Context) error
	// shown are the bot's messages to a person as they are now, in order.
	shown(person int64) []string
	// settles: the bot can look up what happened to a message whose answer was lost, so nothing may show twice.
	settles() bool
	// loseAnswers lets the next calls that post a message take effect and cuts their
	// connections before the answer; cut cuts all connections that are open.
	loseAnswers(calls int)
	cut()
	// connections is how many connections for events are open, and what one gateway keeps at most.
	connections() (open, most int)
}

// platforms start a fake each; noteShown is called after each message that the bot has sent or edited.
var platforms = map[string]func(t *testing.T, noteShown func()) platform{
	"telegram":     startTelegram,
	"slack socket": func(t *testing.T, noteShown func()) platform { return startSlack(t, false, noteShown) },
	"slack http":   func(t *testing.T, noteShown func()) platform { return startSlack(t, true, noteShown) },
	"discord":      startDiscord,
}

type telegramPlatform struct{ *telegramtest.Server }

func startTelegram(t *testing.T, noteShown func()) platform {
	t.Helper()
	return telegramPlatform{telegramtest.Start(t, telegramtest.Options{OnSent: func(telegramtest.Message) { noteShown() }})}
}

func (p telegramPlatform) channels() string {
	return child.Telegram(p.URL(), telegramtest.DefaultToken)
}

func (p telegramPlatform) attend(string) {}

func (p telegramPlatform) say(person int64, text string) string {
	said := p.Say(telegramtest.Private(person), telegramtest.User{ID: person, FirstName: "P"}, text)
	return fmt.Sprint(said.UpdateID)
}

func (p telegramPlatform) redeliver(event string) {
	var id int64
	_, _ = fmt.Sscan(event, &id) // say made it
	p.Redeliver(id)
}

func (p telegramPlatform) late(string) bool { return false }

func (p telegramPlatform) waitConfirmed(ctx context.Context) error { return p.WaitConfirmed(ctx) }

func (p telegramPlatform) shown(person int64) []string {
	var texts []string
	for _, m := range p.Sent(person) {
		texts = append(texts, m.Plain)
	}
	return texts
}

func (p telegramPlatform) settles() bool { return false }

func (p telegramPlatform) loseAnswers(calls int) {
	p.Inject(telegramtest.DropAfter().On("sendMessage").For(calls))
}

func (p telegramPlatform) cut() { p.Drop() }

// connections counts also those that cut off another one, as Telegram lets the last one win.
func (p telegramPlatform) connections() (open, most int) {
	open = p.Rivals()
	if p.Polling() {
		open++
	}
	return open, 1
}

type slackPlatform struct {
	*slacktest.Server
	http bool
}

func startSlack(t *testing.T, http bool, noteShown func()) platform {
	t.Helper()
	opts := slacktest.Options{HTTP: http, OnSent: func(string, string) { noteShown() }}
	return slackPlatform{slacktest.Start(t, opts), http}
}

func (p slackPlatform) channels() string {
	mode := "socket"
	if p.http {
		mode = "http"
	}
	return fmt.Sprintf(`  slack:
    dmPolicy: open
    accounts:
      default: { botToken: %q, appToken: %q, signingSecret: %q, mode: %s, apiBase: %q }
`, slacktest.BotToken, slacktest.AppToken, slacktest.SigningSecret, mode, p.URL())
}

func (p slackPlatform) attend(listen string) {
	p.Callback("http://" + listen + "/channels/slack/default")
}

func (p slackPlatform) say(person int64, text string) string {
	return slacktest.DirectID(int(person)) + "/" + p.Say(int(person), text)
}

func (p slackPlatform) redeliver(event string) { p.Redeliver(event) }

func (p slackPlatform) late(event string) bool { return p.Tries(event) > 1 }

func (p slackPlatform) waitConfirmed(ctx context.Context) error { return p.WaitConfirmed(ctx) }

func (p slackPlatform) shown(person int64) []string {
	var texts []string
	for _, m := range p.Shown(slacktest.DirectID(int(person))) {
		texts = append(texts, slacktest.Plain(m.Text))
	}
	return texts
}

func (p slackPlatform) settles() bool { return true }

func (p slackPlatform) loseAnswers(calls int) { p.Inject(slacktest.DropAfter().For(calls)) }

func (p slackPlatform) cut() { p.Drop() }

func (p slackPlatform) connections() (open, most int) { return p.Sockets(), 2 }

type discordPlatform struct{ *discordtest.Server }

func startDiscord(t *testing.T, noteShown func()) platform {
	t.Helper()
	s := discordtest.Start(t, discordtest.Options{OnSent: func(discordtest.Message) { noteShown() }})
	t.Cleanup(func() { require.Empty(t, s.Violations(), "requests break Discord's API") })
	return discordPlatform{s}
}

func (p discordPlatform) channels() string {
	return fmt.Sprintf(`  discord:
    dmPolicy: open
    accounts:
      default: { token: %q, apiBase: %q, gatewayURL: %q }
`, p.Token(), p.URL(), p.GatewayURL())
}

func (p discordPlatform) attend(string) {}

func (p discordPlatform) say(person int64, text string) string {
	channel := discordtest.DirectID(int(person))
	return channel + "/" + p.Say(channel, int(person), text)
}

func (p discordPlatform) redeliver(event string) {
	channel, id, _ := strings.Cut(event, "/")
	p.Repeat(channel, id)
}

func (p discordPlatform) late(string) bool { return false }

// waitConfirmed has nothing to wait for: Discord is told nothing of what arrived.
func (p discordPlatform) waitConfirmed(context.Context) error { return nil }

func (p discordPlatform) shown(person int64) []string {
	var texts []string
	for _, m := range p.Shown(discordtest.DirectID(int(person))) {
		texts = append(texts, m.Content)
	}
	return texts
}

func (p discordPlatform) settles() bool { return true }

func (p discordPlatform) loseAnswers(calls int) {
	p.Fault(adaptertest.Fault{Kind: adaptertest.ResetAfter, Times: calls})
}

func (p discordPlatform) cut() { p.DropConnections() }

func (p discordPlatform) connections() (open, most int) { return p.Connected(), 1 }
