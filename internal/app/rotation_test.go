package app_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack/slacktest"
	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/app"
	"sluice/internal/model/modeltest"
)

// secretPlace is where a configuration has its secrets from.
type secretPlace struct {
	refer   func(name string) string
	put     func(name, value string)
	env     map[string]string
	restart bool // a process has the environment with which it was started
}

func secretPlaces(t *testing.T) map[string]secretPlace {
	t.Helper()
	inFolder := func(folder string) func(name, value string) {
		return func(name, value string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(value+"\n"), 0o600))
		}
	}
	files, credentials, env := t.TempDir(), t.TempDir(), map[string]string{}
	return map[string]secretPlace{
		"file":        {refer: func(name string) string { return "${file:" + files + "/" + name + "}" }, put: inFolder(files)},
		"credential":  {refer: func(name string) string { return "${credential:" + name + "}" }, put: inFolder(credentials), env: map[string]string{"CREDENTIALS_DIRECTORY": credentials}},
		"environment": {refer: func(name string) string { return "${" + name + "}" }, put: func(name, value string) { env[name] = value }, env: env, restart: true},
	}
}

// restart ends the gateway, and starts another one on its state with its configuration file.
func (g *gateway) restart(path string) {
	g.t.Helper()
	source := g.Source
	g.end()
	var err error
	g.cfg, err = source.Loader.Load(path)
	require.NoError(g.t, err)
	g.App = app.New(g.cfg, "test", slog.New(slog.NewTextHandler(g.log, nil)))
	g.Source, g.committed = source, g.Committed()
	require.NoError(g.t, g.Start(g.t.Context()))
}

// rotating is a gateway whose secrets change while it works: the tokens of a bot and of an app, the key of a model, and the
// gateway's own token.
type rotating struct {
	*gateway
	path   string
	place  secretPlace
	bots   *telegramtest.Server
	slack  *slacktest.Server
	models *modeltest.Server

	mu      sync.Mutex
	release chan struct{} // closed when held answers of the model may go on
	holding chan struct{} // gets one when the model holds an answer back
}

func startRotating(t *testing.T, place secretPlace) *rotating {
	t.Helper()
	r := &rotating{
		place: place, bots: telegramtest.Start(t, telegramtest.Options{}), slack: slacktest.Start(t, slacktest.Options{}),
		release: make(chan struct{}), holding: make(chan struct{}, 1),
	}
	var err error
	r.models, err = modeltest.NewServer(modeltest.Options{Key: "key-0"})
	require.NoError(t, err)
	t.Cleanup(r.models.Close)
	r.models.Always(r.reply)
	r.keep(r.bots.Token(), slacktest.BotToken, slacktest.AppToken, 0)
	text := `gateway: { token: "` + place.refer("GATEWAY") + `" }
owners: ["telegram:1001", "slack:` + slacktest.Person(1) + `"]
models: { default: p/m, providers: { p: { kind: openai, apiKey: "` + place.refer("MODEL") + `", baseURL: "` + r.models.OpenAIURL() + `" } } }
session: { dmScope: per-channel-peer, queue: { mode: followup, cap: 100 } }
channels:
  telegram: { accounts: { default: { token: "` + place.refer("TELEGRAM") + `", apiBase: "` + r.bots.URL() + `" } } }
  slack: { accounts: { default: { botToken: "` + place.refer("SLACK_BOT") + `", appToken: "` + place.refer("SLACK_APP") + `", apiBase: "` + r.slack.URL() + `" } } }
`
	r.gateway, r.path = fromFile(t, text, place.env)
	return r
}

// reply echoes what a person wrote. A text with "held" costs a call of a tool, whose request waits until the keys have changed.
func (r *rotating) reply(q modeltest.Request) modeltest.Reply {
	texts := []string{}
	tool := false
	for _, m := range q.Messages {
		switch m.Role {
		case "user":
			texts = append(texts, m.Text)
		case "tool":
			tool = true
		default:
			tool = false
		}
	}
	said := texts[len(texts)-1]
	if !strings.Contains(said, "held") || tool {
		return modeltest.Say("echo: " + said)
	}
	r.mu.Lock()
	release := r.release
	r.mu.Unlock()
	r.holding <- struct{}{}
	<-release
	return modeltest.Call("session_status", `{}`)
}

// letGo lets held answers of the model go on.
func (r *rotating) letGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.release)
	r.release = make(chan struct{})
}

// keep puts the secrets of a turn where the configuration has them from.
func (r *rotating) keep(bot, slackBot, slackApp string, turn int) {
	for name, value := range map[string]string{
		"TELEGRAM": bot, "SLACK_BOT": slackBot, "SLACK_APP": slackApp, "MODEL": fmt.Sprintf("key-%d", turn), "GATEWAY": gatewayToken(turn),
	} {
		r.place.put(name, value)
	}
}

func gatewayToken(turn int) string { return fmt.Sprintf("the-token-of-the-owner-%d", turn) }

// post writes to the main session as programs do: it repeats a message with its id until the gateway has answered it.
func (r *rotating) post(text string, turn int) (status int, reply string) {
	resp := r.call(http.MethodPost, "/v1/sessions/main/messages", fmt.Sprintf(`{"message":%q,"id":%q}`, text, text), "Authorization", "Bearer "+gatewayToken(turn))
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, ""
	}
	var got turnReply
	read(r.t, resp, http.StatusOK, &got)
	return resp.StatusCode, got.Reply
}

// All secrets change again and again while people and programs write, wherever the configuration has them from. The old
// tokens are invalid before the gateway knows the new ones; the old key of the model, as providers do it, a moment after.
// Each message is answered, and none twice; so is the one whose run has begun with the old key.
func TestSecretsRotateWhileMessagesFlow(t *testing.T) {
	t.Parallel()
	for name, place := range secretPlaces(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRotating(t, place)
			id, _, _ := strings.Cut(r.bots.Token(), ":")
			const turns, each = 3, 3
			said := []string{}
			say := func(text string) {
				r.bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, text)
				r.slack.Say(1, text)
				said = append(said, "echo: "+text)
			}
			posted := []string{}
			for turn := range turns {
				for n := range each {
					say(fmt.Sprintf("message %d of turn %d", n, turn))
				}
				held := fmt.Sprintf("held in turn %d", turn)
				first := make(chan int, 1)
				go func() {
					status, _ := r.post(held, turn)
					first <- status
				}()
				<-r.holding
				if place.restart {
					r.letGo()
					require.Equal(t, http.StatusOK, <-first)
				}

				next := turn + 1
				bot, slackBot, slackApp := fmt.Sprintf("%s:%035d", id, next), fmt.Sprintf("xoxb-%d-fake", next), fmt.Sprintf("xapp-%d-fake", next)
				r.bots.Rotate(bot)
				r.slack.Rotate(slackBot, slackApp)
				r.models.Accept(fmt.Sprintf("key-%d", turn), fmt.Sprintf("key-%d", next))
				say(fmt.Sprintf("message to nobody in turn %d", turn))
				r.keep(bot, slackBot, slackApp, next)
				if place.restart {
					r.restart(r.path)
				} else {
					require.Empty(t, r.again(r.path), "nothing waits for a restart")
				}
				r.models.Accept(fmt.Sprintf("key-%d", next))
				if !place.restart {
					r.letGo()
					require.Contains(t, []int{http.StatusUnauthorized, http.StatusOK}, <-first, "the run goes on, and may end first")
				}
				status, _ := r.post("with the old token", turn)
				require.Equal(t, http.StatusUnauthorized, status)
				for _, text := range []string{held, fmt.Sprintf("posted in turn %d", turn)} {
					status, reply := r.post(text, next)
					require.Equal(t, http.StatusOK, status)
					require.Equal(t, "echo: "+text, reply)
					posted = append(posted, text)
				}
			}
			r.check(said, posted)
		})
	}
}

// check compares what was said with what was answered.
func (r *rotating) check(said, posted []string) {
	t := r.t
	_, err := r.bots.WaitSent(t.Context(), 1001, len(said))
	require.NoError(t, err)
	_, err = r.slack.WaitShown(t.Context(), slacktest.DirectID(1), len(said))
	require.NoError(t, err)
	require.NoError(t, r.bots.WaitConfirmed(t.Context()))
	require.NoError(t, r.slack.WaitConfirmed(t.Context()))
	var onTelegram, onSlack []string
	for _, m := range r.bots.Sent(1001) {
		onTelegram = append(onTelegram, m.Text)
	}
	for _, m := range r.slack.Shown(slacktest.DirectID(1)) {
		onSlack = append(onSlack, m.Text)
	}
	require.ElementsMatch(t, said, onTelegram)
	require.ElementsMatch(t, said, onSlack)
	require.Empty(t, r.bots.Violations())
	require.Empty(t, r.models.Violations())

	asked := map[string]int{}
	for _, q := range r.models.Requests() {
		if texts := q.Pending(); len(texts) == 1 {
			asked[texts[0]]++
		}
	}
	for _, text := range posted {
		require.Equal(t, 1, asked[text], "%s: %v", text, slices.Sorted(maps.Keys(asked)))
	}
}
