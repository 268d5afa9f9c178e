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
	"strconv"
	"strings"
	"time"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

// transcriptMax is how much of a server's response is read.
const transcriptMax = 1 << 20

// errorMax is how much of a server's error is read, to tell its kind.
const errorMax = 4 << 10

// Audio is a client of the Audio API, which many speech servers have. It is safe for concurrent use.
type Audio struct {
	cfg    wire.ProviderConfig
	client *http.Client
}

// NewAudio creates a client of a provider. It sends no request.
func NewAudio(cfg wire.ProviderConfig) *Audio {
	cfg.BaseURL = strings.TrimSuffix(cmp.Or(cfg.BaseURL, DefaultBaseURL), "/")
	cfg.APIKey = strings.TrimSpace(cfg.APIKey)
	return &Audio{cfg, &http.Client{Transport: cfg.Transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Transcript is what is said in a recording.
type Transcript struct {
	Text string
	// Lasts is how long the recording lasts as the server counts it; 0: it does not say.
	Lasts time.Duration
}

// Transcribe returns what is said in a recording. It does not try again.
func (a *Audio) Transcribe(ctx context.Context, model, name, kind string, recording []byte) (Transcript, error) {
	body, contentType, err := form(model, name, kind, recording)
	if err != nil {
		return Transcript{}, fmt.Errorf("transcribe: %w", err)
	}
	resp, err := a.post(ctx, model, "/audio/transcriptions", contentType, body)
	if err != nil {
		return Transcript{}, fmt.Errorf("transcribe: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	var got struct {
		Text     *string
		Duration seconds // of servers that answer with it without being asked
		Usage    struct {
			Type    string
			Seconds seconds
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, transcriptMax)).Decode(&got); err != nil || got.Text == nil {
		return Transcript{}, errors.New("transcribe: the server's response has no text")
	}
	lasts := time.Duration(got.Duration)
	if got.Usage.Type == "duration" {
		lasts = max(lasts, time.Duration(got.Usage.Seconds))
	}
	return Transcript{strings.TrimSpace(*got.Text), lasts}, nil
}

// seconds is a time as a number of seconds. Anything else counts as no time: the transcript is worth more than its length.
type seconds time.Duration

// UnmarshalJSON implements [json.Unmarshaler].
func (s *seconds) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err == nil && n > 0 && n <= dayMax.Seconds() {
		*s = seconds(n * float64(time.Second))
	}
	return nil
}

// dayMax is the longest time that a server is believed.
const dayMax = 24 * time.Hour

// speechMax is the maximum size of a recording that a server makes, in bytes.
const speechMax = 16 << 20

// Speak returns a recording of a text: Ogg with Opus, unless the server has another format. It does not try again.
func (a *Audio) Speak(ctx context.Context, model, voice, text string) ([]byte, error) {
	body, err := json.Marshal(map[string]string{"model": model, "voice": voice, "input": text, "response_format": "opus"})
	if err != nil {
		return nil, fmt.Errorf("speak: %w", err)
	}
	resp, err := a.post(ctx, model, "/audio/speech", "application/json", bytes.NewReader(body))
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

// post sends a request. Any status but 200 is an error, a [*sessions.ModelError] of its kind.
func (a *Audio) post(ctx context.Context, model, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.BaseURL+path, body)
	if err != nil {
		return nil, errors.New("the address of the server is not valid")
	}
	req.Header.Set("Content-Type", contentType)
	if a.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+a.cfg.APIKey)
	}
	for name, value := range a.cfg.Headers {
		req.Header.Set(name, value)
	}
	resp, err := a.client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // the address may have a password
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, errorMax))
		if err != nil {
			text = nil // the status is enough
		}
		_ = resp.Body.Close() // it was only read from
		return nil, &sessions.ModelError{Kind: wire.KindOf(resp.StatusCode, string(text)), Model: a.cfg.Name + "/" + model, Err: fmt.Errorf("the server answered %d", resp.StatusCode)}
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
