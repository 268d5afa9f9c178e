package app_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A phone has no columns for what mutes an alert and for its status, so they stand in the row's second line.
func TestConsoleOfAlertsOnAPhone(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/guide }
channels: { webchat: { classification: RESTRICTED } }
alerts: { route: { receiver: ops }, receivers: [ { name: ops, targets: ["webchat:local"] } ] }
`)
	for _, key := range []string{"loud", "taken", "muted"} {
		read(t, g.call(http.MethodPost, "/v1/alerts", `{"key":"`+key+`","severity":"critical","title":"alert `+key+`"}`), http.StatusAccepted, nil)
	}
	read(t, g.call(http.MethodPost, "/v1/alerts/taken/ack", ""), http.StatusOK, nil)
	read(t, g.call(http.MethodPost, "/v1/alerts/muted/silence", `{"for":"8h"}`), http.StatusOK, nil)
	b := newBrowser(t)
	b.phone(390, 760)
	b.open(g.url("/alerts#token=" + g.Token()))
	b.until(`document.querySelectorAll(".row").length === 3`)
	b.picture("alerts-phone")
	rows := map[string]string{}
	for _, key := range []string{"loud", "taken", "muted"} {
		rows[key] = eval[string](b, `[...document.querySelectorAll(".row")].find((r) => r.innerText.includes("alert `+key+`")).querySelector(".on-sub").innerText`)
	}
	require.NotContains(t, rows["loud"], "·")
	require.Contains(t, rows["taken"], "· acknowledged")
	require.Regexp(t, `· Muted: ends in (8|7) h, by `, rows["muted"])
	b.dark(true)
	b.picture("alerts-phone-dark")
	b.dark(false)
	b.open(g.url("/alerts/muted"))
	b.until(`document.querySelector(".peek .acts")?.innerText.includes("Silence for 8 h")`)
	b.picture("alert-phone")
	b.open(g.url("/alerts?part=groups"))
	b.until(`document.querySelector(".row .on-sub")?.innerText.includes("· 1 silenced")`)
	b.picture("alert-groups-phone")
}

// A silence lists the open alerts it matches, or says that it matches none.
func TestConsoleShowsWhatASilenceMatches(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/guide }
channels: { webchat: { classification: RESTRICTED } }
alerts: { route: { receiver: ops }, receivers: [ { name: ops, targets: ["webchat:local"] } ] }
`)
	for _, disk := range []string{"a", "b"} {
		read(t, g.call(http.MethodPost, "/v1/alerts", `{"key":"disk-`+disk+`","title":"<b>disk `+disk+`</b>","labels":{"job":"disks","disk":"`+disk+`"}}`), http.StatusAccepted, nil)
	}
	read(t, g.call(http.MethodPost, "/v1/silences", `{"matchers":["job=\"disks\"","disk=\"b\""],"for":"1h","comment":"one"}`), http.StatusCreated, nil)
	read(t, g.call(http.MethodPost, "/v1/silences", `{"matchers":["job=\"backups\""],"for":"2h","comment":"none"}`), http.StatusCreated, nil)
	b := g.console("/alerts?part=silences")
	b.until(`document.querySelectorAll("[data-part=matched] summary").length === 2`)
	eval[bool](b, `[...document.querySelectorAll("[data-part=matched] summary")].forEach((s) => s.click()), true`)
	b.until(`document.querySelector("[data-part=matched] a") && document.body.innerText.includes("matches no open alert")`)
	require.Equal(t, []string{"<b>disk b</b>"}, eval[[]string](b, `[...document.querySelectorAll("[data-part=matched] a")].map((a) => a.innerText)`))
	require.Empty(t, b.obstacles())
	b.picture("silences")
	b.click("[data-part=matched] a")
	b.until(`location.pathname === "/alerts/disk-b" && document.querySelector(".peek")`)

	// What is open in a card goes with its silence.
	b.open(g.url("/alerts?part=silences"))
	b.until(`document.querySelectorAll("[data-part=matched] summary").length === 2`)
	first := eval[string](b, `document.querySelector(".cards h2").innerText`)
	b.click("[data-part=matched] summary")
	b.until(`document.querySelector("details[open] li, details[open] p.soft")`)
	b.click(".cards .acts button")
	b.until(`document.querySelector(".cards h2").innerText !== ` + strconv.Quote(first))
	require.Zero(t, eval[int](b, `document.querySelectorAll(".cards .card:first-child details[open]").length`))
}
