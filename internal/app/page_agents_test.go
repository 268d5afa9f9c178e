package app_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// The view Agents shows whether each agent's models work, and what their calls were like. Who may not see the calls or the
// provider sees neither, nor a number of them.
func TestConsoleAgents(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	provider := `{ kind: openai, apiKey: key, classification: CONFIDENTIAL, baseURL: "` + models.OpenAIURL() + `" }`
	g := start(t, `
channels: { webchat: { classification: RESTRICTED } }
models: { default: p/m, providers: { p: `+provider+`, q: `+provider+` } }
agents: { list: [ { id: main, default: true }, { id: night, name: Night, model: [ q/n, p/m ] } ] }
`)
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"hello","label":"INTERNAL"}`, "Accept", "application/json"), http.StatusOK, nil)
	models.Enqueue(modeltest.Fail(http.StatusBadRequest, "odd", "odd"))
	g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"again","label":"INTERNAL"}`, "Accept", "application/json")
	models.Enqueue(modeltest.Unauthorized())
	read(t, g.call(http.MethodPost, "/v1/providers/q/check", `{}`), http.StatusOK, nil)

	b := g.console("/agents")
	b.until(`document.querySelector("[data-agent=night]")`)
	chip := func(place string) string {
		t.Helper()
		return eval[string](b, `document.querySelector(`+quoted("[data-agent="+place+" .chip")+`)?.dataset.status ?? ""`)
	}
	require.Equal(t, "ok", chip("main] header"))
	require.Equal(t, "warning", chip("night] header"), "its next model answers")
	require.Equal(t, "down", chip(`night] [data-model="q/n"]`))
	require.Equal(t, "ok", chip(`night] [data-model="p/m"]`))
	part := func(name string) string {
		t.Helper()
		return eval[string](b, `document.querySelector(`+quoted("[data-agent=main] [data-part="+name+"]")+`)?.textContent ?? ""`)
	}
	require.Equal(t, "2 model calls", part("calls"))
	require.Equal(t, "1 failed (50 %)", part("failed"))
	require.Regexp(t, `^[\d.]+ m?s$`, part("p95"))
	require.Regexp(t, `^[\d,]+ › \d+$`, part("tokens"))
	require.False(t, eval[bool](b, `document.querySelector("[data-agent=night] dd [data-part]") !== null`))
	require.Empty(t, b.obstacles())
	b.picture("agents-health")
	require.Empty(t, b.darkObstacles("agents-health"))
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	b.picture("agents-health-320")

	var viewer struct{ Token string }
	read(t, g.call(http.MethodPost, "/v1/tokens", `{"name":"board","role":"viewer","level":"PUBLIC"}`), http.StatusCreated, &viewer)
	b = newBrowser(t)
	b.open(g.url("/agents#token=" + viewer.Token))
	b.until(`document.querySelector("[data-agent=night]")`)
	require.False(t, eval[bool](b, `document.querySelector("[data-agent] .chip, [data-agent] dd [data-part]") !== null`))
	require.Equal(t, 2, eval[int](b, `document.body.innerText.split("no model calls").length - 1`))
}

// The filter by health is in the address, and says what it looked for if no agent matches.
func TestConsoleFiltersAgentsByHealth(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	provider := `{ kind: openai, apiKey: key, classification: CONFIDENTIAL, baseURL: "` + models.OpenAIURL() + `" }`
	g := start(t, `
channels: { webchat: { classification: RESTRICTED } }
models: { default: p/m, providers: { p: `+provider+`, q: `+provider+` } }
agents: { list: [ { id: main, default: true }, { id: night, model: q/n } ] }
`)
	models.Enqueue(modeltest.Unauthorized())
	read(t, g.call(http.MethodPost, "/v1/providers/q/check", `{}`), http.StatusOK, nil)
	b := g.console("/agents")
	shown := `[...document.querySelectorAll("[data-agent]")].map((a) => a.dataset.agent).join()`
	b.until(shown + ` === "main,night"`)
	choose := func(health string) {
		t.Helper()
		eval[bool](b, `(() => { const s = document.querySelector("#filters select"); s.value = `+quoted(health)+`; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	}
	choose("down")
	b.until(shown + ` === "night" && location.search === "?health=down"`)
	b.do(chromedp.Reload())
	b.until(shown + ` === "night"`)
	choose("warning")
	b.until(`document.querySelector(".empty")?.textContent.includes("Health: warning")`)
	b.click(".empty button")
	b.until(shown + ` === "main,night" && location.search === ""`)
	b.click("[data-agent=main] a[href^='/runs']")
	b.until(`location.pathname === "/runs"`)
	b.do(chromedp.NavigateBack())
	b.until(shown + ` === "main,night"`)
}

// The tools of an agent are listed with what a call of each needs, as far as the reader may know of them.
func TestConsoleListsToolsOfAgents(t *testing.T) {
	t.Parallel()
	g := start(t, `
channels: { webchat: { classification: RESTRICTED } }
models: { default: offline/echo }
tools: { web: { enabled: true, allow: [ "example.com" ], classification: CONFIDENTIAL } }
agents: { list: [ { id: main, default: true, permission: ask, tools: { allow: [ "sessions_list", "memory_save", "web_fetch" ] } }, { id: night, tools: { deny: [ "*" ] } } ] }
`)
	b := g.console("/agents")
	b.until(`document.querySelector("[data-agent=main] [data-part=tools]")`)
	names := `[...document.querySelectorAll("[data-tool]")].map((r) => r.dataset.tool).sort().join()`
	require.Empty(t, eval[string](b, names), "they are read when somebody asks")
	b.click("[data-agent=main] [data-part=tools] summary")
	b.until(names + ` === "memory_save,sessions_list,web_fetch"`)
	row := func(tool string) string {
		t.Helper()
		return eval[string](b, `document.querySelector("[data-tool=`+tool+`]").innerText.replace(/\s+/g, " ")`)
	}
	require.Contains(t, row("sessions_list"), "runs")
	require.Contains(t, row("memory_save"), "a person is asked")
	require.Contains(t, row("web_fetch"), "Gets at most: Confidential")
	require.Empty(t, b.obstacles())
	b.picture("agents-tools")
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	b.picture("agents-tools-320")
	b.click("[data-agent=night] [data-part=tools] summary")
	b.until(`document.querySelector("[data-agent=night] [data-part=tools]").innerText.includes("This agent has no tools")`)

	b = newBrowser(t)
	b.open(g.url("/agents#token=" + g.tokenOf("viewer", "INTERNAL")))
	b.until(`document.querySelector("[data-agent=main] [data-part=tools]")`)
	b.click("[data-agent=main] [data-part=tools] summary")
	b.until(names + ` === "memory_save,sessions_list"`)
	require.False(t, eval[bool](b, `document.querySelector("[data-part=setmodel]") !== null`), "who is no owner sets no model")
}

// An owner sets the model of an agent here. The change is checked, shown and saved as in the view Config.
func TestConsoleSetsAModel(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, `# the models
models: { default: offline/echo }
channels: { webchat: { classification: RESTRICTED } }
agents:
  list:
    - id: main
      default: true
    - id: night
      model: offline/echo
`, nil)
	b := g.console("/agents")
	set := func(agent, model string) {
		t.Helper()
		b.until(`document.querySelector("[data-agent=` + agent + `] [data-part=setmodel]")`)
		b.click("[data-agent=" + agent + "] [data-part=setmodel]")
		b.until(`document.activeElement?.id === "value"`)
		eval[bool](b, `(() => { const i = document.getElementById("value"); i.value = `+quoted(model)+`; i.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
		b.click("[data-agent=" + agent + "] .editor button[type=submit]")
	}
	set("night", "nobody/knows")
	b.until(`document.querySelector("[data-agent=night] .draft [role=alert]")?.innerText.includes("nobody")`)
	require.True(t, eval[bool](b, `document.querySelector("[data-agent=night] [data-part=save]").disabled`), "what has a fault is not saved")
	b.picture("agents-model-fault")
	eval[bool](b, `[...document.querySelectorAll("[data-agent=night] .draft .acts button")].at(-1).click(), true`)
	b.until(`document.activeElement?.dataset.part === "setmodel"`)

	set("night", "offline/guide")
	b.until(`document.querySelector("[data-agent=night] [data-part=save]")?.disabled === false`)
	require.Contains(t, eval[string](b, `document.querySelector("[data-agent=night] .changes").innerText`), "agents.list[1].model")
	require.Empty(t, b.obstacles())
	b.picture("agents-model")
	b.click("[data-agent=night] [data-part=save]")
	b.until(`document.querySelector("[data-agent=night] [data-model='offline/guide']")`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "model: offline/guide")
	require.Contains(t, string(text), "# the models", "all other lines stay")
	var history struct {
		Versions []struct {
			Changes []struct{ Path, After string }
		}
	}
	read(t, g.call(http.MethodGet, "/v1/config/history", ""), http.StatusOK, &history)
	require.Equal(t, "agents.list[1].model", history.Versions[0].Changes[0].Path)
	require.Equal(t, "offline/guide", history.Versions[0].Changes[0].After)
}
