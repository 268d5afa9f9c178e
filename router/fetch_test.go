package router_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

// png is a picture as far as its first bytes tell.
var png = append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 100)...) //nolint:gochecknoglobals // never changed

// filing is a chat whose files can be fetched.
type filing struct {
	*chat
	files   map[string][]byte // by reference; nil hangs
	open    int               // bodies that nobody has closed
	fetched int
}

func (f *filing) Fetch(ctx context.Context, at sessions.Attachment) (io.ReadCloser, error) {
	content, ok := f.files[at.Ref]
	switch {
	case !ok:
		return nil, &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("no such file")}
	case content == nil:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.fetched++
	f.open++
	return closing{bytes.NewReader(content), f}, nil
}

type closing struct {
	io.Reader
	f *filing
}

func (c closing) Close() error { c.f.open--; return nil }

// withFiles is a message with attachments.
func withFiles(attachments ...sessions.Attachment) adapters.Inbound {
	m := in("ann", "1", "look")
	m.Attachments = attachments
	return m
}

// heard are the parts of the one message that a session has heard.
func (b *bundle) heard(id sessions.RunID) []sessions.Part {
	b.t.Helper()
	run := b.ended(id)
	require.Equal(b.t, sessions.RunDone, run.Status)
	record, err := b.store.Session(b.t.Context(), run.Session)
	require.NoError(b.t, err)
	thread, err := b.store.Thread(b.t.Context(), record)
	require.NoError(b.t, err)
	return thread[0].Parts
}

func TestFilesAreFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &filing{files: map[string][]byte{
			"p": png, "t": []byte("remember the milk"), "v": []byte("\x00\x01noise"), "long": []byte(strings.Repeat("x", 65<<10)), "big": make([]byte, 200<<10),
		}}
		b := newBundle(t, func(b *bundle) { f.chat, b.adapter, b.settings.MaxMediaBytes = b.chat, f, 100<<10 })
		parts := b.heard(b.hear(withFiles(
			sessions.Attachment{Kind: "photo", Ref: "p", MIME: "image/jpeg"},
			sessions.Attachment{Kind: "document", Ref: "t", Name: "notes.md"},
			sessions.Attachment{Kind: "voice", Ref: "v", MIME: "audio/ogg"},
			sessions.Attachment{Kind: "document", Ref: "long", MIME: "text/plain; charset=utf-8"},
			sessions.Attachment{Kind: "document", Ref: "big"},
			sessions.Attachment{Kind: "document", Ref: "big", Size: 1 << 30},
			sessions.Attachment{Kind: "document", Ref: "gone"},
			sessions.Attachment{Kind: "location", Name: "52.5, 13.4"},
		)).Run)
		require.Zero(t, f.open, "every body is closed")
		type file struct{ mime, note string }
		var got []file
		for _, p := range parts {
			if p.Attachment != nil {
				got = append(got, file{p.Attachment.MIME, p.Attachment.Note})
			}
		}
		require.Equal(t, []file{
			{"image/png", "the picture is not shown to you"}, // where it is not
			{"text/plain", "its text is in the message"},
			{"audio/ogg", "you can't hear it: the owner of this gateway can set media.transcription"},
			{"text/plain", "it is too long to read: the maximum is 65536 bytes"},
			{"", "it is too large to download: the maximum is 102400 bytes"},
			{"", "it is too large to download: the maximum is 102400 bytes"},
			{"", "it could not be downloaded"},
			{"", ""},
		}, got)
		last := parts[len(parts)-1]
		require.Equal(t, "[Text of the file notes.md]\nremember the milk", last.Text)
		require.Equal(t, parts[0].Label, last.Label, "a file is as secret as the message")

		stored, err := b.store.Media(t.Context(), parts[1].Attachment.Media)
		require.NoError(t, err)
		require.Equal(t, png, stored.Content)
		require.Equal(t, parts[0].Label, stored.Label)
		require.Equal(t, int64(len(png)), stored.Size)
	})
}

// The files of one run have twice what one may have.
func TestFilesOfARunAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &filing{files: map[string][]byte{"p": png}}
		b := newBundle(t, func(b *bundle) { f.chat, b.adapter, b.settings.MaxMediaBytes = b.chat, f, len(png) })
		at := sessions.Attachment{Kind: "photo", Ref: "p"}
		fetched := 0
		for _, p := range b.heard(b.hear(withFiles(at, at, at)).Run) {
			if p.Attachment.IsPicture() {
				fetched++
			}
		}
		require.Equal(t, 2, fetched)
	})
}

func TestHangingPlatformHoldsNobodyUpForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &filing{files: map[string][]byte{"hangs": nil}}
		b := newBundle(t, func(b *bundle) { f.chat, b.adapter = b.chat, f })
		started := time.Now()
		at := sessions.Attachment{Kind: "photo", Ref: "hangs"}
		parts := b.heard(b.hear(withFiles(at, at)).Run)
		require.Equal(t, "it could not be downloaded", parts[2].Attachment.Note)
		require.LessOrEqual(t, time.Since(started), time.Minute+time.Second)
	})
}

// What a sender calls a file is stored as text and stands in headers when it is sent on.
func TestHostileNamesOfFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &filing{files: map[string][]byte{"f": []byte("\x00\x01noise")}}
		b := newBundle(t, func(b *bundle) { f.chat, b.adapter = b.chat, f })
		parts := b.heard(b.hear(withFiles(
			sessions.Attachment{Kind: "document", Ref: "f", Name: "a\x00b\xff", MIME: "application/pdf\x00"},
			sessions.Attachment{Kind: "document", Ref: "f", Name: "x", MIME: "text/x\r\nX-Injected: 1"},
		)).Run)
		var media []sessions.MediaID
		for _, p := range parts {
			if p.Attachment != nil {
				media = append(media, p.Attachment.Media)
			}
		}
		require.Len(t, media, 2)
		first, err := b.store.MediaInfo(t.Context(), media[0])
		require.NoError(t, err)
		require.Equal(t, "ab\uFFFD", first.Name, "PostgreSQL takes no NUL")
		require.Equal(t, "application/pdf", first.MIME)
		second, err := b.store.MediaInfo(t.Context(), media[1])
		require.NoError(t, err)
		require.Equal(t, "application/octet-stream", second.MIME, "a type, and nothing behind it")
	})
}
