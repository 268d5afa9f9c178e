package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/config"
	"sluice/internal/model/modeltest"
	"sluice/internal/sandbox/sandboxtest"
	"sluice/store/sqlite/sqlitetest"
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
	said++ // the notice
	require.Contains(t, say("OggS three"), "the owner of this gateway can set media.transcription")
	told := func() (n int) {
		for _, m := range bots.Sent(1001) {
			if strings.HasPrefix(m.Text, "I can't listen to voice messages yet") {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, told(), "people are told")
	say("OggS four")
	require.Equal(t, 1, told(), "once")
	require.Len(t, heard, 4)
}

// A command transcribes in the sandbox: it has the recording and what it names, and nothing else.
func TestACommandTranscribes(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	bots, llm := platforms(t)
	script := filepath.Join(t.TempDir(), "hear.sh")
	require.NoError(t, os.WriteFile(script, []byte("case $1 in *.ogg) echo \"I hear $(cat $1) and $(cat) in $(ls)\";; esac; ls / | grep -c home\ntest \"$(cat $1)\" != bad\n"), 0o600))
	g := start(t, `owners: ["telegram:1001"]
`+withModels(llm)+`channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
media: { transcription: { command: [sh, `+script+`, "{file}"] } }
`)
	owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
	for i, c := range []struct{ says, want string }{{"OggS", "I hear OggS and OggS in recording.ogg\n0"}, {"bad", "it could not be transcribed"}} {
		bots.Record(chat, owner, 3, []byte(c.says))
		_, err := bots.WaitSent(t.Context(), 1001, i+1)
		require.NoError(t, err)
		all := llm.Requests()
		messages := all[len(all)-1].Messages
		require.Contains(t, messages[len(messages)-1].Text, c.want)
	}
	g.log.await(t, "the command ended with 1")
}

// After /voice on, people get each reply as text and as a voice message, once. Where it can't be spoken, the text arrives all the same.
func TestRepliesAreSpoken(t *testing.T) {
	t.Parallel()
	bots, llm := platforms(t)
	asked, fails := make(chan string, 10), atomic.Bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
		if fails.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "audio/ogg")
		_, _ = io.WriteString(w, "OggS speech")
	}))
	t.Cleanup(srv.Close)
	g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	configured := func(level, media string) *config.Config {
		return loadText(t, `gateway: { listen: 127.0.0.1:0, token: test-token }
state: `+g.state+`
owners: ["telegram:1001"]
channels: { telegram: { classification: INTERNAL, accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+llm.OpenAIURL()+`" }, mouth: { kind: openai, apiKey: mouth-key, baseURL: "`+srv.URL+`/v1", classification: `+level+` } } }
media: `+media+"\n")
	}
	const speech = "{ speech: { provider: mouth, model: tts, voice: alloy } }"
	g.cfg = configured("INTERNAL", "{}")
	g.begin()
	t.Cleanup(g.end)
	owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
	say := func(text string, messages int) []telegramtest.Message {
		t.Helper()
		n := len(bots.Sent(1001))
		bots.Say(chat, owner, text)
		sent, err := bots.WaitSent(t.Context(), 1001, n+messages)
		require.NoError(t, err)
		return sent[n:]
	}
	require.Contains(t, say("/voice on", 1)[0].Plain, "can set media.speech")
	_, err := g.Reload(configured("INTERNAL", speech))
	require.NoError(t, err)
	require.Equal(t, "From your next message on, I also speak my replies.", say("/voice on", 1)[0].Plain)
	llm.Enqueue(modeltest.Say("**Good** morning."))
	sent := say("hello", 2)
	require.Equal(t, "Good morning.", sent[0].Plain)
	require.Equal(t, "OggS speech", string(sent[1].Content))
	require.Equal(t, `/v1/audio/speech Bearer mouth-key {"input":"Good morning.","model":"tts","response_format":"opus","voice":"alloy"}`, <-asked)
	voices := bots.Calls("sendVoice")
	require.Len(t, voices, 1, "as a voice message")
	g.end()
	g.cfg = configured("INTERNAL", speech)
	g.begin()
	require.Len(t, bots.Sent(1001), 4, "nothing is sent again")

	fails.Store(true)
	require.Len(t, say("and now?", 1), 1)
	g.log.await(t, "reply not spoken")
	<-asked
	_, err = g.Reload(configured("PUBLIC", speech)) // the conversation is INTERNAL
	require.NoError(t, err)
	say("a secret", 1)
	g.log.await(t, "too confidential for the speech server")
	require.Empty(t, asked)
	// It is sent after the recordings of before.
	require.Equal(t, "I no longer speak my replies.", say("/voice off", 1)[0].Plain)
	var list struct {
		Deliveries []struct{ Kind, Status string }
	}
	read(t, g.call(http.MethodGet, "/v1/deliveries?status=failed", ""), http.StatusOK, &list)
	require.Equal(t, "[{voice failed} {voice failed}]", fmt.Sprint(list.Deliveries), "what was not said is listed")
	say("bye", 1)
	require.Empty(t, asked)
}
