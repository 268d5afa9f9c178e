package app_test

import (
	"net/http"
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
