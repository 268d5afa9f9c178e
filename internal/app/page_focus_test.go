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
		b.until(row(name) + `?.querySelector("button")`)
		eval[bool](b, `(() => { const n = `+row(name)+`.querySelector("button"); n.focus(); n.click(); return true; })()`)
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
