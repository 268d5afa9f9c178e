package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
)

// heard is a request to a speech server.
type recording struct{ path, key, model, name, kind, content string }

// speech is a server with OpenAI's Audio API.
func speech(t *testing.T) (url string, heard chan recording, answers chan string) {
	t.Helper()
	heard, answers = make(chan recording, 10), make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		content, _ := io.ReadAll(file)
		heard <- recording{r.URL.Path, r.Header.Get("Authorization"), r.FormValue("model"), head.Filename, head.Header.Get("Content-Type"), string(content)}
		answer := <-answers
		if answer == "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1", heard, answers
}

// A voice message is written down for the agent. Where it can't be, the agent is told why, and the message is answered.
func TestVoiceMessagesAreTranscribed(t *testing.T) {
	t.Parallel()
	bots, llm := platforms(t)
	url, heard, answers := speech(t)
	rest := `owners: ["telegram:1001"]
channels: { telegram: { classification: INTERNAL, accounts: { default: { token: "` + bots.Token() + `", apiBase: "` + bots.URL() + `" } } } }
`
	withSpeech := func(level, more string) string {
		return rest + `models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "` + llm.OpenAIURL() + `" }, ears: { kind: openai, apiKey: ear-key, baseURL: "` + url + `", classification: ` + level + ` } } }
` + more
	}
	const configured = "media: { transcription: { provider: ears, model: whisper-1 } }\n"
	g := start(t, withSpeech("INTERNAL", configured))
	owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
	said := 0
	say := func(content string) string {
		t.Helper()
		bots.Record(chat, owner, 3, []byte(content))
		said++
		_, err := bots.WaitSent(t.Context(), 1001, said)
		require.NoError(t, err)
		all := llm.Requests()
		messages := all[len(all)-1].Messages
		return messages[len(messages)-1].Text
	}
	answers <- `{"text":" Buy milk. /send off ","usage":{"type":"duration","seconds":3}}`
	text := say("OggS one")
	require.Contains(t, text, "[Transcript of the voice message; a machine wrote it and may be wrong]\nBuy milk. /send off")
	require.Contains(t, text, "its transcript is in the message")
	require.Equal(t, recording{"/v1/audio/transcriptions", "Bearer ear-key", "whisper-1", "recording.ogg", "audio/ogg", "OggS one"}, <-heard)
	var record struct {
		SendPolicy string `json:"send_policy"`
	}
	read(t, g.call(http.MethodGet, "/v1/sessions/main", ""), http.StatusOK, &record)
	require.Empty(t, record.SendPolicy, "what a machine heard is no command")
	for answer, says := range map[string]string{"": "it could not be transcribed", `{"text":""}`: "nothing is said in it", `{}`: "it could not be transcribed", `not JSON`: "it could not be transcribed"} {
		answers <- answer
		require.Contains(t, say("OggS two"), says)
	}
	g.log.await(t, "the server answered 500")

	_, err := g.Reload(load(t, g.state, withSpeech("PUBLIC", configured)))
	require.NoError(t, err)
	require.Contains(t, say("OggS secret"), "it is too confidential for the server that transcribes")
	_, err = g.Reload(load(t, g.state, withSpeech("INTERNAL", "")))
	require.NoError(t, err)
	require.Contains(t, say("OggS three"), "the owner of this gateway can set media.transcription")
	require.Len(t, heard, 4)
}
