package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Conversations have names for people everywhere: the key of one is only among its settings.
func TestConsoleNamesConversations(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	var named, unnamed struct{ ID, Key string }
	read(t, g.call(http.MethodPost, "/v1/sessions", `{"persistent":true,"title":"Figures"}`), http.StatusCreated, &named)
	read(t, g.call(http.MethodPost, "/v1/sessions", `{"persistent":true}`), http.StatusCreated, &unnamed)
	b := g.page()
	b.says("hello")
	b.shows("echo: hello")
	require.Equal(t, "Main conversation", eval[string](b, `document.querySelector(".talk-name h2").textContent`))
	b.open(g.url("/conversations"))
	b.until(`document.querySelectorAll(".row").length === 3`)
	require.ElementsMatch(t, []string{"Main conversation", "Figures", "Program " + unnamed.ID}, eval[[]string](b, `[...document.querySelectorAll(".row .open-row")].map((n) => n.textContent)`))
	require.NotContains(t, eval[string](b, `document.body.innerText`), "agent:main")

	const id = "0191aa22-bb33-7c44-9d55-0123456789ab"
	for key, want := range map[string]string{
		"agent:main:main":                                      "Main conversation",
		"agent:research:desk":                                  "Main conversation",
		"agent:main:direct:1001":                               "Direct chat with 1001",
		"agent:main:telegram:direct:1001":                      "Direct chat with 1001",
		"agent:main:telegram:work:direct:ada":                  "Direct chat with ada",
		"agent:main:telegram:group:-1005":                      "Group -1005",
		"agent:main:telegram:group:-1005:topic:7":              "Group -1005 › 7",
		"agent:main:slack:channel:C1:thread:1700000000.000100": "Channel C1 › 1700000000.000100",
		"agent:main:http:" + id:                                "Program 456789ab",
		"agent:main:subagent:" + id:                            "Sub-agent 456789ab",
		"cron:standup":                                         "Job standup",
		"hook:" + id:                                           "Hook 456789ab",
		"node-desk":                                            "Node desk",
		"agent:main:telegram:group:\u202ex":                    "Group \\u{202e}x",
		"something else":                                       "something else",
	} {
		require.Equal(t, want, eval[string](b, `import("/base.js").then((m) => m.sessionName(`+quoted(key)+`))`), key)
	}
	require.Equal(t, "Plan › 7", eval[string](b, `import("/base.js").then((m) => m.sessionName("agent:main:telegram:group:-1005:topic:7", "Plan"))`))
}

// The page writes numbers as the browser would, in each language. Intl.NumberFormat would delay the first view.
func TestPageWritesNumbers(t *testing.T) {
	t.Parallel()
	b := start(t, "models: { default: offline/echo }\n").console("/overview")
	const wrong = `import("/base.js").then(async ({ choose, number, languagesKnown }) => {
		const wrong = [];
		for (const language of languagesKnown) {
			await choose(language);
			for (const decimals of [0, 1, 3]) {
				const intl = new Intl.NumberFormat(language, { maximumFractionDigits: decimals });
				for (const n of [0, 7, 42, 999, 1000, 12345, 999999, 1234567, 1e12, -1, -1234, 0.25, 1.26, 9.96, 999.96, 1234.5678, 0.0004])
					if (number(n, decimals) !== intl.format(n)) wrong.push([language, decimals, n, number(n, decimals), intl.format(n)]);
			}
		}
		return wrong;
	})`
	require.Empty(t, eval[[][]any](b, wrong))
}
