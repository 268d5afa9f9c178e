package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"sluice/internal/glob"
)

const (
	redirectsMax = 5
	addressMax   = 2 << 10 // bytes
	dialTimeout  = 10 * time.Second
	// Timeout limits the time for one page, with all its redirects.
	Timeout = 30 * time.Second
)

// Rules say which hosts are allowed, by patterns with *, and how much is read.
type Rules struct {
	Allow, Deny []string
	MaxBytes    int
}

// Page is the content of an address.
type Page struct {
	URL   string `json:"url"` // after redirects
	Title string `json:"title,omitempty"`
	Type  string `json:"type"` // media type
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty"` // there was more than Rules.MaxBytes
}

// AddressError says why an address is not allowed.
type AddressError struct{ Why string }

// Error is a sentence for the person who gave the address.
func (e *AddressError) Error() string { return e.Why }

// AnswerError says why an answer can't be used as a page.
type AnswerError struct{ Why string }

// Error is a sentence about the server's answer.
func (e *AnswerError) Error() string { return e.Why }

// Fetcher gets pages. It is safe for concurrent use.
type Fetcher struct{ way *http.Transport }

// New creates a Fetcher that reaches only the public web.
func New() *Fetcher { return guarded(guard) }

// guarded returns a Fetcher whose connections pass a check. Only tests use a check other than guard.
func guarded(check func(network, address string, c syscall.RawConn) error) *Fetcher {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: check}
	return &Fetcher{way: &http.Transport{
		Proxy:       nil, // a proxy would dial without the check
		DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: Timeout,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}}
}

// Get reads the page at an address. An *[AddressError] or *[AnswerError] may be shown to the requester; any other
// error may reveal the network.
func (f *Fetcher) Get(ctx context.Context, address string, r Rules) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if len(address) > addressMax {
		return Page{}, &AddressError{fmt.Sprintf("has %d bytes, the maximum is %d", len(address), addressMax)}
	}
	u, err := url.Parse(address)
	if err != nil {
		return Page{}, &AddressError{"can't be read as an address"}
	}
	if err := r.check(u); err != nil {
		return Page{}, err
	}
	u.Fragment = ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return Page{}, &AddressError{"can't be read as an address"}
	}
	req.Header.Set("User-Agent", "Sluice")
	req.Header.Set("Accept", "text/html, text/plain, application/json;q=0.9, text/*;q=0.8")
	client := &http.Client{Transport: f.way, CheckRedirect: r.redirect}
	resp, err := client.Do(req) // without a jar there are no cookies
	if err != nil {
		return Page{}, fmt.Errorf("get page: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	return read(resp, r.MaxBytes)
}

// check returns an error if an address is not allowed.
func (r Rules) check(u *url.URL) error {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &AddressError{"want an http or https address"}
	case host == "" || strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf || c <= ' ' }):
		return &AddressError{"want a host of plain letters"}
	case u.User != nil:
		return &AddressError{"contains a user name or password, which is refused"}
	case glob.Names(r.Deny, host) || !glob.Names(r.Allow, host):
		return &AddressError{fmt.Sprintf("the host %s is not allowed: an owner can change tools.web.allow and tools.web.deny", host)}
	}
	return nil
}

// redirect checks the target of a redirect.
func (r Rules) redirect(next *http.Request, via []*http.Request) error {
	next.Header.Del("Referer") // servers must not learn the previous address
	if len(via) > redirectsMax {
		return &AnswerError{fmt.Sprintf("it redirects more than %d times", redirectsMax)}
	}
	if via[len(via)-1].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return &AnswerError{"it redirects from https to http, which is refused"}
	}
	if err := r.check(next.URL); err != nil {
		return &AnswerError{"it redirects to another address: " + err.Error()}
	}
	return nil
}

// read converts an answer to a page.
func read(resp *http.Response, most int) (Page, error) {
	if resp.StatusCode != http.StatusOK {
		return Page{}, &AnswerError{fmt.Sprintf("it answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1)) // the limit applies after decompression
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Page{}, fmt.Errorf("read page: %w", err)
	}
	page := Page{URL: resp.Request.URL.String(), Cut: len(body) > most || err != nil}
	body = body[:min(len(body), most)]
	header := resp.Header.Get("Content-Type")
	if header == "" {
		header = http.DetectContentType(body)
	}
	if page.Type, _, err = mime.ParseMediaType(header); err != nil {
		return Page{}, &AnswerError{"it does not state its content type"}
	}
	switch {
	case page.Type == "text/html" || page.Type == "application/xhtml+xml":
		var cut bool
		page.Title, page.Text, cut = textOf(bytes.NewReader(body), resp.Request.URL)
		page.Cut = page.Cut || cut
	case isText(page.Type) && !bytes.ContainsRune(body, 0):
		page.Text = strings.ToValidUTF8(string(body), "\uFFFD")
	default:
		return Page{}, &AnswerError{"it is not text but " + page.Type}
	}
	return page, nil
}

// isText reports whether a media type is plain text.
func isText(kind string) bool {
	known := []string{"application/json", "application/xml", "application/javascript", "application/yaml", "application/x-ndjson"}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml" || slices.Contains(known, kind)
}
