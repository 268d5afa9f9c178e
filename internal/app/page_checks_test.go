package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// The numbers in the names of these tests are those of the checks in docs/console/checks.md.

// aLargeResult gives the history of a conversation a tool result of 19 MB.
const aLargeResult = `(() => {
	const real = fetch, line = "0123456789".repeat(10).slice(1) + "\n";
	window.fetch = async (path, options) => {
		const answer = await real(path, options);
		if (!String(path).includes("/history")) return answer;
		const body = await answer.json(), at = new Date().toISOString();
		body.messages.push(
			{ id: "msg_call", role: "assistant", created: at, label: "PUBLIC/trusted", parts: [{ type: "toolCall", callId: "c1", tool: "dump", args: {} }] },
			{ id: "msg_result", role: "toolResult", created: at, label: "PUBLIC/trusted", parts: [{ type: "toolResult", callId: "c1", tool: "dump", text: line.repeat(190000), label: "PUBLIC/trusted" }] });
		return new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });
	};
	return true;
})()`

// The browser lays out only what is in sight, so a result of any length opens at once, in part and as a whole.
func TestCheck25ALargeResultOpensInPieces(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"hello"}`), http.StatusOK, nil)
	b := g.console("/overview")
	eval[bool](b, aLargeResult)
	eval[bool](b, `document.querySelector("a[href='/conversations']").click(), true`)
	b.until(`document.querySelector(".row .open-row")`)
	eval[bool](b, `document.querySelector(".row .open-row").click(), true`)
	const call = `document.querySelector("details[data-call=c1]")`
	b.until(call)
	inDocument := func() int { return eval[int](b, call+`.textContent.length`) }
	require.Less(t, inDocument(), 100_000, "only a part is in the document")
	eval[bool](b, call+`.querySelector("summary").click(), true`)
	b.until(call + `.open`)
	require.Less(t, inDocument(), 100_000, "still only a part")
	eval[bool](b, `window.changes = 0, new MutationObserver((records) => changes += records.length).observe(`+call+`, { childList: true, subtree: true, characterData: true }), true`)
	eval[bool](b, `[...`+call+`.querySelectorAll(".text button")].at(-1).click(), true`)
	b.until(call + `.textContent.length >= 19e6`)
	require.Less(t, eval[int](b, `changes`), 1000, "it comes in large pieces")
	require.Less(t, eval[int](b, call+`.querySelectorAll("*").length`), 1000)
	// A probe in an element that the browser skips is not visible. Text that the browser does not skip counts as laid out.
	const laidOut = `[...document.querySelectorAll("details[data-call=c1] pre")].flatMap((pre) => pre.childElementCount ? [...pre.children] : [pre]).reduce((sum, e) => {
		const probe = e.appendChild(document.createElement("i")), seen = probe.checkVisibility({ contentVisibilityAuto: true });
		probe.remove();
		return sum + (seen ? e.textContent.length : 0);
	}, 0)`
	eval[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))`) // until it is drawn
	require.Less(t, eval[int](b, laidOut), 1_000_000, "what is out of sight is not laid out")
	require.Positive(t, eval[int](b, laidOut))
}

// credentials are the headers with which the page of a browser calls the API.
const credentials = `{ "Sluice-Client": "page", "Sluice-Key": localStorage.getItem("sluice.key") }`

func TestCheck35TheCookieAloneIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, "").console("/overview")
	status := func(path, headers string) int {
		return eval[int](b, fmt.Sprintf(`fetch(%q, { headers: %s, credentials: "include" }).then((r) => { r.body?.cancel(); return r.status; })`, path, headers))
	}
	for _, path := range []string{"/v1/me", "/v1/sessions", "/v1/stream", "/v1/overview"} {
		require.Equal(t, http.StatusOK, status(path, credentials), path)
		require.Equal(t, http.StatusUnauthorized, status(path, `{}`), path)
		require.Equal(t, http.StatusUnauthorized, status(path, `{ "Sluice-Client": "page", "Sluice-Key": "another" }`), path)
	}
}

// Another port of the same host is the same site, so its requests carry the cookie.
func TestCheck36ACallFromTheSameSiteIsRefused(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	target, err := url.Parse(g.url(""))
	require.NoError(t, err)
	var mu sync.Mutex
	answered := map[string]string{} // request → site, cookie, status
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			mu.Lock()
			defer mu.Unlock()
			_, cookie := r.Request.Header["Cookie"]
			answered[r.Request.Method+" "+r.Request.URL.Path] = fmt.Sprint(r.Request.Header.Get("Sec-Fetch-Site"), " ", cookie, " ", r.StatusCode)
			return nil
		},
	}
	seen := httptest.NewServer(forward)
	t.Cleanup(seen.Close)
	neighbour := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<title>neighbour</title>")) }))
	t.Cleanup(neighbour.Close)
	b := newBrowser(t)
	b.open(seen.URL + "/overview#token=" + g.Token())
	b.until(`document.querySelector(".calm, .needs")`)
	b.open(neighbour.URL)
	for _, call := range []string{"GET /v1/me", "GET /v1/sessions", "POST /v1/messages", "GET /v1/stream"} {
		method, path, _ := strings.Cut(call, " ")
		eval[bool](b, fmt.Sprintf(`fetch(%q, { method: %q, mode: "no-cors", credentials: "include" }).then(() => true, () => true)`, seen.URL+path, method))
		mu.Lock()
		require.Equal(t, "same-site true 403", answered[call], call)
		mu.Unlock()
	}
}

// followed has the page follow the stream; ended becomes true when the stream ends.
const followed = `(async () => {
	const answer = await fetch("/v1/stream", { headers: ` + credentials + ` });
	const reader = answer.body.getReader();
	await reader.read();
	(async () => { try { while (!(await reader.read()).done); } catch {} window.ended = true; })();
	return answer.status;
})()`

func TestCheck37SigningOutAndRevokingEndStreams(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	token := g.tokenOf("operator", "INTERNAL")
	signedIn := func(token string) *browser {
		b := newBrowser(t)
		b.open(g.url("/overview#token=" + token))
		b.until(`document.querySelector(".calm, .needs")`)
		require.Equal(t, http.StatusOK, eval[int](b, followed))
		return b
	}
	revoked, out := signedIn(token), signedIn(g.Token())
	read(t, g.call(http.MethodDelete, "/v1/tokens/operator-internal", ""), http.StatusNoContent, nil)
	revoked.until(`window.ended && document.getElementById("ask")?.open`)
	require.False(t, eval[bool](out, `Boolean(window.ended)`), "others are not touched")
	require.Equal(t, http.StatusNoContent, eval[int](out, `fetch("/logout", { method: "POST", headers: `+credentials+` }).then((r) => r.status)`))
	out.until(`window.ended`)
}

// No view shows a secret of the configuration, and no answer that a view asks for has one.
func TestCheck39NoViewHasASecret(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	const mark = "zq7" // in each secret
	g, _ := fromFile(t, `
gateway: { token: the-`+mark+`-token-of-the-gateway, tokens: [ { name: bot, token: the-`+mark+`-token-of-a-robot, role: operator, classification: INTERNAL } ] }
models: { default: p/m, providers: { p: { kind: openai, apiKey: `+mark+`-api-key, baseURL: "`+models.OpenAIURL()+`", headers: { X-Team: "`+mark+`-header" } } } }
secrets: { crm: { value: "`+mark+`-secret-of-a-tool", tools: ["web_fetch"] } }
hooks: { ci: { preset: github, secrets: ["`+mark+`-secret-of-a-hook"], prompt: "look" } }
channels: { webchat: { classification: RESTRICTED }, slack: { accounts: { default: { botToken: xoxb-`+mark+`, appToken: xapp-`+mark+`, apiBase: "http://127.0.0.1:9/api" } } } }
`, nil)
	models.Enqueue(modeltest.Say("I know nothing of that."))
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"What is the key?"}`), http.StatusOK, nil)
	b := newBrowser(t)
	b.watch()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.answers = [];
		const real = fetch;
		window.fetch = async (...given) => {
			const answer = await real(...given);
			if (!/event-stream/.test(answer.headers.get("Content-Type"))) answers.push(answer.clone().text());
			return answer;
		};`})
	require.NoError(t, err)
	b.open(g.url("/overview#token=" + g.Token()))
	b.until(`document.querySelector(".calm, .needs")`)
	for _, v := range views {
		b.open(g.url("/" + v.path))
		b.until(`document.querySelector(".row, .empty, .page-body, .problem, .setting") && !document.querySelector(".loading")`)
		seen := eval[string](b, `Promise.all(answers).then((all) => document.documentElement.outerHTML + all.join("\n"))`)
		require.Greater(t, len(seen), 1000, v.path)
		require.NotContains(t, seen, mark, v.path)
	}
}
