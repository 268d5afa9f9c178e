package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/alert/intake"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/senders"
	"sluice/policy/flow"
	"sluice/sessions"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// board keeps alerts and silences in memory.
type board struct {
	mu       sync.Mutex
	from     []senders.Sender
	events   []intake.Event
	alerts   []senders.Alert
	groups   []senders.Group
	silences map[string]senders.Silence
	actors   []string
	down     error
	arrived  chan struct{} // has one element after each report
	live     bool          // alerts come from the events, and silences silence them
}

func (b *board) Report(_ context.Context, from senders.Sender, events []intake.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down != nil {
		return b.down
	}
	select {
	case b.arrived <- struct{}{}:
	default:
	}
	for _, e := range events {
		b.from, b.events = append(b.from, from), append(b.events, e)
		if b.live {
			b.alerts = slices.DeleteFunc(b.alerts, func(a senders.Alert) bool { return maps.Equal(a.Labels, e.Labels) })
		}
		if b.live && e.Action == intake.Fire {
			b.alerts = append(b.alerts, senders.Alert{
				Labels: e.Labels, Annotations: e.Annotations, GeneratorURL: e.GeneratorURL, Starts: e.Starts, Ends: e.Ends, Updated: e.Starts, Receivers: []string{"ops"}, Label: from.Label,
			})
		}
	}
	return nil
}

// silence puts the silences that are active onto an alert.
func (b *board) silence(a *senders.Alert) {
	set := model.LabelSet{}
	for name, value := range a.Labels {
		set[model.LabelName(name)] = model.LabelValue(value)
	}
	a.SilencedBy = nil
	for _, s := range b.silences {
		if s.Matchers.Matches(set) && s.Ends.After(time.Now()) {
			a.SilencedBy = append(a.SilencedBy, s.ID)
		}
	}
}

func (b *board) OpenAlerts(_ context.Context, upTo flow.Level) ([]senders.Alert, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Clone(b.alerts)
	for i := range all {
		if b.live {
			b.silence(&all[i])
		}
	}
	return slices.DeleteFunc(all, func(a senders.Alert) bool { return !a.Label.FlowsTo(upTo) }), b.down
}

func (b *board) AlertGroups(context.Context, flow.Level) ([]senders.Group, error) {
	return b.groups, b.down
}

func (b *board) ListSilences(_ context.Context, upTo flow.Level) ([]senders.Silence, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(b.silences)), func(s senders.Silence) bool { return !s.Label.FlowsTo(upTo) }), b.down
}

func (b *board) Silence(_ context.Context, id string) (senders.Silence, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.silences[id]; ok {
		return s, nil
	}
	return senders.Silence{}, sessions.ErrNotFound
}

func (b *board) PutSilence(_ context.Context, s senders.Silence, actor string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.ID == "" {
		s.ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(b.silences)+1)
	}
	b.silences[s.ID] = s
	b.actors = append(b.actors, actor)
	return s.ID, b.down
}

func (b *board) EndSilence(_ context.Context, id, actor string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.silences[id]
	s.Ends = clock
	if b.live {
		s.Ends = time.Now()
	}
	b.silences[id] = s
	b.actors = append(b.actors, actor)
	return b.down
}

func serveAlerts(t *testing.T, b *board) http.Handler {
	t.Helper()
	b.silences = map[string]senders.Silence{}
	return serveSenders(t, newGateway(), func(c *httpapi.Config) {
		c.Alerting = &senders.Alerting{Alerts: b, Silences: b, Tree: func() senders.Tree {
			return senders.Tree{Receivers: []string{"ops", "oncall"}, ResolveTimeout: 5 * time.Minute, Original: "route: { receiver: ops }\n"}
		}}
		c.Access.Tokens = append(c.Access.Tokens, auth.Credential{Name: "shift", Token: "shift-token", Level: flow.Internal, Role: auth.RoleOperator})
	})
}

// equals is the matcher of a label's value.
func equals(t *testing.T, name, value string) *labels.Matcher {
	t.Helper()
	m, err := labels.NewMatcher(labels.MatchEqual, name, value)
	require.NoError(t, err)
	return m
}

const asShift = "Authorization: Bearer shift-token"

func TestAlertsAreTakenIn(t *testing.T) {
	t.Parallel()
	b := &board{}
	h := serveAlerts(t, b)
	w := call(h, "POST", "/api/v2/alerts", `[{"labels":{"alertname":"Disk","severity":"critical"},"annotations":{"summary":"full"},"generatorURL":"http://p/"}]`, asSender)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Empty(t, w.Body.String())
	require.Equal(t, []senders.Sender{{Source: "alertmanager/prometheus", Label: flow.NewLabel(flow.Internal, flow.Untrusted), Actor: "token:prometheus"}}, b.from)
	key := intake.Fingerprint(map[string]string{"alertname": "Disk", "severity": "critical"})
	e := b.events[0]
	require.Equal(t, []any{intake.Fire, "prometheus/" + key, intake.Critical, "full", clock, clock.Add(5 * time.Minute)}, []any{e.Action, e.Key, e.Severity, e.Title, e.Starts, e.Ends})

	w = call(h, "POST", "/api/v2/alerts", `[{"labels":{}},{"labels":{"alertname":"Right"}}]`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.JSONEq(t, `"alert 0: at least one label pair required"`, w.Body.String())
	require.Equal(t, []any{"Right", "alertmanager", flow.NewLabel(flow.Public, flow.Untrusted)}, []any{b.events[1].Title, b.from[1].Source, b.from[1].Label})

	for body, status := range map[string]int{`{`: 400, `{}`: 400, "[" + strings.Repeat(`{"labels":{"a":"b"}},`, 1001) + "{}]": 400, strings.Repeat(" ", 4<<20) + "[]": 413, `[]`: 200} {
		w := call(h, "POST", "/api/v2/alerts", body)
		require.Equal(t, status, w.Code, w.Body)
		if status != http.StatusOK {
			var text string
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &text), "an error is a JSON text")
		}
	}
	require.Len(t, b.events, 2)
	b.down = sessions.ErrFenced
	require.Equal(t, http.StatusConflict, call(h, "POST", "/api/v2/alerts", `[{"labels":{"a":"b"}}]`).Code)
	require.Equal(t, http.StatusForbidden, call(h, "POST", "/api/v2/alerts", `[]`, asReader).Code)
}

func TestOpenAlertsAreListedByTheirFilters(t *testing.T) {
	t.Parallel()
	public := flow.NewLabel(flow.Public, flow.Untrusted)
	b := &board{alerts: []senders.Alert{
		{Labels: map[string]string{"alertname": "Disk", "host": "db1"}, Receivers: []string{"ops"}, Starts: clock, Updated: clock, Ends: clock.Add(time.Hour), Label: public},
		{Labels: map[string]string{"alertname": "CPU"}, Receivers: []string{"ops", "oncall"}, SilencedBy: []string{"s1"}, Label: public},
		{Labels: map[string]string{"alertname": "Net"}, Receivers: []string{"oncall"}, InhibitedBy: []string{"f1"}, Label: public},
		{Labels: map[string]string{"alertname": "Secret"}, Receivers: []string{"ops"}, Label: flow.NewLabel(flow.Confidential, flow.Untrusted)},
	}}
	h := serveAlerts(t, b)
	for query, want := range map[string]string{
		"":                                "CPU Disk Net",
		"?active=false":                   "CPU Net",
		"?silenced=false":                 "Disk Net",
		"?inhibited=false":                "CPU Disk",
		"?silenced=false&inhibited=false": "Disk",
		"?receiver=ops":                   "CPU Disk",
		"?receiver=on.*":                  "CPU Net",
		"?receiver=o":                     "",
		"?receiver=":                      "CPU Disk Net",
		"?filter=alertname%3DDisk":        "Disk",
		"?filter=alertname%3D~%22D.*%7CN.*%22&filter=host%3D%22%22": "Net",
		"?filter=host!%3D%22%22":                                    "Disk",
		"?filter=%22alertname%22%3D%22CPU%22":                       "CPU",
		"?receiver_matchers=owner%3Dx":                              "",
		"?unknown=1":                                                "CPU Disk Net",
	} {
		w := call(h, "GET", "/api/v2/alerts"+query, "", asShift)
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", query, w.Body)
		var got []struct{ Labels map[string]string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		var names []string
		for _, a := range got {
			names = append(names, a.Labels["alertname"])
		}
		slices.Sort(names)
		require.Equal(t, want, strings.Join(names, " "), query)
	}
	for query, says := range map[string]string{
		"?filter=%3D": "bad matcher format", "?receiver=(": "failed to parse receiver param", "?receiver_matchers=%3D": "failed to parse receiver_matchers param", "?active=perhaps": "active in query must be of type boolean",
	} {
		w := call(h, "GET", "/api/v2/alerts"+query, "")
		require.Equal(t, http.StatusBadRequest, w.Code, query)
		var text string
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &text))
		require.Contains(t, text, says)
	}
	w := call(h, "GET", "/api/v2/alerts?filter=host%3Ddb1", "", asReader)
	require.JSONEq(t, `[{"annotations":{},"endsAt":"2026-04-26T18:03:16.070Z","fingerprint":"`+intake.Fingerprint(b.alerts[0].Labels)+`","receivers":[{"name":"ops"}],
		"startsAt":"2026-04-26T17:03:16.070Z","status":{"inhibitedBy":[],"mutedBy":[],"silencedBy":[],"state":"active"},"updatedAt":"2026-04-26T17:03:16.070Z","labels":{"alertname":"Disk","host":"db1"}}]`, w.Body.String())
}

func TestGroupsReceiversAndStatus(t *testing.T) {
	t.Parallel()
	one := senders.Alert{Labels: map[string]string{"alertname": "Disk"}, Receivers: []string{"ops"}, Label: flow.NewLabel(flow.Public, flow.Untrusted)}
	quiet := one
	quiet.SilencedBy = []string{"s1"}
	b := &board{groups: []senders.Group{{Labels: map[string]string{"alertname": "Disk"}, Receiver: "ops", Alerts: []senders.Alert{one}}, {Receiver: "oncall", Alerts: []senders.Alert{quiet}}}}
	h := serveAlerts(t, b)
	for query, want := range map[string]string{"": "ops oncall", "?muted=false": "ops", "?receiver=oncall": "oncall", "?filter=a%3Db": "", "?active=false": "oncall"} {
		var got []struct{ Receiver struct{ Name string } }
		w := call(h, "GET", "/api/v2/alerts/groups"+query, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		var names []string
		for _, g := range got {
			names = append(names, g.Receiver.Name)
		}
		require.Equal(t, want, strings.Join(names, " "), query)
	}
	require.JSONEq(t, `[{"name":"ops"},{"name":"oncall"}]`, call(h, "GET", "/api/v2/receivers", "", asReader).Body.String())
	require.Contains(t, call(h, "GET", "/api/v2/status", "").Body.String(), `"original":"route: { receiver: ops }\n"`)
	require.Contains(t, call(h, "GET", "/api/v2/status", "", asReader).Body.String(), `"original":""`)
}

func TestSilences(t *testing.T) {
	t.Parallel()
	b := &board{}
	h := serveAlerts(t, b)
	post := func(body string, headers ...string) (int, string) {
		w := call(h, "POST", "/api/v2/silences", body, headers...)
		return w.Code, w.Body.String()
	}
	const fields = `"startsAt":"2026-04-26T16:00:00Z","endsAt":"2026-04-26T19:00:00Z","createdBy":"ada","comment":"repair"`
	const disk = `"matchers":[{"name":"alertname","value":"Di.*","isRegex":true}]`
	status, body := post(`{`+disk+`,`+fields+`}`, asShift)
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"silenceID":"00000000-0000-4000-8000-000000000001"}`, body)
	s := b.silences["00000000-0000-4000-8000-000000000001"]
	require.Equal(t, []any{`alertname=~"Di.*"`, clock, "ada", "repair", flow.NewLabel(flow.Internal, flow.Untrusted)}, []any{s.Matchers[0].String(), s.Starts, s.Author, s.Comment, s.Label})
	require.Equal(t, []string{"token:shift"}, b.actors)

	w := call(h, "GET", "/api/v2/silence/"+s.ID, "", asReader)
	require.JSONEq(t, `{"id":"`+s.ID+`","status":{"state":"active"},"updatedAt":"2026-04-26T17:03:16.070Z","comment":"repair","createdBy":"ada","endsAt":"2026-04-26T19:00:00.000Z",
		"matchers":[{"isEqual":true,"isRegex":true,"name":"alertname","value":"Di.*"}],"startsAt":"2026-04-26T17:03:16.070Z","annotations":{}}`, w.Body.String())

	for body, says := range map[string]string{
		`{`: "parsing silence body failed", `{}`: "are required", `{` + fields + `}`: "0 matchers: want 1 to 64", `{"matchers":[null],` + fields + `}`: "invalid label matcher",
		`{"matchers":[{"name":"a","value":"","isRegex":false}],` + fields + `}`:                                                                          "at least one matcher must not match the empty string",
		`{"matchers":[{"name":"a","value":"(","isRegex":true}],` + fields + `}`:                                                                          "missing closing",
		`{` + disk + `,"startsAt":"2026-04-26T19:00:00Z","endsAt":"2026-04-26T19:00:00Z","createdBy":"a","comment":"c"}`:                                 "start time must be before end time",
		`{` + disk + `,"startsAt":"2026-04-26T11:00:00Z","endsAt":"2026-04-26T12:00:00Z","createdBy":"a","comment":"c"}`:                                 "end time can't be in the past",
		`{` + disk + `,"startsAt":"2026-04-26T11:00:00Z","endsAt":"2026-04-26T19:00:00Z","createdBy":"a","comment":"` + strings.Repeat("c", 8193) + `"}`: "the comment may have 8192 bytes",
	} {
		status, got := post(body)
		require.Equal(t, http.StatusBadRequest, status, got)
		require.Contains(t, got, says)
	}
	status, _ = post(`{"id":"unknown",` + disk + `,` + fields + `}`)
	require.Equal(t, http.StatusNotFound, status)
	status, _ = post(`{`+disk+`,`+fields+`}`, asReader)
	require.Equal(t, http.StatusForbidden, status)

	require.Equal(t, http.StatusOK, call(h, "DELETE", "/api/v2/silence/"+s.ID, "", asShift).Code)
	require.Equal(t, clock, b.silences[s.ID].Ends)
	require.Equal(t, http.StatusNotFound, call(h, "DELETE", "/api/v2/silence/unknown", "").Code)
}

// TestHiddenSilencesAreAsAbsent: a silence above the caller can be neither read, changed nor ended.
func TestHiddenSilencesAreAsAbsent(t *testing.T) {
	t.Parallel()
	b := &board{}
	h := serveAlerts(t, b)
	secret := senders.Silence{
		ID: "00000000-0000-4000-8000-000000000009", Matchers: labels.Matchers{equals(t, "customer", "acme")}, Starts: clock, Ends: clock.Add(time.Hour), Author: "eve",
		Label: flow.NewLabel(flow.Restricted, flow.Trusted),
	}
	b.silences[secret.ID] = secret
	for _, id := range []string{secret.ID, "00000000-0000-4000-8000-00000000000a"} {
		for _, method := range []string{"GET", "DELETE"} {
			w := call(h, method, "/api/v2/silence/"+id, "", asShift)
			require.Equal(t, http.StatusNotFound, w.Code)
			require.JSONEq(t, `"not found: it does not exist, or your token may not see it"`, w.Body.String())
		}
		w := call(h, "POST", "/api/v2/silences", `{"id":"`+id+`","matchers":[{"name":"a","value":"b","isRegex":false}],"startsAt":"2026-04-26T17:00:00Z","endsAt":"2026-04-26T19:00:00Z","createdBy":"a","comment":"c"}`, asShift)
		require.Equal(t, http.StatusNotFound, w.Code)
	}
	require.JSONEq(t, `[]`, call(h, "GET", "/api/v2/silences", "", asShift).Body.String())
	require.Equal(t, secret, b.silences[secret.ID])
	require.Contains(t, call(h, "GET", "/api/v2/silences", "").Body.String(), "acme")
}

func TestSilencesAreOrderedAndFiltered(t *testing.T) {
	t.Parallel()
	b := &board{}
	h := serveAlerts(t, b)
	for id, times := range map[string][2]time.Duration{"a2": {-1, 9}, "a1": {-2, 5}, "p2": {8, 9}, "p1": {7, 99}, "e2": {-9, -3}, "e1": {-9, -8}} {
		b.silences[id] = senders.Silence{ID: id, Starts: clock.Add(times[0]), Ends: clock.Add(times[1]), Label: flow.Bottom(), Matchers: labels.Matchers{equals(t, "kind", id[:1])}}
	}
	for query, want := range map[string]string{
		"": "a1 a2 p1 p2 e2 e1", "?expired=false": "a1 a2 p1 p2", "?active=false&pending=false": "e2 e1", "?filter=kind%3Dp": "p1 p2", "?filter=kind%3D~p": "",
	} {
		var got []struct{ ID string }
		require.NoError(t, json.Unmarshal(call(h, "GET", "/api/v2/silences"+query, "").Body.Bytes(), &got))
		var ids []string
		for _, s := range got {
			ids = append(ids, s.ID)
		}
		require.Equal(t, want, strings.Join(ids, " "), query)
	}
}

func TestEventsForPagerDuty(t *testing.T) {
	t.Parallel()
	b := &board{}
	h := serveAlerts(t, b)
	enqueue := func(body string) (int, string) {
		w := call(h, "POST", "/v2/enqueue", body, "Authorization: ")
		return w.Code, w.Body.String()
	}
	status, body := enqueue(`{"routing_key":"prometheus-token","event_action":"trigger","dedup_key":"srv01/disk","payload":{"summary":"Disk","source":"srv01","severity":"error"}}`)
	require.Equal(t, http.StatusAccepted, status, body)
	require.JSONEq(t, `{"status":"success","message":"Event processed","dedup_key":"srv01/disk"}`, body)
	status, body = enqueue(`{"routing_key":"prometheus-token","event_action":"acknowledge","dedup_key":"srv01/disk"}`)
	require.Equal(t, http.StatusAccepted, status, body)
	for i, action := range []intake.Action{intake.Fire, intake.Acknowledge} {
		require.Equal(t, []any{action, "prometheus/srv01/disk", senders.Sender{Source: "pagerduty/prometheus", Label: flow.NewLabel(flow.Internal, flow.Untrusted), Actor: "token:prometheus"}}, []any{b.events[i].Action, b.events[i].Key, b.from[i]})
	}
	status, body = enqueue(`{"routing_key":"prometheus-token","event_action":"trigger","payload":{"summary":"Disk","source":"srv01","severity":"error"}}`)
	require.Equal(t, http.StatusAccepted, status, body)
	require.Regexp(t, `"dedup_key":"[0-9a-f]{32}"`, body)

	for body, want := range map[string]string{
		`{`: `{"status":"Unrecognized object","message":"Event object format is unrecognized","errors":["JSON parse error"]}`,
		`{"routing_key":"prometheus-token","event_action":"resolve"}`:            `{"status":"invalid event","message":"Event object is invalid","errors":["'dedup_key' is missing or blank"]}`,
		`{"routing_key":"guessed","event_action":"resolve"}`:                     `{"status":"invalid event","message":"Event object is invalid","errors":["'routing_key' is not a token of this gateway that may send alerts: want one of gateway.tokens with the role sender"]}`,
		`{"routing_key":"board-token","event_action":"resolve","dedup_key":"d"}`: `{"status":"invalid event","message":"Event object is invalid","errors":["'routing_key' is not a token of this gateway that may send alerts: want one of gateway.tokens with the role sender"]}`,
	} {
		status, got := enqueue(body)
		require.Equal(t, http.StatusBadRequest, status)
		require.JSONEq(t, want, got)
	}
	status, _ = enqueue(strings.Repeat(" ", 513<<10))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Len(t, b.events, 3)
}

func TestANoteWithoutATargetIsAnAlert(t *testing.T) {
	t.Parallel()
	b := &board{}
	h := serveAlerts(t, b)
	w := call(h, "POST", "/notify", "disk full", plainText, asSender, "Priority: 5", "Idempotency-Key: db1")
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.JSONEq(t, `{"id":"prometheus/db1"}`, w.Body.String())
	require.Equal(t, []any{"prometheus/db1", "disk full", intake.Critical, "notify/prometheus"}, []any{b.events[0].Key, b.events[0].Title, b.events[0].Severity, b.from[0].Source})
	require.Equal(t, http.StatusBadRequest, call(h, "POST", "/notify", "", plainText).Code)
	require.Equal(t, http.StatusBadRequest, call(h, "POST", "/notify", "x", plainText, "Idempotency-Key: "+strings.Repeat("k", 201)).Code)
	b.down = context.Canceled
	require.Equal(t, http.StatusServiceUnavailable, call(h, "POST", "/notify", "x", plainText).Code, "nothing is acknowledged that is not stored")
}
