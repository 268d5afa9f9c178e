package app_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// What is written and not sent is there again after a reload, and gone once it is sent. Commands are completed by the keyboard.
func TestConsoleKeepsDraftsAndCompletesCommands(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	b.do(chromedp.SendKeys(chromedp.CSS("#text"), "half a thought"))
	b.do(chromedp.Reload())
	b.state("connected")
	b.until(`document.getElementById("text").value === "half a thought"`)
	b.click("#send")
	b.shows("echo: half a thought")
	b.do(chromedp.Reload())
	b.state("connected")
	b.shows("echo: half a thought")
	require.Empty(t, eval[string](b, `document.getElementById("text").value`))

	b.do(chromedp.SendKeys(chromedp.CSS("#text"), "/who"))
	b.until(`document.querySelectorAll("#commands [role=option]").length === 1`)
	require.Contains(t, eval[string](b, `document.getElementById("commands").innerText`), "/whoami")
	require.Empty(t, b.obstacles())
	b.keys(kb.Tab)
	b.until(`document.getElementById("text").value.trim() === "/whoami" && !document.querySelector("#commands [role=option]")`)
	b.keys(kb.Enter)
	b.shows("owner")
}
