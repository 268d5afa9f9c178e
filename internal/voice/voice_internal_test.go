package voice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config/agents"
	"sluice/internal/model"
	"sluice/internal/model/meter"
	"sluice/internal/sandbox"
	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/attach"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// serverAt is a voice whose provider "audio" is INTERNAL.
func serverAt(t *testing.T, url string) *Voice {
	t.Helper()
	registry, err := model.New(map[string]model.ProviderConfig{"audio": {Kind: "openai", BaseURL: url, Classification: flow.Internal}}, model.Options{})
	require.NoError(t, err)
	v := &Voice{Models: &atomic.Pointer[model.Registry]{}, Meter: &counter{}, Now: time.Now}
	v.Models.Store(registry)
	return v
}

// counter is a meter that notes the calls. With refuses, it makes none.
type counter struct {
	refuses error
	calls   []meter.Audio
	lasted  []time.Duration
}

func (c *counter) Hear(ctx context.Context, a meter.Audio, ask func(context.Context) (time.Duration, error)) error {
	c.calls = append(c.calls, a)
	if c.refuses != nil {
		return c.refuses
	}
	lasted, err := ask(ctx)
	c.lasted = append(c.lasted, lasted)
	return err
}

// sound is a WAV file of a second.
func sound() string {
	return "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x07\x00\x01\x00\xe8\x03\x00\x00\xe8\x03\x00\x00\x01\x00\x08\x00data\xe8\x03\x00\x00" + strings.Repeat("x", 1000)
}

// What a server hears is counted: at most as long as the recording lasts, then as long as the server says.
func TestTranscriptionsAreCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content, answer string
		longest, lasted time.Duration
	}{
		"the server says it":       {sound(), `{"text":"a","usage":{"type":"duration","seconds":3}}`, time.Second, 3 * time.Second},
		"the server says a length": {sound(), `{"text":"a","duration":2.5}`, time.Second, 2500 * time.Millisecond},
		"as a text":                {sound(), `{"text":"a","duration":"2"}`, time.Second, 2 * time.Second},
		"it counts tokens":         {sound(), `{"text":"a","usage":{"type":"tokens","input_tokens":14,"seconds":9}}`, time.Second, time.Second},
		"it says nonsense":         {sound(), `{"text":"a","duration":-4,"usage":{"type":"duration","seconds":{}}}`, time.Second, time.Second},
		"a format not known":       {"1234567890", `{"text":"a"}`, 20 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, _ := audio(t, map[string]string{"/v1/audio/transcriptions": test.answer})
			v.Configure(agents.Media{Transcription: agents.Transcription{Provider: "audio", Model: "whisper"}})
			_, err := v.Transcribe(t.Context(), attach.Recording{Content: []byte(test.content), Label: public})
			require.NoError(t, err)
			c := v.Meter.(*counter)
			require.Equal(t, []meter.Audio{{Provider: "audio", Key: "key1", Model: "whisper", Level: flow.Public, Longest: test.longest}}, c.calls)
			require.Equal(t, []time.Duration{test.lasted}, c.lasted)
		})
	}
}

// A recording that no budget covers leaves the gateway to no server.
func TestWhatNoBudgetCoversIsNotHeard(t *testing.T) {
	t.Parallel()
	budget := &spending.Budget{Name: "house", Unit: "USD"}
	for want, refused := range map[error]*spending.Reached{
		attach.ErrOverBudget: {Budget: budget}, attach.ErrNoPriceToHear: {Budget: budget, Unpriced: true},
	} {
		v, asked := audio(t, nil)
		v.Meter = &counter{refuses: fmt.Errorf("refused: %w", refused)}
		v.Configure(agents.Media{Transcription: agents.Transcription{Provider: "audio", Model: "whisper"}, Speech: agents.Speech{Provider: "audio", Model: "kokoro"}})
		_, err := v.Transcribe(t.Context(), attach.Recording{Content: []byte("sound"), Label: public})
		require.ErrorIs(t, err, want)
		_, err = v.Speak(t.Context(), "Hello.", public)
		require.ErrorContains(t, err, "budget house")
		require.Empty(t, *asked)
	}
}

// What a server says is counted: at most half a second for each letter and a second for any other character, then as long as the recording lasts.
func TestSpeechIsCounted(t *testing.T) {
	t.Parallel()
	for content, lasted := range map[string]time.Duration{sound(): time.Second, "of another format": 0} {
		v, _ := audio(t, map[string]string{"/v1/audio/speech": content})
		v.Configure(agents.Media{Speech: agents.Speech{Provider: "audio", Model: "kokoro", Voice: "alloy"}})
		_, err := v.Speak(t.Context(), "**Grüße.**", public)
		require.NoError(t, err)
		c := v.Meter.(*counter)
		require.Equal(t, []meter.Audio{{Provider: "audio", Key: "key1", Model: "kokoro", Level: flow.Public, Longest: 4 * time.Second}}, c.calls)
		require.Equal(t, []time.Duration{lasted}, c.lasted)
	}
}

// After a failure that was waited for, the server is not asked for texts as long as the one that failed, so that it does not hold
// up the messages after each reply.
func TestASilentServerRests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		took, later time.Duration
		reload      bool
		ended       bool   // the gateway stops
		second      string // default: the same text
		rests       bool
	}{
		"at once":            {took: slow - 1},
		"after a while":      {took: slow, rests: true},
		"until its end":      {took: time.Minute, later: rest - 1, rests: true},
		"not longer":         {took: time.Minute, later: rest},
		"with other models":  {took: time.Minute, reload: true},
		"the gateway's stop": {took: time.Minute, ended: true},
		"a shorter text":     {took: time.Minute, second: "hello"},
		"a similar text":     {took: time.Minute, second: "hello there", rests: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock atomic.Int64
			var asked atomic.Int32
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				clock.Add(int64(c.took))
				if c.ended {
					stop()
				}
				w.WriteHeader(http.StatusBadRequest)
			}))
			defer server.Close()
			v := serverAt(t, server.URL)
			v.Configure(agents.Media{Speech: agents.Speech{Provider: "audio", Model: "kokoro"}})
			v.Now = func() time.Time { return time.Unix(0, clock.Load()) }
			_, err := v.Speak(ctx, "hello, world", public)
			require.Error(t, err)
			first := asked.Load()
			clock.Add(int64(c.later))
			if c.reload {
				v.Models.Store(serverAt(t, server.URL).Models.Load())
			}
			_, err = v.Speak(t.Context(), cmp.Or(c.second, "hello, world"), public)
			require.Error(t, err)
			require.Equal(t, c.rests, asked.Load() == first)
			if c.rests {
				require.ErrorContains(t, err, "the speech server failed after a long wait")
			}
		})
	}
}

// A server that has spoken is asked for all texts again.
func TestAServerThatSpeaksRestsNoLonger(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			clock.Add(int64(time.Minute))
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "audio/ogg")
		_, _ = io.WriteString(w, "OggS")
	}))
	defer server.Close()
	v := serverAt(t, server.URL)
	v.Configure(agents.Media{Speech: agents.Speech{Provider: "audio", Model: "kokoro"}})
	v.Now = func() time.Time { return time.Unix(0, clock.Load()) }
	_, err := v.Speak(t.Context(), "hello, world", public)
	require.Error(t, err)
	for _, text := range []string{"hello", "hello, world"} {
		_, err = v.Speak(t.Context(), text, public)
		require.NoError(t, err)
	}
}

// audio is a server with OpenAI's Audio API, which answers by path.
func audio(t *testing.T, answers map[string]string) (v *Voice, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, string(body))
		if strings.HasSuffix(r.URL.Path, "transcriptions") {
			w.Header().Set("Content-Type", "application/json")
		} else {
			w.Header().Set("Content-Type", "audio/x")
		}
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	t.Cleanup(srv.Close)
	return serverAt(t, srv.URL+"/v1"), asked
}

var (
	public = flow.NewLabel(flow.Public, flow.Trusted)
	secret = flow.NewLabel(flow.Confidential, flow.Trusted)
)

func TestAServerTranscribesWhatItMayHear(t *testing.T) {
	t.Parallel()
	v, asked := audio(t, map[string]string{"/v1/audio/transcriptions": `{"text":" Buy milk. "}`})
	v.Configure(agents.Media{Transcription: agents.Transcription{Provider: "audio", Model: "whisper"}})
	text, err := v.Transcribe(t.Context(), attach.Recording{Name: "a.ogg", MIME: "audio/ogg", Content: []byte("OggS sound"), Label: public})
	require.NoError(t, err)
	require.Equal(t, "Buy milk.", text)
	require.Contains(t, (*asked)[0], "OggS sound")
	_, err = v.Transcribe(t.Context(), attach.Recording{Content: []byte("sound"), Label: secret})
	require.ErrorIs(t, err, attach.ErrTooSecretToHear)
	_, err = v.Transcribe(t.Context(), attach.Recording{Content: []byte("sound")})
	require.ErrorIs(t, err, attach.ErrTooSecretToHear, "no label is the highest")
	require.Len(t, *asked, 1, "what is too confidential never leaves")
}

// Without a transcription, a conversation is told what is missing, under one key.
func TestWhatIsMissingIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]agents.Media{"nothing is set": {}, "the provider is gone": {Transcription: agents.Transcription{Provider: "old", Model: "m"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := serverAt(t, "http://127.0.0.1:1")
			var told []outbound.Proactive
			fails := error(nil)
			v.Send = func(_ context.Context, p outbound.Proactive) (ledger.Delivery, error) {
				told = append(told, p)
				return ledger.Delivery{}, fails
			}
			if name != "nothing is set" {
				v.Configure(settings)
			}
			route := sessions.Route{Channel: "telegram", Account: "default", Conversation: "7", Thread: "2"}
			for range 2 {
				_, err := v.Transcribe(t.Context(), attach.Recording{Route: route, Label: secret})
				require.ErrorIs(t, err, attach.ErrNoTranscription)
			}
			require.Len(t, told, 2)
			require.Equal(t, told[0].Idempotency, told[1].Idempotency, "the outbox sends one")
			require.NotEmpty(t, told[0].Idempotency)
			require.Equal(t, []string{"telegram", "default", "7", "2"}, []string{told[0].Channel, told[0].Account, told[0].To, told[0].Thread})
			require.Contains(t, told[0].Text, "`media.transcription`")
			require.Equal(t, flow.Bottom(), told[0].Label, "it says nothing of the recording")

			_, err := v.Transcribe(t.Context(), attach.Recording{})
			require.ErrorIs(t, err, attach.ErrNoTranscription)
			require.Len(t, told, 2, "a recording without a conversation: there is nobody to tell")
			fails = errors.New("the store is away")
			_, err = v.Transcribe(t.Context(), attach.Recording{Route: route})
			require.ErrorIs(t, err, fails)
		})
	}
}

// box is a sandbox with a fixed result.
type box struct {
	missing error
	result  sandbox.Result
	err     error
	config  sandbox.Config
	saw     string
}

func (b *box) Available(context.Context) error { return b.missing }

func (b *box) Run(_ context.Context, c sandbox.Config, command ...string) (sandbox.Result, error) {
	content, err := os.ReadFile(c.Workspace + "/recording.ogg")
	b.config, b.saw = c, string(content)
	return b.result, errors.Join(err, b.err)
}

func TestTheEndOfACommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		box        *box
		text, says string
	}{
		"it says something":    {&box{result: sandbox.Result{Stdout: " Buy \xff milk. \n"}}, "Buy  milk.", ""},
		"it says nothing":      {&box{}, "", ""},
		"it fails":             {&box{result: sandbox.Result{ExitCode: 3, Stdout: "x", Stderr: " no model \n"}}, "", "the command ended with 3: no model"},
		"it takes too long":    {&box{result: sandbox.Result{ExitCode: -1, TimedOut: true}}, "", "longer than 1m0s"},
		"it takes too much":    {&box{result: sandbox.Result{ExitCode: -1, Stopped: "it used 2 GiB of memory"}}, "", "was ended: it used 2 GiB of memory"},
		"it can't be started":  {&box{err: errors.New("no such program")}, "", "no such program"},
		"there is no sandbox":  {&box{missing: errors.New("bwrap is missing")}, "", "commands need a sandbox: bwrap is missing"},
		"a part of a sentence": {&box{result: sandbox.Result{Stdout: "and", Truncated: true}}, "and", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &Voice{Sandbox: c.box, Limits: func() sandbox.Limits { return sandbox.Limits{Memory: 7} }}
			v.Configure(agents.Media{Transcription: agents.Transcription{Command: []string{"/opt/hear", "--model", "/opt/m.bin", "{file}"}}})
			text, err := v.Transcribe(t.Context(), attach.Recording{Name: "a.ogg", Content: []byte("OggS"), Label: secret})
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.text, text)
			if c.box.missing != nil {
				require.Empty(t, c.box.config.Workspace)
				return
			}
			require.Equal(t, "OggS", c.box.saw)
			require.Equal(t, "OggS", c.box.config.Stdin)
			require.False(t, c.box.config.Network)
			require.Equal(t, []string{"/opt/hear", "/opt/m.bin"}, c.box.config.ReadOnly)
			require.Equal(t, int64(7), c.box.config.Limits.Memory)
			require.NoDirExists(t, c.box.config.Workspace, "the recording is deleted")
		})
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]outbound.NewFile{
		"OggS speech": {Name: "voice.ogg", MIME: "audio/ogg"},
		"ID3 speech":  {Name: "voice.mp3", MIME: "audio/mpeg"},
	} {
		v, asked := audio(t, map[string]string{"/v1/audio/speech": content})
		require.False(t, v.Speaks())
		_, err := v.Speak(t.Context(), "hello", public)
		require.ErrorContains(t, err, "media.speech is not set")
		v.Configure(agents.Media{Speech: agents.Speech{Provider: "audio", Model: "tts", Voice: "alloy"}})
		require.True(t, v.Speaks())
		_, err = v.Speak(t.Context(), "hello", secret)
		require.ErrorContains(t, err, "too confidential for the speech server")
		require.Empty(t, *asked)
		want.Content = []byte(content)
		got, err := v.Speak(t.Context(), "**Good** [morning](https://example.org).", public)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Contains(t, (*asked)[0], `"input":"Good morning`)
		require.NotContains(t, (*asked)[0], "**")
	}
	v := serverAt(t, "http://127.0.0.1:1/v1")
	v.Configure(agents.Media{Speech: agents.Speech{Provider: "audio", Model: "tts"}})
	_, err := v.Speak(t.Context(), "hello", public)
	require.Error(t, err)
}

// A long reply is spoken up to the end of the last sentence that fits.
func TestALongReplyIsCut(t *testing.T) {
	t.Parallel()
	sentence := "Ä sentence of words. "
	require.Equal(t, strings.TrimSpace(sentence), spoken(sentence))
	long := spoken(strings.Repeat(sentence, 400))
	require.LessOrEqual(t, len([]rune(long)), speechMax)
	require.Greater(t, len([]rune(long)), speechMax-len(sentence))
	require.True(t, strings.HasSuffix(long, "words."))
	require.Len(t, []rune(spoken(strings.Repeat("ä", 5000))), speechMax, "without a sentence, all that fits")
}

// A reply is named after what a server really gives: recordings that ffmpeg makes.
func TestRealRecordings(t *testing.T) {
	t.Parallel()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("ffmpeg is not installed: tools/testdeps installs it")
	}
	require.NoError(t, err)
	for file, want := range map[string]outbound.NewFile{
		"a.ogg": {Name: "voice.ogg", MIME: "audio/ogg"}, "a.mp3": {Name: "voice.mp3", MIME: "audio/mpeg"}, "a.wav": {Name: "voice.wav", MIME: "audio/wave"}, "a.flac": {Name: "voice.flac", MIME: "audio/flac"},
	} {
		path := filepath.Join(t.TempDir(), file)
		out, err := exec.CommandContext(t.Context(), ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=1", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		v, _ := audio(t, map[string]string{"/v1/audio/speech": string(content)})
		v.Configure(agents.Media{Speech: agents.Speech{Provider: "audio", Model: "tts"}})
		got, err := v.Speak(t.Context(), "hello", public)
		require.NoError(t, err)
		require.True(t, got.Name == want.Name && got.MIME == want.MIME && string(got.Content) == string(content), "%s: %s, %s", file, got.Name, got.MIME)
	}
}
