package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/model/modeltest"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// explains opens the explanation that a link leads to.
func (b *browser) explains(link string) {
	b.t.Helper()
	b.open(link)
	b.until(`document.querySelector(".chain .step, .problem")`)
	require.False(b.t, eval[bool](b, `document.querySelector(".problem") !== null`), "%s: %s", link, b.log())
	require.NotEmpty(b.t, eval[string](b, `document.querySelector(".answer").textContent`), link)
}

// Each row of what happened has a link to its explanation, and the link works, whatever characters the id has.
func TestConsoleRowsHaveWhy(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/echo }
targets: { ops: { channel: webchat, to: local } }
channels: { webchat: { classification: CONFIDENTIAL } }
alerts: { route: { receiver: ops }, receivers: [ { name: ops, targets: [ops] } ] }
cron: { jobs: [ { id: morning, every: 100h, text: Good morning., deliver: { to: [ops] } } ] }
`+hooksText+`
policy:
  rules:
    - { name: look, hook: PRE_OUTPUT, when: output.level == 1, action: require_approval }
    - { name: never, hook: PRE_OUTPUT, when: output.level == 2, action: block }
`)
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"hello"}`), http.StatusOK, nil)
	read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"look at this","label":"INTERNAL"}`), http.StatusAccepted, nil)
	g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"stop","label":"CONFIDENTIAL"}`)
	read(t, g.call(http.MethodPost, "/v1/alerts", `{"key":"db/1 'a' <b> 50% #1?","severity":"critical","title":"The disk is full"}`), http.StatusAccepted, nil)
	read(t, g.call(http.MethodPost, "/v1/cron/morning/run", "{}"), http.StatusAccepted, nil)
	status, _ := g.post("d%1", `{"action":"started"}`)
	require.Equal(t, http.StatusAccepted, status)
	now := time.Now()
	route := sessions.Route{Channel: "webchat", Account: "default", Conversation: "9"}
	require.NoError(t, g.Store().SaveRefusals(t.Context(), []ledger.Refusal{{ID: ledger.RefusalIDOf(route, "5"), Channel: "webchat", Account: "default", Chat: "9", User: sessions.Peer{ID: "5"}, Reason: "dmPolicy is disabled", Level: flow.Public, Count: 1, First: now, Last: now}}))

	b := newBrowser(t)
	b.run(visits)
	b.open(g.url("/overview#token=" + g.Token()))
	b.until(`document.querySelector(".view-title")`)
	for _, list := range []struct{ path, rows string }{
		{"/deliveries", ".row"},
		{"/runs", ".row"},
		{"/alerts", ".row"},
		{"/inbox", ".row"},
		{"/automation", ".row"},
		{"/audit", ".row"},
		{"/automation/morning", ".peek .lines > li"},
		{"/automation?part=hooks&hook=ci", ".row"},
		{"/people", "section:last-of-type .lines > li"},
		{"/overview", ".lately .lines > li"},
		{"/conversations/main?tab=steps", ".conversation .lines > li"},
	} {
		b.visit(strings.TrimPrefix(list.path, "/"))
		b.until(fmt.Sprintf(`document.querySelector(%q)`, list.rows))
		links := eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((r) => r.querySelector("a[href^='/why/']")?.href ?? "no link: " + r.innerText)`, list.rows))
		require.NotEmpty(t, links, list.path)
		for _, link := range links {
			require.Contains(t, link, "/why/", list.path)
		}
		b.explains(links[0])
	}

	// The explanation of a job and of an entry leads back to its row, and the page, the API and the command line say the same.
	for _, list := range []struct{ path, kind, detail string }{{"/automation", "job", "automation"}, {"/audit?action=delivery.block", "entry", "audit"}} {
		b.visit(strings.TrimPrefix(list.path, "/"))
		b.until(`document.querySelector(".row a[href^='/why/']")`)
		b.explains(eval[string](b, `document.querySelector(".row a[href^='/why/']").href`))
		b.picture("why-" + list.kind)
		var api struct {
			Kind, Answer string
			Steps        []struct{ Text string }
			Links        map[string]string
		}
		read(t, g.call(http.MethodGet, "/v1"+eval[string](b, `location.pathname`), ""), http.StatusOK, &api)
		require.Equal(t, list.kind, api.Kind)
		shown := eval[[]string](b, `[...document.querySelectorAll(".chain > .step > p:nth-of-type(2)")].map((n) => n.childNodes[0].textContent)`)
		require.NotContains(t, shown, "Who caused it is not recorded.")
		printed := g.sluice(strings.Fields(api.Links["cli"])[1:]...)
		require.Contains(t, printed, api.Answer)
		require.Len(t, shown, len(api.Steps))
		for i, s := range api.Steps {
			require.Equal(t, s.Text, shown[i])
			require.Contains(t, strings.Join(strings.Fields(printed), " "), strings.Join(strings.Fields(s.Text), " "))
		}
		b.click(".page-body > .acts a, .acts a.button")
		b.until(fmt.Sprintf(`location.pathname.startsWith("/%s/") && document.querySelector(".peek .detail-head")`, list.detail))
	}

	// An id or a link of the API can be pasted.
	const alert = "/why/db%2F1%20'a'%20%3Cb%3E%2050%25%20%231%3F"
	for _, pasted := range []string{"db/1 'a' <b> 50% #1?", g.url(alert), alert} {
		b.open(g.url("/why"))
		b.until(`document.querySelector(".form input")`)
		eval[bool](b, `(() => { const i = document.querySelector(".form input"); i.value = `+quoted(pasted)+`; i.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
		b.click(".form .main")
		b.until(`document.querySelector(".chain .step")`)
		require.Equal(t, "critical: The disk is full", eval[string](b, `document.querySelector(".detail-head h2").textContent`), pasted)
	}
	require.Contains(t, eval[string](b, `document.querySelector(".page-body").innerText`), `sluice why 'db/1 '\''a'\'' <b> 50% #1?'`)
}

// sluice runs the command line against the gateway, and gives what it prints.
func (g *gateway) sluice(args ...string) string {
	g.t.Helper()
	env := map[string]string{cli.EnvURL: g.url(""), cli.EnvToken: g.Token()}
	var out, problems bytes.Buffer
	code := cli.Execute(g.t.Context(), cli.Deps{
		Args: args, Version: "test", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &problems, Now: time.Now,
		Loader: config.Loader{Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Home: g.t.TempDir(), Dir: g.t.TempDir()},
	})
	require.Equal(g.t, cli.ExitDone, code, problems.String())
	return out.String()
}

// The page, the API and the command line explain a delivery by the same steps.
func TestWhyIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	g := start(t, `owners: ["telegram:1001"]
`+withModels(models)+`channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
policy: { rules: [ { name: plan, hook: PRE_OUTPUT, when: "text.contains('plan')", action: block } ] }
`)
	owner := telegramtest.User{ID: 1001, FirstName: "Ada"}
	for i, text := range []string{"hello", "the plan"} {
		bots.Say(telegramtest.Private(owner.ID), owner, text)
		_, err := bots.WaitSent(t.Context(), owner.ID, i+1)
		require.NoError(t, err)
	}
	g.settled()
	type step struct{ Step, State, Text string }
	var sent struct{ Deliveries []struct{ ID, Status string } }
	read(t, g.call(http.MethodGet, "/v1/deliveries", ""), http.StatusOK, &sent)
	b := g.console("/overview")
	var statuses []string
	for _, d := range sent.Deliveries {
		statuses = append(statuses, d.Status)
		var api struct {
			Title, Answer, Status string
			Steps                 []step
			Links                 map[string]string
		}
		read(t, g.call(http.MethodGet, "/v1/why/"+d.ID, ""), http.StatusOK, &api)
		require.NotEmpty(t, api.Steps)

		b.open(g.url(api.Links["page"]))
		b.until(`document.querySelector(".chain .step")`)
		require.Equal(t, api.Answer, eval[string](b, `document.querySelector(".answer").textContent`))
		page := eval[[]step](b, `import("/text/en.js").then(({ default: words }) => [...document.querySelectorAll(".chain > .step")].map((s) => {
			const chip = s.querySelector(".chip"), text = s.querySelector("p:nth-of-type(2)");
			const step = Object.keys(words).find((k) => k.startsWith("why.step.") && words[k] === chip.childNodes[1].textContent).slice(9);
			return { Step: step, State: chip.dataset.status, Text: text.childNodes[0].textContent };
		}))`)
		require.Equal(t, api.Steps, page, d.ID)

		var lines []string // of the terminal: the steps have numbers
		printed := g.sluice(strings.Fields(api.Links["cli"])[1:]...)
		for line := range strings.Lines(printed) {
			if n := len(lines) + 1; strings.HasPrefix(line, fmt.Sprintf("%2d ", n)) {
				lines = append(lines, line)
			}
		}
		require.Len(t, lines, len(api.Steps), printed)
		require.Contains(t, printed, strings.ToUpper(api.Status)+"\n"+api.Answer)
		words := map[string]string{"ok": "", "stopped": "STOPS ", "waits": "waits ", "failed": "FAILED ", "unknown": "UNKNOWN ", "not_recorded": "not recorded "}
		for i, s := range api.Steps {
			shown := strings.Join(strings.Fields(lines[i])[2:], " ") // without its number and time
			require.True(t, strings.HasPrefix(shown, s.Step+" "+words[s.State]+strings.Join(strings.Fields(s.Text), " ")), "%s: %+v", shown, s)
		}
	}
	require.Contains(t, statuses, "sent")
	require.Contains(t, statuses, "blocked")
}

// Older messages appear above those in sight, which stay where they are; in the end each is there once.
func TestConsoleOlderMessagesDontMoveOthers(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	const said = 130
	for i := range said {
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", fmt.Sprintf(`{"message":"word %d."}`, i)), http.StatusOK, nil)
	}
	b := g.page()
	b.shows(fmt.Sprintf("echo: word %d.", said-1))
	require.Equal(t, 100, eval[int](b, `document.querySelectorAll(".entry").length`), "the newest come first")
	for _, want := range []int{200, 2 * said} {
		moved := eval[float64](b, `(async () => {
			const log = document.getElementById("log"), frame = () => new Promise(requestAnimationFrame), until = performance.now() + 10_000, before = document.querySelectorAll(".entry").length;
			log.scrollTop = 350;
			await frame();
			const seen = [...log.querySelectorAll(".entry")].find((n) => n.querySelector(".bubble") && n.getBoundingClientRect().top > log.getBoundingClientRect().top + 50), y = seen.getBoundingClientRect().top;
			const words = seen.querySelector(".bubble").textContent, shown = () => [...log.querySelectorAll(".entry")].find((n) => n.querySelector(".bubble")?.textContent === words);
			while (document.querySelectorAll(".entry").length === before && performance.now() < until) await frame();
			for (let i = 0; i < 3; i++) await frame();
			return shown() ? shown().getBoundingClientRect().top - y : 1e9; // the page may have replaced the element
		})()`)
		require.InDelta(t, 0, moved, 1, "no jump")
		require.Equal(t, want, eval[int](b, `document.querySelectorAll(".entry").length`))
	}
	require.False(t, eval[bool](b, `document.querySelector(".older") !== null`), "that was all")
	texts := eval[[]string](b, `[...document.querySelectorAll(".entry.user .bubble")].map((n) => n.textContent)`)
	for i, text := range texts {
		require.Equal(t, fmt.Sprintf("word %d.", i), text)
	}
	require.Len(t, texts, said)
}

// A conversation's rows lead to those that it has given work to, and theirs back.
func TestConsoleOpensChildren(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, withModels(models))
	models.Enqueue(modeltest.Call("sessions_spawn", `{"task":"count the words"}`), modeltest.Say("Done."), modeltest.Say("Done."), modeltest.Say("Done."))
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"have it counted"}`), http.StatusOK, nil)
	g.settled()
	b := g.console("/conversations/main?tab=graph")
	b.until(`document.querySelector(".conversation .lines > li")`)
	require.Contains(t, eval[string](b, `document.querySelector(".conversation .lines").innerText`), "count the words")
	b.explains(eval[string](b, `document.querySelector(".conversation .lines > li a[href^='/why/']").href`))
	b.do(chromedp.NavigateBack())
	b.until(`document.querySelector(".conversation .lines > li")`)
	b.click(".conversation .lines > li a[href^='/conversations/']")
	b.shows("count the words")
	child := b.path()
	require.NotContains(t, child, "main")
	b.open(g.url(child + "?tab=graph"))
	b.until(`document.querySelector(".conversation .lines > li")`)
	b.click(".conversation .lines > li a[href^='/conversations/']")
	b.shows("have it counted")
}

// A run shows its steps: calls of models, and tools with their results.
func TestConsoleRunShowsItsSteps(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, withModels(models))
	g.saves(models, `{"key":"plan","content":"<img src=x onerror=alert(1)>"}`)
	b := g.console("/runs")
	b.until(`document.querySelector(".row")`)
	eval[bool](b, `document.querySelector(".row .open-row").click(), true`)
	b.until(`document.querySelector(".peek [data-part=steps]")`)
	b.click(".peek [data-part=steps] summary")
	b.until(`document.querySelectorAll(".peek [data-part=steps] > .lines > li").length === 3`)
	lines := eval[[]string](b, `[...document.querySelectorAll(".peek [data-part=steps] > .lines > li")].map((n) => n.innerText.replace(/\s+/g, " "))`)
	require.Regexp(t, `^p/m [\d,]+ tokens in, \d+ out took [\d.]+ m?s · `, lines[0])
	require.Regexp(t, `^memory_save .* took [\d.]+ m?s · `, lines[1])
	require.Regexp(t, `^p/m It is kept. [\d,]+ tokens in, \d+ out took [\d.]+ m?s · `, lines[2])
	var run struct {
		Calls []struct {
			Model string
			Usage sessions.Usage
		} `json:"model_calls"`
		Usage sessions.Usage
	}
	read(t, g.call(http.MethodGet, "/v1"+b.path(), ""), http.StatusOK, &run)
	require.Len(t, run.Calls, 2)
	require.Equal(t, run.Usage.InputTokens, run.Calls[0].Usage.InputTokens+run.Calls[1].Usage.InputTokens, "the calls add up to the run")
	require.NotZero(t, run.Usage.InputTokens)
	require.Regexp(t, `(?s)call: p/m, \S+: \d+ tokens in \(0 cached\), \d+ out\n.*call: p/m, `, g.sluice("runs", "show", strings.TrimPrefix(b.path(), "/runs/")))
	eval[bool](b, `document.querySelector(".peek .tool summary").click(), true`)
	b.until(`/onerror=alert/.test(document.querySelector(".peek .tool").innerText)`)
	require.Empty(t, b.obstacles())
	b.picture("run-steps")
}
