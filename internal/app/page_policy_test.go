package app_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// An owner makes a rule from a question, in the inbox and in the conversation: it is read before it is saved, Escape saves
// nothing, and the rule is listed and ended under Policy.
func TestPageAlwaysAllows(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	id := g.waitsFor(models, `{"key":"plan","content":"<img src=x onerror=alert(1)> \u202e"}`)
	b := newBrowser(t)
	b.watch()
	b.open(g.url("/inbox/" + id + "#token=" + g.Token()))
	b.until(`document.querySelector(".decide [data-part=always]")`)
	b.picture("inbox-question")
	b.click(`.decide [data-part=always]`)
	b.until(`document.querySelector("dialog [data-part=yaml]")`)
	require.Contains(t, eval[string](b, `document.querySelector("dialog [data-part=yaml]").textContent`), "tool: memory_save")
	require.NotContains(t, eval[string](b, `document.querySelector("dialog").textContent`), "\u202e")
	require.Empty(t, b.obstacles())
	b.keys(kb.Escape)
	b.until(`!document.querySelector("dialog")`)
	require.Empty(t, g.allowRules(), "Escape saves nothing")
	require.Equal(t, "pending", g.statusOf(id), "Escape decides nothing")

	b.click(`.decide [data-part=always]`)
	b.until(`document.querySelector("dialog [data-part=yaml]") && !document.querySelector("dialog [data-part=save]").disabled`)
	eval[bool](b, `(() => { const s = [...document.querySelectorAll("dialog select")][0]; s.value = "any"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	b.until(`document.querySelector("dialog [data-part=yaml]").textContent.includes("content: '*'")`)
	b.picture("always-allow")
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	require.True(t, b.inSight(`dialog [data-part=yaml]`))
	b.picture("always-allow-320")
	b.phone(1200, 800)
	b.until(`!document.querySelector("dialog [data-part=save]").disabled`)
	b.click(`dialog [data-part=save]`)
	b.until(`!document.querySelector("dialog")`)
	g.soon(func() bool { return g.ended(1) })
	require.Equal(t, []string{"memory_save"}, g.allowRules())

	b.open(g.url("/policy"))
	b.until(`document.querySelector("#allowed pre")`)
	require.Contains(t, eval[string](b, `document.querySelector("#allowed pre").textContent`), "content: '*'")
	require.Empty(t, b.obstacles())
	b.picture("policy-allowed")
	b.click(`#allowed button.danger`)
	b.until(`document.querySelector("dialog .danger")`)
	b.click(`dialog .danger`)
	b.until(`!document.querySelector("#allowed pre")`)
	require.Empty(t, g.allowRules())

	id = g.waitsFor(models, `{"key":"plan","content":"again"}`)
	b.open(g.url("/conversations/main"))
	b.until(`document.querySelector("#approvals [data-part=always]")`)
	b.click(`#approvals [data-part=always]`)
	b.until(`document.querySelector("dialog [data-part=yaml]") && !document.querySelector("dialog [data-part=save]").disabled`)
	require.Equal(t, "pending", g.statusOf(id))
	b.click(`dialog [data-part=save]`)
	b.until(`document.getElementById("approvals").hidden`)
	require.Len(t, g.allowRules(), 1)
	b.sound()
}

// Only an owner sees the button that always allows.
func TestPageOffersAlwaysToOwnersOnly(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	id := g.waitsFor(models, `{"key":"plan","content":"1"}`)
	b := newBrowser(t)
	b.open(g.url("/inbox/" + id + "#token=" + g.tokenOf("operator", "RESTRICTED")))
	b.until(`document.querySelector(".decide [data-part=allow]")`)
	require.False(t, eval[bool](b, `Boolean(document.querySelector("[data-part=always]"))`))
}

// allowRules are the tools of the rules that always allow calls.
func (g *gateway) allowRules() (tools []string) {
	g.t.Helper()
	var rules struct{ Rules []allowRule }
	read(g.t, g.call(http.MethodGet, "/v1/policy/allow-rules", ""), http.StatusOK, &rules)
	for _, r := range rules.Rules {
		tools = append(tools, r.Tool)
	}
	return tools
}

func (g *gateway) statusOf(approval string) string {
	g.t.Helper()
	var p struct{ Status string }
	read(g.t, g.call(http.MethodGet, "/v1/approvals/"+approval, ""), http.StatusOK, &p)
	return p.Status
}

// The view shows the matrix, the rules with their counts, and the flow; a proposed rule is tried on the past, and its rows are
// a click away. What it shows of messages and rules is text.
func TestPagePolicy(t *testing.T) {
	t.Parallel()
	g := start(t, `models: { default: offline/echo }
session: { sendPolicy: { rules: [ { match: { channel: webchat, chatType: group }, action: deny }, { match: { channel: webchat, to: "<img src=x onerror=alert(1)>" }, action: deny } ] } }
policy: { rules: [ { name: look, hook: PRE_OUTPUT, when: 'text.contains("figures")', action: require_approval, message: "<script>alert(1)</script>" } ] }
`)
	for _, text := range append(hostile, "the figures", "hello") {
		body, err := json.Marshal(map[string]string{"channel": "webchat", "to": "local", "text": text})
		require.NoError(t, err)
		read(t, g.call(http.MethodPost, "/v1/messages", string(body)), http.StatusAccepted, nil)
	}
	g.policyOnce(t, "policy.rules.look", 1) // from /send off on, no rule is looked at
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"/send off"}`), http.StatusOK, nil)
	b := newBrowser(t)
	b.watch()
	b.open(g.url("/policy#token=" + g.Token()))
	b.until(`document.querySelector("#matrix tbody tr:nth-child(2)") && document.querySelector("#rules tbody tr") && document.querySelector("#flow path")`)
	require.Equal(t, 1, eval[int](b, `[...document.querySelectorAll("#matrix tbody tr:first-child td")].filter((c) => c.querySelector(".chip").dataset.status === "block" && c.querySelector("code").textContent === "sendPolicy.rules[0]").length`), "groups")
	require.Contains(t, eval[string](b, `document.querySelector("#matrix tbody tr:nth-child(2)").textContent`), "override")
	require.NotEqual(t, "0", eval[string](b, `[...document.querySelectorAll("#rules tr")].find((r) => r.textContent.includes("policy.rules.look")).querySelector("td.end").textContent`))
	require.Empty(t, b.obstacles())
	b.picture("policy")
	require.Empty(t, b.darkObstacles("policy"))

	eval[bool](b, `(() => { const box = document.querySelector("#past textarea"); box.value = "name: all\nhook: PRE_OUTPUT\nwhen: text.contains(\"alert\")\naction: block\n"; box.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	b.do(chromedp.Focus(chromedp.CSS("#past button.main")))
	b.keys(kb.Enter) // by the keyboard
	b.until(`document.querySelector("#past .lines li")`)
	require.Contains(t, eval[string](b, `document.querySelector("#past .result").textContent`), "It would have stopped")
	require.Regexp(t, "^/deliveries/dlv_", eval[string](b, `new URL(document.querySelector("#past .lines a").href).pathname`))
	require.Empty(t, b.obstacles())
	b.do(chromedp.ScrollIntoView(chromedp.CSS("#past")))
	b.picture("policy-past")
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	b.picture("policy-320")
	b.phone(1200, 800)

	b.open(g.url("/policy?rule=look"))
	b.until(`document.querySelectorAll("#rules tbody tr").length === 1`)
	b.sound()
	b.open(g.url("/policy"))
	b.until(`document.querySelector("#past textarea") && document.querySelector("#rules tbody tr") && document.querySelector("#allowed p")`) // nothing moves any more
	eval[bool](b, `(() => { const box = document.querySelector("#past textarea"); box.value = "name: ["; box.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	b.click("#past button.main")
	b.until(`document.querySelector("#past .problem")`)
	b.sound()
}

// An explanation leads to the policy's forms with its case filled in, and the same decision comes out.
func TestConsoleTriesWhatWasExplained(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+`channels: { webchat: { classification: CONFIDENTIAL } }
policy: { rules: [ { name: never, hook: PRE_OUTPUT, when: "text.contains('the plan')", action: block } ] }
`+withModels(models))
	g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"the plan","label":"INTERNAL"}`)
	b := g.console("/deliveries?status=blocked")
	b.until(`document.querySelector(".row")`)
	var sent struct{ Deliveries []struct{ ID, Status string } }
	read(t, g.call(http.MethodGet, "/v1/deliveries", ""), http.StatusOK, &sent)
	require.Equal(t, "blocked", sent.Deliveries[0].Status)
	b.open(g.url("/why/" + sent.Deliveries[0].ID))
	b.until(`document.querySelector(".note [data-part=try]")`)
	require.Contains(t, eval[string](b, `document.querySelector(".note").innerText`), "What would change it")
	b.picture("why-try")
	b.click("[data-part=try]")
	form := "[data-part=trymessage] "
	b.until(`document.activeElement?.closest("[data-part=trymessage]") && document.activeElement.type === "submit"`)
	values := `[...document.querySelectorAll("` + form + `select, ` + form + `input, ` + form + `textarea")].map((i) => i.value).join("|")`
	require.Equal(t, "webchat|direct|local||INTERNAL|the plan", eval[string](b, values))
	require.Empty(t, b.obstacles())
	b.click(form + "button")
	b.until(`document.querySelector("` + form + `.result")?.innerText.includes("never")`)
	b.picture("policy-tried")
	require.Empty(t, eval[[]string](b, `performance.getEntriesByType("resource").map((e) => e.name).filter((n) => /the(\+|%20| )plan/.test(n))`), "no address has the text")
	b.do(chromedp.NavigateBack())
	b.until(`document.querySelector(".note [data-part=try]")`)

	asked := g.waitsFor(models, `{"key":"k","content":"c"}`)
	b.open(g.url("/why/" + asked))
	b.until(`document.querySelector("[data-part=try]")`)
	b.click("[data-part=try]")
	b.until(`document.activeElement?.closest("[data-part=trytool]")`)
	require.Equal(t, "memory_save", eval[string](b, `document.querySelector("[data-part=trytool] input").value`))
	require.JSONEq(t, `{"key":"k","content":"c"}`, eval[string](b, `document.querySelector("[data-part=trytool] textarea").value`))
	b.click("[data-part=trytool] button")
	b.until(`document.querySelector("[data-part=trytool] .result")?.innerText.includes("permission")`)

	viewer := newBrowser(t)
	viewer.open(g.url("/why/" + asked + "#token=" + g.tokenOf("viewer", "RESTRICTED")))
	viewer.until(`document.querySelector(".chain .step")`)
	require.False(t, eval[bool](viewer, `document.querySelector("[data-part=try]") !== null`), "who may only read tries no call")
}
