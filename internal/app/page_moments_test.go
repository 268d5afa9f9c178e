package app_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// stored is a conversation whose answers the test gives: reads waits until it is read, and go answers.
const stored = `(async () => {
	const { Chat } = await import("/chat.js");
	window.rows = { messages: [] };
	window.working = [];
	window.hold = null; // a promise that the next reading waits for
	window.reads = 0;
	const real = window.fetch;
	window.fetch = async (path, options) => {
		if (!String(path).startsWith("/v1/sessions/fake")) return real(path, options);
		const give = (body) => new Response(JSON.stringify(body), { status: 200 });
		if (path.includes("/history")) {
			window.reads++;
			const now = structuredClone(window.rows);
			await window.hold;
			return give(now);
		}
		if (path.includes("status=running")) return give({ runs: window.working.map((id) => ({ id })) });
		if (path.includes("/runs")) return give({ runs: [] });
		return give({ id: "fake" });
	};
	window.chat = new Chat("fake", () => {});
	window.heard = () => window.chat.entries.map((e) => e.text).join("|");
	return true;
})()`

// A message, and the end of a run, that come while the page reads the conversation are shown, and once.
func TestPageShowsWhatHappensWhileItReads(t *testing.T) {
	t.Parallel()
	b := start(t, "").page()
	require.True(t, eval[bool](b, stored))
	b.until(`window.chat.state === "connected"`)
	do := func(script string) { b.do(chromedp.Evaluate[chromedp.Void](script)) }

	do(`window.working = ["run_1"]; window.rows.messages.push({ id: "m1", role: "user", run: "run_1", text: "question" });
		window.hold = new Promise((done) => (window.go = done)); window.before = window.reads; window.chat.reload(); 0`)
	b.until(`window.reads > window.before`)
	do(`window.working = []; window.rows.messages.push({ id: "m2", role: "assistant", run: "run_1", text: "answer" });
		window.chat.onEvent({ type: "run.done", run: "run_1", text: "answer" });
		window.rows.messages.push({ id: "m3", role: "user", run: "run_2", text: "next" });
		window.chat.onEvent({ type: "message.user", run: "run_2", text: "next" });
		window.hold = null; window.go(); 0`)
	b.until(`window.heard() === "question|answer|next" && !window.chat.busy()`)

	// The events of an answer come after the page has read it.
	do(`window.rows.messages.push({ id: "m4", role: "assistant", run: "run_2", text: "again" }); window.chat.reload(); 0`)
	b.until(`window.heard() === "question|answer|next|again"`)
	do(`for (const e of [{ type: "run.started" }, { type: "text.delta", text: "ag" }, { type: "run.done", text: "again" }]) window.chat.onEvent({ run: "run_2", ...e }); 0`)
	b.until(`window.heard() === "question|answer|next|again" && !window.chat.busy()`)

	// Its end comes after the page has read that nothing runs, and the messages before that.
	do(`window.chat.reload().then(() => {
			window.rows.messages.push({ id: "m5", role: "assistant", run: "run_3", text: "last" });
			window.chat.onEvent({ type: "run.done", run: "run_3", text: "last" });
		}); 0`)
	b.until(`window.heard() === "question|answer|next|again|last"`)

	// What comes live is read again at times: an open page keeps only the newest messages.
	do(`for (let i = 0; i <= 500; i++) window.chat.onEvent({ type: "message.user", run: "live_" + i, text: "live" });
		window.chat.onEvent({ type: "run.dropped", run: "live_0" }); 0`)
	b.until(`window.heard() === "question|answer|next|again|last"`)
}

// A command that moves the thread is read again when its run has ended, also if the run's events come before the answer to the
// command, and if the run lasts longer than the reading at its start.
func TestPageReadsAThreadThatMoved(t *testing.T) {
	t.Parallel()
	b := start(t, "").page()
	require.True(t, eval[bool](b, stored))
	b.until(`window.chat.state === "connected"`)
	do := func(script string) { b.do(chromedp.Evaluate[chromedp.Void](script)) }
	do(`window.thread = (...texts) => { window.rows.messages = texts.map((text, i) => ({ id: text, role: i % 2 ? "assistant" : "user", run: "of " + texts[i - (i % 2)], text })); };
		window.happens = (run, ...events) => { for (const e of events) window.chat.onEvent({ run, ...e }); };
		window.given = window.fetch;
		window.fetch = async (path, options) => {
			if (options?.method !== "POST") return window.given(path, options);
			await window.posted();
			return new Response("", { headers: { "X-Run-Id": window.run } });
		};
		window.thread("one", "1"); window.chat.reload(); 0`)
	b.until(`window.heard() === "one|1"`)

	do(`window.run = "of two";
		window.posted = () => {
			window.thread("two", "2");
			window.happens("of two", { type: "message.user", text: "two" }, { type: "run.started" }, { type: "run.done", text: "2" });
		};
		window.chat.say("/edit two"); 0`)
	b.until(`window.heard() === "two|2"`)

	do(`window.run = "of three";
		window.posted = () => {};
		window.before = window.reads;
		window.chat.say("/edit three").then(() => {
			window.thread("three");
			window.working = ["of three"];
			window.happens("of three", { type: "message.user", text: "three" }, { type: "run.started" });
		}); 0`)
	b.until(`window.reads > window.before && window.heard() === "three|"`)
	do(`window.thread("three", "3");
		window.rows.branches = [{ message: "2" }, { message: "3", selected: true }];
		window.working = [];
		window.happens("of three", { type: "run.done", text: "3" }); 0`)
	b.until(`window.heard() === "three|3" && window.chat.branches.length === 2`)
}

// An open question stands above the field to write in. A day with nothing else has no heading until the question is decided.
func TestPageHasNoDayWithoutEntries(t *testing.T) {
	t.Parallel()
	b := start(t, "").page()
	require.True(t, eval[bool](b, stored))
	b.do(chromedp.Evaluate[chromedp.Void](`window.rows.messages.push(
			{ id: "m1", role: "user", run: "run_1", text: "question", created: "2026-01-01T12:00:00Z" },
			{ id: "m2", role: "notice", text: "May it run?", created: "2026-01-02T12:00:00Z", buttons: [{ label: "Allow", value: "/approve apr_1 allow" }] });
		import("/base.js").then((m) => m.go("/conversations/fake")); 0`))
	b.until(`document.getElementById("log")?.innerText.includes("question")`)
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("#log .day").length`))
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("#log .entry").length`))
}

// A sign-in in one tab is one in all: what they show was for somebody else. The same person goes on where they were.
func TestPageBeginsAnewForSomebodyElse(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	first := g.page()
	tab := func() *browser {
		ctx, closeTab := chromedp.NewContext(first.ctx)
		t.Cleanup(closeTab)
		return &browser{t: t, ctx: ctx}
	}
	mark := func() { first.do(chromedp.Evaluate[chromedp.Void](`window.marked = true; 0`)) }

	mark()
	same := tab()
	same.open(g.url("/conversations/main#token=" + g.Token()))
	same.state("connected")
	first.state("connected")
	require.True(t, eval[bool](first, `Boolean(window.marked)`), "the same person")

	other := tab()
	other.open(g.url("/overview#token=" + g.tokenOf("viewer", "PUBLIC")))
	first.reloaded(`!window.marked`)
	first.until(`(import("/base.js").then((m) => (window.role = m.me?.role)), window.role === "viewer")`)
	mark()

	eval[bool](other, `import("/base.js").then((m) => { m.signOut(); return true; })`)
	first.reloaded(`!window.marked && location.pathname === "/" && document.getElementById("ask")?.open`)
	mark()
	other.until(`document.getElementById("ask")?.open`)
	other.do(chromedp.SendKeys(chromedp.CSS("#token"), g.Token()), chromedp.Click(chromedp.CSS("#ask button")))
	first.until(`!document.getElementById("ask") && document.querySelector(".calm, .needs")`)
	require.True(t, eval[bool](first, `Boolean(window.marked)`), "nobody was signed in here before")
}

// A recording ends with the conversation: the microphone must not stay on.
func TestPageTurnsTheMicrophoneOff(t *testing.T) {
	t.Parallel()
	b := start(t, "").page()
	eval[bool](b, `(() => {
		window.on = 0;
		navigator.mediaDevices.getUserMedia = async () => (window.on++, { getTracks: () => [{ stop: () => window.on-- }] });
		window.MediaRecorder = class { start() {} stop() { this.onstop?.(); } };
		return true;
	})()`)
	b.click(`#composer button[aria-pressed="false"]`)
	b.until(`document.querySelector("#composer .recording")`)
	require.Equal(t, 1, eval[int](b, `window.on`))
	b.click(`nav.rail a[data-view="runs"]`)
	b.until(`location.pathname === "/runs" && !document.getElementById("composer")`)
	b.until(`window.on === 0`)
}

// A recording is made by the browser's own recorder and sent as a file: a sound without silence has content.
func TestPageSendsARecording(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	eval[bool](b, `(() => {
		const sound = (window.sound = new AudioContext());
		const tone = sound.createOscillator(), out = sound.createMediaStreamDestination();
		tone.connect(out);
		tone.start();
		navigator.mediaDevices.getUserMedia = async () => {
			await sound.resume(); // a page may play sounds once somebody has clicked in it
			window.began = sound.currentTime;
			return out.stream;
		};
		return true;
	})()`)
	b.click(`#composer button[aria-pressed="false"]`)
	b.until(`document.querySelector("#composer .recording")`)
	b.until(`window.sound.currentTime > window.began + 0.3`)
	b.click(`#composer .recording`)
	b.until(`document.querySelector(".attached li")`)
	b.says("listen")
	b.until(`/\[File: ([^\]]+\.(webm|ogg))\]/.test(document.getElementById("log").innerText)`)
	path := eval[string](b, `/\[File: ([^\]]+)\]/.exec(document.getElementById("log").innerText)[1]`)
	answer := g.call(http.MethodGet, "/v1/sessions/main/files/"+path, "")
	defer answer.Body.Close() //nolint:errcheck // only read from
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, path)
	require.True(t, bytes.HasPrefix(content, []byte("\x1a\x45\xdf\xa3")) || bytes.HasPrefix(content, []byte("OggS")), "no recording")
	require.Contains(t, string(content[:200]), "webm")
}

// reloaded waits until the page has reloaded and a condition holds in it.
func (b *browser) reloaded(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	wait := `new Promise((done) => { const look = () => (` + condition + `) ? done(true) : setTimeout(look, 20); look(); })`
	for { // a page that goes away ends the wait in it
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
		if err == nil {
			return
		}
		require.ErrorContains(b.t, err, "navigated")
	}
}

// The result of a call that is shown already, and that comes with a later reading, is drawn once.
func TestPageDrawsALateResult(t *testing.T) {
	t.Parallel()
	b := start(t, "").page()
	require.True(t, eval[bool](b, stored))
	b.until(`window.chat.state === "connected"`)
	got := eval[[]any](b, `(async () => {
		const call = { id: "m2", role: "assistant", run: "r", text: "", parts: [{ type: "toolCall", callId: "c", tool: "todo_list", args: {} }] };
		const result = { id: "m3", role: "toolResult", run: "r", parts: [{ type: "toolResult", callId: "c", text: "tea" }] };
		rows = { messages: [{ id: "m1", role: "user", run: "r", text: "look" }, call] };
		await chat.reload();
		const shown = chat.entries.find((e) => e.tools.length);
		let drawn = 0;
		shown.draw = () => drawn++;
		rows.messages.push(result);
		await chat.reload();
		const once = drawn;
		await chat.reload();
		return [chat.entries.includes(shown), shown.tools[0].result, once, drawn];
	})()`)
	require.Equal(t, []any{true, "tea", 1.0, 1.0}, got)
}

// slow holds what the page reads from addresses that begin with window.slow, after the gateway has answered. window.held has a
// function for each response, which hands it over.
const slow = `(() => {
	const real = fetch;
	window.held = [];
	window.fetch = async (path, options) => {
		const answer = await real(path, options);
		if (window.slow && String(path).startsWith(window.slow)) await new Promise((done) => window.held.push(done));
		return answer;
	};
	return true;
})()`

// On a slow connection, a view does not wait for the newest of its reads, and a response that comes after a newer one is dropped.
func TestPageTakesReadsInOrder(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	b := g.console("/overview")
	eval[bool](b, slow)
	eval[bool](b, `window.slow = "/v1/overview", document.querySelector("[data-view=inbox]").click(), true`)
	b.until(`!document.querySelector(".hello")`)
	eval[bool](b, `document.querySelector("[data-view=overview]").click(), true`)
	b.until(`window.held.length === 1`)
	models.Enqueue(modeltest.Call("memory_save", `{"key":"plan","content":"x"}`), modeltest.Say("Denied."))
	g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"keep the plan"}`, "Accept", "text/event-stream")
	b.until(`window.held.length > 1`)
	require.True(t, eval[bool](b, `!document.querySelector(".hello")`))
	eval[bool](b, `window.held[0](), true`)
	b.until(`document.querySelector(".hello")`)

	const question = `document.getElementById("approvals")?.hidden`
	eval[bool](b, `window.slow = "", document.querySelector("[data-view=conversations]").click(), true`)
	b.until(`document.querySelector(".row .open-row")`)
	eval[bool](b, `document.querySelector(".row .open-row").click(), true`)
	b.until(question + ` === false`)
	eval[bool](b, `window.held = [], window.slow = "/v1/approvals?status=pending&limit=50", true`)
	b.until(`window.held.length === 1`)
	eval[bool](b, `window.slow = "", true`)
	var waiting struct{ Approvals []struct{ ID string } }
	read(t, g.call(http.MethodGet, "/v1/approvals", ""), http.StatusOK, &waiting)
	read(t, g.call(http.MethodPost, "/v1/approvals/"+waiting.Approvals[0].ID+"/deny", ""), http.StatusOK, nil)
	b.until(question + ` === true`)
	require.True(t, eval[bool](b, `(async () => {
		window.held[0]();
		await (await fetch("/healthz")).text();
		return `+question+`;
	})()`), "the response from before the decision came after it")
}
