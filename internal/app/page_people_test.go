package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/policy/flow"
)

// The page says who speaks where and by what right, as the API and the command line do; below the channel's level nothing of it is there.
func TestConsoleSaysWhoSpeaksWhere(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	g := start(t, `owners: ["telegram:1001"]
`+withModels(models)+`channels: { telegram: { classification: INTERNAL, groupPolicy: allowlist, groups: { "-1005": { requireMention: false, allowFrom: ["1001"] } }, accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	ada := telegramtest.User{ID: 1001, FirstName: "Ada"}
	bots.Say(telegramtest.Private(ada.ID), ada, "hello")
	_, err := bots.WaitSent(t.Context(), ada.ID, 1)
	require.NoError(t, err)
	g.settled()
	type list struct {
		Owners []string
		People []struct {
			Person, Direct string
			Owner          bool
			User           struct{ Name string }
			Spoke          []struct {
				Conversation, Right string
				Messages            int
			}
		}
		Channels []struct {
			Channel, Direct, Groups string
			Listed                  []struct{ ID string }
		}
	}
	var got, low list
	read(t, g.call(http.MethodGet, "/v1/people", ""), http.StatusOK, &got)
	require.Equal(t, []string{"telegram:1001"}, got.Owners)
	require.Len(t, got.People, 1)
	one := got.People[0]
	require.Equal(t, []any{"telegram:1001", "owner", true, "Ada"}, []any{one.Person, one.Direct, one.Owner, one.User.Name})
	require.Equal(t, []any{"1001", "owner", 1}, []any{one.Spoke[0].Conversation, one.Spoke[0].Right, one.Spoke[0].Messages})
	token := func(body string) string {
		var made struct{ Token string }
		read(t, g.call(http.MethodPost, "/v1/tokens", body), http.StatusCreated, &made)
		return "Bearer " + made.Token
	}
	read(t, g.call(http.MethodGet, "/v1/people", "", "Authorization", token(`{"name":"low","role":"operator","level":"PUBLIC"}`)), http.StatusOK, &low)
	require.Empty(t, low.Owners)
	require.Empty(t, low.People)
	for _, c := range low.Channels {
		require.NotEqual(t, "telegram", c.Channel, "it is %s", flow.Internal)
	}
	read(t, g.call(http.MethodGet, "/v1/people", "", "Authorization", token(`{"name":"eye","role":"viewer","level":"RESTRICTED"}`)), http.StatusForbidden, nil)
	require.Regexp(t, `telegram:1001 +Ada +owner +direct \S+ +owner`, g.sluice("people"))

	b := g.console("/people")
	b.until(`document.querySelector("[data-part=speakers] tbody tr")`)
	require.Regexp(t, `(?s)Ada telegram:1001.*owner.*direct.*owner.*1 message`, eval[string](b, `document.querySelector("[data-part=speakers] tbody").innerText`))
	require.Regexp(t, `(?s)telegram.*those listed, and those approved.*those listed.*-1005.*1001`, eval[string](b, `document.querySelector("[data-part=channels]").innerText`))
	require.Empty(t, b.obstacles())
	b.picture("people")
}
