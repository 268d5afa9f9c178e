package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Request asks for an address that the configuration names, unlike [Fetcher.Get], whose addresses come from models.
type Request struct {
	URL      string
	Headers  map[string]string
	MaxBytes int
}

// Answer is an answer as it is, whatever its status. Redirects are not followed.
type Answer struct {
	Status  int
	Headers map[string]string // by their names in lower case; several values of one name are joined by a comma
	Body    []byte
}

// NewPrivate creates a Fetcher that also reaches this machine and private networks.
func NewPrivate() *Fetcher { return guarded(nil) }

// Ask gets the answer of an address. A body above the maximum is an error.
func (f *Fetcher) Ask(ctx context.Context, r Request) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, http.NoBody)
	if err != nil {
		return Answer{}, &AddressError{"can't be read as an address"}
	}
	req.Header.Set("User-Agent", "Sluice")
	req.Header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.1")
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	client := &http.Client{Transport: f.way, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, plainly(err)
	}
	defer resp.Body.Close()                                                 //nolint:errcheck // nothing is written
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(r.MaxBytes)+1)) // the limit applies after decompression
	if err != nil {
		return Answer{}, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > r.MaxBytes {
		return Answer{}, &AnswerError{fmt.Sprintf("the answer is longer than %d bytes", r.MaxBytes)}
	}
	got := Answer{Status: resp.StatusCode, Headers: map[string]string{}, Body: body}
	for name, values := range resp.Header {
		got.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return got, nil
}

// Post sends a request with a body, and returns the status of the response, whose body is not read. It follows no redirects. Its
// errors do not contain the address.
func (f *Fetcher) Post(ctx context.Context, address string, header http.Header, body []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, &AddressError{"can't be read as an address"}
	}
	req.Header = header.Clone()
	req.Header.Set("User-Agent", "Sluice")
	client := &http.Client{Transport: f.way, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return 0, plainly(err)
	}
	return resp.StatusCode, resp.Body.Close()
}

// plainly drops the address from an error: it may contain a password.
func plainly(err error) error {
	if inside, ok := errors.AsType[*url.Error](err); ok {
		err = inside.Err
	}
	return err
}
