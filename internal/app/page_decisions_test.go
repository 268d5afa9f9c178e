package app_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

const asks = "agents: { defaults: { permission: ask } }\n"

func (b *browser) dark(on bool) {
	b.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(b.t, err)
}

// What waits for a decision is where the person looks: above the field in which they write, in sight on the smallest
// phone, with all of its arguments, and read out.
func TestPageShowsWhatWaitsForADecision(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	b := g.page()
	b.phone(320, 568)
	before := strings.Repeat("some words before it, so that the conversation is longer than the screen of a phone ", 3)
	b.says(before)
	b.shows("echo: " + strings.TrimSpace(before))
	b.state("connected")
	models.Enqueue(modeltest.Call("memory_save", `{"key":"plan","content":"`+longText+`"}`), modeltest.Say("It is kept."))
	b.says("keep the plan")
	b.until(`document.getElementById("approvals")?.hidden === false`)
	b.state("waiting for you")
	for _, part := range []string{"allow", "deny", "what"} {
		require.True(t, b.inSight(`#approvals [data-part=`+part+`]`), part)
	}
	b.until(`(() => { const log = document.getElementById("log"); return log.scrollHeight - log.scrollTop - log.clientHeight < 5; })()`) // what was said last stays in sight
	require.Contains(t, eval[string](b, `document.querySelector("#approvals [data-part=args]").textContent`), "the end of it")
	require.Contains(t, eval[string](b, `document.querySelector("[role=alert]#heard").textContent`), "Allow memory_save to run?")
	require.NotContains(t, eval[string](b, `document.querySelector("#approvals").textContent`), "\u202e", "nothing turns the text around")
	require.False(t, eval[bool](b, `document.getElementById("approvals").contains(document.activeElement)`), "it takes the focus from nobody")
	require.False(t, b.scrollsSideways())
	b.picture("approval-320")
	b.dark(true)
	b.picture("approval-320-dark")
	b.dark(false)
	b.do(chromedp.EmulateViewport(1200, 800))
	b.picture("approval")

	b.do(chromedp.Reload())
	b.until(`document.getElementById("approvals")?.hidden === false`)
	b.click(`#approvals [data-part=allow]`)
	b.shows("It is kept.")
	b.until(`document.getElementById("approvals").hidden`)
	require.Empty(t, models.Violations())
}

var longText = "the beginning of it \u202e turned around" + strings.Repeat(" and so on", 300) + " the end of it"

func quoted(s string) string { return strconv.Quote(s) }

// A question that is decided elsewhere goes, the next takes its place, and a press that was meant for the first meets nothing.
func TestPageDecidesOnlyAboutWhatItShows(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models))
	b := g.page()
	models.Enqueue(modeltest.Reply{Calls: []modeltest.ToolCall{{Name: "memory_save", Args: `{"key":"one","content":"1"}`}, {Name: "memory_save", Args: `{"key":"two","content":"2"}`}}}, modeltest.Say("Done."))
	b.says("keep both")
	b.until(`document.querySelector("#approvals [data-part=more]")?.textContent === "1 of 2"`)
	first := eval[string](b, `document.querySelector("#approvals [data-part=args]").textContent`)
	var waiting struct{ Approvals []struct{ ID, Args any } }
	read(t, g.call(http.MethodGet, "/v1/approvals", ""), http.StatusOK, &waiting)
	require.Len(t, waiting.Approvals, 2)
	eval[bool](b, `(() => { window.late = []; const box = document.querySelector("#approvals [data-part=args]"), allow = document.querySelector("#approvals [data-part=allow]");
		new MutationObserver(() => late.push(allow.disabled)).observe(box, { childList: true, characterData: true, subtree: true }); return true; })()`)
	shown := eval[string](b, `import("/base.js").then((m) => m.json("/v1/approvals")).then((a) => a.approvals.find((p) => JSON.stringify(p.args, null, 2) === document.querySelector("#approvals [data-part=args]").textContent).id)`)
	read(t, g.call(http.MethodPost, "/v1/approvals/"+shown+"/deny", ""), http.StatusOK, nil)
	b.until(`document.querySelector("#approvals [data-part=args]").textContent !== ` + quoted(first))
	require.Equal(t, []bool{true}, eval[[]bool](b, `late`), "the buttons rest while the question changes")
	b.until(`!document.querySelector("#approvals [data-part=deny]").disabled`)
	b.click(`#approvals [data-part=deny]`)
	b.shows("Done.")
}

// A token that does not fit is told of in the dialog, with what is wrong.
func TestPageSaysWhatIsWrongWithAToken(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	b := newBrowser(t)
	b.open(g.url("/conversations/main"))
	b.until(`document.getElementById("ask")?.open`)
	try := func(token, problem string) {
		t.Helper()
		b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("token").value = ` + quoted(token)))
		b.click("#ask button")
		b.until(`document.getElementById("ask")?.open && document.querySelector("#ask [role=alert]").textContent.includes(` + quoted(problem) + `)`)
	}
	try("", "Enter your access token")
	try("wrong", "does not know this token")
	b.picture("token-wrong")
	b.phone(320, 568)
	b.dark(true)
	b.picture("token-wrong-320-dark")
	b.dark(false)
	g.cfg.Gateway.Listen = g.Addr().String()
	g.end()
	try(g.Token(), "does not answer")
	g.begin()
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("token").value = `+quoted(g.Token())), chromedp.Click(chromedp.CSS("#ask button")))
	b.state("connected")

	g.end()
	g.cfg.Gateway.Token = "another-token-of-this-test"
	g.begin()
	b.until(`document.getElementById("ask")?.open && document.querySelector("#ask [role=alert]").textContent.includes("replaced or revoked")`)
}

// On a phone, a conversation shows its head and the message field, and every other view the bar at the bottom.
func TestPageOnAPhoneKeepsItsBarsInSight(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	for _, width := range []int64{320, 390} {
		b.phone(width, 700)
		for _, part := range []string{".talk-head h2", "#state", "#text", "#send"} {
			require.True(t, b.inSight(part), "%s at %d", part, width)
		}
		b.click(".talk-head button")
		b.until(`document.querySelector(".row")`)
		for _, part := range []string{".view-title", ".row", ".bottom a", ".bottom button"} {
			require.True(t, b.inSight(part), "%s at %d", part, width)
		}
		b.picture("conversations-phone")
		b.click(".row .open-row")
		b.state("connected")
	}
}

// A delivery that a rule holds is decided where it is listed.
func TestConsoleDecidesAboutAHeldDelivery(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/echo }
policy: { rules: [ { name: look, hook: PRE_OUTPUT, when: 'text.contains("figures")', action: require_approval } ] }
`)
	read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"the figures"}`), http.StatusAccepted, nil)
	b := g.console("/deliveries")
	b.until(`document.querySelector(".row .chip[data-status=held]")`)
	eval[bool](b, `[...document.querySelectorAll(".row")].find((r) => r.querySelector("[data-status=held]")).querySelector(".open-row").click(), true`)
	b.until(`document.querySelector(".peek [data-part=allow]") && /^\/inbox\/apr_/.test(document.querySelector(".peek .note a").getAttribute("href"))`)
	b.picture("deliveries-held")
	b.click(".peek [data-part=allow]")
	b.until(`document.querySelector(".peek .chip[data-status=sent]")`)
}
