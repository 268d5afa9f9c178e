package app_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axe is the program that looks for obstacles in a page.
var axe = sync.OnceValues(func() (string, error) {
	f, err := os.Open("testdata/axe-core/axe.min.js.gz")
	if err != nil {
		return "", err
	}
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return "", errors.Join(err, f.Close())
	}
	text, err := io.ReadAll(unpacked)
	return string(text), errors.Join(err, f.Close())
})

// everything are the rules by which axe checks a page.
const everything = `"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"`

// visits gives the page a function that opens another view as a link does: the page is not loaded again, which would take several
// times as long. The function ends when the view has all its answers, and keeps them.
const visits = `
	window.answers = [];
	let asking = 0;
	const real = fetch;
	window.fetch = async (...given) => {
		asking++;
		try {
			const answer = await real(...given);
			if (!/event-stream/.test(answer.headers.get("Content-Type"))) answers.push(await answer.clone().text());
			return answer;
		} finally {
			asking--;
		}
	};
	window.visit = async (path) => {
		const { go, ready } = await import("/base.js");
		await ready(path.split(/[/?]/)[0]);
		go("/" + path);
		for (let calm = 0; calm < 3; ) {
			await new Promise((done) => setTimeout(done, 10));
			calm = asking || document.querySelector(".loading, [aria-busy=true]") ? 0 : calm + 1;
		}
		return true;
	};`

// run has each page run a script before its own, from the next address on.
func (b *browser) run(script string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(b.t, err)
}

// visit opens a view as a link does. The page must have run the script visits.
func (b *browser) visit(path string) {
	b.t.Helper()
	eval[bool](b, `visit(`+quoted(path)+`)`)
}

// watch has the page keep what goes wrong in it, from the next address on.
func (b *browser) watch() {
	b.t.Helper()
	b.run(`
		window.faults = [];
		addEventListener("securitypolicyviolation", (e) => faults.push("policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));
		addEventListener("error", (e) => faults.push("error: " + e.message));
		addEventListener("unhandledrejection", (e) => faults.push("rejection: " + e.reason));
		window.alert = (text) => faults.push("alert: " + text);`)
}

func (b *browser) sound() {
	b.t.Helper()
	require.Empty(b.t, eval[[]string](b, `faults`))
}

// obstacles are what axe finds, in words.
func (b *browser) obstacles() []string {
	b.t.Helper()
	return b.finds(`{ type: "tag", values: [` + everything + `] }`)
}

// darkObstacles are what axe finds in dark colours, after it has checked light ones: only the rules about colours can differ.
func (b *browser) darkObstacles(picture string) []string {
	b.t.Helper()
	b.dark(true)
	found := b.finds(`{ type: "rule", values: ["color-contrast", "link-in-text-block"] }`)
	b.picture(picture + "-dark")
	b.dark(false)
	return found
}

func (b *browser) finds(rules string) []string {
	b.t.Helper()
	program, err := axe()
	require.NoError(b.t, err)
	if !eval[bool](b, `"axe" in window`) {
		eval[bool](b, program+"; true")
	}
	return eval[[]string](b, `axe.run(document, { runOnly: `+rules+`, resultTypes: ["violations"] }).then((r) =>
		r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " + n.html.slice(0, 200) + " " + n.failureSummary.replace(/\s+/g, " "))))`)
}

// views are the views of the page with what each shows when it is ready.
var views = []struct{ path, ready string }{
	{"overview", `.needs, .calm`},
	{"inbox", `.row`},
	{"conversations", `.row`},
	{"conversations/main", `.entry.assistant`},
	{"conversations/main?tab=steps", `.lines`},
	{"conversations/main?tab=graph", `.inner`},
	{"runs", `.row`},
	{"deliveries", `.row`},
	{"policy", `.form select`},
	{"people", `.page-body h2`},
	{"audit", `.row, .empty`},
	{"agents", `.card`},
	{"automation", `.row`},
	{"automation?part=calendar", `[data-part=calendar] .card`},
	{"automation?part=hooks", `.card`},
	{"automation?part=hooks&hook=ci", `.row`},
	{"automation?part=nodes", `.empty`},
	{"automation?part=checks", `.empty`},
	{"alerts", `.row`},
	{"alerts?part=groups", `.row`},
	{"alerts?part=silences", `.form`},
	{"memory", `.row`},
	{"costs", `#costs tfoot`},
	{"costs?by=session&days=7", `#budgets meter`},
	{"logs", `.row`},
	{"access", `table`},
	{"skills", `.empty`},
	{"config", `.setting`},
	{"config?q=models&show=changed", `.filter.set`},
	{"config?part=history", `.empty`},
	{"why", `.form`},
}

// furnished is a gateway with something in each view: hostile names and texts.
func furnished(t *testing.T) *gateway {
	t.Helper()
	g := start(t, `
models: { default: offline/guide }
channels: { webchat: { classification: RESTRICTED } }
cron: { jobs: [ { id: morning, schedule: "0 7 * * *", timezone: Europe/Berlin, text: "<img src=x onerror=alert(1)>", deliver: { to: [ "webchat:local" ] } } ] }
hooks: { ci: { preset: github, secrets: ["`+hookSecret+`"], prompt: "CI", session: "hook:ci" } }
alerts: { route: { receiver: ops }, receivers: [ { name: ops, targets: ["webchat:local"] } ] }
budgets: [ { name: house, scope: gateway, limit: 5, per: day }, { name: each, scope: person, limit: 1000000, unit: tokens, per: total } ]
policy: { rules: [ { name: look, hook: PRE_OUTPUT, when: output.level == 1, action: require_approval } ] }
`)
	return g
}

// The next times of a job are worked out for the calendar, which asks for them.
func TestJobsHaveTheirTimesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	g := furnished(t)
	for query, times := range map[string]int{"": 0, "?upcoming=true": 7} {
		var got struct {
			Jobs []struct{ Next, Upcoming any }
		}
		read(t, g.call(http.MethodGet, "/v1/cron"+query, ""), http.StatusOK, &got)
		require.NotEmpty(t, got.Jobs[0].Next)
		some, _ := got.Jobs[0].Upcoming.([]any)
		require.GreaterOrEqual(t, len(some), times, query)
		require.Equal(t, times == 0, len(some) == 0, query)
	}
}

// hostile are texts that would run or lead astray if anything took them for markup or an address.
var hostile = []string{
	`<img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`, `"><script>alert(1)</script>`, `'-alert(1)-'`, `javascript:alert(1)`, `[x](javascript:alert(1))`, `[x](data:text/html,<script>alert(1)</script>)`,
	`![x](x" onerror="alert(1))`, `[x](vbscript:msgbox)`, `<a href="javascript:alert(1)">x</a>`, "`<b onmouseover=alert(1)>`", `{{constructor.constructor("alert(1)")()}}`, `<iframe srcdoc="<script>alert(1)</script>">`, `<math><mtext><img src=x onerror=alert(1)>`, "\u202e\u2066reversed",
}

// Each view works, light and dark, on a desk and on a phone: nothing breaks, nothing runs that came from outside, nothing
// scrolls sideways, and no obstacle is found.
func TestPageViews(t *testing.T) {
	t.Parallel()
	g := furnished(t)
	say := func(path string, body any) {
		t.Helper()
		text, err := json.Marshal(body)
		require.NoError(t, err)
		answer := g.call(http.MethodPost, path, string(text))
		require.Less(t, answer.StatusCode, 300, "%s %s", path, text)
	}
	all := strings.Join(hostile, "\n\n")
	say("/v1/sessions/main/messages", map[string]any{"message": "repeat " + all})
	say("/v1/sessions/main/messages", map[string]any{"message": "remember that " + strings.Join(hostile, " ")})
	say("/v1/messages", map[string]any{"channel": "webchat", "to": "local", "text": all, "files": []any{map[string]any{"name": `<img src=x onerror=alert(1)>.svg`, "mime": "image/svg+xml", "data": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiPjxzY3JpcHQ+YWxlcnQoMSk8L3NjcmlwdD48L3N2Zz4="}}})
	say("/v1/messages", map[string]any{"channel": "webchat", "to": "local", "text": "look at this " + all, "label": "INTERNAL"})
	say("/v1/alerts", map[string]any{"key": hostile[0], "severity": "critical", "title": hostile[2], "text": all, "labels": map[string]string{"host": hostile[1]}})

	body, err := json.Marshal(map[string]any{"action": all})
	require.NoError(t, err)
	status, said := g.post("d1", string(body))
	require.Equal(t, http.StatusAccepted, status, said)

	for _, size := range []string{"desk", "phone"} {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t)
			b.watch()
			b.run(visits)
			if size == "phone" {
				b.phone(320, 640)
			}
			b.open(g.url("/overview#token=" + g.Token()))
			b.until(`document.querySelector(".calm, .needs")`)
			for _, v := range views {
				b.looksAt(v.path, v.ready, size)
			}
			var sent struct{ Deliveries []struct{ ID string } }
			read(t, g.call(http.MethodGet, "/v1/deliveries", ""), http.StatusOK, &sent)
			b.looksAt("why/"+sent.Deliveries[0].ID, ".step", size)
		})
	}
}

// looksAt opens a view, then its first row, and checks both, light and dark.
func (b *browser) looksAt(path, ready, size string) {
	b.t.Helper()
	name := strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(path) + "-" + size
	check := func(what, picture string) {
		b.t.Helper()
		require.Empty(b.t, b.obstacles(), "%s on a %s", what, size)
		require.False(b.t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`), "%s scrolls sideways on a %s", what, size)
		require.Empty(b.t, eval[[]string](b, `[...document.querySelectorAll("a[href]")].map((a) => a.href).filter((h) => !/^(https?:|mailto:|blob:)/.test(h))`), what)
		b.picture(picture)
		require.Empty(b.t, b.darkObstacles(picture), "%s on a %s in the dark", what, size)
		b.sound()
	}
	b.visit(path)
	b.until(fmt.Sprintf(`document.querySelector(%q)`, ready))
	check(path, name)
	if eval[bool](b, `document.querySelector(".row .open-row") !== null && !location.pathname.includes("/", 1)`) {
		eval[bool](b, `document.querySelector(".row .open-row").click(), true`)
		b.until(`document.querySelector(".peek .detail-head, .peek .note, .conversation .entry, .conversation .welcome")`)
		check(path+", opened,", name+"-opened")
	}
}
