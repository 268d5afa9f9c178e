package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

func fileOf(name, mime string, content []byte) adapters.File {
	return adapters.File{
		Name: name, MIME: mime, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

func TestAFileGoesOutAsWhatItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  adapters.File
		fault *telegramtest.Fault
		want  []string
	}{
		"png":              {fileOf("a.png", "image/png", []byte("png")), nil, []string{"sendPhoto"}},
		"above 10 MB":      {fileOf("a.png", "image/png", make([]byte, 10<<20+1)), nil, []string{"sendDocument"}},
		"svg":              {fileOf("a.svg", "image/svg+xml", []byte("<svg/>")), nil, []string{"sendDocument"}},
		"voice":            {fileOf("a.ogg", "audio/ogg", []byte("OggS")), nil, []string{"sendVoice"}},
		"voice unwanted":   {fileOf("a.ogg", "audio/ogg; codecs=opus", []byte("OggS")), telegramtest.APIError(400, "Bad Request: VOICE_MESSAGES_FORBIDDEN"), []string{"sendVoice", "sendDocument"}},
		"music":            {fileOf("a.mp3", "audio/mpeg", []byte("ID3")), nil, []string{"sendAudio"}},
		"video":            {fileOf("a.mp4", "video/mp4", []byte("mp4")), nil, []string{"sendVideo"}},
		"wav":              {fileOf("a.wav", "audio/wav", []byte("RIFF")), nil, []string{"sendDocument"}},
		"too long a strip": {fileOf("a.png", "image/png", []byte("png")), telegramtest.APIError(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"), []string{"sendPhoto", "sendDocument"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, nil)
			s.srv.Join(telegramtest.Private(1001))
			if c.fault != nil {
				s.srv.Inject(c.fault.On(c.want[0]))
			}
			_, err := s.adapter.SendFile(t.Context(), out(direct("1001"), ""), c.file)
			require.NoError(t, err)
			var methods []string
			for _, call := range s.srv.Calls("") {
				methods = append(methods, call.Method)
			}
			require.Equal(t, c.want, methods)
			require.Equal(t, c.file.Name, s.srv.Sent(1001)[0].File.FileName)
			require.Len(t, s.srv.Sent(1001)[0].Content, int(c.file.Size))
		})
	}
}

func TestAFileGoesWhereAMessageWould(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Chat{ID: -1008, Type: "supergroup", Forum: true}, 7)
	question := s.srv.Say(telegramtest.Chat{ID: -1008, Type: "supergroup", Forum: true}, ada, "the plan?")
	o := out(sessions.Route{Channel: "telegram", ChatType: sessions.Group, Conversation: "-1008", Thread: "7", ReplyTo: "1"}, "**the** plan & more")
	o.Silent, o.Buttons = true, buttons("Good")
	_, err := s.adapter.SendFile(t.Context(), o, fileOf("Plän \"1\".pdf", "application/pdf", []byte("pdf")))
	require.NoError(t, err)
	sent := s.srv.Sent(-1008)[0]
	require.EqualValues(t, 7, sent.Thread)
	require.Equal(t, question.MessageID, sent.ReplyTo)
	require.True(t, sent.Silent)
	require.Equal(t, []telegramtest.Button{{Label: "Good", Data: "/choose G"}}, sent.Buttons)
	require.Equal(t, "the plan & more", sent.Plain)
	require.Equal(t, models.Document{FileName: "Plän \"1\".pdf", MimeType: "application/pdf", FileSize: 3}, *sent.File)
}

func TestAFileFollowsMigration(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Group(-7, "Team"))
	s.srv.Migrate(-7, -1007)
	receipt, err := s.adapter.SendFile(t.Context(), out(sessions.Route{ChatType: sessions.Group, Conversation: "-7"}, ""), fileOf("a.txt", "text/plain", []byte("x")))
	require.NoError(t, err)
	require.Equal(t, &adapters.Migration{From: "-7", To: "-1007"}, receipt.Moved)
	require.Equal(t, []byte("x"), s.srv.Sent(-1007)[0].Content, "read again from its beginning")
}

func TestFilesThatDoNotGoOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	_, err := s.adapter.SendFile(t.Context(), out(direct("1001"), strings.Repeat("a", 1025)), fileOf("a", "", []byte("x")))
	require.Equal(t, adapters.TooLarge, adapters.AsFailure(err).Kind, "the caption")

	gone := fileOf("a", "", nil)
	gone.Open = func(context.Context) (io.ReadCloser, error) { return nil, errors.New("disk is gone") }
	_, err = s.adapter.SendFile(t.Context(), out(direct("1001"), ""), gone)
	require.ErrorContains(t, err, "disk is gone")
	require.True(t, adapters.AsFailure(err).Certain)

	short := fileOf("a", "", []byte("x"))
	short.Size = 5
	_, err = s.adapter.SendFile(t.Context(), out(direct("1001"), ""), short)
	require.Equal(t, adapters.Transient, adapters.AsFailure(err).Kind)
	require.Empty(t, s.srv.Sent(1001))
}

func TestFetchBounds(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Upload(telegramtest.Private(1001), ada, models.Document{FileName: "big"}, make([]byte, 20<<20+1))
	for name, at := range map[string]sessions.Attachment{
		"it says so":       {Ref: "file-1", Size: 20<<20 + 1},
		"Telegram says so": {Ref: "file-1"},
	} {
		_, err := s.adapter.Fetch(t.Context(), at)
		require.Equal(t, adapters.TooLarge, adapters.AsFailure(err).Kind, name)
	}
	_, err := s.adapter.Fetch(t.Context(), sessions.Attachment{Kind: "location"})
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
}

func TestAFileThatIsGoneIsNotAWrongToken(t *testing.T) {
	t.Parallel()
	var token string
	a := against(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/getFile") {
			_, _ = w.Write([]byte(`{"ok":true,"result":{"file_id":"x","file_path":"documents/x"}}`))
			return
		}
		token = r.URL.Path
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"ok":false,"error_code":404,"description":"Not Found"}`))
	})
	_, err := a.Fetch(t.Context(), sessions.Attachment{Ref: "x"})
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.Equal(t, "/file/bot1:token/documents/x", token)
	require.NotContains(t, err.Error(), "1:token")
}

func TestNoFileErrorHasTheToken(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	said := s.srv.Upload(telegramtest.Private(1001), ada, models.Document{FileName: "a"}, []byte("x"))
	require.NotZero(t, said.MessageID)
	s.srv.Close()
	_, err := s.adapter.Fetch(t.Context(), sessions.Attachment{Ref: "file-1"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), s.srv.Token())
	_, err = s.adapter.SendFile(t.Context(), out(direct("1001"), ""), fileOf("a", "", []byte("x")))
	require.Error(t, err)
	require.NotContains(t, err.Error(), s.srv.Token())
}
