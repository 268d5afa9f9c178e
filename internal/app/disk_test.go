package app_test

import (
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/alert"
	"sluice/internal/app"
	"sluice/internal/model/modeltest"
	"sluice/internal/trouble"
	"sluice/router/ledger"
	"sluice/store/sqlite/sqlitetest"
	"sluice/store/storetest"
)

// onDisk starts a gateway whose disk has so many free bytes of 100 GiB.
func onDisk(t *testing.T, bytes int64, text string) (*gateway, *atomic.Int64) {
	t.Helper()
	free := &atomic.Int64{}
	free.Store(bytes)
	g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	g.cfg = load(t, g.state, text)
	g.App = app.New(g.cfg, "test", slog.New(slog.NewTextHandler(g.log, nil)))
	g.committed = g.Committed()
	g.SetSpace(func(string) (int64, int64, error) { return free.Load(), 100 << 30, nil })
	require.NoError(t, g.Start(t.Context()))
	t.Cleanup(g.end)
	return g, free
}

func (g *gateway) trouble(prefix string) (found trouble.Trouble) {
	g.t.Helper()
	all, err := g.Troubles(g.t.Context())
	require.NoError(g.t, err)
	for _, one := range all {
		if len(one.Name) >= len(prefix) && one.Name[:len(prefix)] == prefix {
			found = one
		}
	}
	return found
}

// A disk that fills: the owner is warned, then new messages are refused, and nothing is lost. The gateway continues by itself.
func TestADiskThatFills(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	g, free := onDisk(t, 200<<20, `owners: ["telegram:1001"]
`+withModels(models)+`channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	ready := func() (int, string) {
		resp := g.call(http.MethodGet, "/readyz", "")
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, "hello")
	g.log.await(t, "new messages are not accepted")
	status, body := ready()
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "limits.diskStopBytes")
	require.Equal(t, alert.Critical, g.trouble("disk/").Severity)
	resp := g.call(http.MethodPost, "/v1/sessions", `{"agent":"main"}`)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	var made struct{ ID string }
	read(t, resp, http.StatusCreated, &made)
	resp = g.call(http.MethodPost, "/v1/sessions/"+made.ID+"/messages", `{"message":"hi"}`)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusInsufficientStorage, resp.StatusCode, string(text))
	require.Contains(t, string(text), "nearly full")
	require.Empty(t, models.Requests())
	require.Empty(t, bots.Sent(1001))

	models.Enqueue(modeltest.Say("Hello."))
	free.Store(1500 << 20)
	_, err = bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err, "Telegram has kept the message")
	g.log.await(t, "new messages are accepted again")
	status, body = ready()
	require.Equal(t, http.StatusOK, status, body)
	require.Len(t, bots.Sent(1001), 1)
	warned := g.trouble("disk/")
	require.Equal(t, alert.Warning, warned.Severity)
	require.Equal(t, "The disk is filling: 1.5 GiB are free (limits.diskWarnBytes)", warned.Title)
	free.Store(50 << 30)
	require.Empty(t, g.trouble("disk/"))
}

// While the disk is full, a request to a hook is refused with an error after which senders try again. Then it is accepted and
// processed once. A sender without a valid signature is not told about the disk.
func TestHooksOnADiskThatFills(t *testing.T) {
	t.Parallel()
	g, free := onDisk(t, 1<<20, hooksText)
	const body = `{"action":"completed","repo":"org/repo","title":"Done"}`
	for range 2 {
		status, told := g.post("d1", body)
		require.Equal(t, []any{http.StatusInsufficientStorage, "no_space"}, []any{status, told})
	}
	status, told := g.post("d1", body, "X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
	require.Equal(t, []any{http.StatusUnauthorized, "unauthorized"}, []any{status, told})
	known, err := g.Store().TriggersOf(t.Context(), []string{"hook/ci/d1"})
	require.NoError(t, err)
	require.Empty(t, known)

	free.Store(50 << 30)
	for deadline := time.Now().Add(patience); ; { // the disk is measured once a second
		if status, told = g.post("d1", body); status != http.StatusInsufficientStorage {
			break
		}
		require.True(t, time.Now().Before(deadline))
	}
	require.Equal(t, []any{http.StatusAccepted, "d1"}, []any{status, told})
	require.Equal(t, ledger.TriggerOK, g.request("d1").Status)
	status, _ = g.post("d1", body)
	require.Equal(t, http.StatusOK, status, "it is known")
}

// With PostgreSQL, messages need no space on the gateway's disk: the owner is warned, and files are refused.
func TestADiskThatFillsBesidePostgreSQL(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	g, free := onDisk(t, 50<<30, `owners: ["telegram:1001"]
store: { url: "`+storetest.Postgres(t)+`" }
`+withModels(models)+`channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	free.Store(1 << 20)
	require.Equal(t, alert.Warning, g.trouble("disk/").Severity)
	bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, "hello")
	_, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	resp := g.call(http.MethodGet, "/readyz", "") // Telegram is connected: it has sent a message
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// A changed audit trail is a trouble of everybody.
func TestABrokenTrail(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	g.VerifyTrail(t.Context())
	require.Empty(t, g.trouble("audit"))
	resp := g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"hi"}`)
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	g.VerifyTrail(t.Context())
	require.Empty(t, g.trouble("audit"))
	g.end() // it locks the database
	raw, err := sql.Open("sqlite", filepath.Join(g.state, "sluice.db"))
	require.NoError(t, err)
	var triggers string
	require.NoError(t, raw.QueryRowContext(t.Context(), "SELECT group_concat(name) FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'audit%'").Scan(&triggers))
	for _, name := range strings.Split(triggers, ",") {
		_, err = raw.ExecContext(t.Context(), "DROP TRIGGER "+name)
		require.NoError(t, err)
	}
	_, err = raw.ExecContext(t.Context(), "UPDATE audit SET actor = 'nobody' WHERE seq = 1")
	require.NoError(t, err)
	require.NoError(t, raw.Close())
	g.begin()
	g.VerifyTrail(t.Context())
	found := g.trouble("audit")
	require.Equal(t, alert.Critical, found.Severity)
	require.False(t, found.Level.Valid(), "everybody may know")
	g.log.await(t, "the audit trail was changed")
}
