package app_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// Words are found in a conversation, also in messages that the page has not read yet. The keyboard goes from match to match.
func TestConsoleFindsInAConversation(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	const said = 60
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"Look:\n\n- **one** item"}`), http.StatusOK, nil)
	for i := range said {
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", fmt.Sprintf(`{"message":"Word %d."}`, i)), http.StatusOK, nil)
	}
	var got struct{ Found []string }
	read(t, g.call(http.MethodGet, "/v1/sessions/main/history?limit=1&find=WORD%203.", ""), http.StatusOK, &got)
	require.Len(t, got.Found, 2, "what was said, and the answer")

	b := g.page()
	b.shows(fmt.Sprintf("echo: Word %d.", said-1))
	require.Equal(t, 100, eval[int](b, `document.querySelectorAll(".entry").length`))
	eval[bool](b, `document.activeElement.blur(), true`)
	require.False(t, eval[bool](b, `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "f", bubbles: true, cancelable: true }))`), "the letter itself is not written")
	require.True(t, eval[bool](b, `document.activeElement === document.querySelector("#find-in input")`))
	b.keys("word 3.")
	found := func(text, of string) {
		t.Helper()
		b.until(`document.querySelector("#log .match .bubble")?.innerText === ` + quoted(text) + ` && document.querySelector("#find-in [role=status]").innerText === ` + quoted(of))
		require.True(t, b.inSight("#log .match"))
		require.True(t, eval[bool](b, `document.activeElement === document.querySelector("#find-in input")`), "the focus stays")
	}
	found("echo: Word 3.", "2 of 2")
	require.Equal(t, 2*said+2, eval[int](b, `document.querySelectorAll(".entry").length`), "the messages up to it are there")
	require.Empty(t, b.obstacles())
	b.picture("find")
	b.keys(kb.Enter)
	found("Word 3.", "1 of 2")
	b.keys(kb.Enter)
	found("echo: Word 3.", "2 of 2")
	b.click("#find-in button:last-of-type")
	b.until(`document.querySelector("#find-in [role=status]").innerText === "1 of 2"`)
	require.Contains(t, eval[string](b, `location.search`), "find=word")

	b.do(chromedp.Reload())
	b.until(`document.querySelector("#log .match .bubble")?.innerText === "echo: Word 3."`)
	b.click("#find-in input")
	b.keys(" nowhere")
	b.until(`document.querySelector("#find-in [role=status]").innerText === "No message contains this text."`)
	require.False(t, eval[bool](b, `document.querySelector("#log .match") !== null`))
	b.keys(kb.Escape)
	b.until(`document.querySelector("#find-in input").value === "" && location.search === ""`)

	b.keys("one")
	b.until(`document.querySelector("#log .match li")?.innerText === "one item"`)
	require.Equal(t, "list-item", eval[string](b, `getComputedStyle(document.querySelector("#log .match li")).display`), "a match looks as it did")
	b.keys(kb.Escape)

	b.says("just now")
	b.shows("echo: just now")
	b.click("#find-in input")
	b.keys("just")
	b.until(`document.querySelector("#log .match .bubble")?.innerText === "echo: just now"`)
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	require.Empty(t, b.obstacles())
	b.picture("find-320")
}

// Words are found in arguments and results of tools too, and the tool that has them is unfolded.
func TestConsoleFindsInTools(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/guide }\nchannels: { webchat: { classification: RESTRICTED } }\n")
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"list sessions"}`), http.StatusOK, nil)
	var history struct {
		Messages []struct {
			ID, Role string
			Parts    []struct{ Type, Text string }
		}
		Found []string
	}
	read(t, g.call(http.MethodGet, "/v1/sessions/main/history?find=SESSIONS_list", ""), http.StatusOK, &history)
	ids := map[string]string{}
	for _, m := range history.Messages {
		if m.Role == "toolResult" {
			ids["result"] = m.ID
			require.Contains(t, m.Parts[0].Text, `"abortedLastRun"`)
		}
		for _, p := range m.Parts {
			if p.Type == "toolCall" {
				ids["call"] = m.ID
			}
		}
	}
	require.Contains(t, history.Found, ids["call"])
	read(t, g.call(http.MethodGet, "/v1/sessions/main/history?limit=1&find=abortedlastrun", ""), http.StatusOK, &history)
	require.Contains(t, history.Found, ids["result"])

	b := newBrowser(t)
	b.open(g.url("/conversations/main?find=abortedLastRun#token=" + g.Token()))
	b.until(`document.querySelector("#log .match .tool[open]")?.innerText.includes('"abortedLastRun"')`)
	require.True(t, b.inSight("#log .match .tool[open]"))
	require.Empty(t, b.obstacles())
	b.picture("find-tool")
}
