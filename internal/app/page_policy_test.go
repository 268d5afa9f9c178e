package app_test

import (
	"net/http"
	"testing"

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
	require.Empty(t, b.obstacles(everything))
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
	require.Empty(t, b.obstacles(everything))
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

// Who is no owner sees no button that always allows.
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
