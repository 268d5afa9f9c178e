package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A button of the view Costs downloads what its table shows, as CSV.
func TestConsoleCostsAsCSV(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	b := g.page()
	b.says("hello")
	b.shows("echo: hello")
	b.open(g.url("/costs?by=model&days=7"))
	b.until(`document.querySelector("#costs tfoot")`)
	eval[bool](b, `(() => {
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return make.call(URL, blob); };
		HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; };
		return true;
	})()`)
	b.click("#csv")
	b.until(`window.saved`)
	require.Contains(t, eval[string](b, `window.saved`), "model,calls,failed,estimated,input,output,cached,written,thinking,pictures,audio_seconds,cost,currency\noffline/echo,1,0,")
	require.Regexp(t, `^usage-model-\d{4}-\d\d-\d\d\.csv$`, eval[string](b, `window.savedAs`))

	// What each model has cost for each agent on each day.
	b.open(g.url("/costs?by=day,agent,model&days=1"))
	b.until(`document.querySelector("#costs tfoot")`)
	require.Equal(t, []string{"Day (UTC)", "Agent", "Model"}, eval[[]string](b, `[...document.querySelectorAll("#costs thead th:not(.end)")].map((n) => n.innerText)`))
	require.Equal(t, []string{"main", "offline/echo"}, eval[[]string](b, `[...document.querySelectorAll("#costs tbody tr:first-child th")].slice(1).map((n) => n.innerText)`))
	require.Empty(t, b.obstacles())
	b.phone(320, 640)
	require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
}
