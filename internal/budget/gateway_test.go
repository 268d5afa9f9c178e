package budget

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/app"
	"sluice/internal/config"
	"sluice/internal/model/modeltest"
	"sluice/store/trace"
)

// patience is how long an answer may take before the test fails.
const patience = 30 * time.Second

// gateway is a whole gateway with its platform and its model.
type gateway struct {
	t      *testing.T
	meter  *meter
	chats  *telegramtest.Server
	models *modeltest.Server
	turns  atomic.Int64 // that an exchange has
}

// people is how many there are; all are owners, so that their agents may ask each other.
const people = 256

func firstOf(n int) int64 { return int64(10_000 + n) }

func newGateway(t *testing.T, storeURL string, m *meter) *gateway {
	t.Helper()
	g := &gateway{t: t, meter: m, chats: telegramtest.Start(t, telegramtest.Options{Forget: true})}
	models, err := modeltest.NewServer(modeltest.Options{Forget: true})
	require.NoError(t, err)
	t.Cleanup(models.Close)
	g.models = models
	models.Always(g.reply)
	owners := make([]string, people)
	for n := range owners {
		owners[n] = fmt.Sprintf(`"telegram:%d"`, firstOf(n))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "sluice.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`gateway: { listen: 127.0.0.1:0, token: test-token }
state: `+filepath.Join(dir, "state")+`
store: { url: "`+storeURL+`" }
owners: [`+strings.Join(owners, ", ")+`]
models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
session: { dmScope: per-channel-peer, queue: { mode: followup } }
tools: { sessions: { visibility: all } }
channels:
  telegram:
    groupPolicy: open
    groups: { "*": { requireMention: false } }
    accounts: { default: { token: "`+g.chats.Token()+`", apiBase: "`+g.chats.URL()+`" } }
`), 0o600))
	cfg, err := config.System().Load(path)
	require.NoError(t, err)
	a := app.New(cfg, "test", slog.New(slog.DiscardHandler))
	require.NoError(t, a.Start(trace.With(t.Context(), g.meter.hear)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		a.Stop(ctx)
	})
	return g
}

var (
	turn = regexp.MustCompile(`turn (\d+) of`)
	ask  = regexp.MustCompile(`^ask (\S+)$`)
)

// reply is the model: it calls a tool, asks another session or answers, as the last message says.
func (g *gateway) reply(q modeltest.Request) modeltest.Reply {
	last := q.Messages[len(q.Messages)-1]
	if last.Role == "tool" {
		return modeltest.Say("Done.")
	}
	if m := turn.FindStringSubmatch(q.System); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 64); err != nil || n > g.turns.Load() {
			return modeltest.Say("REPLY_SKIP")
		}
		return modeltest.Say("Go on.")
	}
	if m := ask.FindStringSubmatch(strings.TrimSpace(last.Text)); m != nil {
		return modeltest.Call("sessions_send", `{"sessionKey":"`+m[1]+`","message":"A question.","timeoutSeconds":0}`)
	}
	if strings.TrimSpace(last.Text) == "tool" {
		return modeltest.Call("session_status", `{}`)
	}
	return modeltest.Say("Yes, the sun shines and it stays warm.")
}

// say lets a person write and waits until the answers were sent and stored.
func (g *gateway) say(chat telegramtest.Chat, person int64, text string, answers int) {
	g.t.Helper()
	g.chats.Say(chat, telegramtest.User{ID: person, FirstName: "Ada"}, text)
	for range answers {
		select {
		case <-g.meter.sent:
		case <-time.After(patience):
			require.FailNow(g.t, "no answer", "to %q", text)
		}
	}
}
