package app_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// The exact time of an age, with its zone, shows on the keyboard's focus: of the age itself, of what has it, and of a list's
// current row. It is in sight on any screen, and Escape hides it and does nothing else.
func TestConsoleShowsExactTimesOnFocus(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\n")
	for i := range 3 {
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", fmt.Sprintf(`{"message":"word %d"}`, i)), http.StatusOK, nil)
	}
	const shown, exactly = `document.getElementById("exact")?.textContent ?? ""`, `:\d\d:\d\d .*(UTC|GMT)`
	b := g.console("/runs")
	b.until(`document.querySelectorAll(".row").length === 3`)
	eval[bool](b, `document.querySelector(".rows").focus(), true`)
	require.Empty(t, eval[string](b, shown), "no row is current")
	b.keys("j")
	b.until(shown)
	require.Regexp(t, exactly, eval[string](b, shown))
	require.Equal(t, eval[string](b, shown), eval[string](b, `document.getElementById(document.activeElement.getAttribute("aria-describedby")).textContent`))
	require.Equal(t, eval[string](b, shown), eval[string](b, `(() => {
		const time = document.querySelector(".row.at time");
		time.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
		return time.title;
	})()`), "the pointer shows the same")
	require.Empty(t, b.obstacles())
	b.picture("exact-row")
	b.keys(kb.Escape)
	require.Empty(t, eval[string](b, shown))
	b.keys("j")
	b.until(shown)

	b.keys(kb.Enter)
	b.until(`document.querySelector(".peek .facts time[tabindex='0']")`)
	for _, width := range []int64{1200, 320} {
		b.phone(width, 640)
		b.until(`document.querySelector(".peek .facts time[tabindex='0']")`)
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			eval[bool](b, `document.activeElement.blur(), document.querySelector(".peek .facts time[tabindex='0']").focus(), true`)
			b.until(shown)
			require.Regexp(t, exactly, eval[string](b, shown))
			require.Empty(t, b.obstacles())
			require.True(t, eval[bool](b, `(() => { const r = document.getElementById("exact").getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight; })()`))
			require.False(t, eval[bool](b, `document.documentElement.scrollWidth > innerWidth`))
			b.picture(fmt.Sprintf("exact-%d-%t", width, dark))
		}
	}
	b.keys(kb.Escape)
	require.Empty(t, eval[string](b, shown))
	b.dark(false)
	b.phone(1200, 800)
	b.open(g.url("/conversations/main"))
	b.state("connected")
	b.until(`document.querySelector(".entry time[tabindex='0']")`)
	// the page may draw the messages a second time while it opens
	b.until(`(document.querySelector(".entry time").focus(), /` + exactly + `/.test(` + shown + `))`)
}
