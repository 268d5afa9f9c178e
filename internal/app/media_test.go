package app_test

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/model/modeltest"
)

// A picture that somebody sends is seen by the model, and a text file read.
func TestModelSeesWhatIsSent(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))))
	for _, kind := range []string{"openai", "anthropic"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			llm, err := modeltest.Start()
			require.NoError(t, err)
			t.Cleanup(llm.Close)
			url := map[string]string{"openai": llm.OpenAIURL(), "anthropic": llm.AnthropicURL()}[kind]
			bots := telegramtest.Start(t, telegramtest.Options{})
			start(t, `owners: ["telegram:1001"]
models: { default: p/m, providers: { p: { kind: `+kind+`, apiKey: key, baseURL: "`+url+`" } } }
channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
			owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
			bots.Upload(chat, owner, models.Document{FileName: "cat.png", MimeType: "image/png"}, picture.Bytes())
			_, err = bots.WaitSent(t.Context(), 1001, 1)
			require.NoError(t, err)
			bots.Upload(chat, owner, models.Document{FileName: "notes.txt", MimeType: "text/plain"}, []byte("remember the milk"))
			_, err = bots.WaitSent(t.Context(), 1001, 2)
			require.NoError(t, err)

			asked := llm.Requests()
			require.Len(t, asked, 2)
			require.Equal(t, []modeltest.Picture{{MIME: "image/png", Content: picture.Bytes()}}, asked[0].Messages[0].Pictures)
			require.Len(t, asked[1].Messages[0].Pictures, 1, "it is still shown with the next question")
			require.Contains(t, asked[1].Messages[2].Text, "remember the milk")
			require.Empty(t, llm.Violations())
			require.Empty(t, bots.Violations())
		})
	}
}

// A text that Telegram's app has cut in two is one question.
func TestTextThatTheAppHasCut(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	g := start(t, `owners: ["telegram:1001"]
models: { default: offline/echo }
session: { queue: { mode: followup } }
channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
	bots.Say(chat, owner, strings.Repeat("word ", 819)[:4090])
	bots.Say(chat, owner, "and the end.")
	bots.Say(chat, owner, "And something else.")
	sent, err := bots.WaitSent(t.Context(), 1001, 3)
	require.NoError(t, err)
	require.Equal(t, "echo: And something else.", sent[2].Text)
	require.NotContains(t, sent[1].Text, "echo:", "the long answer goes on")
	require.Contains(t, sent[1].Text, "and the end.")
	var runs struct {
		Runs []struct{ Status string }
	}
	read(t, g.call(http.MethodGet, "/v1/runs", ""), http.StatusOK, &runs)
	require.Len(t, runs.Runs, 3)
}
