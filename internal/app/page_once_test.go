package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was typed while a search begins is not replaced by what is searched.
func TestConsoleFindKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"words"}`), http.StatusOK, nil)
	b := g.page()
	b.shows("echo: words")
	eval[bool](b, `(() => {
		const write = (text) => {
			const n = document.querySelector("#find-in input");
			n.value = text;
			n.dispatchEvent(new Event("input", { bubbles: true }));
		};
		const replace = history.replaceState.bind(history);
		history.replaceState = (...all) => {
			replace(...all);
			history.replaceState = replace;
			write("wor");
		};
		write("w");
		return true;
	})()`)
	b.until(`location.search === "?find=wor" && document.querySelector("#find-in input").value === "wor"`)
	b.until(`document.querySelector("#find-in [role=status]").innerText === "2 of 2"`)
}

// A conversation that is read again draws nothing that it shows already.
func TestConsoleDrawsMessagesOnce(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/guide }\n")
	for _, text := range []string{"list sessions", "What can you do?"} {
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"`+text+`"}`), http.StatusOK, nil)
	}
	b := g.page()
	b.shows("What can you do?")
	b.until(`!document.querySelector("#log .entry:not([data-id])")`)
	shown := eval[int](b, `document.querySelectorAll("#log .entry").length`)
	eval[bool](b, `(() => {
		window.drawn = 0;
		new MutationObserver((all) => {
			for (const m of all) for (const n of m.addedNodes) if (n.matches?.(".entry")) drawn++;
		}).observe(document.getElementById("log"), { subtree: true, childList: true });
		return true;
	})()`)
	g.cfg.Gateway.Listen = g.Addr().String()
	g.end()
	b.state("connecti") // reconnecting, or no connection
	g.begin()
	b.state("connected")
	b.says("once more")
	b.shows("once more")
	require.Equal(t, shown, eval[int](b, `[...document.querySelectorAll("#log .entry")].findIndex((n) => n.innerText.includes("once more"))`))
	require.LessOrEqual(t, eval[int](b, `drawn`), 2, "only what was said now, and its answer")
}

// A memory that no run has saved has a Why too: it says who saved it.
func TestConsoleSaysWhoSavedAMemory(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\nchannels: { webchat: { classification: RESTRICTED } }\n")
	var m struct{ ID string }
	read(t, g.call(http.MethodPost, "/v1/memory", `{"key":"versions","content":"Milk"}`), http.StatusCreated, &m)
	b := g.console("/memory")
	b.until(`document.querySelector(".row a[href='/why/` + m.ID + `']")`)
	b.click(".row a[href='/why/" + m.ID + "']")
	b.until(`document.querySelector("main").innerText.includes("gateway's own token")`)
	require.Contains(t, eval[string](b, `document.querySelector("main").innerText`), "memory versions")
	require.Empty(t, b.obstacles())
	b.picture("why-memory")
	b.click("a.button[href='/memory/" + m.ID + "']")
	b.until(`document.querySelector(".peek")?.innerText.includes("Milk")`)
}
