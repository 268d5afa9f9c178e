package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	router "sluice/router/alert"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// quiet are lanes without workers.
type quiet struct{ *store.DB }

func (quiet) Wake(int, sessions.Lane) {}
func (quiet) Owns(int) bool           { return true }

// alerting is an API with alerts on a database.
type alerting struct {
	*testing.T
	db     *store.DB
	alerts *router.Alerts
	http   http.Handler
}

func newAlerting(t *testing.T, settings ...func(c *httpapi.Config, db *store.DB)) alerting {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	a := alerting{T: t, db: db, alerts: &router.Alerts{
		Store: db, Groups: db, Lanes: quiet{db}, Partitions: 1, Now: func() time.Time { return clock }, Log: slog.New(slog.DiscardHandler), Metrics: router.NewMetrics(prometheus.NewRegistry()),
	}}
	a.alerts.Configure(a.plan())
	a.http = serveSenders(t, newGateway(), func(c *httpapi.Config) {
		useRows(c, db)
		c.Gateway.Alerts = a.alerts
		c.Access.Tokens = append(c.Access.Tokens, auth.Credential{Name: "shift", Token: "shift-token", Level: flow.Internal, Role: auth.RoleOperator})
		for _, set := range settings {
			set(c, db)
		}
		c.SinkLevel = func(r sessions.Route) flow.Level {
			if r.Channel == "telegram" {
				return flow.Confidential
			}
			return flow.Public
		}
	})
	return a
}

func (a alerting) plan() *alert.Plan {
	a.Helper()
	critical, err := alert.ParseMatchers(`severity="critical"`)
	require.NoError(a, err)
	return &alert.Plan{
		Root: &alert.Route{
			Path: "0", Receiver: "ops", GroupBy: []string{"service"}, GroupWait: 30 * time.Second, GroupInterval: 5 * time.Minute, RepeatInterval: 4 * time.Hour,
			Routes: []*alert.Route{{Path: "0/0", Receiver: "oncall", Matchers: critical, GroupWait: time.Second}},
		},
		Receivers: map[string]*alert.Receiver{
			"ops":    {Name: "ops", Steps: []alert.Step{{Notify: []string{"ops"}}}},
			"oncall": {Name: "oncall", Steps: []alert.Step{{Notify: []string{"ops", "secret"}}, {Wait: 10 * time.Minute, Notify: []string{"owner"}, Repeat: 3}}},
		},
		Targets: map[string]alert.Target{"ops": {Name: "ops", Channel: "slack", To: "C1"}, "secret": {Name: "secret", Channel: "telegram", To: "7"}},
	}
}

// ask makes a request that succeeds with a status.
func (a alerting) ask(status int, method, path, body string, headers ...string) map[string]any {
	a.Helper()
	w := call(a.http, method, path, body, headers...)
	require.Equal(a, status, w.Code, "%s %s: %s", method, path, w.Body)
	var out map[string]any
	if w.Body.Len() > 0 {
		require.NoError(a, json.Unmarshal(w.Body.Bytes(), &out))
	}
	return out
}

// keys are the keys of a list of alerts.
func (a alerting) keys(query string, headers ...string) string {
	a.Helper()
	var all []string
	for _, x := range a.ask(http.StatusOK, "GET", "/v1/alerts"+query, "", headers...)["alerts"].([]any) {
		all = append(all, x.(map[string]any)["key"].(string))
	}
	return strings.Join(all, " ")
}

// An alert above the caller whose key is the short name of another one hides it from nobody.
func TestAHiddenAlertTakesNoName(t *testing.T) {
	t.Parallel()
	a, low := newAlerting(t), "Authorization: Bearer shift-token"
	ref := alert.Ref("disk")
	for _, body := range []string{`{"key":"disk","title":"Disk"}`, `{"key":"` + ref + `","label":"CONFIDENTIAL"}`} {
		a.ask(http.StatusAccepted, "POST", "/v1/alerts", body)
	}
	require.Equal(t, "disk", a.ask(http.StatusOK, "GET", "/v1/alerts/"+ref, "", low)["key"])
	require.Equal(t, "warning: Disk", a.ask(http.StatusOK, "GET", "/v1/why/"+ref, "", low)["title"])
	a.ask(http.StatusNotFound, "GET", "/v1/alerts/"+alert.Ref(ref), "", low)
	require.Equal(t, ref, a.ask(http.StatusOK, "GET", "/v1/alerts/"+ref, "")["key"], "who sees both gets the one of this key")
}

func TestAlertsAreListedAndActedOn(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	for _, body := range []string{
		`{"key":"a","title":"A","severity":"critical","labels":{"service":"db"},"links":[{"url":"https://wiki/a"}]}`, `{"key":"b","label":"CONFIDENTIAL"}`, `{"key":"c/d","severity":"info"}`,
	} {
		a.ask(http.StatusAccepted, "POST", "/v1/alerts", body)
	}
	require.Equal(t, "shift/a", a.ask(http.StatusAccepted, "POST", "/v1/alerts", `{"key":"a","label":"PUBLIC"}`, asShift)["key"], "the keys of a token are its own")
	require.Equal(t, "shift/a c/d b a", a.keys(""))
	require.Equal(t, "shift/a c/d a", a.keys("", asShift))
	require.Equal(t, "c/d a", a.keys("?limit=2&after=shift/a", asShift))
	require.Equal(t, "a", a.keys("?limit=1&filter="+url.QueryEscape(`severity="critical"`)))
	require.Equal(t, "shift/a c/d", a.keys("?filter="+url.QueryEscape(`severity!="critical"`)+"&filter="+url.QueryEscape(`key=~".*/.*"`)))
	own := a.ask(http.StatusOK, "GET", "/v1/alerts/shift%2Fa", "", asShift)
	require.Equal(t, []any{"INTERNAL/untrusted", "api/shift", "warning"}, []any{own["label"], own["source"], own["severity"]}, "a token's words have its level")
	require.Equal(t, "PUBLIC/trusted", a.ask(http.StatusOK, "GET", "/v1/alerts/"+alert.Ref("a"), "")["label"])

	w := call(a.http, "GET", "/v1/alerts?limit=1", "")
	require.Contains(t, w.Header().Get("Link"), "after=shift%2Fa")
	require.Empty(t, call(a.http, "GET", "/v1/alerts?limit=4", "").Header().Get("Link"))

	got := a.ask(http.StatusOK, "POST", "/v1/alerts/a/ack", "", asShift)
	require.Equal(t, []any{"acknowledged", "token:shift"}, []any{got["status"], got["by"]})
	require.Equal(t, "a", a.keys("?status=acknowledged"))
	got = a.ask(http.StatusOK, "POST", "/v1/alerts/c%2Fd/resolve", "")
	require.Equal(t, []any{"resolved", "operator"}, []any{got["status"], got["by"]})
	require.Equal(t, "c/d", a.keys("?status=resolved"))
	require.Equal(t, "shift/a c/d b a", a.keys("?status=all"))
	a.ask(http.StatusConflict, "POST", "/v1/alerts/c%2Fd/ack", "")
	for _, act := range []string{"ack", "resolve"} {
		a.ask(http.StatusNotFound, "POST", "/v1/alerts/b/"+act, "", asShift)
		a.ask(http.StatusForbidden, "POST", "/v1/alerts/a/"+act, "", asReader)
	}
	for body, status := range map[string]int{
		`{"key":"x","links":[{"url":"javascript:alert(1)"}]}`: 400, `{"key":"x","severity":"bad"}`: 422, `{"key":"x","label":"SECRET"}`: 400, `{"key":"x","ends":"2020-01-01T00:00:00Z"}`: 422, `{"key":"x\n"}`: 400,
	} {
		a.ask(status, "POST", "/v1/alerts", body)
	}
	a.ask(http.StatusBadRequest, "GET", "/v1/alerts?filter=x", "")
	a.alerts.Configure(nil)
	require.Contains(t, a.ask(http.StatusConflict, "POST", "/v1/alerts", `{"key":"x"}`)["message"], "alerts.route")
}

func TestAlertShowsItsNotifications(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	a.ask(http.StatusAccepted, "POST", "/v1/alerts", `{"key":"a","severity":"critical"}`)
	x, err := a.alerts.Find(t.Context(), "a", flow.Public)
	require.NoError(t, err)
	note := func(target string, seq int, level flow.Level) alert.Note {
		return alert.Note{
			Key: "alert/" + target, Group: x.Groups[0], Target: target, Sequence: seq, Reason: alert.Escalation, Status: alert.NoteQueued, Delivery: "dlv_gone",
			Label: flow.NewLabel(level, flow.Trusted), Created: clock, NoteDetail: alert.NoteDetail{Alerts: []string{"a"}, Step: seq, Why: "w"},
		}
	}
	require.NoError(t, a.db.Commit(t.Context(), ledger.Change{AlertChange: ledger.AlertChange{
		AlertNotes: []alert.Note{note("ops", 1, flow.Public), note("secret", 2, flow.Public), note("owner", 3, flow.Restricted)},
	}}))
	targets := func(headers ...string) string {
		var all []string
		for _, n := range a.ask(http.StatusOK, "GET", "/v1/alerts/a", "", headers...)["notifications"].([]any) {
			n := n.(map[string]any)
			require.Equal(t, []any{"escalation", "queued", "dlv_gone", "w"}, []any{n["reason"], n["status"], n["delivery"], n["why"]})
			all = append(all, n["target"].(string))
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, "owner secret ops", targets())
	require.Equal(t, "ops", targets(asShift), "neither what is above the caller nor a channel above them")

	way := a.ask(http.StatusOK, "POST", "/v1/alerts/test", `{"severity":"critical","labels":{"service":"db"}}`)["ways"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"0/0", "oncall", "1s"}, []any{way["route"], way["receiver"], way["group_wait"]})
	require.Equal(t, []any{map[string]any{"notify": []any{"ops", "secret"}}, map[string]any{"wait": "10m0s", "notify": []any{"owner"}, "repeat": 3.0}}, way["steps"])
	way = a.ask(http.StatusOK, "POST", "/v1/alerts/test", `{"severity":"critical"}`, asShift)["ways"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"ops"}, way["steps"].([]any)[0].(map[string]any)["notify"])
	require.Equal(t, "0", a.ask(http.StatusOK, "POST", "/v1/alerts/test", `{}`)["ways"].([]any)[0].(map[string]any)["route"])
	require.Equal(t, "a", a.keys(""), "a test stores nothing")
}

// A list of alerts says who was notified and who has silenced them; a list of groups also when the next message is due. A caller
// knows of a group if they may know all of it.
func TestGroupsOfAlerts(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	require.Empty(t, a.ask(http.StatusOK, "GET", "/v1/alert-groups", "")["groups"])
	for _, body := range []string{
		`{"key":"a","severity":"critical","title":"A"}`, `{"key":"b","severity":"critical"}`, `{"key":"c","labels":{"service":"db"}}`, `{"key":"d","labels":{"service":"web"}}`, `{"key":"e","labels":{"service":"web"},"label":"CONFIDENTIAL"}`,
	} {
		a.ask(http.StatusAccepted, "POST", "/v1/alerts", body)
	}
	a.ask(http.StatusOK, "POST", "/v1/alerts/b/ack", "")
	silence := a.ask(http.StatusOK, "POST", "/v1/alerts/c/silence", `{"for":"30m","comment":"works"}`)
	x, err := a.alerts.Find(t.Context(), "a", flow.Public)
	require.NoError(t, err)
	group := x.Groups[0]
	note := func(target string, seq int, level flow.Level) alert.Note {
		return alert.Note{
			Key: "alert/" + target + "/" + string(rune('0'+seq)), Group: group, Target: target, Sequence: seq, Reason: alert.First, Status: alert.NoteQueued, Delivery: "dlv_gone",
			Label: flow.NewLabel(level, flow.Trusted), Created: clock.Add(time.Duration(seq) * time.Second), NoteDetail: alert.NoteDetail{Alerts: []string{"a"}, Step: 1},
		}
	}
	require.NoError(t, a.db.Commit(t.Context(), ledger.Change{AlertChange: ledger.AlertChange{
		AlertNotes: []alert.Note{note("ops", 1, flow.Public), note("ops", 2, flow.Public), note("secret", 3, flow.Public), note("owner", 4, flow.Restricted)},
	}}))
	told := func(record any) string {
		var all []string
		list, _ := record.(map[string]any)["told"].([]any)
		for _, n := range list {
			all = append(all, n.(map[string]any)["target"].(string))
		}
		return strings.Join(all, " ")
	}
	groups := func(query string, headers ...string) map[string]map[string]any {
		all := map[string]map[string]any{}
		for _, g := range a.ask(http.StatusOK, "GET", "/v1/alert-groups"+query, "", headers...)["groups"].([]any) {
			g := g.(map[string]any)
			name, _ := g["labels"].(map[string]any)["service"].(string)
			all[g["receiver"].(string)+name] = g
		}
		return all
	}
	owner := groups("")
	require.ElementsMatch(t, []string{"oncall", "opsdb", "opsweb"}, slices.Collect(maps.Keys(owner)))
	require.Equal(t, []any{"critical", 1.0, 1.0, 0.0, 2.0}, []any{owner["oncall"]["severity"], owner["oncall"]["firing"], owner["oncall"]["acknowledged"], owner["oncall"]["silenced"], owner["oncall"]["steps"]})
	require.Equal(t, []any{"warning", 1.0, 1.0}, []any{owner["opsdb"]["severity"], owner["opsdb"]["firing"], owner["opsdb"]["silenced"]})
	afterwards := map[string]any{"at": clock.Add(30*time.Minute + 30*time.Second).Format(time.RFC3339Nano), "reason": "first", "step": 1.0, "targets": []any{"ops"}}
	require.Equal(t, afterwards, owner["opsdb"]["next"], "at the first look after the silence")
	require.Equal(t, "owner secret ops", told(owner["oncall"]))
	next := map[string]any{"at": clock.Format(time.RFC3339Nano), "reason": "first", "step": 1.0, "targets": []any{"ops", "secret"}}
	require.Equal(t, next, owner["oncall"]["next"], "at once, because somebody has acknowledged an alert of it")

	one := a.ask(http.StatusOK, "GET", "/v1/alert-groups/"+group, "")
	require.Equal(t, []any{2, 4}, []any{len(one["alerts"].([]any)), len(one["notifications"].([]any))})
	a.ask(http.StatusNotFound, "GET", "/v1/alert-groups/unknown", "")
	for _, path := range []string{"", "/" + group, "/unknown"} {
		require.Contains(t, a.ask(http.StatusForbidden, "GET", "/v1/alert-groups"+path, "", asShift)["message"], "a group may have alerts of all levels")
	}
	first := call(a.http, "GET", "/v1/alert-groups?limit=2", "")
	require.Contains(t, first.Header().Get("Link"), "after=")
	require.Len(t, groups("?limit=2&after="+url.QueryEscape(a.ask(http.StatusOK, "GET", "/v1/alert-groups?limit=1", "")["groups"].([]any)[0].(map[string]any)["group"].(string))), 2)
	require.Empty(t, call(a.http, "GET", "/v1/alert-groups?limit=3", "").Header().Get("Link"), "nothing says that there is a fourth")

	for _, x := range a.ask(http.StatusOK, "GET", "/v1/alerts", "", asShift)["alerts"].([]any) {
		x := x.(map[string]any)
		switch x["key"] {
		case "a":
			require.Equal(t, "ops", told(x))
		case "c":
			require.Empty(t, told(x))
			require.Equal(t, []any{map[string]any{"id": silence["id"], "author": "operator", "comment": "works", "ends": silence["ends"]}}, x["silences"])
		}
	}
	a.alerts.Configure(nil)
	require.Nil(t, groups("")["oncall"]["next"], "while alerts are not configured, nothing is sent")
}

func TestSilencesOfPeople(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	a.ask(http.StatusAccepted, "POST", "/v1/alerts", `{"key":"a"}`)
	one := a.ask(http.StatusCreated, "POST", "/v1/silences", `{"matchers":["key=~\"a|b\"","severity!=\"info\""],"for":"2h","comment":"works","author":"operator","label":"PUBLIC"}`, asShift)
	require.Equal(t, []any{"operator", "works", "active", "INTERNAL/untrusted", []any{`key=~"a|b"`, `severity!="info"`}}, []any{one["author"], one["comment"], one["state"], one["label"], one["matchers"]})
	id := one["id"].(string)
	require.Equal(t, []any{id}, a.ask(http.StatusOK, "GET", "/v1/alerts/a", "")["silenced_by"])
	other := a.ask(http.StatusOK, "POST", "/v1/alerts/a/silence", `{"for":"30m"}`)
	require.Equal(t, []any{"operator", []any{`key="a"`}}, []any{other["author"], other["matchers"]})
	later := a.ask(http.StatusCreated, "POST", "/v1/silences", `{"matchers":["x=\"y\""],"starts":"2027-01-01T00:00:00Z","for":"1h","label":"RESTRICTED"}`)
	require.Equal(t, "2027-01-01T01:00:00Z", later["ends"])
	ids := func(query string, headers ...string) string {
		var all []string
		for _, s := range a.ask(http.StatusOK, "GET", "/v1/silences"+query, "", headers...)["silences"].([]any) {
			all = append(all, s.(map[string]any)["id"].(string))
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, strings.Join([]string{other["id"].(string), id, later["id"].(string)}, " "), ids(""))
	require.Equal(t, later["id"], ids("?state=pending"))
	require.Equal(t, id, ids("?limit=1&after="+other["id"].(string), asShift))
	a.ask(http.StatusNotFound, "DELETE", "/v1/silences/"+later["id"].(string), "", asShift)
	a.ask(http.StatusNotFound, "GET", "/v1/silences/"+later["id"].(string), "", asShift)
	a.ask(http.StatusNoContent, "DELETE", "/v1/silences/"+id, "")
	require.Equal(t, "expired", a.ask(http.StatusOK, "GET", "/v1/silences/"+id, "")["state"])
	require.Equal(t, id, ids("?state=expired"))
	for _, body := range []string{
		`{"matchers":["a=b"]}`, `{"matchers":["a=b"],"for":"1h","ends":"2027-01-01T00:00:00Z"}`, `{"matchers":["a=b"],"for":"-1h"}`, `{"matchers":["a"],"for":"1h"}`, `{"matchers":["a=~\".*\""],"for":"1h"}`,
	} {
		a.ask(http.StatusBadRequest, "POST", "/v1/silences", body)
	}
	trail, err := a.db.ListAudit(context.Background(), ledger.AuditQuery{Action: "silence.set", MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Equal(t, "token:shift", trail[len(trail)-1].Actor, "whatever author was claimed")
}
