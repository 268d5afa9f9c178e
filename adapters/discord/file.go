package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"sluice/adapters"
	"sluice/sessions"
)

// Discord's limits of one file, by the guild's boost level.
const (
	maxFile      = 10 << 20
	maxFileTier2 = 50 << 20
	maxFileTier3 = 100 << 20
)

// attachmentName describes an attached file in a message's body.
type attachmentName struct {
	ID       string `json:"id"`
	Filename string `json:"filename"`
}

// fileBody is a request's file.
type fileBody struct{ adapters.File }

// open returns the request's body, type and length. The length is -1 if the file's size is unknown.
func (f *fileBody) open(ctx context.Context, payload any) (io.Reader, string, int64, error) {
	var buf bytes.Buffer
	form := multipart.NewWriter(&buf)
	fields, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="payload_json"`}, "Content-Type": {"application/json"},
	})
	if err != nil {
		return nil, "", 0, fmt.Errorf("write form: %w", err)
	}
	if err := json.NewEncoder(fields).Encode(payload); err != nil {
		return nil, "", 0, fmt.Errorf("encode message: %w", err)
	}
	if _, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("files[0]", f.Name)},
		"Content-Type":        {cmp.Or(f.MIME, "application/octet-stream")},
	}); err != nil {
		return nil, "", 0, fmt.Errorf("write form: %w", err)
	}
	head := buf.Len()
	if err := form.Close(); err != nil {
		return nil, "", 0, fmt.Errorf("write form: %w", err)
	}
	content, err := f.Open(ctx)
	if err != nil {
		return nil, "", 0, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: fmt.Errorf("open file: %w", err)}
	}
	length := int64(-1)
	if f.Size > 0 {
		length = int64(buf.Len()) + f.Size
	}
	body := io.MultiReader(bytes.NewReader(buf.Bytes()[:head]), content, bytes.NewReader(buf.Bytes()[head:]))
	return struct {
		io.Reader
		io.Closer
	}{body, content}, form.FormDataContentType(), length, nil
}

// SendFile posts a file, with out.Text as its comment.
func (a *Adapter) SendFile(ctx context.Context, out adapters.Outbound, f adapters.File) (adapters.Receipt, error) {
	if out.Route.Handle != "" {
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errPrivateFile}
	}
	most := a.maxFile(out.Route)
	if f.Size > most {
		err := fmt.Errorf("the file has %d bytes; Discord accepts at most %d here", f.Size, most)
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.TooLarge, Certain: true, Err: err}
	}
	body, err := compose(out)
	if err != nil {
		return adapters.Receipt{}, err
	}
	f.Name = cmp.Or(valid(f.Name), "file")
	body.Attachments = []attachmentName{{ID: "0", Filename: f.Name}}
	return a.sender.post(ctx, out, request{body: body, file: &fileBody{f}})
}

func (a *Adapter) maxFile(r sessions.Route) int64 {
	switch known(a.lookup.places, r.Space, func(g *guildInfo) int { return g.tier }) {
	case 2:
		return maxFileTier2
	case 3:
		return maxFileTier3
	}
	return maxFile
}

// fileHosts are Discord's file servers.
var fileHosts = []string{"cdn.discordapp.com", "media.discordapp.net"}

var (
	errForeignFile = errors.New("file is not at one of Discord's addresses")
	errPrivateFile = errors.New("discord does not accept a file in the reply to a slash command")
)

// Fetch reads an attachment from Discord's file servers. It does not send them the token.
func (a *Adapter) Fetch(ctx context.Context, at sessions.Attachment) (io.ReadCloser, error) {
	if !a.ownFile(at.Ref) {
		return nil, permanent(errForeignFile)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.Ref, nil)
	if err != nil {
		return nil, permanent(errForeignFile)
	}
	r.Header.Set("User-Agent", userAgent)
	resp, err := a.api.client.http.Do(r)
	if err != nil {
		return nil, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: fmt.Errorf("fetch file: %w", unaddressed(err))}
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	_ = resp.Body.Close() // nothing in it is of use
	return nil, fileFailure(resp)
}

func fileFailure(resp *http.Response) *adapters.Failure {
	f := &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: fmt.Errorf("fetch file: discord answered %d", resp.StatusCode)}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		f.Kind, f.RetryAfter = adapters.RateLimited, header(resp.Header, "Retry-After")
	case resp.StatusCode >= 500:
		f.Kind = adapters.Transient
	}
	return f
}

// unaddressed removes the address from an error: it is signed, so anyone who sees it can read the file.
func unaddressed(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// ownFile reports whether an address is one of Discord's, or of a server that the configuration names.
func (a *Adapter) ownFile(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	if u.Scheme == "https" && slices.Contains(fileHosts, strings.ToLower(u.Host)) {
		return true
	}
	api, err := url.Parse(a.cfg.APIBase)
	named := slices.Contains(a.cfg.FileHosts, u.Host) || err == nil && u.Host == api.Host && u.Scheme == api.Scheme
	return named && (u.Scheme == "https" || u.Scheme == "http")
}
