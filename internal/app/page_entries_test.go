package app_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// writes types a value into a field, or chooses it.
func (b *browser) writes(selector, value string) {
	b.t.Helper()
	b.until(`document.querySelector(` + quoted(selector) + `)`)
	eval[bool](b, `(() => {
		const n = document.querySelector(`+quoted(selector)+`);
		n.value = `+quoted(value)+`;
		for (const e of ["input", "change"]) n.dispatchEvent(new Event(e, { bubbles: true }));
		return n.value === `+quoted(value)+`;
	})()`)
}

// An owner removes a whole agent, account or job, and adds an agent: each is a change that is checked, shown with what will
// stop, saved after a question, and part of the history.
func TestConsoleAddsAndRemovesEntriesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, `# ours
models: { default: offline/echo }
channels:
  webchat: { classification: RESTRICTED }
  slack:
    accounts:
      default: { botToken: xoxb-1, appToken: xapp-1, apiBase: "http://127.0.0.1:9/api" }
agents:
  list:
    - id: main
      default: true
    - id: night
      model: offline/guide
    - id: late # stays
      model: offline/guide
`, nil)
	b := g.console("/config?part=entries")
	entry := func(path string) string { return `[data-entry="` + path + `"]` }
	remove := func(path string) {
		t.Helper()
		b.until(`document.querySelector(` + quoted(entry(path)+` [data-part=remove]`) + `)`)
		b.click(entry(path) + ` [data-part=remove]`)
	}
	draft := func() string { return eval[string](b, `document.querySelector(".draft").innerText`) }

	remove("agents.list[1]")
	remove("channels.slack.accounts.default")
	b.until(`document.querySelector(".draft [data-part=entries]")?.innerText.includes("agents.list") && document.querySelector(".draft").innerText.includes("slack/default")`)
	require.Contains(t, draft(), "night is removed from agents.list. It answers no more messages.")
	require.Contains(t, draft(), "The account slack/default stops: it receives and sends no more messages.")
	require.NotContains(t, eval[string](b, `document.querySelector(".draft [data-part=whole]").textContent`), "late", "it has only moved")
	require.False(t, eval[bool](b, `document.querySelector(".draft > div > .changes") !== null`), "nothing else changes")
	require.Empty(t, b.obstacles())
	b.picture("config-entries")
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	b.picture("config-entries-320")
	b.phone(1200, 800)

	b.until(`!document.querySelector("[data-part=save]").disabled`)
	b.click("[data-part=save]")
	b.until(`document.querySelector("dialog[open]")`)
	require.Contains(t, eval[string](b, `document.querySelector("dialog[open]").innerText`), "night is removed from agents.list.")
	b.picture("config-entries-sure")
	eval[bool](b, `[...document.querySelectorAll("dialog[open] .acts button")].at(-1).click(), true`)
	b.until(`!document.querySelector("dialog[open]") && !document.querySelector("[data-part=save]").disabled`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "night", "cancelled: nothing is saved")

	b.click("[data-part=save]")
	b.until(`document.querySelector("dialog[open] .danger")`)
	b.click("dialog[open] .danger")
	b.until(`!document.querySelector(".draft") && !document.querySelector(` + quoted(entry("agents.list[2]")) + `)`)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), "night")
	require.NotContains(t, string(text), "slack")
	require.Contains(t, string(text), "    - id: late # stays\n      model: offline/guide\n")
	var agents struct{ Agents []struct{ ID string } }
	read(t, g.call(http.MethodGet, "/v1/agents", ""), http.StatusOK, &agents)
	require.Len(t, agents.Agents, 2)

	b.writes("#add-entry select", "agents.list")
	b.writes("#add-entry input", "late")
	b.click("#add-entry [type=submit]")
	b.until(`document.querySelector("#add-entry [role=alert]")?.innerText.includes("late")`)
	b.writes("#add-entry input", "early")
	b.click("#add-entry [type=submit]")
	b.until(`location.search === "?q=agents.list%5B2%5D"`)
	b.click(`[data-path="agents.list[2].model"]`)
	b.writes("#value", "offline/echo")
	b.click(".editor [type=submit]")
	b.until(`document.querySelector(".draft [data-part=whole]")?.textContent.includes("offline/echo")`)
	require.Contains(t, draft(), "early is added to agents.list.")
	b.until(`!document.querySelector("[data-part=save]").disabled`)
	b.picture("config-entries-added")
	b.click("[data-part=save]")
	b.until(`!document.querySelector(".draft")`)
	read(t, g.call(http.MethodGet, "/v1/agents", ""), http.StatusOK, &agents)
	require.Equal(t, "early", agents.Agents[2].ID)
	var history struct {
		Versions []struct{ Changes []struct{ Path string } }
	}
	read(t, g.call(http.MethodGet, "/v1/config/history", ""), http.StatusOK, &history)
	require.Len(t, history.Versions, 3)
}

// An entry that other settings name can't be removed alone: the check says which settings these are. The agent that exists without
// a file is kept when the first agent is added. A new entry that is taken back leaves nothing.
func TestConsoleEntriesAreChecked(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, "models: { default: offline/echo }\ncron: { jobs: [ { id: morning, agent: main, every: 100h, prompt: Say good morning., deliver: { to: [ \"webchat:local\" ] } } ] }\n", nil)
	b := g.console("/config?part=entries")
	b.until(`document.querySelector('[data-entry="agents.list[0]"]')`)
	require.False(t, eval[bool](b, `document.querySelector('[data-entry="agents.list[0]"] [data-part=remove]') !== null`), "it is not in the file")
	for _, name := range []string{"one", "two"} {
		b.writes("#add-entry select", "agents.list")
		b.writes("#add-entry input", name)
		b.click("#add-entry [type=submit]")
		b.until(`location.search.startsWith("?q=")`)
		b.do(chromedp.NavigateBack())
		b.until(`document.querySelector("#add-entry")`)
	}
	b.until(`document.querySelector(".draft [data-part=entries]")?.innerText.includes("two")`)
	const undo = `document.querySelector('[data-entry="agents.list[1]"] .acts button:last-child').click(), true`
	eval[bool](b, undo)
	b.until(`document.querySelector('[data-entry="agents.list[1]"] strong')?.innerText === "two" && !document.querySelector('[data-entry="agents.list[2]"]')`)
	b.until(`document.querySelector("[data-part=save]")?.disabled === false`)
	b.click("[data-part=save]")
	b.until(`!document.querySelector(".draft")`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "agents:\n  list:\n    - id: main\n    - id: two\n")

	b.click(`[data-entry="agents.list[0]"] [data-part=remove]`)
	b.until(`document.querySelector(".draft .note.bad")?.innerText.includes("cron.jobs[0].agent")`)
	require.True(t, eval[bool](b, `document.querySelector("[data-part=save]").disabled`))
	b.picture("config-entries-fault")
}

// A change of an entry names it by its index. If somebody else removes entries meanwhile, it must not concern another entry.
func TestConsoleTakesBackChangesOfEntriesThatMoved(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, "models: { default: offline/echo }\nagents: { list: [ { id: main }, { id: night }, { id: late } ] }\n", nil)
	b := g.console("/config?part=entries")
	const remove = `[data-entry="agents.list[1]"] [data-part=remove]`
	b.until(`document.querySelector('` + remove + `')`)
	b.click(remove)
	b.until(`document.querySelector(".draft [data-part=entries]")?.innerText.includes("night")`)
	change := func(edits string) {
		t.Helper()
		var shown shownConfig
		read(t, g.call(http.MethodGet, "/v1/config", ""), http.StatusOK, &shown)
		read(t, g.call(http.MethodPut, "/v1/config", `{"changes":`+edits+`}`, "If-Match", shown.Version), http.StatusOK, nil)
	}
	again := func() {
		t.Helper()
		b.click(`nav.rail [data-view=logs]`)
		b.until(`location.pathname === "/logs"`)
		b.do(chromedp.NavigateBack())
		b.until(`document.querySelector("#add-entry")`)
	}
	change(`[{"path":"models.default","value":"offline/guide"}]`)
	again()
	b.until(`document.querySelector(".draft [data-part=entries]")?.innerText.includes("night")`)
	change(`[{"path":"agents.list[1]","remove":true}]`)
	again()
	b.until(`document.querySelector("#toasts")?.innerText.includes("agents.list")`)
	require.False(t, eval[bool](b, `document.querySelector(".draft") !== null`), "late has the index that night had")
}
