package attach

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"sluice/adapters"
	"sluice/internal/document"
	"sluice/router/ledger"
	"sluice/router/place"
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
)

// Fetcher fetches the files of messages. It is safe for concurrent use.
type Fetcher struct {
	Config
	fetching chan struct{} // has one element per run that fetches files
}

// Config is what a Fetcher needs. All fields but Transcribe and Read are required.
type Config struct {
	Adapters adapters.Finder
	Settings func() *place.Settings
	// Transcribe returns what is said in a recording. Its errors that this package has are explained to the
	// agent. What the context is called for, [spending.Origin], pays for it. Nil: recordings are not transcribed.
	Transcribe func(ctx context.Context, r Recording) (string, error)
	// Read extracts the text of a document, see [document.Reader.Text]. Nil: agents see no documents but plain text.
	Read func(ctx context.Context, mime string, content []byte) (document.Text, error)
	Now  func() time.Time
	Log  *slog.Logger
}

// New creates a Fetcher.
func New(c Config) *Fetcher { return &Fetcher{c, make(chan struct{}, fetchesMax)} }

// Fetched is the result of fetching a message's attachments.
type Fetched struct {
	Media []ledger.Media // to store
	Texts []string       // for the model to read: of documents and recordings
}

// Fetch reads the files of a message from their platform, as far as there is room. If a file can't be fetched, the
// attachment's note says so, and the message is still answered.
func (f *Fetcher) Fetch(ctx context.Context, run *sessions.Run, space *quota.Files) Fetched {
	var got Fetched
	a, ok := f.Adapters(run.Route.Channel, run.Route.Account)
	fetcher, able := a.(adapters.FileFetcher)
	if !ok || !able || len(run.Input.Attachments) == 0 {
		return got
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	select {
	case f.fetching <- struct{}{}:
		defer func() { <-f.fetching }()
	case <-ctx.Done(): // the remaining fetches fail at once, and the notes say so
	}
	most := int64(cmp.Or(f.Settings().MaxMediaBytes, defaultMediaBytes))
	left := 2 * most
	attachments := make([]sessions.Attachment, len(run.Input.Attachments))
	for i, at := range run.Input.Attachments {
		attachments[i] = f.fetchOne(ctx, source{fetcher, min(most, left), space}, at, *run, &got)
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
func (f *Fetcher) fetchOne(ctx context.Context, from source, at sessions.Attachment, run sessions.Run, got *Fetched) sessions.Attachment {
	if at.Ref == "" || at.Media != "" {
		return at
	}
	content, err := from.download(ctx, at)
	why, full := quota.NotKept(err)
	switch {
	case full:
		at.Note = why
		f.Log.Warn("attachment not stored", "run", string(run.ID), "channel", run.Route.Channel, "kind", at.Kind, "err", err)
		return at
	case errors.Is(err, errTooLarge):
		at.Note = fmt.Sprintf("it is too large to download: the maximum is %d bytes", from.limit)
		return at
	case err != nil:
		at.Note = "it could not be downloaded"
		f.Log.Warn("attachment not fetched", "run", string(run.ID), "channel", run.Route.Channel, "kind", at.Kind, "err", err)
		return at
	}
	now := f.Now()
	at.Size = int64(len(content))
	at.MIME = mimeOf(at, content)
	sum := sha256.Sum256(content)
	m := ledger.Media{
		ID: sessions.NewMediaID(), Session: run.Session, Name: at.Name, MIME: at.MIME, Size: at.Size,
		SHA256: hex.EncodeToString(sum[:]), Content: content, Label: run.Label, Created: now,
	}
	at.Media = m.ID
	from.space.Take(at.Size)
	got.Media = append(got.Media, m)
	if isRecording(at) {
		f.hear(ctx, &at, content, run, got)
	} else {
		f.show(ctx, &at, content, run, got)
	}
	return at
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
