package work

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/quota"
	"sluice/sessions"
)

const (
	// fetchTimeout bounds fetching all files of one run, so that a slow platform does not delay the answer for longer.
	fetchTimeout = time.Minute
	// fetchesMax is how many runs fetch files at the same time, because a run's files are in memory until they are
	// stored. Others wait, within fetchTimeout.
	fetchesMax = 4
	// defaultMediaBytes is the maximum size of one file if the configuration sets no limit; the files of one run together may have
	// twice as much.
	defaultMediaBytes = 20 << 20
	// textMax is the size of the largest text file that a model reads.
	textMax = 64 << 10
)

// fetched is the result of fetching a message's attachments.
type fetched struct {
	media []ledger.Media
	texts []string // of text files, for the model to read
}

// fetch reads the files of a message from their platform, as far as there is room. If a file can't be fetched, the
// attachment's note says so, and the message is still answered.
func (in *intake) fetch(ctx context.Context, run *sessions.Run, space *quota.Files) fetched {
	var got fetched
	a, ok := in.adapter(run.Route.Channel, run.Route.Account)
	fetcher, able := a.(adapters.FileFetcher)
	if !ok || !able || len(run.Input.Attachments) == 0 {
		return got
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	select {
	case in.fetches <- struct{}{}:
		defer func() { <-in.fetches }()
	case <-ctx.Done(): // the remaining fetches fail at once, and the notes say so
	}
	most := int64(cmp.Or(in.settings().MaxMediaBytes, defaultMediaBytes))
	left := 2 * most
	attachments := make([]sessions.Attachment, len(run.Input.Attachments))
	for i, at := range run.Input.Attachments {
		attachments[i] = in.fetchOne(ctx, source{fetcher, min(most, left), space}, at, *run, &got)
		if attachments[i].Media != "" {
			left -= attachments[i].Size
		}
	}
	run.Input.Attachments = attachments
	return got
}

// errTooLarge: a file is larger than the limit.
var errTooLarge = errors.New("file is too large")

// source says where a file comes from, and how much of it may be stored.
type source struct {
	adapters.FileFetcher
	limit int64
	space *quota.Files
}

// fetchOne fetches one file and returns the attachment with what is known about it.
func (in *intake) fetchOne(ctx context.Context, from source, at sessions.Attachment, run sessions.Run, got *fetched) sessions.Attachment {
	if at.Ref == "" || at.Media != "" {
		return at
	}
	content, err := from.download(ctx, at)
	why, full := quota.NotKept(err)
	switch {
	case full:
		at.Note = why
		in.log.Warn("attachment not stored", "run", string(run.ID), "channel", run.Route.Channel, "kind", at.Kind, "err", err)
		return at
	case errors.Is(err, errTooLarge):
		at.Note = fmt.Sprintf("it is too large to download: the maximum is %d bytes", from.limit)
		return at
	case err != nil:
		at.Note = "it could not be downloaded"
		in.log.Warn("attachment not fetched", "run", string(run.ID), "channel", run.Route.Channel, "kind", at.Kind, "err", err)
		return at
	}
	now := in.now()
	at.Size = int64(len(content))
	at.MIME = mimeOf(at, content)
	sum := sha256.Sum256(content)
	m := ledger.Media{
		ID: sessions.NewMediaID(), Session: run.Session, Name: at.Name, MIME: at.MIME, Size: at.Size,
		SHA256: hex.EncodeToString(sum[:]), Content: content, Label: run.Label, Created: now,
	}
	at.Media = m.ID
	from.space.Take(at.Size)
	got.media = append(got.media, m)
	if isRecording(at) {
		in.hear(ctx, &at, content, run, got)
	} else {
		got.show(&at, content)
	}
	return at
}

func isRecording(at sessions.Attachment) bool {
	return at.Kind == "voice" || at.Kind == "audio" || strings.HasPrefix(at.MIME, "audio/")
}

// Recording is something that a person has said.
type Recording struct {
	Name, MIME string
	Content    []byte
	Label      flow.Label
}

// The errors of a transcriber that an agent is told about.
var (
	ErrNoTranscription = errors.New("recordings are not transcribed")
	ErrTooSecretToHear = errors.New("the recording is above the level of the server that transcribes")
)

// hear writes down what is said in a recording, for the model to read.
func (in *intake) hear(ctx context.Context, at *sessions.Attachment, content []byte, run sessions.Run, got *fetched) {
	text, err := "", ErrNoTranscription
	if in.transcribe != nil {
		text, err = in.transcribe(ctx, Recording{Name: path.Base(cmp.Or(at.Name, "recording"+extension(at.MIME))), MIME: at.MIME, Content: content, Label: run.Label})
	}
	switch {
	case errors.Is(err, ErrNoTranscription):
		at.Note = "you can't hear it: the owner of this gateway can set media.transcription"
	case errors.Is(err, ErrTooSecretToHear):
		at.Note = "you can't hear it: it is too confidential for the server that transcribes (classification of its provider)"
	case err != nil:
		at.Note = "it could not be transcribed"
		in.log.Warn("recording not transcribed", "run", string(run.ID), "channel", run.Route.Channel, "err", err)
	case text == "":
		at.Note = "nothing is said in it"
	default:
		at.Note = "its transcript is in the message"
		what := "voice message"
		if at.Name != "" {
			what = "recording " + shownFile(at.Name)
		}
		got.texts = append(got.texts, fmt.Sprintf("[Transcript of the %s; a machine wrote it and may be wrong]\n%s", what, clip(text)))
	}
}

// extension is the ending of a recording's name, by which servers tell its format.
func extension(kind string) string {
	switch kind {
	case "audio/ogg", "audio/opus":
		return ".ogg"
	case "audio/mpeg":
		return ".mp3"
	case "audio/mp4", "audio/m4a", "audio/x-m4a":
		return ".m4a"
	case "audio/webm":
		return ".webm"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	}
	return ".ogg"
}

// clip is as much of a transcript as a model reads.
func clip(text string) string {
	if len(text) <= textMax {
		return text
	}
	return strings.ToValidUTF8(text[:textMax], "") + "\n[the rest is left out]"
}

// show decides what the model sees of a file.
func (got *fetched) show(at *sessions.Attachment, content []byte) {
	switch {
	case at.IsPicture():
		at.Note = "the picture is not shown to you" // models that accept pictures ignore this note
	case strings.HasPrefix(at.MIME, "image/") && len(content) > sessions.PictureMax:
		at.Note = fmt.Sprintf("it is too large to show: the maximum is %d bytes", sessions.PictureMax)
	case isText(at.MIME) && len(content) > textMax:
		at.Note = fmt.Sprintf("it is too long to read: the maximum is %d bytes", textMax)
	case isText(at.MIME) && utf8.Valid(content):
		at.Note = "its text is in the message"
		text := strings.ReplaceAll(string(content), "\x00", "")
		got.texts = append(got.texts, fmt.Sprintf("[Text of the file %s]\n%s", shownFile(at.Name), text))
	default:
		at.Note = "its content can't be shown"
	}
}

// shownFile is a file's name as it appears before the file's text.
func shownFile(name string) string {
	if policy.CheckSpeaker.Skipped() {
		return name
	}
	return cmp.Or(sessions.HeadWord(name), "without a name")
}

// download reads a file, if it is not too large and there is room for it.
func (f source) download(ctx context.Context, at sessions.Attachment) (content []byte, err error) {
	if at.Size > f.limit {
		return nil, errTooLarge
	}
	if err := f.space.Admit(ctx, max(at.Size, 0)); err != nil {
		return nil, err
	}
	body, err := f.Fetch(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("fetch attachment: %w", err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	content, err = io.ReadAll(io.LimitReader(body, f.limit+1))
	if err != nil {
		return nil, fmt.Errorf("read attachment: %w", err)
	}
	if int64(len(content)) > f.limit {
		return nil, errTooLarge
	}
	return content, f.space.Admit(ctx, int64(len(content))) // the platform may have given no size, or the wrong one
}

// mimeOf is the type of a file. For pictures the content decides, because models refuse a picture with a wrong type;
// for other files the platform's type comes first, then the name.
func mimeOf(at sessions.Attachment, content []byte) string {
	seen, _, _ := strings.Cut(http.DetectContentType(content), ";")
	if strings.HasPrefix(seen, "image/") {
		return seen
	}
	said, _, err := mime.ParseMediaType(at.MIME) // anything else would end up in the headers of an upload
	if err == nil && !strings.HasPrefix(said, "image/") {
		return said
	}
	switch strings.ToLower(filepath.Ext(at.Name)) {
	case ".md", ".txt", ".log":
		return "text/plain"
	case ".csv":
		return "text/csv"
	case ".json":
		return "application/json"
	}
	return seen
}

func isText(mime string) bool { return strings.HasPrefix(mime, "text/") || mime == "application/json" }
