package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// rowsOf opens a list and returns the text of its rows, or the sentence that an empty list shows.
func (b *browser) rowsOf(path string) []string {
	b.t.Helper()
	b.open(path)
	b.until(`document.querySelector(".row, .empty")`)
	return eval[[]string](b, `[...document.querySelectorAll(".row .on-main, .empty")].map((n) => n.innerText)`)
}

// fits: each row of the list is as wide as the list at most, so that its last column is in sight.
func (b *browser) fits() {
	b.t.Helper()
	require.True(b.t, eval[bool](b, `[...document.querySelectorAll(".row")].every((r) => r.scrollWidth <= r.clientWidth)`), "a row is wider than its list")
}

// The trail is filtered by level and time. The filters stand in the address, also those that are set in the page.
func TestConsoleFiltersTheTrail(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/echo }
channels: { webchat: { classification: CONFIDENTIAL } }
cron: { jobs: [ { id: morning, every: 100h, text: Good morning., deliver: { to: [ "webchat:local" ] } } ] }
`)
	read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"look","label":"CONFIDENTIAL"}`), http.StatusAccepted, nil)
	read(t, g.call(http.MethodPost, "/v1/cron/morning/pause", "{}"), http.StatusOK, nil)
	b := g.console("/overview")
	all := b.rowsOf(g.url("/audit"))
	require.Contains(t, all, "cron.pause")
	require.Contains(t, all, "message.send")
	secret := b.rowsOf(g.url("/audit?level=CONFIDENTIAL"))
	require.Contains(t, secret, "message.send")
	require.NotContains(t, secret, "cron.pause")
	require.NotContains(t, b.rowsOf(g.url("/audit?level=PUBLIC")), "message.send")
	require.Equal(t, all, b.rowsOf(g.url("/audit?since=2026-01-01T00:00:00Z")))
	require.Contains(t, b.rowsOf(g.url("/audit?until=2026-01-01T00:00:00Z"))[0], "Until")

	// A time is shown in the reader's zone, and what is set there is the same time in the address.
	const field = `document.querySelector("#filters label:nth-last-of-type(%d) input")`
	b.open(g.url("/audit?until=2199-05-01T10:20:00Z"))
	b.until(`document.querySelector(".row")`)
	require.True(t, eval[bool](b, fmt.Sprintf(field, 1)+`.value === (() => { const d = new Date("2199-05-01T10:20:00Z"); return new Date(d - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16); })()`))
	eval[bool](b, `(() => { const i = `+fmt.Sprintf(field, 2)+`; i.value = "2199-04-01T08:00"; i.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	b.until(`document.querySelector(".empty") && location.search.includes("since=") && location.search.includes("until=")`)
	require.True(t, eval[bool](b, `new URLSearchParams(location.search).get("since") === new Date("2199-04-01T08:00").toISOString().replace(".000", "")`))
}

// Jobs are filtered by their state, also when those of the state begin behind the first page.
func TestConsoleFiltersJobs(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/echo }
channels: { webchat: { classification: CONFIDENTIAL } }
cron: { jobs: [ { id: morning, every: 100h, text: Good morning., deliver: { to: [ "webchat:local" ] } }, { id: evening, every: 100h, text: Good evening., deliver: { to: [ "webchat:local" ] } } ] }
`)
	read(t, g.call(http.MethodPost, "/v1/cron/morning/pause", "{}"), http.StatusOK, nil)
	listed := func(query string) (ids []string, next string) {
		resp := g.call(http.MethodGet, "/v1/cron"+query, "")
		next = resp.Header.Get("Link")
		var got struct{ Jobs []struct{ ID string } }
		read(t, resp, http.StatusOK, &got)
		for _, j := range got.Jobs {
			ids = append(ids, j.ID)
		}
		return ids, next
	}
	for query, want := range map[string][]string{"": {"evening", "morning"}, "?state=paused": {"morning"}, "?state=paused&limit=1": {"morning"}, "?state=active": {"evening"}, "?state=ended": nil} {
		ids, next := listed(query)
		require.Equal(t, want, ids, query)
		require.Empty(t, next, query)
	}
	ids, next := listed("?limit=1")
	require.Equal(t, []string{"evening"}, ids)
	require.NotEmpty(t, next)
	b := g.console("/overview")
	require.Equal(t, []string{"evening"}, b.rowsOf(g.url("/automation?state=active")))
	require.Equal(t, []string{"morning"}, b.rowsOf(g.url("/automation?state=paused")))
	require.Contains(t, b.rowsOf(g.url("/automation?state=ended"))[0], "State: ended")
}

// The inbox begins with the question that expires first, also when that one comes later, and shows only the questions of a
// channel or of a kind.
func TestConsoleOrdersAndFiltersTheInbox(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	g := start(t, `
channels: { webchat: { classification: CONFIDENTIAL }, telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
policy:
  rules:
    - { name: slow, hook: PRE_OUTPUT, when: 'text.contains("slow")', action: require_approval, timeout: 30m }
    - { name: brief, hook: PRE_OUTPUT, when: 'text.contains("brief")', action: require_approval, timeout: 5m }
`+asks+withModels(models))
	models.Enqueue(modeltest.Call("memory_save", `{"key":"plan","content":"soon"}`))
	read(t, g.call(http.MethodPost, "/v1/wake", `{"text":"keep the plan"}`), http.StatusAccepted, nil)
	send := func(channel, to, text string) {
		read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"`+channel+`","to":"`+to+`","text":"`+text+`"}`), http.StatusAccepted, nil)
	}
	send("telegram", "-1001", "slow for the group")
	g.waiting(2) // the questions are asked in this order
	send("webchat", "local", "slow for the page")
	b := g.console("/inbox")
	const texts = `[...document.querySelectorAll(".row .on-sub")].map((n) => n.innerText)`
	rows := func(path string, n int) []string {
		t.Helper()
		b.open(g.url(path))
		b.until(fmt.Sprintf(`document.querySelectorAll(".row").length === %d && !document.querySelector(".fresh")`, n))
		return eval[[]string](b, texts)
	}
	all := rows("/inbox", 3)
	require.Contains(t, all[0], "plan", "the call of the tool, which waits for ten minutes")
	require.Equal(t, []string{"slow for the group", "slow for the page"}, all[1:])
	send("webchat", "local", "brief for the page")
	b.until(`document.querySelectorAll(".row").length === 4`)
	require.Equal(t, append([]string{"brief for the page"}, all...), eval[[]string](b, texts), "a new question stands where its time is")
	b.until(`document.querySelector("nav.rail [data-view=inbox] .badge")?.textContent.startsWith("4")`)
	b.picture("inbox-order")
	require.Equal(t, []string{"slow for the group"}, rows("/inbox?channel=telegram", 1))
	require.Equal(t, all[:1], rows("/inbox?kind=call", 1))
	require.Equal(t, []string{"brief for the page", "slow for the page"}, rows("/inbox?kind=message&channel=webchat", 2))
	b.picture("inbox-filtered")
	require.Contains(t, b.rowsOf(g.url("/inbox?channel=discord"))[0], "Channel: discord")
}

// A job whose latest time has failed needs a person until a later one succeeds. The number on the overview leads to the job, whose
// row says how it ended.
func TestConsoleShowsFailingJobs(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	models.Always(func(modeltest.Request) modeltest.Reply { return modeltest.Fail(http.StatusBadRequest, "invalid", "no") })
	g := start(t, `
channels: { webchat: { classification: CONFIDENTIAL } }
limits: { runAttempts: 1 }
cron: { jobs: [ { id: fine, every: 100h, text: Good morning., deliver: { to: [ "webchat:local" ] } }, { id: report, every: 100h, prompt: Report., deliver: { to: [ "webchat:local" ] } } ] }
`+withModels(models))
	b := g.console("/overview")
	ran := func(job, status string) {
		t.Helper()
		read(t, g.call(http.MethodPost, "/v1/cron/"+job+"/run", "{}"), http.StatusAccepted, nil)
		b.open(g.url("/automation"))
		b.until(fmt.Sprintf(`[...document.querySelectorAll(".row")].find((r) => r.innerText.includes(%q))?.querySelector('[data-status=%q]')`, job, status))
	}
	ran("fine", "ok")
	ran("report", "failed")
	b.picture("jobs")
	b.fits()
	b.open(g.url("/overview"))
	b.until(`document.querySelector('[data-need="jobs"] strong')?.innerText === "1"`)
	b.picture("overview-jobs")
	b.click(`[data-need="jobs"]`)
	b.until(`location.search === "?failed=true" && document.querySelector(".row")`)
	require.Equal(t, []string{"report"}, eval[[]string](b, `[...document.querySelectorAll(".row .on-main")].map((n) => n.innerText)`))
	require.Equal(t, []string{"fine", "report"}, b.rowsOf(g.url("/automation")))
}

// What links of the page filter by, the views know.
func TestConsoleFiltersWhatLinksName(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/echo }
channels: { webchat: { classification: CONFIDENTIAL } }
policy: { rules: [ { name: figures, hook: PRE_OUTPUT, when: 'text.contains("figures")', action: block }, { name: ask, hook: PRE_OUTPUT, when: 'text.contains("please")', action: require_approval } ] }
`)
	for _, text := range []string{"the figures", "hello", "please"} {
		g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"`+text+`"}`)
	}
	b := g.console("/policy")
	b.click(`#rules a[href*="policy.rules.figures"]`)
	b.until(`location.pathname === "/deliveries" && document.querySelector(".row")`)
	require.Equal(t, []string{"the figures"}, eval[[]string](b, `[...document.querySelectorAll(".row .on-main")].map((n) => n.innerText)`))
	b.picture("deliveries-of-a-rule")
	require.Contains(t, b.rowsOf(g.url("/deliveries?account=default")), "hello")
	require.Contains(t, b.rowsOf(g.url("/deliveries?account=other"))[0], "Account: other")

	b.open(g.url("/inbox"))
	b.until(`document.querySelector(".row")?.innerText.includes("ask")`)
	b.fits()
	b.picture("inbox-rule")

	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"hello"}`), http.StatusOK, nil)
	require.Len(t, b.rowsOf(g.url("/conversations")), 1)
	require.NotEmpty(t, b.rowsOf(g.url("/conversations?archived=true"))[0])
	b.until(`document.querySelector(".empty")?.innerText.includes("archived")`)
	b.picture("conversations-archived")
	b.open(g.url("/costs"))
	b.until(`document.querySelector("#costs tbody a")`)
	b.click(`#costs tbody a`)
	b.until(`location.pathname === "/runs" && location.search.includes("until=") && document.querySelector(".row")`)
	b.picture("runs-of-a-day")
}

// An id that is pasted into the palette opens its row, or why it happened.
func TestConsoleFindsIDs(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	var sent struct{ ID string }
	read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"hello"}`), http.StatusAccepted, &sent)
	b := g.console("/overview")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("button.find").click(); 0`))
	b.until(`document.getElementById("find")`)
	b.do(chromedp.SendKeys(chromedp.CSS("#find"), sent.ID))
	b.until(`document.querySelectorAll("#found li").length === 2`)
	b.picture("palette-id")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("#found li")[1].click(); 0`))
	b.until(`location.pathname === "/why/` + sent.ID + `" && document.querySelector(".step")`)
	b.until(`[...document.querySelectorAll(".acts button")].some((n) => n.innerText.includes("JSON"))`)
	b.picture("why-json")
}

// choose picks a value of the filter at this place.
func (b *browser) choose(place, value string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`, place, value))
}

// Memories are filtered by level. A level above the reader's is empty, whatever is there.
func TestConsoleFiltersMemoriesByLevel(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\nchannels: { webchat: { classification: RESTRICTED } }\n")
	now := time.Now()
	for key, level := range map[string]flow.Level{"open": flow.Public, "hidden": flow.Confidential} {
		run := map[string]sessions.RunID{"open": "run_1"}[key]
		require.NoError(t, g.Store().SaveMemory(t.Context(), sessions.MemorySave{Memory: sessions.Memory{
			ID: sessions.NewMemoryID(), Namespace: "main", Audience: sessions.AudienceOwner, Label: flow.NewLabel(level, flow.Trusted), Key: key, Content: "tea", Session: "sess_1", Run: run, Created: now, Updated: now,
		}, MaxEntries: 10, MaxBytes: 1 << 20}))
	}
	b := g.console("/overview")
	require.Equal(t, []string{"hidden", "open"}, b.rowsOf(g.url("/memory")))
	require.Equal(t, []string{"hidden"}, b.rowsOf(g.url("/memory?level=CONFIDENTIAL")))
	require.Equal(t, []string{"hidden"}, b.rowsOf(g.url("/memory?level=CONFIDENTIAL&q=tea")))
	require.Contains(t, b.rowsOf(g.url("/memory?level=INTERNAL"))[0], "Level: Internal")
	b.open(g.url("/memory"))
	b.until(`document.querySelector(".row")`)
	require.Len(t, eval[[]string](b, `[...document.querySelectorAll(".row a[href^='/why/mem_']")].map((a) => a.pathname)`), 2, "each memory has a Why")
	b.choose("#filters select", "PUBLIC")
	b.until(`document.querySelectorAll(".row").length === 1 && location.search === "?level=PUBLIC"`)

	low := newBrowser(t)
	low.open(g.url("/memory?level=CONFIDENTIAL#token=" + g.tokenOf("viewer", "INTERNAL")))
	low.until(`document.querySelector(".empty")`)
	require.Contains(t, g.sluice("memory", "list", "--level", "confidential"), "hidden")
}

// People are filtered by the state of their request, and tokens by role; "/" takes the keyboard to the filter.
func TestConsoleFiltersPeopleAndTokens(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\nchannels: { webchat: { classification: RESTRICTED } }\n")
	now := time.Now()
	var all []ledger.Pairing
	for name, status := range map[string]ledger.PairingStatus{"Ann": ledger.PairingApproved, "Bob": ledger.PairingDenied, "Cleo": ledger.PairingRevoked, "Dora": ledger.PairingPending} {
		all = append(all, ledger.Pairing{Channel: "webchat", Account: "default", User: sessions.Peer{ID: sessions.UserID(name), Name: name}, Code: "CODE" + name, Status: status, Created: now, Expires: now.Add(time.Hour)})
	}
	g.store(ledger.Change{Pairings: all})
	var listed struct{ Pairings []struct{ Status string } }
	read(t, g.call(http.MethodGet, "/v1/pairings?status=denied", ""), http.StatusOK, &listed)
	require.Len(t, listed.Pairings, 1)
	read(t, g.call(http.MethodGet, "/v1/pairings", ""), http.StatusOK, &listed)
	require.Len(t, listed.Pairings, 2, "who asks, and who may talk")

	b := g.console("/people?state=denied")
	b.until(`document.querySelector("#filters")`)
	names := `[...document.querySelectorAll("[data-part=answered] tbody tr")].map((r) => r.innerText.match(/Ann|Bob|Cleo|Dora/)[0]).sort().join()`
	b.until(names + ` === "Bob"`)
	require.Contains(t, b.log(), "Dora", "who asks is always shown")
	b.choose("#filters select", "")
	b.until(names + ` === "Ann,Bob,Cleo" && location.search === ""`)
	b.picture("people-states")
	require.Empty(t, b.obstacles())
	b.keys("/")
	require.True(t, eval[bool](b, `document.activeElement === document.querySelector("#filters select")`))

	var many []ledger.Pairing
	for i := range 60 {
		many = append(many, ledger.Pairing{Channel: "webchat", Account: "default", User: sessions.Peer{ID: sessions.UserID(fmt.Sprint("u", i)), Name: "Ann"}, Code: fmt.Sprint("MANY", i), Status: ledger.PairingApproved, Created: now, Expires: now.Add(time.Hour)})
	}
	g.store(ledger.Change{Pairings: many})
	b.open(g.url("/people?state=approved"))
	b.until(`document.querySelectorAll("[data-part=answered] tbody tr").length === 50`)
	require.Contains(t, eval[string](b, `document.querySelector("[data-part=answered] .acts [role=status]").innerText`), "1 to 50 of 61")
	eval[bool](b, `[...document.querySelectorAll("[data-part=answered] .acts > button")].at(-1).click(), true`)
	b.until(`document.querySelectorAll("[data-part=answered] tbody tr").length === 11`)
	require.Empty(t, b.obstacles())

	g.tokenOf("viewer", "PUBLIC")
	g.tokenOf("sender", "PUBLIC")
	b.open(g.url("/access?role=viewer"))
	tokens := `[...document.querySelectorAll("table tbody tr td:first-child")].map((r) => r.innerText).join()`
	b.until(tokens + ` === "viewer-public"`)
	b.choose("#filters select", "operator")
	b.until(`document.querySelector(".empty")?.innerText.includes("Role: operator")`)
	b.click(".empty button")
	b.until(tokens + `.includes("sender-public")`)
	require.Empty(t, b.obstacles())
	b.picture("access-roles")
}
