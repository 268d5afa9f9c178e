package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/internal/web"
	"sluice/policy/flow"
)

// pages is the web: one page, or what is wrong with it.
type pages struct {
	page  web.Page
	err   error
	asked []string
}

func (p *pages) Get(_ context.Context, address string, _ web.Rules) (web.Page, error) {
	p.asked = append(p.asked, address)
	return p.page, p.err
}

// online is a bundle whose agents have web_fetch.
func online(t *testing.T, level flow.Level) *bundle {
	t.Helper()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Web = roster.Web{Enabled: true, Classification: level} })
	b.reopen(t)
	return b
}

func TestWebFetch(t *testing.T) {
	t.Parallel()
	b := online(t, flow.Public)
	b.pages.page = web.Page{URL: "https://example.org/", Title: "News", Type: "text/html", Text: "äöü and more"}
	result := b.tool(t, "web_fetch", `{"url":"https://example.org/","max_chars":3}`)
	require.False(t, result.Error, result.Text)
	require.JSONEq(t, `{"url":"https://example.org/","title":"News","type":"text/html","text":"äöü","cut":true}`, result.Text)
	require.Equal(t, flow.NewLabel(flow.Public, flow.Untrusted), result.Label)
	require.Equal(t, flow.Untrusted, b.session.Taint().Trust(), "anybody may have written the page")

	b.pages.err = &web.AddressError{Why: "want an http or https address"}
	require.Equal(t, "url: want an http or https address", b.tool(t, "web_fetch", `{"url":"x"}`).Text)
	b.pages.err = &web.AnswerError{Why: "it answers 404 Not Found"}
	require.Equal(t, "the page can't be read: it answers 404 Not Found", b.tool(t, "web_fetch", `{"url":"x"}`).Text)
	b.pages.err = errors.New("dial tcp 10.0.0.7:80: is not an address of the public web")
	inside := b.tool(t, "web_fetch", `{"url":"http://intranet/"}`)
	b.pages.err = errors.New("lookup nowhere: no such host")
	require.Equal(t, inside, b.tool(t, "web_fetch", `{"url":"http://intranet/"}`), "what is inside is not told from what is not there")
	require.NotContains(t, inside.Text, "10.0.0.7")
}

// An address is a message to its server.
func TestWebFetchIsASink(t *testing.T) {
	t.Parallel()
	b := online(t, flow.Public)
	b.as(t, b.record("agent:main:telegram:group:-1", flow.NewLabel(flow.Internal, flow.Trusted)), true)
	result := b.tool(t, "web_fetch", `{"url":"https://example.org/?q=secret"}`)
	require.True(t, result.Error)
	require.Contains(t, result.Text, "tools.web.classification")
	require.Empty(t, b.pages.asked)
}

func TestWebFetchIsOffUnlessEnabled(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NotContains(t, b.toolNames(t), "web_fetch")
	b = online(t, flow.Internal)
	require.Contains(t, b.toolNames(t), "web_fetch")
	b.configure(func(s *roster.Settings) { s.Web = roster.Web{Enabled: true, Classification: flow.Public} })
	result := b.tool(t, "web_fetch", `{"url":"https://example.org/"}`)
	require.Contains(t, result.Text, "the configuration of web_fetch has changed", "an open session does not go by a level that holds no more")
	require.Empty(t, b.pages.asked)
}
