package app_test

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// identify is a proxy in front of a gateway that signs people in: it keeps who they are in a cookie, and names them to the
// gateway in X-Forwarded-Email. A browser with the cookie "ended" is no longer signed in. The proxy calls from 127.0.0.2, the
// address that the gateway trusts; the browser calls from 127.0.0.1.
func (g *gateway) identify() string {
	g.t.Helper()
	target, err := url.Parse(g.url(""))
	require.NoError(g.t, err)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Del("X-Forwarded-Email")
		if who, err := r.In.Cookie("person"); err == nil {
			r.Out.Header.Set("X-Forwarded-Email", who.Value)
		}
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("/oauth2/start", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "person", Value: r.URL.Query().Get("as"), Path: "/", HttpOnly: true})
		http.Redirect(w, r, "/overview", http.StatusFound)
	})
	mux.HandleFunc("/oauth2/sign_out", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "person", Path: "/", MaxAge: -1})
		_, _ = w.Write([]byte("<title>signed out</title>"))
	})
	mux.HandleFunc("/oauth2/sign_in", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<title>sign in</title>"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, unknown := r.Cookie("person")
		_, unended := r.Cookie("ended")
		if unknown != nil || unended == nil {
			if !strings.Contains(r.Header.Get("Accept"), "application/json") { // as proxies do with what may be a page
				http.Redirect(w, r, "/oauth2/sign_in", http.StatusFound)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("<title>sign in</title>"))
			return
		}
		forward.ServeHTTP(w, r)
	})
	front := httptest.NewServer(mux)
	g.t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		transport.CloseIdleConnections()
	})
	return front.URL
}

const proxied = `
models: { default: offline/echo }
channels: { webchat: { classification: RESTRICTED } }
gateway:
  token: the-token-of-the-gateway
  proxy:
    from: [127.0.0.2]
    header: X-Forwarded-Email
    signOut: %SIGNOUT%
    people:
      - { user: ann@example.org, role: owner, classification: RESTRICTED }
      - { user: "*@example.org", role: viewer, classification: INTERNAL }
`

// Behind a proxy that signs people in, the page needs no token: each person has the role and the level of the configuration.
// A browser that names a person itself is not believed.
func TestPageBehindAProxyThatSignsPeopleIn(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, strings.ReplaceAll(proxied, "%SIGNOUT%", "/oauth2/sign_out"), nil)
	for _, level := range []string{"INTERNAL", "RESTRICTED"} {
		read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"words-`+level+`","label":"`+level+`"}`), http.StatusAccepted, nil)
	}
	front := g.identify()
	b := newBrowser(t)
	b.open(front + "/overview")
	b.until(`document.title === "sign in"`)
	enter := func(who string) string {
		b.open(front + "/oauth2/start?as=" + who)
		b.until(`document.querySelector(".calm, .needs") && document.querySelector("#connection.connected")`)
		b.open(front + "/deliveries")
		b.until(`document.querySelector(".row")`)
		return eval[string](b, `import("/base.js").then(({ me, acts }) => [me.actor, me.role, me.level, me.via, acts() ? "acts" : "reads"].join(" "))`)
	}
	const rows = `document.querySelector(".rows").innerText`
	require.Equal(t, "proxy:ann@example.org owner RESTRICTED proxy acts", enter("ann@example.org"))
	require.Contains(t, eval[string](b, rows), "words-RESTRICTED")
	require.Equal(t, "proxy:bob@example.org viewer INTERNAL proxy reads", enter("bob@example.org"))
	require.Contains(t, eval[string](b, rows), "words-INTERNAL")
	require.NotContains(t, eval[string](b, rows), "words-RESTRICTED")
	b.picture("proxy-viewer")

	const forged = `fetch("/v1/me", { headers: { "Sluice-Client": "page", "X-Forwarded-Email": "ann@example.org" } }).then(async (r) => r.status + " " + ((await r.json()).actor ?? ""))`
	require.Equal(t, "200 proxy:bob@example.org", eval[string](b, forged), "the proxy removes what the browser says")
	require.Equal(t, 403, eval[int](b, `fetch("/v1/messages", { method: "POST", headers: { "Sluice-Client": "page", "Content-Type": "application/json" }, body: JSON.stringify({ channel: "webchat", to: "local", text: "x" }) }).then((r) => r.status)`), "a viewer sends nothing")
	require.Equal(t, 401, eval[int](b, `fetch("/v1/me").then((r) => r.status)`), "a page of another site cannot send the header Sluice-Client")

	b.click(`.rail-foot button`)
	b.until(`document.querySelector("dialog .danger")`)
	b.picture("proxy-you")
	b.click(`dialog .danger`)
	b.until(`document.title === "signed out"`)
	b.open(front + "/overview")
	b.until(`document.title === "sign in"`)

	b.open(front + "/oauth2/start?as=eve@example.com")
	b.until(`document.getElementById("ask")?.open`) // nobody of the configuration
	b.open(g.url("/overview"))
	b.until(`document.getElementById("ask")?.open`)
	require.Equal(t, "401 ", eval[string](b, forged), "the browser is not the proxy")
}

// If the configuration does not say where the proxy signs people out, the page says so, and has no button that would sign them in
// again.
func TestPageSaysWhereToSignOut(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, strings.ReplaceAll(proxied, "%SIGNOUT%", `""`), nil)
	b := newBrowser(t)
	b.open(g.identify() + "/oauth2/start?as=ann@example.org")
	b.until(`document.querySelector(".calm, .needs")`)
	b.click(`.rail-foot button`)
	b.until(`document.querySelector("dialog")?.innerText.includes("A proxy has signed you in.")`)
	require.False(t, eval[bool](b, `Boolean(document.querySelector("dialog .danger"))`))
}

// Who signs out at the proxy is asked to sign in there again in the other tabs too: by the next request, and by the stream, which
// lasts a minute.
func TestPageNoticesThatTheProxySignedOut(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, strings.ReplaceAll(proxied, "%SIGNOUT%", "/oauth2/sign_out"), nil)
	front := g.identify()
	for name, ask := range map[string]string{
		"a request":  `m.json("/v1/runs")`,
		"the stream": `m.call("/v1/stream", { headers: { Accept: "text/event-stream" } })`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t)
			b.open(front + "/oauth2/start?as=ann@example.org")
			b.until(`document.querySelector(".calm, .needs") && document.querySelector("#connection.connected")`)
			b.do(chromedp.Evaluate[chromedp.Void](`fetch("/oauth2/sign_out").then(() => import("/base.js")).then((m) => ` + ask + `); 0`))
			b.reloaded(`document.title === "sign in"`)
		})
	}
}

// Who signs out after the proxy has ended the sign-in leaves nothing of theirs in the browser.
func TestPageSignsOutOfAnEndedSignIn(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, strings.ReplaceAll(proxied, "%SIGNOUT%", "/oauth2/sign_out"), nil)
	b := newBrowser(t)
	b.open(g.identify() + "/oauth2/start?as=ann@example.org")
	b.until(`document.querySelector(".calm, .needs") && document.querySelector("#connection.connected")`)
	// No request of the page itself comes between the end of the sign-in and signing out.
	b.do(chromedp.Evaluate[chromedp.Void](`localStorage.setItem("sluice.draft", "words"); import("/base.js").then((m) => { document.cookie = "ended=yes"; m.signOut(); m.call("/v1/me"); }); 0`))
	b.reloaded(`["signed out", "sign in"].includes(document.title)`)
	require.Equal(t, "signed out", eval[string](b, `document.title + (localStorage.getItem("sluice.draft") ?? "")`))
}
