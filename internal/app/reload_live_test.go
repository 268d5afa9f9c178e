package app_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
)

// again reads the file and puts it into effect, as the gateway does when the file changes.
func (g *gateway) again(path string) []string {
	g.t.Helper()
	next, err := g.Source.Loader.Load(path)
	require.NoError(g.t, err)
	waiting, err := g.Reload(next)
	require.NoError(g.t, err)
	return waiting
}

// put saves changes of the configuration as the owner does.
func (g *gateway) put(token, changes string) (e effects) {
	g.t.Helper()
	var shown shownConfig
	read(g.t, g.call(http.MethodGet, "/v1/config", "", "Authorization", "Bearer "+token), http.StatusOK, &shown)
	read(g.t, g.call(http.MethodPut, "/v1/config", `{"changes":`+changes+`}`, "Authorization", "Bearer "+token, "If-Match", shown.Version), http.StatusOK, &e)
	return e
}

// The token of an account is changed several times while people write: each message is answered, and none twice.
func TestAnAccountsTokenChangesWhileMessagesComeIn(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	id, _, _ := strings.Cut(bots.Token(), ":")
	secret := filepath.Join(t.TempDir(), "bot-token")
	keep := func(token string) { require.NoError(t, os.WriteFile(secret, []byte(token+"\n"), 0o600)) }
	keep(bots.Token())
	g, path := fromFile(t, `owners: ["telegram:1001"]
models: { default: offline/echo }
session: { queue: { mode: followup, cap: 100 } }
channels: { telegram: { accounts: { default: { token: "${file:`+secret+`}", apiBase: "`+bots.URL()+`" } } } }
`, nil)
	const turns, each = 4, 6
	owner, want := telegramtest.User{ID: 1001, FirstName: "Ada"}, []string{}
	say := func(n int) {
		text := "message " + strconv.Itoa(n)
		bots.Say(telegramtest.Private(1001), owner, text)
		want = append(want, "echo: "+text)
	}
	for turn := range turns {
		for n := range each {
			say(turn*each + n)
		}
		if turn == 0 {
			_, err := bots.WaitSent(t.Context(), 1001, 1)
			require.NoError(t, err)
		}
		token := fmt.Sprintf("%s:%035d", id, turn)
		bots.Rotate(token)
		say(1000 + turn) // nobody can hear it yet
		keep(token)
		require.Empty(t, g.again(path), "an account needs no restart")
	}
	_, err := bots.WaitSent(t.Context(), 1001, len(want))
	require.NoError(t, err)
	require.NoError(t, bots.WaitConfirmed(t.Context()))
	sent := bots.Sent(1001)
	var got []string
	for _, m := range sent {
		got = append(got, m.Text)
	}
	slices.Sort(got)
	slices.Sort(want)
	require.Equal(t, want, got)
	require.Empty(t, bots.Violations())
}

// An account starts with a save, hears, and ends with another one; so does the reply to whoever writes then.
func TestAccountsComeAndGo(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	g, _ := fromFile(t, "gateway: { token: the-token-of-the-owner-1 }\nowners: [\"telegram:1001\"]\nmodels: { default: offline/echo }\n", nil)
	const token = "the-token-of-the-owner-1"
	e := g.put(token, `[{"path":"channels.telegram.accounts.default","value":{"token":"`+bots.Token()+`","apiBase":"`+bots.URL()+`"}}]`)
	require.Empty(t, e.Restart)
	require.Equal(t, "starts", e.Accounts[0].Effect)
	bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001}, "hello")
	sent, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	require.Equal(t, "echo: hello", sent[0].Text)
	accounts := func() (names []string) {
		var status struct {
			Accounts []struct{ Channel, Account string }
		}
		read(t, g.call(http.MethodGet, "/v1/status", ""), http.StatusOK, &status)
		for _, a := range status.Accounts {
			names = append(names, a.Channel+"/"+a.Account)
		}
		return names
	}
	require.Contains(t, accounts(), "telegram/default")
	e = g.put(token, `[{"path":"channels.telegram.accounts.default","remove":true}]`)
	require.Equal(t, "stops", e.Accounts[0].Effect)
	require.NotContains(t, accounts(), "telegram/default")
	bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001}, "anybody?")
	require.Equal(t, 1, bots.Pending(), "nobody takes it")
	g.put(token, `[{"path":"channels.telegram.accounts.default","value":{"token":"`+bots.Token()+`","apiBase":"`+bots.URL()+`"}}]`)
	sent, err = bots.WaitSent(t.Context(), 1001, 2)
	require.NoError(t, err)
	require.Equal(t, "echo: anybody?", sent[1].Text)
}

// The gateway moves to another address while a request runs: the request is answered, the old address is closed, the new
// one serves. An address that is in use changes nothing.
func TestTheAddressMovesWhileARequestRuns(t *testing.T) {
	t.Parallel()
	free := func() string {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		return l.Addr().String()
	}
	const rest = "models: { default: offline/slow-2s }\n"
	old := free()
	g, path := fromFile(t, "gateway: { listen: \""+old+"\", token: the-token-of-the-owner-1 }\n"+rest, nil)
	listen := func(address string) {
		require.NoError(t, os.WriteFile(path, []byte("gateway: { listen: \""+address+"\", token: the-token-of-the-owner-1 }\n"+rest), 0o600))
	}
	working := g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"hello"}`, "Accept", "text/event-stream")
	require.Equal(t, http.StatusOK, working.StatusCode)
	next := free()
	listen(next)
	require.Empty(t, g.again(path))
	require.Equal(t, next, g.Addr().String())
	read(t, g.call(http.MethodGet, "/v1/status", ""), http.StatusOK, nil)
	_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", old)
	require.Error(t, err)
	events := bufio.NewScanner(working.Body)
	ended := false
	for events.Scan() {
		ended = ended || events.Text() == "event: run.done"
	}
	require.True(t, ended, "the request went on")

	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	require.NoError(t, os.WriteFile(path, []byte("gateway: { listen: \""+taken.Addr().String()+"\", token: the-token-of-the-owner-2 }\nmodels: { default: offline/echo }\n"), 0o600))
	cfg, err := g.Source.Loader.Load(path)
	require.NoError(t, err)
	_, err = g.Reload(cfg)
	require.ErrorContains(t, err, "change gateway.listen")
	require.Equal(t, next, g.Addr().String())
	read(t, g.call(http.MethodGet, "/v1/status", ""), http.StatusOK, nil)
	read(t, g.call(http.MethodGet, "/v1/status", "", "Authorization", "Bearer the-token-of-the-owner-2"), http.StatusUnauthorized, nil)
	var agents struct{ Agents []struct{ Model string } }
	read(t, g.call(http.MethodGet, "/v1/agents", ""), http.StatusOK, &agents)
	require.Equal(t, "offline/slow-2s", agents.Agents[0].Model, "nothing else of that configuration is in effect")

	_, port, err := net.SplitHostPort(next)
	require.NoError(t, err)
	listen("0.0.0.0:" + port) // the same port
	g.again(path)
	_, got, err := net.SplitHostPort(g.Addr().String())
	require.NoError(t, err)
	require.Equal(t, port, got)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", next)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// A new token works at once and the old one no longer; the streams of its bearer end. The save that does this succeeds.
func TestTokensChangeWithoutARestart(t *testing.T) {
	t.Parallel()
	const first, second = "the-token-of-the-owner-1", "the-token-of-the-owner-2"
	g, _ := fromFile(t, "gateway: { token: "+first+", tokens: [ { name: ops, token: token-of-operators-1, classification: INTERNAL, role: operator } ] }\nmodels: { default: offline/echo }\n", nil)
	stream := func(token string) context.Context {
		t.Helper()
		resp := g.call(http.MethodGet, "/v1/stream", "", "Authorization", "Bearer "+token, "Accept", "text/event-stream")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		ctx, end := context.WithCancel(t.Context())
		go func() {
			defer end()
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				continue
			}
		}()
		return ctx
	}
	status := func(token string) int {
		return g.call(http.MethodGet, "/v1/status", "", "Authorization", "Bearer "+token).StatusCode
	}
	owners, operators := stream(first), stream("token-of-operators-1")
	e := g.put(first, `[{"path":"gateway.token","value":"`+second+`"}]`)
	require.Empty(t, e.Restart)
	require.Equal(t, []int{http.StatusUnauthorized, http.StatusOK, http.StatusOK}, []int{status(first), status(second), status("token-of-operators-1")})
	wait := func(ctx context.Context) {
		t.Helper()
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			t.Fatal("the stream goes on")
		}
	}
	wait(owners)
	require.NoError(t, operators.Err(), "others go on")
	e = g.put(second, `[{"path":"gateway.tokens[0].token","value":"token-of-operators-2"}]`)
	require.Empty(t, e.Restart)
	wait(operators)
	require.Equal(t, []int{http.StatusUnauthorized, http.StatusOK}, []int{status("token-of-operators-1"), status("token-of-operators-2")})
}

// While the gateway starts or stops, a configuration is refused: half of the gateway would have it, and what it starts would
// have no owner.
func TestNoConfigurationIsAppliedInAStartOrAStop(t *testing.T) {
	t.Parallel()
	const base = "gateway: { token: the-token-of-the-owner-1 }\nmodels: { default: offline/echo }\n"
	g, path := fromFile(t, base, nil)
	require.NoError(t, os.WriteFile(path, []byte(base+"channels: { telegram: { accounts: { default: { token: \"1:abc\", apiBase: \"http://127.0.0.1:1\" } } } }\n"), 0o600))
	next, err := g.Source.Loader.Load(path)
	require.NoError(t, err)
	g.SetUp(false)
	_, err = g.Reload(next)
	require.ErrorContains(t, err, "starting")
	g.SetUp(true)
	g.end()
	_, err = g.Reload(next)
	require.ErrorContains(t, err, "stopping")
}
