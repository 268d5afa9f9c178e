package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/markdown/markdowntest"
	"sluice/internal/model/modeltest"
)

// eval gives what JavaScript in the page gives, when its promise is kept.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, script)
	return got
}

// phone makes the screen that of a phone.
func (b *browser) phone(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(2)))
}

// inSight reports whether a person can see and press what a selector finds.
func (b *browser) inSight(selector string) bool {
	b.t.Helper()
	return eval[bool](b, fmt.Sprintf(`(() => {
		const n = document.querySelector(%q), r = n.getBoundingClientRect();
		return r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth && r.height > 0 &&
			n.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
	})()`, selector))
}

func (b *browser) scrollsSideways() bool {
	b.t.Helper()
	return eval[bool](b, `document.documentElement.scrollWidth > innerWidth || document.getElementById("log").scrollWidth > document.getElementById("log").clientWidth`)
}

const answer = "# The plan\n\nThere are **three steps** and a [page](https://example.org/a) about `all` of them, see https://example.org/b too.\n\n" +
	"- first, look at *every* file that has changed since yesterday\n- second, compare it with the one before\n  - by name\n  - by content\n- third, tell whoever has asked\n\n" +
	"| file | what | lines | owner | last change | why it matters |\n|---|---|---:|---|---|---|\n| `main.go` | the start of the program | 120 | Ada | yesterday | everything begins here |\n| `gate.go` | what may leave | 480 | Bob | last week | nothing leaves without it |\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"<b>hello</b>\")\n}\n```\n\n> A quotation of somebody who has said this before.\n\nAnd that is all there is to say about it. <img src=x onerror=alert(1)>\n"

// While an answer comes, what is drawn already stays; a table is a table and scrolls in its own box.
func TestPageDrawsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, withModels(models))
	b := g.page()
	models.Enqueue(modeltest.Reply{Text: answer, Pause: 10 * time.Millisecond})
	b.do(chromedp.Evaluate[chromedp.Void](`window.redrawn = 0; new MutationObserver((all) => {
		for (const m of all) {
			if (m.type === "characterData") redrawn += m.target.data.length;
			for (const n of m.addedNodes) redrawn += n.textContent.length;
		}
	}).observe(document.getElementById("log"), { subtree: true, childList: true, characterData: true })`))
	b.says("how?")
	b.shows("all there is to say about it")
	b.state("connected")
	redrawn := eval[int](b, `redrawn`)
	t.Logf("%d characters were drawn for an answer of %d", redrawn, len(answer))
	require.Less(t, redrawn, 3*len(answer))
	require.Equal(t, 2, eval[int](b, `document.querySelectorAll(".assistant .table tbody tr").length`), b.log())
	require.Equal(t, "right", eval[string](b, `getComputedStyle(document.querySelector(".table td:nth-child(3)")).textAlign`))
	require.Contains(t, b.log(), "<img src=x onerror=alert(1)>")
	shown := eval[string](b, `document.querySelector(".assistant .bubble").innerHTML`)
	b.picture("answer")
	b.phone(320, 568)
	require.True(t, eval[bool](b, `(() => { const t = document.querySelector(".table"); return t.scrollWidth > t.clientWidth; })()`), "the table scrolls")
	require.False(t, b.scrollsSideways())
	b.picture("answer-phone")
	b.do(chromedp.Reload())
	b.shows("all there is to say about it")
	b.until(`document.querySelector(".assistant .table")`)
	require.Equal(t, shown, eval[string](b, `document.querySelector(".assistant .bubble").innerHTML`), "as it was when it came")
}

// Whatever way an answer is cut into while it comes, in the end it is what it is when it comes at once.
func TestPageDrawsTheSameInPieces(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	b := g.page()
	texts := []string{answer, "1. a\n\n2. b\n\nc\n\n3. d", "- a\n\n  b\n- c\n\nd\n\n- e", "a\n===\nb\n---\n\n[x]\n\n[x]: https://example.org", "> a\nb\n\n> c\n\n```\n```\n\n\n```\nd", "*a **b* c** `d\n\n`e` ~~f~~ \\*g\r\n\r\nh"}
	given, err := json.Marshal(texts)
	require.NoError(t, err)
	wrong := eval[[]string](b, `(async () => {
		const { Drawing, markdown } = await import("/ui/markdown.js"), wrong = [];
		for (const text of `+string(given)+`) for (const step of [1, 2, 7, 40]) {
			const whole = document.createElement("div"), box = document.createElement("div"), drawing = new Drawing(box);
			whole.append(markdown(text));
			for (let end = step; end < text.length; end += step) { drawing.text = text.slice(0, end); drawing.draw(); }
			drawing.end(text);
			box.normalize();
			if (box.innerHTML !== whole.innerHTML) wrong.push(text + " by " + step + ": " + box.innerHTML + " not " + whole.innerHTML);
		}
		return wrong;
	})()`)
	require.Empty(t, wrong)
}

// A hostile answer costs the page time in proportion to its length, and nothing of it is lost.
func TestPageBearsHostileTexts(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	b := g.page()
	type result struct {
		Lost   bool
		Depth  int
		Times  [2]float64 // milliseconds, of the second and the third length
		Linear bool
	}
	for _, h := range markdowntest.Texts() {
		given, err := json.Marshal([]string{h.Of(2_000), h.Of(8_000), h.Of(32_000)})
		require.NoError(t, err)
		got := eval[result](b, `(async () => {
			const { markdown } = await import("/ui/markdown.js"), texts = `+string(given)+`;
			let shown = markdown(texts[0]), lost = !shown.textContent.includes("`+markdowntest.Mark+`"), depth = 0;
			for (const n of shown.querySelectorAll("*")) { let d = 0; for (let p = n; p; p = p.parentNode) d++; depth = Math.max(depth, d); }
			const times = [1e9, 1e9];
			for (let i = 0; i < 4 && !(times[1] < 150 || times[1] < 9 * times[0]); i++) for (const k of [0, 1]) {
				const from = performance.now();
				markdown(texts[k + 1]);
				times[k] = Math.min(times[k], performance.now() - from);
			}
			return { Lost: lost, Depth: depth, Times: times, Linear: times[1] < 150 || times[1] < 9 * times[0] };
		})()`)
		require.False(t, got.Lost, h.Name)
		require.Less(t, got.Depth, 120, h.Name)
		require.True(t, got.Linear, "%s: %v ms", h.Name, got.Times)
	}
	long := strings.Repeat("word *a* ", 30_000) + markdowntest.Mark
	require.True(t, eval[bool](b, `import("/ui/markdown.js").then(({ markdown }) => { const n = markdown(`+fmt.Sprintf("%q", long)+`); return n.textContent.includes("`+markdowntest.Mark+`") && n.querySelectorAll("*").length < 9; })`), "a very long text is shown as it is written")
}

// A page that can't read its history tries again, and leaves no stream open: a browser opens six connections to a gateway,
// so that a page that kept them would hang.
func TestPageKeepsOneStream(t *testing.T) {
	t.Parallel()
	b := start(t, "").page()
	eval[bool](b, `(() => {
		const real = fetch;
		window.streams = [];
		window.failed = 0;
		let failing = 2;
		window.fetch = async (path, options) => {
			if (path.includes("/history") && failing-- > 0 && ++failed) return new Response("{}", { status: 503 });
			if (path.includes("/v1/stream")) streams.push(options.signal);
			return real(path, options);
		};
		return true;
	})()`)
	b.says("/new")
	b.until(`streams.length >= 1 && failed >= 2`)
	b.state("connected")
	require.Equal(t, 1, eval[int](b, `streams.filter((signal) => !signal.aborted).length`))
}
