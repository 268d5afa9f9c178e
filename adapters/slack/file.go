package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/sessions"
)

const (
	maxFile = 1 << 30 // bytes that Slack takes in one file
	// uploadTimeout is for one upload or download of any size.
	uploadTimeout = 15 * time.Minute
	// Slack shares a file shortly after it responds. The pauses between the tries double.
	shareTries                   = 5
	shareWaitFirst, shareWaitMax = 200 * time.Millisecond, 2 * time.Second
)

var (
	errEmptyFile   = errors.New("slack does not accept empty files")
	errPrivateFile = errors.New("slack cannot show a file to only one person")
)

// uploads sends files to Slack and finds the messages that show them.
type uploads struct {
	web *web
}

// SendFile posts a file, with the text as its comment. Only the last of the three calls makes it visible. If the response
// to that call is lost, the file's own data says whether it was shared.
func (a *Adapter) SendFile(ctx context.Context, out adapters.Outbound, f adapters.File) (adapters.Receipt, error) {
	switch {
	case out.Route.Handle != "":
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errPrivateFile}
	case f.Size > maxFile:
		return adapters.Receipt{}, &adapters.Failure{
			Kind: adapters.TooLarge, Certain: true, Err: fmt.Errorf("the file has %d bytes; Slack accepts at most %d", f.Size, maxFile),
		}
	case f.Size <= 0:
		return adapters.Receipt{}, permanent(errEmptyFile)
	}
	if err := badThread(out.Route); err != nil {
		return adapters.Receipt{}, err
	}
	id, err := a.uploads.upload(ctx, f)
	if err != nil {
		return adapters.Receipt{}, certain(err) // nothing is visible yet
	}
	share := slackapi.CompleteUploadExternalParameters{
		Files: []slackapi.FileSummary{{ID: id, Title: f.Name}}, Channel: string(out.Route.Conversation),
		InitialComment: render(out), ThreadTimestamp: string(out.Route.Thread),
	}
	err = a.web.call(ctx, paceKey{method: "files.completeUploadExternal"}, func(ctx context.Context) error {
		_, err := a.web.api.CompleteUploadExternalContext(ctx, share)
		return err
	})
	if err != nil && adapters.AsFailure(err).Certain {
		return adapters.Receipt{}, err
	}
	posted, ok := a.uploads.shared(ctx, id, out.Route)
	switch {
	case ok:
		return posted, nil
	case err != nil:
		return adapters.Receipt{}, err
	}
	return adapters.Receipt{MessageID: sessions.PlatformMessageID("file-" + id), At: a.cfg.Now()}, nil
}

// certain marks a failure as one without a visible effect.
func certain(err error) *adapters.Failure {
	f := *adapters.AsFailure(err)
	f.Certain = true
	return &f
}

// upload sends a file to Slack, which does not show it yet, and returns its id.
func (u *uploads) upload(ctx context.Context, f adapters.File) (id string, err error) {
	var place *slackapi.GetUploadURLExternalResponse
	err = u.web.call(ctx, paceKey{method: "files.getUploadURLExternal"}, func(ctx context.Context) (err error) {
		place, err = u.web.api.GetUploadURLExternalContext(ctx, slackapi.GetUploadURLExternalParameters{FileName: cmp.Or(f.Name, "file"), FileSize: int(f.Size)})
		return err
	})
	if err != nil {
		return "", err
	}
	target, err := u.web.slackURL(place.UploadURL)
	if err != nil {
		return "", permanent(fmt.Errorf("upload file: %w", err))
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	content, err := f.Open(ctx)
	if err != nil {
		return "", &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: fmt.Errorf("open file %s: %w", f.Name, err)}
	}
	defer func() { _ = content.Close() }() // only read from
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, io.NopCloser(io.LimitReader(content, f.Size)))
	if err != nil {
		return "", permanent(fmt.Errorf("upload file: %w", err))
	}
	r.ContentLength = f.Size
	r.Header.Set("Content-Type", "application/octet-stream")
	if _, err := u.web.files.do(r, "upload"); err != nil {
		return "", u.web.failure("upload", err)
	}
	return place.FileID, nil
}

// shared finds the message that a file was shared with in a conversation.
func (u *uploads) shared(ctx context.Context, id string, route sessions.Route) (adapters.Receipt, bool) {
	pauses := pause.Doubling(shareWaitFirst, shareWaitMax, 0)
	for try := range shareTries {
		if try > 0 && pause.Wait(ctx, pauses.NextBackOff()) != nil {
			break
		}
		var f *slackapi.File
		err := u.web.call(ctx, paceKey{method: "files.info"}, func(ctx context.Context) (err error) {
			f, _, _, err = u.web.api.GetFileInfoContext(ctx, id, 0, 0)
			return err
		})
		if err != nil {
			u.web.cfg.Log.Warn("slack did not return where a file was shared", "file", id, "try", try+1, "error", err)
			continue
		}
		for _, shares := range []map[string][]slackapi.ShareFileInfo{f.Shares.Public, f.Shares.Private} {
			if at := shares[string(route.Conversation)]; len(at) > 0 {
				return receipt(at[0].Ts, u.web.cfg.Now()), true
			}
		}
	}
	return adapters.Receipt{}, false
}

// Fetch reads a received file. The token is sent only to Slack's hosts and that of the configured API, and redirects are
// not followed.
func (a *Adapter) Fetch(ctx context.Context, at sessions.Attachment) (io.ReadCloser, error) {
	ref := at.Ref
	if !strings.Contains(ref, "://") {
		var err error
		if ref, err = a.uploads.fileURL(ctx, ref); err != nil {
			return nil, err
		}
	}
	u, err := a.web.slackURL(ref)
	if err != nil {
		return nil, permanent(fmt.Errorf("fetch file %s: %w", at.Name, err))
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, http.NoBody)
	if err != nil {
		cancel()
		return nil, permanent(fmt.Errorf("fetch file %s: %w", at.Name, err))
	}
	r.Header.Set("Authorization", "Bearer "+string(a.cfg.BotToken))
	resp, err := a.web.files.open(r)
	if err != nil {
		cancel()
		return nil, a.web.failure("fetch file", err)
	}
	if err := readable(resp, at); err != nil {
		_ = resp.Body.Close() // only read from
		cancel()
		return nil, a.web.failure("fetch file", err)
	}
	return &download{ReadCloser: resp.Body, cancel: cancel}, nil
}

// fileURL asks for the URL of a file of which an event had only the id.
func (u *uploads) fileURL(ctx context.Context, id string) (string, error) {
	var f *slackapi.File
	err := u.web.call(ctx, paceKey{method: "files.info"}, func(ctx context.Context) (err error) {
		f, _, _, err = u.web.api.GetFileInfoContext(ctx, id, 0, 0)
		return err
	})
	if err != nil {
		return "", err
	}
	return f.URLPrivate, nil
}

// readable distinguishes a file from Slack's sign-in page, which a token without files:read receives.
func readable(resp *http.Response, at sessions.Attachment) error {
	got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // a page has a type
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400, got == "text/html" && !strings.Contains(at.MIME, "html"):
		return slackapi.SlackErrorResponse{Err: "missing_scope"}
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusForbidden:
		return slackapi.SlackErrorResponse{Err: "file_not_found"}
	case resp.StatusCode != http.StatusOK:
		return refusal(resp, nil)
	}
	return nil
}

// download releases its deadline when it is closed.
type download struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (d *download) Close() error {
	defer d.cancel()
	if err := d.ReadCloser.Close(); err != nil {
		return fmt.Errorf("close file: %w", err)
	}
	return nil
}
