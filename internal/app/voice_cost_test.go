package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
)

// voiced is a gateway whose provider audio hears for 0.60 USD a minute and speaks for 1.20 a minute; both recordings are that of
// the test data, which lasts about three seconds.
func voiced(t *testing.T, budgets, prices string) (g *gateway, bots *telegramtest.Server, asked chan string, voice []byte) {
	t.Helper()
	bots, llm := platforms(t)
	voice, err := os.ReadFile(filepath.Join("..", "recording", "testdata", "voice.ogg"))
	require.NoError(t, err)
	asked = make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if strings.HasSuffix(r.URL.Path, "transcriptions") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"text":"Buy milk."}`)
			return
		}
		w.Header().Set("Content-Type", "audio/ogg")
		_, _ = w.Write(voice)
	}))
	t.Cleanup(srv.Close)
	return start(t, `owners: ["telegram:1001"]
channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
models:
  default: p/m
  providers: { p: { kind: openai, apiKey: key, baseURL: "`+llm.OpenAIURL()+`" }, audio: { kind: openai, apiKey: audio-key, baseURL: "`+srv.URL+`/v1" } }
  prices: { p/m: { input: 0, output: 0 }`+prices+` }
media: { transcription: { provider: audio, model: ears }, speech: { provider: audio, model: mouth, voice: alloy } }
budgets: [`+budgets+`]
`), bots, asked, voice
}

const minutes = `, audio/ears: { minute: 0.60 }, audio/mouth: { minute: 1.20 }`

// Transcriptions and spoken replies are rows of the ledger with their cause, and count towards budgets.
func TestRecordingsCostMoney(t *testing.T) {
	t.Parallel()
	g, bots, asked, voice := voiced(t, `{ name: house, scope: gateway, limit: 50, per: day }, { name: each, scope: person, limit: 100000, unit: tokens, per: day }`, minutes)
	owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
	bots.Say(chat, owner, "/voice on")
	_, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	bots.Record(chat, owner, 3, voice)
	_, err = bots.WaitSent(t.Context(), 1001, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"/v1/audio/transcriptions", "/v1/audio/speech"}, []string{<-asked, <-asked})
	g.settled()
	type sum struct {
		Agent, Person, Model, Key, Session, Cost, Currency string
		Calls, Failed, Estimated                           int
		Tokens                                             struct{ Input int }
		AudioSeconds                                       float64 `json:"audio_seconds"`
	}
	var usage struct{ Rows, Totals []sum }
	read(t, g.call(http.MethodGet, "/v1/usage?by=agent,person,model,key,session&provider=audio", ""), http.StatusOK, &usage)
	require.Len(t, usage.Rows, 2)
	session := usage.Rows[0].Session
	require.NotEmpty(t, session)
	row := sum{Agent: "main", Person: "telegram:1001", Key: "key1", Session: session, Currency: "USD", Calls: 1, AudioSeconds: 3}
	heard, said := row, row
	said.Model, said.Cost = "audio/mouth", "0.06"
	heard.Model, heard.Cost = "audio/ears", "0.03"
	require.Equal(t, []sum{said, heard}, usage.Rows)
	require.InEpsilon(t, 6.0, usage.Totals[0].AudioSeconds, 0)
	var table struct {
		Budgets []struct{ Name, Used, Reserved string }
	}
	read(t, g.call(http.MethodGet, "/v1/budgets", ""), http.StatusOK, &table)
	require.Equal(t, "house 0.09 0", table.Budgets[0].Name+" "+table.Budgets[0].Used+" "+table.Budgets[0].Reserved)
	answer := g.call(http.MethodGet, "/v1/usage?by=model&format=csv&provider=audio", "")
	defer answer.Body.Close() //nolint:errcheck // only read from
	csv, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Contains(t, string(csv), "audio_seconds,cost,currency\naudio/mouth,1,0,0,0,0,0,0,0,0,3,0.06,USD\n")
}

// A recording that no budget covers is not transcribed, and the agent is told why. The message is answered anyway.
func TestRecordingsThatNoBudgetCovers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ budget, prices, says string }{
		"too dear":      {`{ name: house, scope: person, limit: 0.02, per: day }`, minutes, "the budget does not cover its transcription"},
		"without price": {`{ name: house, scope: provider, match: [audio], limit: 5, per: day }`, `, audio/ears: { input: 0, output: 0 }`, "the price of transcriptions is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, bots, asked, voice := voiced(t, test.budget, test.prices)
			bots.Record(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, 3, voice)
			_, err := bots.WaitSent(t.Context(), 1001, 1)
			require.NoError(t, err)
			g.settled()
			var history json.RawMessage
			read(t, g.call(http.MethodGet, "/v1/sessions/main/history", ""), http.StatusOK, &history)
			require.Contains(t, string(history), test.says)
			require.Empty(t, asked)
			var usage struct{ Rows []any }
			read(t, g.call(http.MethodGet, "/v1/usage?by=model&provider=audio", ""), http.StatusOK, &usage)
			require.Empty(t, usage.Rows)
		})
	}
}
