package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"sluice/adapters"
	"sluice/sessions"
)

// maxDownload is the largest file that a bot may download, in bytes.
const maxDownload = 20 << 20

const (
	methodFile   = "getFile"
	callDownload = "file" // not a method: the path of a file's content
)

// Fetch reads an attachment. Telegram gives bots no files above 20 MB: TooLarge. The content must be read within five
// minutes.
func (a *Adapter) Fetch(ctx context.Context, at sessions.Attachment) (io.ReadCloser, error) {
	if at.Ref == "" {
		return nil, permanent(errors.New("the attachment is not a file"))
	}
	if at.Size > maxDownload {
		return nil, &adapters.Failure{
			Kind: adapters.TooLarge, Certain: true, Err: fmt.Errorf("the file has %d bytes; bots can download at most %d from Telegram", at.Size, maxDownload),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	params := struct {
		ID string `json:"file_id"`
	}{at.Ref}
	var file struct {
		Path string `json:"file_path"`
	}
	if err := a.api.client.call(ctx, methodFile, params, &file); err != nil {
		cancel()
		return nil, a.api.failure(methodFile, err)
	}
	body, err := a.api.client.download(ctx, file.Path)
	if err != nil {
		cancel()
		return nil, a.api.failure(callDownload, err)
	}
	return &download{body, cancel}, nil
}

// download starts to read a file. Its address contains the token, its errors do not.
func (c *client) download(ctx context.Context, path string) (body io.ReadCloser, err error) {
	defer func() { c.metrics.called(c.account, callDownload, err) }()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.files+path, http.NoBody)
	if err != nil {
		return nil, c.redact(err)
	}
	resp, err := c.send(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	answer, err := readBounded(resp, maxAnswer)
	if err != nil {
		return nil, &lostError{Sent: true, Err: c.redact(err)}
	}
	err = refusal(resp, answer)
	if e, ok := errors.AsType[*apiError](err); ok && e.Code == http.StatusNotFound {
		e.Code = http.StatusGone // the path has expired; for a method, this status would mean an invalid token
	}
	return nil, err
}

// download is a file's content; closing it releases its deadline.
type download struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (d *download) Close() error {
	defer d.cancel()
	return d.ReadCloser.Close()
}
