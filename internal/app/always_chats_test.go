package app_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/discord/discordtest"
	"sluice/adapters/slack/slacktest"
	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/model/modeltest"
	"sluice/sessions"
)

// ownersChat is the owner's chat with the bot on a platform.
type ownersChat struct {
	config string // of the channel and its owner
	say    func(text string)
	shown  func() []chatMessage
	press  func(m chatMessage, label string)
	wrong  func() []string
}

// chatMessage is a message of the bot as the chat shows it now.
type chatMessage struct {
	id, text string
	buttons  []string
}

func telegramChat(t *testing.T) ownersChat {
	t.Helper()
	bots, ada := telegramtest.Start(t, telegramtest.Options{}), telegramtest.User{ID: 1001, FirstName: "Ada"}
	chat := telegramtest.Private(ada.ID)
	return ownersChat{
		config: `owners: ["telegram:1001"]
channels: { telegram: { accounts: { default: { token: "` + bots.Token() + `", apiBase: "` + bots.URL() + `" } } } }
`,
		say: func(text string) { bots.Say(chat, ada, text) },
		shown: func() (all []chatMessage) {
			for _, m := range bots.Sent(ada.ID) {
				shown := chatMessage{id: strconv.FormatInt(m.ID, 10), text: m.Plain}
				for _, b := range m.Buttons {
					shown.buttons = append(shown.buttons, b.Label)
				}
				all = append(all, shown)
			}
			return all
		},
		press: func(m chatMessage, label string) {
			for _, sent := range bots.Sent(ada.ID) {
				if strconv.FormatInt(sent.ID, 10) == m.id {
					require.True(t, bots.Press(chat, sent.ID, ada, label))
				}
			}
		},
		wrong: bots.Violations,
	}
}

func slackChat(t *testing.T) ownersChat {
	t.Helper()
	slack := slacktest.StartPlatform(t, slacktest.Options{})
	place, ada := sessions.Route{Conversation: sessions.ConversationID(slacktest.DirectID(1))}, sessions.Peer{ID: sessions.UserID(slacktest.Person(1))}
	return ownersChat{
		config: `owners: ["slack:` + slacktest.Person(1) + `"]
channels: { slack: { accounts: { default: { botToken: ` + slacktest.BotToken + `, appToken: ` + slacktest.AppToken + `, signingSecret: ` + slacktest.SigningSecret + `, apiBase: "` + slack.URL() + `" } } } }
`,
		say: func(text string) { slack.Server.Say(1, text) },
		shown: func() (all []chatMessage) {
			for _, m := range slack.Shown(place) {
				all = append(all, chatMessage{string(m.ID), m.Plain, m.Buttons})
			}
			return all
		},
		press: func(m chatMessage, label string) {
			slack.Press(place, sessions.PlatformMessageID(m.id), ada, label)
		},
		wrong: slack.Violations,
	}
}

func discordChat(t *testing.T) ownersChat {
	t.Helper()
	discord, chat := discordtest.Start(t, discordtest.Options{}), discordtest.DirectID(1)
	return ownersChat{
		config: `owners: ["discord:1"]
channels: { discord: { accounts: { default: { token: "` + discord.Token() + `", apiBase: "` + discord.URL() + `" } } } }
`,
		say: func(text string) { discord.Say(chat, 1, text) },
		shown: func() (all []chatMessage) {
			for _, m := range discord.Shown(chat) {
				shown := chatMessage{id: m.ID, text: m.Content}
				for _, b := range m.Buttons {
					shown.buttons = append(shown.buttons, b.Label)
				}
				all = append(all, shown)
			}
			return all
		},
		press: func(m chatMessage, label string) {
			for _, sent := range discord.Shown(chat) {
				for _, b := range sent.Buttons {
					if sent.ID == m.id && b.Label == label {
						discord.Press(chat, sent.ID, 1, b.Value)
					}
				}
			}
		},
		wrong: discord.Violations,
	}
}

// An owner always allows a call with two buttons of a chat: the first shows the rule, the second saves it. The next call like it
// asks nobody, and no button is left.
func TestAlwaysAllowByButtons(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) ownersChat{"telegram": telegramChat, "slack": slackChat, "discord": discordChat} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			models, err := modeltest.Start()
			require.NoError(t, err)
			t.Cleanup(models.Close)
			chat := open(t)
			g := start(t, asks+withModels(models)+chat.config)
			find := func(fits func(m chatMessage) bool) (found chatMessage) {
				t.Helper()
				g.soon(func() bool {
					all := chat.shown()
					at := slices.IndexFunc(all, fits)
					if at >= 0 {
						found = all[at]
					}
					return at >= 0
				})
				return found
			}
			says := func(text string) func(chatMessage) bool {
				return func(m chatMessage) bool { return strings.Contains(m.text, text) }
			}
			offers := func(label string) func(chatMessage) bool {
				return func(m chatMessage) bool { return slices.Contains(m.buttons, label) }
			}
			var rules struct{ Rules []allowRule }
			var waiting struct{ Approvals []struct{ ID string } }
			look := func() {
				t.Helper()
				read(t, g.call(http.MethodGet, "/v1/policy/allow-rules", ""), http.StatusOK, &rules)
				read(t, g.call(http.MethodGet, "/v1/approvals", ""), http.StatusOK, &waiting)
			}

			args := `{"key":"plan","content":"due on Friday"}`
			models.Enqueue(modeltest.Call("memory_save", args), modeltest.Say("It is kept."), modeltest.Call("memory_save", args), modeltest.Say("It is kept again."))
			chat.say("keep it")
			chat.press(find(offers("Always allow…")), "Always allow…")
			shown := find(offers("Save rule and allow"))
			require.Contains(t, shown.text, "alwaysAllow:")
			require.Contains(t, shown.text, "tool: memory_save")
			require.Contains(t, shown.text, "content: due on Friday")
			look()
			require.Empty(t, rules.Rules, "showing the rule saves nothing")
			require.Len(t, waiting.Approvals, 1, "and decides nothing")

			chat.press(shown, "Save rule and allow")
			find(says("It is kept."))
			look()
			require.Len(t, rules.Rules, 1)
			require.Equal(t, "memory_save", rules.Rules[0].Tool)
			require.Empty(t, waiting.Approvals)
			g.soon(func() bool {
				return !slices.ContainsFunc(chat.shown(), func(m chatMessage) bool { return len(m.buttons) > 0 })
			})

			chat.say("keep it again")
			find(says("It is kept again."))
			require.Empty(t, chat.wrong())
			require.Empty(t, models.Violations())
		})
	}
}
