package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who revokes a token with the keyboard goes on at the next row, at the end of the list at the one before, and without any row at
// the heading of the list (WCAG 2.4.3).
func TestConsoleKeepsTheFocusWhenARowGoes(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	for _, name := range []string{"board-a", "board-b", "board-c"} {
		read(t, g.call(http.MethodPost, "/v1/tokens", `{"name":"`+name+`","role":"viewer","level":"PUBLIC"}`), http.StatusCreated, nil)
	}
	b := g.console("/access")
	row := func(name string) string {
		return `[...document.querySelectorAll("tr")].find((r) => r.innerText.includes("` + name + `"))`
	}
	revoke := func(name string) {
		t.Helper()
		b.presses(row(name) + `?.querySelector("button")`)
		b.until(`document.querySelector("dialog[open] .danger")`)
		b.click("dialog[open] .danger")
		b.until(`!` + row(name))
	}
	revoke("board-b")
	b.until(`document.activeElement?.closest("tr") === ` + row("board-c"))
	revoke("board-c")
	b.until(`document.activeElement?.closest("tr") === ` + row("board-a"))
	revoke("board-a")
	b.until(`document.activeElement?.matches("main h1, main h2")`)
	require.Empty(t, b.obstacles())
}

// presses focuses a button and presses it, as the keyboard does.
func (b *browser) presses(button string) {
	b.t.Helper()
	b.until(button)
	eval[bool](b, `(() => { const n = `+button+`; n.focus(); n.click(); return true; })()`)
}

// After a change of the configuration is taken back, the focus is on the next change, and after the last one on a heading.
func TestConsoleKeepsTheFocusWhenAChangeIsTakenBack(t *testing.T) {
	t.Parallel()
	g, _ := fromFile(t, "models: { default: offline/echo }\n", nil)
	b := g.console("/config?q=session.queue")
	change := func(path string) {
		t.Helper()
		b.until(`document.querySelector('[data-path="` + path + `"]')`)
		b.click(`[data-path="` + path + `"]`)
		b.writes("#value", "7")
		b.click(".editor [type=submit]")
		b.until(`document.querySelector(".draft .lines")?.innerText.includes("` + path + `")`)
	}
	const undo = `document.querySelector(".draft .lines li button")`
	change("session.queue.cap")
	change("session.queue.debounceMs")
	b.presses(undo)
	b.until(`document.activeElement?.closest(".draft li")?.innerText.includes("session.queue.debounceMs")`)
	require.NotContains(t, eval[string](b, `document.querySelector(".draft .lines").innerText`), "session.queue.cap")
	b.presses(undo)
	b.until(`!document.querySelector(".draft") && document.activeElement?.matches("main h1, main h2")`)

	change("session.queue.cap")
	b.presses(`[...document.querySelectorAll(".draft .acts button")].at(-1)`)
	b.until(`!document.querySelector(".draft") && document.activeElement?.matches("main h1, main h2")`)
}

// After a file is removed from a message, the focus is on the next file, and after the last one in the text field.
func TestConsoleKeepsTheFocusWhenAFileIsRemoved(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	eval[bool](b, `(() => {
		const chosen = new DataTransfer(), field = document.querySelector("input[type=file]");
		for (const name of ["first.txt", "second.txt"]) chosen.items.add(new File(["x"], name));
		field.files = chosen.files;
		return field.dispatchEvent(new Event("change", { bubbles: true }));
	})()`)
	b.until(`document.querySelectorAll(".attached li").length === 2`)
	b.presses(`document.querySelector(".attached li button")`)
	b.until(`document.activeElement?.closest(".attached li")?.innerText.includes("second.txt")`)
	b.presses(`document.querySelector(".attached li button")`)
	b.until(`!document.querySelector(".attached") && document.activeElement?.id === "text"`)
	require.Zero(t, eval[int](b, `document.activeElement.tabIndex`), "Tab still reaches it")
}
