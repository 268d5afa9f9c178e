package app_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Changes that are not saved stay while other views are open. If somebody else changes the file meanwhile, nothing is saved over
// it: the page says so, shows what the changes would do now, and saves them then.
func TestConsoleKeepsChangesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, "models: { default: offline/echo }\nlimits: { historyKeep: 20 }\n", nil)
	b := g.console("/config?q=historyKeep")
	b.until(`document.querySelector('[data-path="limits.historyKeep"]')`)
	b.click(`[data-path="limits.historyKeep"]`)
	b.until(`document.querySelector("#value")`)
	eval[bool](b, `(() => { const n = document.querySelector("#value"); n.value = "7"; n.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	b.click(".editor [type=submit]")
	would := func(text string) {
		t.Helper()
		b.until(`document.querySelector(".draft .changes")?.innerText.includes(` + quoted(text) + `)`)
	}
	would("limits.historyKeep 20")

	b.click(`nav.rail [data-view=overview]`)
	b.until(`document.querySelector(".calm, .needs")`)
	b.click(`nav.rail [data-view=config]`)
	would("limits.historyKeep 20")

	var shown shownConfig
	read(t, g.call(http.MethodGet, "/v1/config", ""), http.StatusOK, &shown)
	read(t, g.call(http.MethodPut, "/v1/config", `{"changes":[{"path":"limits.historyKeep","value":30}]}`, "If-Match", shown.Version), http.StatusOK, nil)
	b.until(`!document.querySelector("[data-part=save]").disabled`)
	b.click("[data-part=save]")
	would("limits.historyKeep 30")
	require.Contains(t, eval[string](b, `document.body.innerText`), "the file has changed")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "historyKeep: 30")
	b.until(`!document.querySelector("[data-part=save]").disabled`)
	b.click("[data-part=save]")
	b.until(`!document.querySelector(".draft")`)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "historyKeep: 7")
}

// A page of the settings has an address, and another filter begins at the first page.
func TestConsoleSettingsHavePages(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, "models: { default: offline/echo }\n", nil)
	const firstOf = `document.querySelector(".setting").dataset.path`
	b := g.console("/config")
	b.until(`document.querySelector(".setting")`)
	first := eval[string](b, firstOf)
	b.open(g.url("/config?page=2"))
	b.until(`document.querySelector(".setting")`)
	require.NotEqual(t, first, eval[string](b, firstOf))
	eval[bool](b, `(() => { const n = document.querySelector("#filters input"); n.value = "historyKeep"; n.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	b.until(`!location.search.includes("page=") && [...document.querySelectorAll(".setting")].some((n) => n.dataset.path === "limits.historyKeep")`)
	b.open(g.url("/config?page=999"))
	b.until(`document.querySelector(".setting")`)
	require.NotEmpty(t, eval[string](b, firstOf), "behind the end is the last page")
}

// The requests to a hook are a list with addresses. An opened one has its body and headers, and replaying it adds a request that
// names the first.
func TestConsoleReplaysRequestsToHooks(t *testing.T) {
	t.Parallel()
	g := start(t, hooksText)
	status, _ := g.post("d1", `{"action":"completed","repo":"org/repo","title":"<b>red</b>"}`)
	require.Equal(t, http.StatusAccepted, status)
	g.request("d1")
	b := g.console("/automation?part=hooks")
	b.until(`document.querySelector(".card .acts a")`)
	b.click(".card .acts a")
	b.until(`document.querySelectorAll(".row").length === 1`)
	require.Contains(t, b.path(), "hook=ci")
	b.open(g.url("/automation/d1?part=hooks&hook=ci"))
	b.until(`document.querySelector(".peek .detail-head")`)
	detail := eval[string](b, `document.querySelector(".peek").innerText`)
	require.Contains(t, detail, `"title":"<b>red</b>"`)
	require.Contains(t, detail, "x-github-delivery")
	require.NotContains(t, detail, "sha256=", "a signature is a secret")
	b.picture("hook-request")
	require.Empty(t, b.obstacles())
	eval[bool](b, `document.querySelector(".peek .acts button").click(), true`)
	b.until(`document.querySelectorAll(".row").length + document.querySelectorAll(".fresh").length === 2`)
	var list struct{ Requests []struct{ ID string } }
	read(t, g.call(http.MethodGet, "/v1/hooks/ci/requests", ""), http.StatusOK, &list)
	require.Len(t, list.Requests, 2)
	g.request(list.Requests[0].ID)
	b.open(g.url("/automation/" + list.Requests[0].ID + "?part=hooks&hook=ci"))
	b.until(`document.querySelector(".peek a[href*='/automation/d1?']")`)
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
}

// An opened job has the newest times and the next one, and older ones when they are asked for.
func TestConsoleShowsOlderTimesOfAJob(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\ncron: { jobs: [ { id: morning, every: 100h, text: Good morning., deliver: { to: [ \"webchat:local\" ] } } ] }\n")
	for range 31 {
		read(t, g.call(http.MethodPost, "/v1/cron/morning/run", "{}"), http.StatusAccepted, nil)
	}
	b := g.console("/automation/morning")
	const times = `document.querySelectorAll(".peek ol.lines > li").length`
	b.until(times + ` === 30`)
	b.click("[data-part=older]")
	b.until(times + ` === 32 && !document.querySelector("[data-part=older]")`)
}

// What is saved is what the page has shown: while a changed draft is checked, there is no save.
func TestConsoleSavesOnlyWhatWasChecked(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, "models: { default: offline/echo }\n", nil)
	b := g.console("/config?q=historyKeep")
	b.until(`document.querySelector('[data-path="limits.historyKeep"]')`)
	change := func(value string) {
		t.Helper()
		b.click(`[data-path="limits.historyKeep"]`)
		b.until(`document.querySelector("#value")`)
		eval[bool](b, `(() => { const n = document.querySelector("#value"); n.value = `+quoted(value)+`; n.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
		b.click(".editor [type=submit]")
	}
	change("7")
	b.until(`document.querySelector("[data-part=save]")?.disabled === false`)
	eval[bool](b, `(() => {
		window.unchecked = 0;
		const look = () => {
			const [asked, shown] = [".draft > .lines", ".draft .changes"].map((s) => document.querySelector(s)?.innerText ?? "");
			if (asked.includes("8") && !shown.includes("8") && !document.querySelector("[data-part=save]").disabled) unchecked++;
		};
		new MutationObserver(look).observe(document.querySelector("main"), { childList: true, subtree: true, characterData: true, attributes: true });
		return true;
	})()`)
	change("8")
	b.until(`document.querySelector(".draft .changes").innerText.includes("8") && !document.querySelector("[data-part=save]").disabled`)
	require.Zero(t, eval[int](b, `unchecked`))
}
