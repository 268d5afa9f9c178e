package app_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
)

// newcomer uses the page with a mouse and a keyboard, and counts.
type newcomer struct {
	*browser
	clicks, typed int
}

// press clicks on what is in a part of the page and has a text: a button, a link or a row of a list.
func (n *newcomer) press(part, text string) {
	n.t.Helper()
	find := `[...document.querySelectorAll(` + quoted(part) + `)].flatMap((p) => [...p.querySelectorAll("button, a, [role=row]")]).find((e) => e.checkVisibility() && !e.disabled && e.textContent.includes(` + quoted(text) + `))`
	n.until(`(() => { const e = ` + find + `; if (!e) return false; document.querySelectorAll("[data-pressed]").forEach((o) => delete o.dataset.pressed); e.dataset.pressed = "yes"; return true; })()`)
	n.click("[data-pressed]")
	n.clicks++
}

// goes opens a view.
func (n *newcomer) goes(view string) {
	n.t.Helper()
	n.press("nav.rail", view)
	n.until(`document.querySelector(".view-title")?.textContent.includes(` + quoted(view) + `)`)
}

// write types into a field.
func (n *newcomer) write(selector, text string) {
	n.t.Helper()
	n.click(selector)
	n.do(chromedp.SendKeys(chromedp.CSS(selector), text))
	n.clicks++
	n.typed += len(text)
}

// adds looks for a setting that is not there yet, and gives it a value.
func (n *newcomer) adds(path, value string) {
	n.t.Helper()
	n.press("main", "Add a setting")
	n.write("#adding input", path)
	n.press("main", "Choose")
	n.write("#value", value)
	n.press("main", "Add to the changes")
	n.until(`document.querySelector(".draft")?.textContent.includes(` + quoted(path) + `)`)
}

// chooses gives a setting another one of its values.
func (n *newcomer) chooses(path, value string) {
	n.t.Helper()
	n.write("#filters input", path)
	n.picks(path, value)
}

// picks chooses a value for a setting that is in sight.
func (n *newcomer) picks(path, value string) {
	n.t.Helper()
	n.press("main", path)
	n.until(`document.querySelector("select#value")`)
	n.do(chromedp.SetValue(chromedp.CSS("#value"), value))
	eval[bool](n.browser, `document.querySelector("#value").dispatchEvent(new Event("change", { bubbles: true }))`)
	n.clicks += 2
	n.press("main", "Add to the changes")
}

func (n *newcomer) saves() {
	n.t.Helper()
	n.until(`document.querySelector("[data-part=save]")?.disabled === false`)
	n.press("main", "Save and apply")
	n.until(`!document.querySelector(".draft")`)
}

// A person who has only the page adds a bot, lets somebody talk to it, sees why a reply was withheld, allows it, and
// pauses a job.
func TestANewcomerNeedsNoTerminal(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	person := telegramtest.User{ID: 1001, FirstName: "Ada"}
	g, _ := fromFile(t, "models: { default: offline/echo }\ncron: { jobs: [{ id: standup, schedule: \"45 9 * * mon-fri\", text: Stand-up, deliver: { to: [owner] } }] }\n", nil)
	n := &newcomer{browser: newBrowser(t)}
	began := time.Now()

	n.open(g.url("/config#token=" + g.Token()))
	n.adds("channels.telegram.accounts.default.token", bots.Token())
	n.adds("channels.telegram.accounts.default.apiBase", bots.URL()) // the one of the test; a newcomer needs none
	n.saves()

	bots.Say(telegramtest.Private(person.ID), person, "hello")
	n.goes("Inbox")
	n.press("main", "Let them talk")
	n.until(`document.querySelector("main").innerText.includes("Nothing is waiting for a decision.")`)

	n.goes("Config")
	n.chooses("channels.webchat.classification", "INTERNAL")
	n.saves()
	n.goes("Conversations")
	n.press("main", "Main conversation")
	n.state("connected")
	n.says("the figures of this month")
	n.clicks++
	n.shows("echo: the figures of this month")

	bots.Say(telegramtest.Private(person.ID), person, "what are the figures?")
	n.goes("Deliveries")
	n.until(`document.querySelector(".grid")?.innerText.includes("I have a reply")`) // the notice of the withheld reply
	n.press(".grid", "⊘")
	n.press(".peek", "Why")
	n.until(`document.querySelector("main").innerText.includes("INTERNAL") && document.querySelector("main").innerText.includes("What would change it")`)
	n.picture("newcomer-why")

	n.goes("Config")
	n.adds("channels.telegram.classification", "INTERNAL")
	n.saves()
	n.goes("Deliveries")
	n.press(".grid", "⊘")
	n.press(".peek", "Send again")
	sent, err := bots.WaitSent(t.Context(), person.ID, 4)
	require.NoError(t, err)
	require.Contains(t, sent[len(sent)-1].Text, "what are the figures?")

	n.goes("Automation")
	n.press("main", "standup")
	n.press("main", "Pause")
	n.until(`document.querySelector("main").innerText.includes("Resume")`)
	t.Logf("%d clicks, %d characters, %s with a machine's hands", n.clicks, n.typed, time.Since(began).Round(time.Second))
}
