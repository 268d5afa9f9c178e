package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The overview says since when an account receives nothing, over all retries, and why; so does the status.
func TestConsoleSaysSinceWhenAnAccountIsDeaf(t *testing.T) {
	t.Parallel()
	before := time.Now().Add(-time.Second)
	g := start(t, `
models: { default: offline/echo }
channels: { webchat: { classification: RESTRICTED }, slack: { accounts: { default: { botToken: xoxb-1, appToken: xapp-1, apiBase: "http://127.0.0.1:9/api" } } } }
`)
	type account struct {
		Channel, Detail string
		Hears           bool
		DeafSince       time.Time
	}
	accounts := func(path string) map[string]account {
		t.Helper()
		var got struct{ Accounts []account }
		read(t, g.call(http.MethodGet, path, ""), http.StatusOK, &got)
		all := map[string]account{}
		for _, a := range got.Accounts {
			all[a.Channel] = a
		}
		return all
	}
	b := g.console("/overview")
	b.until(`document.querySelector("#accounts [data-part=deaf] time")`)
	for _, path := range []string{"/v1/overview", "/v1/status"} {
		since := accounts(path)["slack"].DeafSince
		require.True(t, since.After(before) && since.Before(time.Now()), "%s: %s", path, since)
		require.Zero(t, accounts(path)["webchat"].DeafSince, path)
	}
	row := `document.querySelector("#accounts li:has([data-part=deaf] time)")`
	require.Regexp(t, `(?s)receives nothing.*slack.*since (now|\d+ s|\d+ min).*:.*connect`, eval[string](b, row+`.innerText`))
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll("#accounts [data-part=deaf] time").length`), "the page hears")
	require.Empty(t, b.obstacles())
	eval[bool](b, row+`.scrollIntoView(), true`)
	b.picture("overview-deaf")
}
