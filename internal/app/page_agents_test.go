package app_test

import (
	"net/http"
	"testing"

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
	require.False(t, eval[bool](b, `document.querySelector("[data-agent=night] [data-part]") !== null`))
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		require.Empty(t, b.obstacles())
	}
	b.dark(false)
	b.picture("agents-health")
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
	b.picture("agents-health-320")

	var viewer struct{ Token string }
	read(t, g.call(http.MethodPost, "/v1/tokens", `{"name":"board","role":"viewer","level":"PUBLIC"}`), http.StatusCreated, &viewer)
	b = newBrowser(t)
	b.open(g.url("/agents#token=" + viewer.Token))
	b.until(`document.querySelector("[data-agent=night]")`)
	require.False(t, eval[bool](b, `document.querySelector("[data-agent] .chip, [data-agent] [data-part]") !== null`))
	require.Equal(t, 2, eval[int](b, `document.body.innerText.split("no model calls").length - 1`))
}
