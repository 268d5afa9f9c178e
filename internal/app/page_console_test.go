package app_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// console opens a view of the page as the owner.
func (g *gateway) console(path string) *browser {
	g.t.Helper()
	b := newBrowser(g.t)
	b.open(g.url(path + "#token=" + g.Token()))
	b.until(`document.querySelector(".view-title")`)
	return b
}

// keys presses keys where the focus is.
func (b *browser) keys(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// path is the current address without its host.
func (b *browser) path() string {
	b.t.Helper()
	return eval[string](b, `location.pathname + location.search`)
}

// manyRows stands in for a gateway with as many deliveries as nobody wants to make for a test. window.first is the number of
// the newest.
const manyRows = `(() => {
	const real = fetch;
	window.first = 100000;
	window.reads = 0;
	const row = (n) => ({ id: "dlv_" + n, kind: "message", status: n % 2 ? "sent" : "failed", route: { channel: "webchat", account: "default", chatType: "direct", conversation: "local" },
		text: "text " + n, label: "PUBLIC/trusted", attempts: 1, created: new Date(1.7e12 + n * 1000).toISOString(), expires: new Date(1.8e12).toISOString() });
	window.fetch = async (path, options) => {
		const url = new URL(path, location.origin);
		if (url.pathname !== "/v1/deliveries") return real(path, options);
		reads++;
		const limit = Number(url.searchParams.get("limit")), status = url.searchParams.get("status") ?? "";
		let n = Number((url.searchParams.get("after") ?? "dlv_" + (first + 1)).slice(4)) - 1;
		const rows = [];
		for (; n > 0 && rows.length < limit; n--) if (!status || row(n).status === status) rows.push(row(n));
		const headers = new Headers({ "Content-Type": "application/json" });
		if (n > 0) {
			url.searchParams.set("after", rows.at(-1).id);
			headers.set("Link", "<" + url.pathname + url.search + '>; rel="next"');
		}
		return new Response(JSON.stringify({ deliveries: rows, counts: {} }), { headers });
	};
	return true;
})()`

// A list of 100,000 rows has few of them in the document, skips none, and keeps filter and place over back and forward.
func TestCheck5ScrollingSkipsNoRow(t *testing.T) {
	t.Parallel()
	b := start(t, "").console("/overview")
	eval[bool](b, manyRows)
	eval[bool](b, `document.querySelector("[data-view=deliveries]").click(), true`)
	b.until(`document.querySelector(".row")`)
	type seen struct {
		Rows, Most, Missing int
		Took                float64
	}
	got := eval[seen](b, `(async () => {
		const box = document.querySelector(".rows"), numbers = new Set(), from = performance.now();
		let most = 0;
		const look = () => {
			const rows = [...document.querySelectorAll(".row")];
			most = Math.max(most, rows.length);
			for (const r of rows) numbers.add(Number(r.querySelector(".on-main").textContent.slice(5)));
		};
		while (numbers.size < 1500) {
			look();
			box.scrollTop += 400;
			await new Promise(requestAnimationFrame);
		}
		let missing = 0;
		const low = Math.min(...numbers);
		for (let n = 100000; n >= low; n--) if (!numbers.has(n)) missing++;
		return { Rows: numbers.size, Most: most, Missing: missing, Took: performance.now() - from };
	})()`)
	t.Logf("%d rows in %.0f ms, at most %d in the document", got.Rows, got.Took, got.Most)
	require.Zero(t, got.Missing, "no row was skipped")
	require.LessOrEqual(t, got.Most, 100)

	// to the very end: all pages are read, and each row is there once
	end := eval[[]int](b, `import("/ui/rows.js").then(async ({ Rows }) => {
		const rows = new Rows({ path: (limit) => "/v1/deliveries?limit=" + limit, take: (b) => b.deliveries, id: (d) => d.id, changed: () => {} });
		await rows.begin();
		while (rows.next) await rows.more();
		return [rows.order.length, rows.known.size, rows.order.filter((id, i) => id !== "dlv_" + (100000 - i)).length];
	})`)
	require.Equal(t, []int{100_000, 100_000, 0}, end)

	// place and filter
	place := eval[float64](b, `document.querySelector(".rows").scrollTop`)
	require.Greater(t, place, 10_000.0)
	eval[bool](b, `document.querySelector("[data-view=runs]").click(), true`)
	b.until(`document.querySelector("h1").textContent === "Runs" && document.querySelector(".empty")`)
	b.do(chromedp.NavigateBack())
	b.until(`document.querySelectorAll(".row").length > 5`)
	require.InDelta(t, place, eval[float64](b, `document.querySelector(".rows").scrollTop`), 1)
	eval[bool](b, `(() => { const s = document.querySelector("#filters select"); s.value = "failed"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	b.until(`location.search === "?status=failed" && [...document.querySelectorAll(".row .chip")].length > 5 && [...document.querySelectorAll(".row .chip")].every((n) => n.dataset.status === "failed")`)
}

// What is new waits, what has changed changes in place, and what no longer fits is marked; with chosen rows all stands still.
func TestConsoleListsMoveNothingUnderThePointer(t *testing.T) {
	t.Parallel()
	b := start(t, "").console("/overview")
	eval[bool](b, manyRows)
	type shown struct {
		Order []string
		Fresh int
		Gone  []string
	}
	got := eval[[]shown](b, `import("/ui/rows.js").then(async ({ Rows }) => {
		window.first = 120;
		const rows = new Rows({ path: (limit) => "/v1/deliveries?status=failed&limit=" + limit, take: (b) => b.deliveries, id: (d) => d.id, changed: () => {} });
		const state = () => ({ Order: rows.order.slice(0, 3), Fresh: rows.fresh.length, Gone: [...rows.gone] });
		const states = [];
		await rows.begin();
		states.push(state());
		window.first = 124;
		await rows.refresh(0, 20);
		states.push(state());
		rows.settle();
		states.push(state());
		const take = rows.take;
		rows.take = (b) => take(b).filter((d) => d.id !== "dlv_122");
		await rows.refresh(0, 20);
		states.push(state());
		rows.settle();
		states.push(state());
		return states;
	})`)
	require.Equal(t, []shown{
		{[]string{"dlv_120", "dlv_118", "dlv_116"}, 0, []string{}},
		{[]string{"dlv_120", "dlv_118", "dlv_116"}, 2, []string{}},
		{[]string{"dlv_124", "dlv_122", "dlv_120"}, 0, []string{}},
		{[]string{"dlv_124", "dlv_122", "dlv_120"}, 0, []string{"dlv_122"}},
		{[]string{"dlv_124", "dlv_120", "dlv_118"}, 0, []string{}},
	}, got)

	// A change while the first page is being read is not missed.
	require.Equal(t, 2, eval[int](b, `import("/ui/rows.js").then(async ({ Rows }) => {
		window.first = 120;
		const rows = new Rows({ path: (limit) => "/v1/deliveries?status=failed&limit=" + limit, take: (b) => b.deliveries, id: (d) => d.id, changed: () => {} });
		const begun = rows.begin();
		window.first = 124;
		const again = rows.refresh(0, 20);
		if (rows.refresh(0, 20) !== again) return -1; // one stands for all
		await Promise.all([begun, again]);
		return rows.fresh.length;
	})`))

	// Refreshes come one after the other, and the last one reads what was in sight last.
	require.Equal(t, []int{1, 3}, eval[[]int](b, `import("/ui/rows.js").then(async ({ Rows }) => {
		const rows = new Rows({ path: (limit) => "/v1/deliveries?limit=" + limit, take: (b) => b.deliveries, id: (d) => d.id, changed: () => {} });
		await rows.begin();
		await rows.more();
		const before = reads, one = rows.refresh(0, 20), at = reads - before;
		rows.refresh(0, 20);
		await Promise.all([one, rows.refresh(60, 80)]);
		return [at, reads - before];
	})`))

	eval[bool](b, `window.first = 100, document.querySelector("[data-view=deliveries]").click(), true`)
	b.until(`document.querySelector(".row input")`)
	b.click(".row input")
	b.until(`document.querySelector(".bulk").innerText.includes("1 selected")`)
	before := eval[int](b, `reads`)
	eval[bool](b, `import("/base.js").then((m) => { new BroadcastChannel("sluice.stream").postMessage({ event: { kinds: ["deliveries"] }, name: "changed" }); return new Promise((done) => setTimeout(() => done(true), 900)); })`)
	require.Equal(t, before, eval[int](b, `reads`), "a list with chosen rows stands still")
}

// Everything works by keyboard; single letters can be turned off, and none decides anything.
func TestConsoleKeyboard(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	b := g.console("/overview")
	b.until(`document.querySelector(".calm, .needs")`)
	b.keys("gd")
	b.until(`location.pathname === "/deliveries"`)
	b.keys("gc")
	b.until(`location.pathname === "/conversations" && document.querySelector(".empty, .row")`)
	b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	b.until(`document.activeElement.id === "find"`)
	b.do(chromedp.SendKeys(chromedp.CSS("#find"), "main"))
	b.until(`document.querySelectorAll("#found li").length > 0`)
	b.keys(kb.Enter)
	b.until(`location.pathname.startsWith("/conversations/") && document.querySelector("#text")`)

	models.Enqueue(modeltest.Call("memory_save", `{"key":"plan","content":"x"}`), modeltest.Say("It is kept."))
	b.says("keep the plan")
	b.until(`document.getElementById("approvals")?.hidden === false`)
	for _, keys := range []string{kb.Escape, "a", "d", "y", "x", kb.Escape} {
		eval[bool](b, `document.querySelector("#approvals pre").focus(), true`)
		b.keys(keys)
	}
	require.False(t, eval[bool](b, `document.getElementById("approvals").hidden`), "no key decides")
	b.open(g.url("/inbox"))
	b.until(`document.querySelector(".row")`)
	eval[bool](b, `document.querySelector(".rows").focus(), true`)
	b.keys("j")
	b.keys(kb.Enter)
	b.until(`document.querySelector(".peek [data-part=allow]")`)
	b.keys(kb.Escape)
	b.until(`!document.querySelector(".peek") && document.activeElement.classList.contains("rows")`)
	var waiting struct{ Approvals []any }
	read(t, g.call(http.MethodGet, "/v1/approvals", ""), http.StatusOK, &waiting)
	require.Len(t, waiting.Approvals, 1, "Escape decides nothing")

	b.keys("?")
	b.until(`document.querySelector("[data-dialog=keys]")`)
	b.click("[data-dialog=keys] input")
	b.keys(kb.Escape)
	b.until(`!document.querySelector("[data-dialog=keys]")`)
	b.keys("go")
	require.Equal(t, "/inbox", b.path(), "letters are off")
	eval[bool](b, `document.querySelector("#filters input").focus(), true`)
	b.do(chromedp.KeyEvent("ą", chromedp.KeyModifiers(1)))
	require.Equal(t, "/inbox", strings.Split(b.path(), "?")[0], "Alt with a letter types")
}

// A question that is decided elsewhere retires within two seconds, in the inbox and in the conversation.
func TestConsoleQuestionsRetire(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	b := g.page()
	models.Enqueue(modeltest.Call("memory_save", `{"key":"plan","content":"`+strings.Repeat("long ", 20_000)+`"}`), modeltest.Say("It is kept."))
	b.says("keep the plan")
	b.until(`document.getElementById("approvals")?.hidden === false`)
	b.phone(320, 568)
	require.True(t, b.inSight(`#approvals [data-part=allow]`), "with 100 kB of arguments on the smallest phone")
	var waiting struct{ Approvals []struct{ ID string } }
	read(t, g.call(http.MethodGet, "/v1/approvals", ""), http.StatusOK, &waiting)
	id := waiting.Approvals[0].ID
	b.open(g.url("/inbox/" + id))
	b.until(`document.querySelector(".peek [data-part=allow]")`)
	require.True(t, b.inSight(`.peek [data-part=allow]`), "and in the inbox")
	from := time.Now()
	read(t, g.call(http.MethodPost, "/v1/approvals/"+id+"/deny", ""), http.StatusOK, nil)
	b.until(`!document.querySelector(".peek [data-part=allow]")`)
	t.Logf("retired after %v", time.Since(from).Round(time.Millisecond))
	b.open(g.url("/conversations/main"))
	b.until(`document.getElementById("approvals")?.hidden === true`)
}

// Seven tabs work over one stream; a message in one is in all.
func TestConsoleSevenTabs(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	first := g.page()
	tabs := []*browser{first}
	for range 6 {
		ctx, closeTab := chromedp.NewContext(first.ctx)
		t.Cleanup(closeTab)
		b := &browser{t: t, ctx: ctx}
		b.open(g.url("/conversations/main"))
		b.state("connected")
		tabs = append(tabs, b)
	}
	tabs[3].says("to all of you")
	for _, b := range tabs {
		b.shows("echo: to all of you")
	}
	eval[bool](first, `import("/base.js").then((m) => { m.signOut(); return true; })`)
	tabs[5].reloaded(`document.getElementById("ask")?.open`)
}

// Who may only read sees no button that acts, and what the token may not know is nowhere, not even in a number.
func TestConsoleOfAViewer(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/echo }
channels: { webchat: { classification: RESTRICTED } }
`)
	var made struct{ ID string }
	read(t, g.call(http.MethodPost, "/v1/sessions", `{"persistent":true,"title":"Hidden plan"}`), http.StatusCreated, &made)
	g.call(http.MethodPost, "/v1/sessions/"+made.ID+"/messages", `{"message":"hidden words","label":"CONFIDENTIAL"}`)
	g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"open words"}`)
	g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"hidden words","label":"CONFIDENTIAL"}`)
	var viewer struct{ Token string }
	read(t, g.call(http.MethodPost, "/v1/tokens", `{"name":"board","role":"viewer","level":"PUBLIC"}`), http.StatusCreated, &viewer)
	b := newBrowser(t)
	b.open(g.url("/overview#token=" + viewer.Token))
	b.until(`document.querySelector(".calm, .needs")`)
	for _, v := range []string{"overview", "inbox", "conversations", "runs", "deliveries", "people", "audit", "agents", "automation", "alerts", "memory", "config", "logs", "costs", "access"} {
		b.open(g.url("/" + v))
		b.until(`document.querySelector(".row, .empty, .page-body, .problem") && !document.querySelector(".loading")`)
		text := eval[string](b, `document.body.innerText`)
		require.NotContains(t, strings.ToLower(text), "hidden", v)
		require.Empty(t, eval[[]string](b, `[...document.querySelectorAll("main button.danger, main button.main, main [data-part=allow]")].filter((n) => n.checkVisibility()).map((n) => n.textContent)`), v)
	}
	require.Equal(t, 1, eval[int](b, `import("/base.js").then((m) => m.json("/v1/deliveries")).then((d) => d.deliveries.length)`))
	b.open(g.url("/conversations/" + made.ID))
	b.state("withheld")
	require.NotContains(t, b.log(), "hidden words")
}

// The page speaks German, and remembers it.
func TestConsoleInGerman(t *testing.T) {
	t.Parallel()
	b := start(t, "").console("/overview")
	eval[bool](b, `localStorage.setItem("sluice.language", "de"), true`)
	b.do(chromedp.Reload())
	b.until(`document.querySelector("h1")?.textContent === "Überblick" && document.documentElement.lang === "de"`)
	eval[bool](b, `localStorage.setItem("sluice.theme", "dark"), true`)
	b.do(chromedp.Reload())
	b.until(`getComputedStyle(document.body).colorScheme.includes("dark") || getComputedStyle(document.documentElement).colorScheme === "dark"`)
}

// Files go with a message: they are in the session's folder, and the message names them.
func TestConsoleSendsFiles(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	eval[bool](b, `(() => {
		const data = new DataTransfer();
		data.items.add(new File(["the figures"], "fig ures<b>.txt", { type: "text/plain" }));
		const area = document.querySelector(".conversation");
		for (const kind of ["dragenter", "drop"]) area.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
		return true;
	})()`)
	b.until(`document.querySelector(".attached li")`)
	b.says("look")
	b.shows("fig-ures-b-.txt")
	path := eval[string](b, `/\[File: ([^\]]+)\]/.exec(document.getElementById("log").innerText)[1]`)
	answer := g.call(http.MethodGet, "/v1/sessions/main/files/"+path, "")
	require.Equal(t, http.StatusOK, answer.StatusCode, path)
	require.Equal(t, "look", strings.Split(eval[string](b, `document.querySelector(".user .bubble").innerText`), "\n")[0])

	// two screenshots that are pasted have one name, and a fast machine stores them at one time
	require.True(t, eval[bool](b, `(() => {
		const now = Date.now();
		window.clock = Date.now;
		Date.now = () => now;
		const data = new DataTransfer();
		for (const text of ["first", "second"]) data.items.add(new File([text], "image.png", { type: "image/png" }));
		document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
		return true;
	})()`))
	b.until(`document.querySelectorAll(".attached li").length === 2`)
	b.says("both")
	b.shows("image.png")
	var contents []string
	for _, path := range eval[[]string](b, `[...[...document.querySelectorAll(".user .bubble")].at(-1).innerText.matchAll(/\[File: ([^\]]+)\]/g)].map((m) => m[1])`) {
		answer := g.call(http.MethodGet, "/v1/sessions/main/files/"+path, "")
		content, err := io.ReadAll(answer.Body)
		require.NoError(t, errors.Join(err, answer.Body.Close()))
		contents = append(contents, string(content))
	}
	require.Equal(t, []string{"first", "second"}, contents)
	require.True(t, eval[bool](b, `(Date.now = clock) === clock`))

	// a message whose files can't be stored comes back before what was written meanwhile
	paste := func(files int) {
		require.True(t, eval[bool](b, fmt.Sprintf(`(() => {
			const data = new DataTransfer();
			for (let i = 0; i < %d; i++) data.items.add(new File(["x"], i + ".txt"));
			document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
			return true;
		})()`, files)))
	}
	paste(1)
	b.until(`document.querySelectorAll(".attached li").length === 1`)
	require.True(t, eval[bool](b, `(() => {
		const real = fetch;
		window.fetch = (url, options) =>
			options?.method !== "PUT" ? real(url, options) : new Promise((_, refuse) => (window.fail = () => { window.fetch = real; refuse(new Error("away")); return true; }));
		return true;
	})()`))
	b.says("one")
	b.until(`window.fail`)
	b.do(chromedp.SendKeys(chromedp.CSS("#text"), "two"))
	require.True(t, eval[bool](b, `window.fail()`))
	b.until(`document.getElementById("text").value === "one\ntwo" && document.querySelectorAll(".attached li").length === 1`)

	// the page says when it leaves out files
	paste(10)
	b.until(`document.querySelectorAll(".attached li").length === 10`)
	b.until(`document.body.innerText.includes("A message can have at most 10 files.")`)

	// a draft survives
	b.click("#send")
	b.until(`document.getElementById("text").value === ""`)
	b.do(chromedp.SendKeys(chromedp.CSS("#text"), "half a thou"))
	b.do(chromedp.Reload())
	b.until(`document.getElementById("text")?.value === "half a thou"`)
}

// The first view is there soon.
func TestConsoleIsFast(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	b := g.console("/overview")
	b.until(`document.querySelector(".calm, .needs")`)
	bytes := eval[int](b, `performance.getEntriesByType("resource").filter((r) => !r.name.includes("/v1/") && !r.name.includes("/login")).reduce((n, r) => n + r.encodedBodySize, 0)`)
	best := time.Hour
	for range 5 {
		b.do(chromedp.Reload())
		b.until(`document.querySelector(".calm, .needs")`)
		b.until(`performance.getEntriesByName("first-contentful-paint").length`)
		shown := eval[float64](b, `performance.getEntriesByType("paint").find((p) => p.name === "first-contentful-paint").startTime`)
		best = min(best, time.Duration(shown)*time.Millisecond)
	}
	t.Logf("first content after %v, %d kB of files", best, bytes>>10)
	require.NotZero(t, bytes)
	require.Less(t, bytes, 150<<10)
}

// What a view shows first is asked for before the view's modules have been read, and once: the view takes that answer. With a
// token in the address, it does not wait for the sign-in.
func TestConsoleAsksEarly(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	g.page().says("Hello")
	for path, want := range map[string][]string{
		"/overview":      {"/v1/overview"},
		"/conversations": {"/v1/sessions?limit=50"},
		"/conversations?kind=main&q=&level=PUBLIC": {"/v1/sessions?kind=main&level=PUBLIC&limit=50"},
		"/runs?status=done":                        {"/v1/runs?status=done&limit=50"},
		"/deliveries?channel=webchat&status=":      {"/v1/deliveries?channel=webchat&limit=50"},
		"/inbox":                                   {"/v1/approvals?limit=50"},
		"/audit":                                   {"/v1/audit?limit=50"},
		"/memory":                                  {"/v1/memory?limit=50"},
		"/alerts":                                  {"/v1/alerts?limit=50"},
	} {
		b := newBrowser(t)
		b.run(`performance.now = () => 0;`) // an answer that is some seconds old on a slow machine is not asked for again
		b.open(g.url(path + "#token=" + g.Token()))
		asked := eval[[]string](b, `new Promise((done) => {
			const look = () => document.querySelector(".row, .empty, .calm, .needs, #text") ? done(performance.getEntriesByType("resource").map((r) => r.name.slice(location.origin.length)).filter((r) => r.startsWith("/v1/"))) : setTimeout(look, 5);
			look();
		})`)
		for _, one := range want {
			to, _, _ := strings.Cut(one, "?")
			var same []string
			for _, a := range asked {
				// The number beside the inbox is asked for a little later, which is early enough on a slow machine to be seen here.
				if at, _, _ := strings.Cut(a, "?"); at == to && a != "/v1/approvals?status=pending&limit=200" {
					same = append(same, a)
				}
			}
			require.Equal(t, []string{one}, same, path)
			const begins = `performance.getEntriesByType("resource").find((r) => r.name === location.origin + %q).startTime`
			require.LessOrEqual(t, eval[float64](b, fmt.Sprintf(begins, one)), eval[float64](b, fmt.Sprintf(begins, "/login")), path)
		}
	}
}

// The log is shown to those who may see everything, and followed; a line opens with its fields.
func TestPageShowsTheLog(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models)+"channels: { webchat: { classification: RESTRICTED } }\nmcp: { servers: { gone: { command: [/nowhere/server] } } }\n")
	b := g.page()
	asks := func(key string) {
		models.Enqueue(modeltest.Call("memory_save", `{"key":"`+key+`","content":"soon"}`))
		var made struct{ Key string }
		read(t, g.call(http.MethodPost, "/v1/sessions", `{"persistent":true}`), http.StatusCreated, &made)
		read(t, g.call(http.MethodPost, "/v1/wake", `{"text":"keep it","session":"`+made.Key+`"}`), http.StatusAccepted, nil)
	}
	heard := func() {
		eval[bool](b, `import("/base.js").then((m) => { window.told = false; m.onChange(["logs"], () => (window.told = true)); return true; })`)
	}
	b.open(g.url("/logs?q=waits+for+an+approval"))
	b.until(`document.querySelector(".empty") && document.querySelector("#connection.connected")`)
	heard()
	asks("one")
	b.until(`window.told && document.querySelectorAll(".row").length === 1`)
	b.click(`.strip button`)
	heard()
	asks("two")
	b.until(`window.told`)
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll(".row").length`), "it is paused")
	b.click(`.strip button`)
	b.until(`document.querySelectorAll(".row").length === 2 || document.querySelector(".fresh")`)
	b.open(g.url("/logs?level=warn&part=mcp%2Fgone"))
	b.until(`document.querySelector(".row")`)
	eval[bool](b, `document.querySelector(".row .open-row").click(), true`)
	b.until(`/not connected/.test(document.querySelector(".peek h2")?.textContent)`)
	b.picture("logs")
}

// A page that may not show the log says why, and leads to the setting that opens it; with that, the log is there. A token that
// may not see everything is told to ask for another.
func TestPageSaysHowToOpenTheLog(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, "models: { default: offline/echo }\n", nil)
	n := &newcomer{browser: newBrowser(t)}
	n.open(g.url("/logs#token=" + g.Token()))
	n.until(`document.querySelector("[data-part=locked]")?.innerText.includes("this page shows only text up to the level Public") && document.querySelector("[data-part=locked]").innerText.includes("channels.webchat.classification: RESTRICTED")`)
	n.picture("logs-locked")
	n.press("main", "Open the setting")
	n.picks("channels.webchat.classification", "RESTRICTED")
	n.saves()
	n.goes("Logs")
	n.until(`document.querySelector(".row")`)

	b := newBrowser(t)
	b.open(g.url("/logs#token=" + g.tokenOf("owner", "INTERNAL")))
	b.until(`document.querySelector("[data-part=locked]")?.innerText.includes("Your token sees only text up to the level Internal. Ask an owner")`)
	require.False(t, eval[bool](b, `document.querySelector("[data-part=locked] a") !== null`))
	b.open(g.url("/alerts?part=groups"))
	b.until(`document.querySelector("[data-part=locked]")?.innerText.includes("The groups are locked")`)
	require.True(t, b.inSight(".tabs"))
	b.picture("groups-locked")
}
