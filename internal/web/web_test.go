package web_test

import (
	"compress/gzip"
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var anyHost = web.Rules{Allow: []string{"*"}, MaxBytes: 1 << 20}

func TestOnlyThePublicInternetIsDialled(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"0.0.0.0", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1",
		"198.18.0.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16", "192.0.2.1", "203.0.113.9",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
		"fec0::1", "ff02::1", "2001:db8::1", "100::1", "3fff::1", "5f00::1",
	} {
		require.False(t, web.Public(netip.MustParseAddr(address)), address)
		require.Error(t, web.Guard("tcp6", netip.AddrPortFrom(netip.MustParseAddr(address), 80).String()), address)
	}
	for _, address := range []string{"8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::200e"} {
		require.True(t, web.Public(netip.MustParseAddr(address)), address)
		require.NoError(t, web.Guard("tcp4", netip.AddrPortFrom(netip.MustParseAddr(address), 443).String()), address)
	}
	require.Error(t, web.Guard("udp4", "8.8.8.8:53"))
	require.Error(t, web.Guard("unix", "/run/docker.sock"))
	require.Error(t, web.Guard("tcp4", "localhost:80"))
}

// What production has never reaches this machine, however its address is written.
func TestThisMachineIsNotReached(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "0", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]", "LOCALHOST.", "127.0.0.1."} {
		_, err := web.New().Get(t.Context(), "http://"+host+":"+port+"/", anyHost)
		require.Error(t, err, host)
	}
	require.Zero(t, asked.Load())
}

// site is a server of this machine, and the one fetcher that may reach it.
func site(t *testing.T, handler http.HandlerFunc) (*web.Fetcher, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return web.NewLocal(strings.TrimPrefix(server.URL, "http://")), server.URL
}

func answer(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, body, title, text string }{
		"html": {
			"text/html; charset=utf-8", `<!doctype html><html><head><title>The
 news</title><style>p { color: red }</style><script>alert("<p>x</p>")</script></head><body><h1>Today</h1><p>It   rains &amp; pours.<br>Go <a href="/more?x=1">on</a>, or <a href="#top">up</a>,
 or <a href="javascript:alert(1)">run</a>.</p><ul><li>one<li>two</ul><svg><text>hidden</text><svg></svg>still</svg><noscript>no</noscript><table><tr><td>a</td><td>b</td></tr></table></body></html>`,
			"The news", "Today\nIt rains & pours.\nGo on <BASE/more?x=1>, or up, or run.\n- one\n- two\na | b |",
		},
		"json":        {"application/json", `{"a": 1}`, "", `{"a": 1}`},
		"text":        {"text/plain", "a\n  b", "", "a\n  b"},
		"feed":        {"application/rss+xml", "<rss/>", "", "<rss/>"},
		"not UTF-8":   {"text/plain; charset=latin1", "caf\xe9", "", "caf\uFFFD"},
		"deep":        {"text/html", strings.Repeat("<div>", 100_000) + "end", "", "end"},
		"never ended": {"text/html", "<p>seen<script>var x = 1", "", "seen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, base := site(t, answer(c.kind, c.body))
			page, err := f.Get(t.Context(), base+"/#part", anyHost)
			require.NoError(t, err)
			require.Equal(t, base+"/", page.URL)
			require.Equal(t, c.title, page.Title)
			require.Equal(t, strings.ReplaceAll(c.text, "BASE", base), page.Text)
			require.False(t, page.Cut)
		})
	}
}

func TestWhatIsNoPage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"a picture":       {answer("image/png", "\x89PNG"), "it is not text but image/png"},
		"a hidden one":    {answer("", "\x89PNG\r\n\x1a\n"), "it is not text but image/png"},
		"a binary text":   {answer("text/plain", "a\x00b"), "it is not text but text/plain"},
		"an odd kind":     {answer(";;", "a"), "it does not state its content type"},
		"not there":       {http.NotFound, "it answers 404 Not Found"},
		"in circles":      {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }, "it redirects more than 5 times"},
		"to a file":       {http.RedirectHandler("file:///etc/passwd", http.StatusFound).ServeHTTP, "it redirects to another address: want an http or https address"},
		"with a password": {http.RedirectHandler("http://a:b@example.org/", http.StatusFound).ServeHTTP, "contains a user name or password"},
		"to a denied one": {http.RedirectHandler("http://denied.example/", http.StatusFound).ServeHTTP, "the host denied.example is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, base := site(t, c.handler)
			_, err := f.Get(t.Context(), base, web.Rules{Allow: []string{"*"}, Deny: []string{"denied.*"}, MaxBytes: 1 << 20})
			var answer *web.AnswerError
			require.ErrorAs(t, err, &answer)
			require.Contains(t, answer.Error(), c.says)
		})
	}
}

// A redirection is dialled under the same check.
func TestRedirectionsDoNotLeadInside(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(inside.Close)
	f, base := site(t, http.RedirectHandler(inside.URL, http.StatusFound).ServeHTTP)
	_, err := f.Get(t.Context(), base, anyHost)
	require.ErrorContains(t, err, "is not an address of the public web")
	require.Zero(t, asked.Load())
}

func TestNoDowngrade(t *testing.T) {
	t.Parallel()
	from, err := url.Parse("https://example.org/")
	require.NoError(t, err)
	for to, allowed := range map[string]bool{"https://example.com/": true, "http://example.org/": false} {
		next, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, http.NoBody)
		require.NoError(t, err)
		next.Header.Set("Referer", "https://example.org/?q=secret")
		require.Equal(t, allowed, anyHost.Redirect(next, []*http.Request{{URL: from}}) == nil, to)
		require.Empty(t, next.Header.Get("Referer"))
	}
}

func TestWhoAsksIsNotTold(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	headers := make(chan http.Header, 3)
	f, base := site(t, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Clone()
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
			return
		}
		answer("text/plain", r.Method)(w, r)
	})
	page, err := f.Get(t.Context(), base+"/", anyHost)
	require.NoError(t, err)
	require.Equal(t, "GET", page.Text)
	for range 2 {
		h := <-headers
		h.Del("Accept")
		h.Del("Connection")
		h.Del("Accept-Encoding")
		require.Equal(t, http.Header{"User-Agent": {"Sluice"}}, h)
	}
}

func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	f, base := site(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		chunk := []byte(strings.Repeat("z", 1<<16))
		for range 1000 {
			if _, err := z.Write(chunk); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	page, err := f.Get(t.Context(), base, web.Rules{Allow: []string{"*"}, MaxBytes: 5000})
	require.NoError(t, err)
	require.Len(t, page.Text, 5000)
	require.True(t, page.Cut)
}

func TestShortLinksToALongAddress(t *testing.T) {
	t.Parallel()
	f, base := site(t, answer("text/html", strings.Repeat("<a href=x>y</a>", 50_000)))
	page, err := f.Get(t.Context(), base+"/"+strings.Repeat("long/", 390), anyHost)
	require.NoError(t, err)
	require.True(t, page.Cut)
	require.Less(t, len(page.Text), 5<<20)
}

func TestAHangingServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f, base := site(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := f.Get(ctx, base, anyHost)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	rules := web.Rules{Allow: []string{"*.example.org", "example.com"}, Deny: []string{"bad.*"}, MaxBytes: 1}
	for address, says := range map[string]string{
		"ftp://example.com/":         "want an http or https address",
		"file:///etc/passwd":         "want an http or https address",
		"//example.com":              "want an http or https address",
		"http:///x":                  "want a host",
		"http://exämple.org/":        "want a host of plain letters",
		"http://me:pw@example.com/":  "contains a user name or password",
		"http://example.org/":        "the host example.org is not allowed",
		"http://BAD.Example.Org./":   "the host bad.example.org is not allowed",
		"http://example.com.evil.io": "is not allowed",
		"http://a b/":                "can't be read",
		"http://example.com/" + strings.Repeat("x", 3000): "the maximum is 2048",
	} {
		_, err := web.New().Get(t.Context(), address, rules)
		var wrong *web.AddressError
		require.ErrorAs(t, err, &wrong, address)
		require.Contains(t, wrong.Error(), says, address)
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("<a href='x'>y</a><title>t")
	f.Add("<svg><svg></svg><script></svg>")
	f.Fuzz(func(t *testing.T, document string) {
		title, text := web.TextOf(document)
		require.NotContains(t, title+text, "\x00\x00")
		require.LessOrEqual(t, len(title)+len(text), 100*len(document)+100, "%q", document)
	})
}
