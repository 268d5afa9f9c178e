package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/overview"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// busyDay is a gateway with runs and deliveries of every status, of which some are CONFIDENTIAL.
func busyDay(t *testing.T) http.Handler {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	change := ledger.Change{}
	levels := []flow.Level{flow.Public, flow.Confidential}
	for i, level := range levels {
		change.Create = append(change.Create, sessions.Record{
			ID: sessions.ID(fmt.Sprintf("sess_%012d", i)), Key: sessions.Key(fmt.Sprintf("agent:main:http:%d", i)), Agent: "main",
			Taint: flow.NewLabel(level, flow.Trusted), Clearance: flow.Restricted, Created: clock, LastActivity: clock,
		})
	}
	statuses := []ledger.DeliveryStatus{
		ledger.DeliverySent, ledger.DeliverySent, ledger.DeliveryBlocked, ledger.DeliveryHeld, ledger.DeliveryUnknown, ledger.DeliveryFailed, ledger.DeliveryQueued,
	}
	for i := range 28 {
		n := i % len(levels)
		at := clock.Add(time.Duration(i-28) * time.Hour) // the first ones are older than a day
		label := flow.NewLabel(levels[n], flow.Trusted)
		change.Enqueue = append(change.Enqueue, sessions.Run{
			ID: sessions.RunID(fmt.Sprintf("run_%d", i)), Session: change.Create[n].ID, Kind: sessions.KindMessage, Status: sessions.RunDone, Label: label,
			EventKey: fmt.Sprintf("webchat/default/%d", i), Input: sessions.Input{Text: fmt.Sprintf("Question %d", i)}, Accepted: at, Started: at.Add(time.Second), Finished: at.Add(3 * time.Second),
			Usage: sessions.Usage{InputTokens: 10, OutputTokens: 5},
		})
		change.Deliver = append(change.Deliver, ledger.Delivery{
			ID: ledger.DeliveryID(fmt.Sprintf("dlv_%d", i)), Kind: ledger.KindReply, Session: change.Create[n].ID, Run: sessions.RunID(fmt.Sprintf("run_%d", i)), Label: label,
			Lane: "l", Route: sessions.Route{Channel: "webchat", Account: "default", Conversation: sessions.ConversationID(fmt.Sprintf("c%d", i%3))}, Text: fmt.Sprintf("Answer %d", i),
			Status: statuses[i%len(statuses)], Created: at, Expires: at.Add(time.Hour),
			Decision: &policy.Decision{Action: policy.Block, Reason: "no", Rules: []policy.CheckResult{{Rule: fmt.Sprintf("policy.rules.r%d", i%4), Matched: i%2 == 0, Action: policy.Block}}},
		})
	}
	require.NoError(t, db.Commit(t.Context(), change))
	s := newServer(t, newGateway(), func(c *httpapi.Config) { useRows(c, db) }, withTokens(auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleViewer}))
	t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())); require.NoError(t, db.Close()) })
	return s.Handler()
}

// faultyRows has a fault.
type faultyRows struct{ overview.Rows }

func (faultyRows) RunsSince(context.Context, flow.Level, time.Time, int) ([]ledger.RunPoint, error) {
	panic("a fault inside")
}

// A fault in one of the overview's reads ends its request, not the gateway.
func TestAFaultInTheOverviewIsItsRequests(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	s := newServer(t, newGateway(), func(c *httpapi.Config) {
		useRows(c, db)
		c.Rows.Overview = faultyRows{db}
	})
	t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())); require.NoError(t, db.Close()) })
	require.Equal(t, http.StatusInternalServerError, call(s.Handler(), "GET", "/v1/overview", "", "Authorization: Bearer "+token).Code)
}

// rowsOf reads all pages of a list.
func rowsOf(t *testing.T, h http.Handler, path string, headers ...string) (ids []string) {
	t.Helper()
	for path != "" {
		w := call(h, "GET", path, "", headers...)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var got map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		for _, name := range []string{"runs", "deliveries", "approvals"} {
			var rows []struct{ ID string }
			if got[name] != nil {
				require.NoError(t, json.Unmarshal(got[name], &rows))
			}
			for _, r := range rows {
				ids = append(ids, r.ID)
			}
		}
		path, _ = strings.CutSuffix(strings.TrimPrefix(w.Header().Get("Link"), "<"), `>; rel="next"`)
	}
	return ids
}

type counted struct {
	Count int
	More  bool
	List  string
}

// Each number of the overview counts the rows of the list that it names, for a caller who sees everything and for one who does not.
func TestTheOverviewsNumbersEqualTheirLists(t *testing.T) {
	t.Parallel()
	h := busyDay(t)
	sums := map[string]int{}
	for _, caller := range []string{"Bearer " + token, "Bearer low"} {
		w := call(h, "GET", "/v1/overview", "", "Authorization: "+caller)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var got struct {
			Traffic    map[string]json.RawMessage
			Work       map[string]counted
			Deliveries map[string]counted
			Needs      []struct {
				Kind  string
				Count counted
			}
			Series struct {
				Points []struct{ Runs, Sent, P50 int }
			}
			Lately []struct{ ID string }
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		all := slices.AppendSeq(slices.Collect(maps.Values(got.Work)), maps.Values(got.Deliveries))
		for name, raw := range got.Traffic {
			if name == "since" {
				continue
			}
			var c counted
			require.NoError(t, json.Unmarshal(raw, &c))
			all = append(all, c)
			if name == "runs" || name == "sent" {
				sums[caller+name] = c.Count
			}
		}
		for _, n := range got.Needs {
			all = append(all, n.Count)
		}
		require.Greater(t, len(all), 12)
		for _, c := range all {
			require.Len(t, rowsOf(t, h, c.List+map[bool]string{true: "&", false: "?"}[strings.Contains(c.List, "?")]+"limit=3", "Authorization: "+caller), c.Count, c.List)
		}
		runs, sent := 0, 0
		for _, p := range got.Series.Points {
			runs, sent = runs+p.Runs, sent+p.Sent
		}
		require.Equal(t, []int{sums[caller+"runs"], sums[caller+"sent"]}, []int{runs, sent}, "the charts add up to the traffic")
		require.NotEmpty(t, got.Lately)
	}
	require.Equal(t, 24, sums["Bearer "+token+"runs"])
	require.Equal(t, 12, sums["Bearer lowruns"], "what is above the token's level is not counted")
}

// The filters that search find the same on small pages as a look through all rows.
func TestListsAreFiltered(t *testing.T) {
	t.Parallel()
	h := busyDay(t)
	require.Equal(t, []string{"dlv_26", "dlv_22", "dlv_18", "dlv_14", "dlv_10", "dlv_6", "dlv_2"}, rowsOf(t, h, "/v1/deliveries?rule=policy.rules.r2&limit=2"))
	require.Empty(t, rowsOf(t, h, "/v1/deliveries?rule=policy.rules.r1"), "it was looked at, and did not match")
	require.Equal(t, []string{"dlv_19", "dlv_10", "dlv_1"}, slices.DeleteFunc(rowsOf(t, h, "/v1/deliveries?q=answer+1&limit=2&to=c1"), func(id string) bool { return id == "dlv_13" || id == "dlv_16" }))
	require.Equal(t, []string{"dlv_7"}, rowsOf(t, h, "/v1/deliveries?run=run_7"))
	require.Equal(t, []string{"run_7"}, rowsOf(t, h, "/v1/runs?q=QUESTION+7&slow=3000"))
	require.Empty(t, rowsOf(t, h, "/v1/runs?q=QUESTION+7&slow=3001"))
	require.Empty(t, rowsOf(t, h, "/v1/runs?q=%25"), "a pattern is a text")
	require.Empty(t, rowsOf(t, h, "/v1/runs?q=question+7", "Authorization: Bearer low"), "it is CONFIDENTIAL")
	since := clock.Add(-3 * time.Hour).Format(time.RFC3339Nano)
	require.Equal(t, []string{"run_27", "run_26", "run_25"}, rowsOf(t, h, "/v1/runs?since="+since))
	require.Equal(t, []string{"run_2", "run_1", "run_0"}, rowsOf(t, h, "/v1/runs?until="+clock.Add(-25*time.Hour).Format(time.RFC3339Nano)))
}

// An account in standby receives messages on another replica, unless that one says what is wrong there.
func TestTheOverviewSaysWhichAccountsHear(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	s := newServer(t, newGateway(), func(c *httpapi.Config) {
		useRows(c, db)
		c.Accounts = func() []adapters.State {
			return []adapters.State{
				{Channel: "telegram", Account: "works", Status: adapters.Standby},
				{Channel: "telegram", Account: "fails", Status: adapters.Standby, Elsewhere: "failed: the token is revoked"},
			}
		}
	})
	t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())); require.NoError(t, db.Close()) })
	w := call(s.Handler(), "GET", "/v1/overview", "")
	require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
	var got struct {
		Accounts []struct {
			Account string
			Hears   bool
		}
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Len(t, got.Accounts, 2)
	for _, a := range got.Accounts {
		require.Equal(t, a.Account == "works", a.Hears, a.Account)
	}
}
