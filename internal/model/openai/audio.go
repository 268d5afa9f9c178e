package openai

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
	"strings"

	"sluice/internal/model/wire"
)

// transcriptMax is how much of a server's response is read.
const transcriptMax = 1 << 20

// Audio is a client of the Audio API, which many speech servers have. It is safe for concurrent use.
type Audio struct {
	cfg    wire.ProviderConfig
	client *http.Client
}

// NewAudio creates a client of a provider. It sends no request.
func NewAudio(cfg wire.ProviderConfig) *Audio {
	cfg.BaseURL = strings.TrimSuffix(cmp.Or(cfg.BaseURL, DefaultBaseURL), "/")
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	return &Audio{cfg, &http.Client{Transport: wire.NewTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Transcribe returns what is said in a recording. It does not try again.
func (a *Audio) Transcribe(ctx context.Context, model, name, kind string, recording []byte) (string, error) {
	body, contentType, err := form(model, name, kind, recording)
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	resp, err := a.post(ctx, "/audio/transcriptions", contentType, body)
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	var got struct{ Text *string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, transcriptMax)).Decode(&got); err != nil || got.Text == nil {
		return "", errors.New("transcribe: the server's response has no text")
	}
	return strings.TrimSpace(*got.Text), nil
}

// speechMax is the maximum size of a recording that a server makes, in bytes.
const speechMax = 16 << 20

// Speak returns a recording of a text: Ogg with Opus, unless the server has another format. It does not try again.
func (a *Audio) Speak(ctx context.Context, model, voice, text string) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"model": model, "voice": voice, "input": text, "response_format": "opus"})
	if err != nil {
		return nil, fmt.Errorf("speak: %w", err)
	}
	resp, err := a.post(ctx, "/audio/speech", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("speak: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	recording, err := io.ReadAll(io.LimitReader(resp.Body, speechMax+1))
	switch kind := resp.Header.Get("Content-Type"); {
	case err != nil:
		return nil, fmt.Errorf("speak: read the server's response: %w", err)
	case len(recording) > speechMax:
		return nil, fmt.Errorf("speak: the recording has more than %d bytes", speechMax)
	case len(recording) == 0, strings.HasPrefix(kind, "application/json"), strings.HasPrefix(kind, "text/"):
		return nil, errors.New("speak: the server's response is not a recording")
	}
	return recording, nil
}

// post sends a request. Any status but 200 is an error.
func (a *Audio) post(ctx context.Context, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.BaseURL+path, body)
	if err != nil {
		return nil, errors.New("the address of the server is not valid")
	}
	req.Header.Set("Content-Type", contentType)
	if a.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+a.cfg.APIKey)
	}
	resp, err := a.client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // the address may have a password
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // nothing in it is of use
		return nil, fmt.Errorf("the server answered %d", resp.StatusCode)
	}
	return resp, nil
}

// form is a request's body.
func form(model, name, kind string, recording []byte) (body *bytes.Buffer, contentType string, err error) {
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", multipart.FileContentDisposition("file", name))
	head.Set("Content-Type", kind)
	file, err := w.CreatePart(head)
	if err == nil {
		_, err = file.Write(recording)
	}
	return body, w.FormDataContentType(), errors.Join(err, w.WriteField("model", model), w.WriteField("response_format", "json"), w.Close())
}
