package intake_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert/intake"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func defaults() intake.Defaults {
	return intake.Defaults{Now: now, ResolveTimeout: 5 * time.Minute}
}

// TestPostedAlertsHaveAlertmanagersTimes: what Alertmanager makes of missing times.
func TestPostedAlertsHaveAlertmanagersTimes(t *testing.T) {
	t.Parallel()
	const before, after, zero = `"2026-11-23T11:00:00Z"`, `"2026-11-23T13:00:00Z"`, `"0001-01-01T00:00:00.000Z"`
	for name, c := range map[string]struct {
		times        string
		starts, ends time.Time
		action       intake.Action
		fault        string
	}{
		"none":        {``, now, now.Add(5 * time.Minute), intake.Fire, ""},
		"zero":        {`,"startsAt":` + zero + `,"endsAt":` + zero, now, now.Add(5 * time.Minute), intake.Fire, ""},
		"start":       {`,"startsAt":` + before, now.Add(-time.Hour), now.Add(5 * time.Minute), intake.Fire, ""},
		"end before":  {`,"endsAt":` + before, now.Add(-time.Hour), now.Add(-time.Hour), intake.Resolve, ""},
		"end after":   {`,"endsAt":` + after, now.Add(time.Hour), now.Add(time.Hour), intake.Fire, ""},
		"both":        {`,"startsAt":` + before + `,"endsAt":` + after, now.Add(-time.Hour), now.Add(time.Hour), intake.Fire, ""},
		"ends now":    {`,"startsAt":` + before + `,"endsAt":"2026-11-23T12:00:00Z"`, now.Add(-time.Hour), now, intake.Resolve, ""},
		"exchanged":   {`,"startsAt":` + after + `,"endsAt":` + before, time.Time{}, time.Time{}, "", "alert 0: start time must be before end time"},
		"other zone":  {`,"startsAt":"2026-11-23T12:00:00.5+01:00"`, now.Add(-time.Hour + 500*time.Millisecond), now.Add(5 * time.Minute), intake.Fire, ""},
		"no time":     {`,"startsAt":"soon"`, time.Time{}, time.Time{}, "", `alert 0: read time "soon": want a form such as 2026-12-24T18:00:00Z`},
		"far":         {`,"endsAt":"9999-11-23T12:00:00Z"`, time.Time{}, time.Time{}, "", `alert 0: read time "9999-11-23T12:00:00Z": want a form such as 2026-12-24T18:00:00Z`},
		"number":      {`,"endsAt":7`, time.Time{}, time.Time{}, "", `alert 0: read time 7: want a text such as 2026-12-24T18:00:00Z`},
		"empty label": {`,"generatorURL":""`, now, now.Add(5 * time.Minute), intake.Fire, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := intake.PostedAlerts([]byte(`[{"labels":{"alertname":"Disk","empty":""}`+c.times+`}]`), defaults())
			require.NoError(t, err)
			if c.fault != "" {
				require.Empty(t, got.Events)
				require.EqualError(t, got.Invalid[0], c.fault)
				return
			}
			require.Empty(t, got.Invalid)
			e := got.Events[0]
			require.Equal(t, []any{c.action, c.starts, c.ends}, []any{e.Action, e.Starts, e.Ends})
			require.Equal(t, map[string]string{"alertname": "Disk"}, e.Labels)
			require.Equal(t, "Disk", e.Title)
		})
	}
}

// TestFingerprintsAreHashesOfAllLabels, in the form of Alertmanager.
func TestFingerprintsAreHashesOfAllLabels(t *testing.T) {
	t.Parallel()
	require.Equal(t, "cbf29ce484222325", intake.Fingerprint(nil))
	require.Equal(t, intake.Fingerprint(map[string]string{"a": "b", "c": "d"}), intake.Fingerprint(map[string]string{"c": "d", "a": "b"}))
	require.NotEqual(t, intake.Fingerprint(map[string]string{"a": "bc"}), intake.Fingerprint(map[string]string{"ab": "c"}))
}

// TestOneBadAlertKeepsNoOtherOut: each limit of an alert, beside an alert that is right.
func TestOneBadAlertKeepsNoOtherOut(t *testing.T) {
	t.Parallel()
	many := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"l%d":%q`, i, strings.Repeat("x", size))
		}
		return b.String()[1:]
	}
	for name, c := range map[string]struct{ labels, fault string }{
		"no labels":     {``, "at least one label pair required"},
		"only empty":    {`"a":""`, "at least one label pair required"},
		"empty name":    {`"":"x"`, `invalid label set: invalid name ""`},
		"long name":     {`"` + strings.Repeat("n", 257) + `":"x"`, "invalid label set: the name"},
		"long value":    {`"a":"` + strings.Repeat("x", 2049) + `"`, "invalid label set: the value of a has 2049 bytes, more than 2048"},
		"many labels":   {many(65, 1), "invalid label set: 65 labels, more than 64"},
		"large labels":  {many(10, 2000), "invalid label set: the labels have 20020 bytes, more than 16384"},
		"number":        {`"a":1`, "cannot unmarshal number"},
		"list of texts": {`"a":["b"]`, "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := intake.PostedAlerts([]byte(`[{"labels":{`+c.labels+`}},{"labels":{"alertname":"right"}}]`), defaults())
			require.NoError(t, err)
			require.Len(t, got.Invalid, 1)
			require.ErrorContains(t, got.Invalid[0], "alert 0: ")
			require.ErrorContains(t, got.Invalid[0], c.fault)
			require.Len(t, got.Events, 1)
			require.Equal(t, "right", got.Events[0].Title)
		})
	}
	for name, c := range map[string]struct{ body, fault string }{
		"no JSON":  {"{", "parsing alerts body failed"},
		"no list":  {"{}", "parsing alerts body failed"},
		"null":     {"null", "alerts in body is required"},
		"too many": {"[" + strings.Repeat("{},", intake.AlertsMax) + "{}]", "1001 alerts in one request, more than 1000: send them in several"},
	} {
		_, err := intake.PostedAlerts([]byte(c.body), defaults())
		require.ErrorContains(t, err, c.fault, name)
	}
}

func TestWhatPeopleReadComesFromAnnotationsAndLabels(t *testing.T) {
	t.Parallel()
	got, err := intake.PostedAlerts([]byte(`[{"labels":{"alertname":"Disk","severity":"Page"},"generatorURL":"http://prom/graph?g0",
		"annotations":{"summary":"Disk of\n db1 is full","description":"97 %","runbook_url":"https://wiki/disk","dashboard":"javascript:alert(1)"}}]`), defaults())
	require.NoError(t, err)
	e := got.Events[0]
	require.Equal(t, []any{intake.Critical, "Disk of db1 is full", "97 %"}, []any{e.Severity, e.Title, e.Text})
	require.Equal(t, []intake.Link{{Title: "Source", URL: "http://prom/graph?g0"}, {Title: "Runbook", URL: "https://wiki/disk"}}, e.Links)
	require.Equal(t, "javascript:alert(1)", e.Annotations["dashboard"])

	long := strings.Repeat("ä", 10_000)
	got, err = intake.PostedAlerts(fmt.Appendf(nil, `[{"labels":{"alertname":"Disk"},"annotations":{"summary":%q,"description":%q}}]`, long, long), defaults())
	require.NoError(t, err)
	e = got.Events[0]
	require.Equal(t, []int{511, 8191}, []int{len(e.Title), len(e.Text)})
	require.True(t, strings.HasSuffix(e.Title, "ä… (cut)"), e.Title[400:])
}

// TestAnnotationsAreBoundedTogether: a report is small enough to be stored whatever its sender writes.
func TestAnnotationsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `,"a%02d":%q`, i, strings.Repeat("x", 9<<10))
	}
	got, err := intake.PostedAlerts([]byte(`[{"labels":{"alertname":"Disk"},"annotations":{`+b.String()[1:]+`}}]`), defaults())
	require.NoError(t, err)
	size := 0
	for name, value := range got.Events[0].Annotations {
		size += len(name) + len(value)
	}
	require.LessOrEqual(t, size, 32<<10)
	require.Greater(t, size, 31<<10)
}

func TestSeverities(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]intake.Severity{
		"": intake.Warning, "critical": intake.Critical, "CRITICAL": intake.Critical, "error": intake.Error, "warn": intake.Warning, "info": intake.Info,
		"none": intake.Info, "P1": intake.Critical, "whatever": intake.Warning,
	} {
		require.Equal(t, want, intake.SeverityOf(word), word)
	}
}

// grafana is the shape that Grafana's documentation shows for its webhook; Alertmanager's is a part of it.
const grafana = `{"receiver":"hook","status":"firing","orgId":1,"alerts":[
	{"status":"firing","labels":{"alertname":"Memory","zone":"us-1"},"annotations":{"summary":"zone us-1","description":"much memory"},
	 "startsAt":"2026-11-23T12:51:03.157076+02:00","endsAt":"0001-01-01T00:00:00Z","generatorURL":"https://grafana.example/alerting/1/edit",
	 "fingerprint":"c6eadffa33fcdf37","silenceURL":"https://grafana.example/silence/new","dashboardURL":"https://grafana.example/d/1","panelURL":"",
	 "values":{"B":44.23943737541908,"C":1}},
	{"status":"resolved","labels":{"alertname":"CPU"},"annotations":{},"startsAt":"2026-11-23T10:00:00Z","endsAt":"2026-11-23T11:00:00Z","fingerprint":"x"},
	{"status":"firing","labels":{}}],
	"groupLabels":{},"commonLabels":{},"commonAnnotations":{},"externalURL":"https://grafana.example/","version":"1","groupKey":"{}:{}",
	"truncatedAlerts":2,"title":"[FIRING:2]","state":"alerting","message":"**Firing**"}`

func TestWebhooksOfAlertmanagerAndGrafana(t *testing.T) {
	t.Parallel()
	got, err := intake.Webhook([]byte(grafana), defaults())
	require.NoError(t, err)
	require.Equal(t, 2, got.Truncated)
	require.Len(t, got.Invalid, 1)
	require.EqualError(t, got.Invalid[0], "alert 2: at least one label pair required")
	first, second := got.Events[0], got.Events[1]
	require.Equal(t, intake.Event{
		Action: intake.Fire, Key: "c6eadffa33fcdf37", Severity: intake.Warning, Title: "zone us-1", Text: "much memory\nB: 44.2394\nC: 1",
		Labels:      map[string]string{"alertname": "Memory", "zone": "us-1"},
		Annotations: map[string]string{"summary": "zone us-1", "description": "much memory"},
		Links: []intake.Link{
			{Title: "Source", URL: "https://grafana.example/alerting/1/edit"}, {Title: "Dashboard", URL: "https://grafana.example/d/1"},
		},
		GeneratorURL: "https://grafana.example/alerting/1/edit",
		Starts:       time.Date(2026, 11, 23, 10, 51, 3, 157076000, time.UTC),
	}, first)
	require.Equal(t, []any{intake.Resolve, intake.Fingerprint(map[string]string{"alertname": "CPU"}), now.Add(-time.Hour)}, []any{second.Action, second.Key, second.Ends})

	for body, fault := range map[string]string{`{`: "read webhook: unexpected end", `{"alerts":[]}`: "it has no alerts", `{"ruleName":"old"}`: "it has no alerts"} {
		_, err := intake.Webhook([]byte(body), defaults())
		require.ErrorContains(t, err, fault)
	}
}

// TestAResolvedAlertOfAWebhookIsOver whatever the sender's clock says.
func TestAResolvedAlertOfAWebhookIsOver(t *testing.T) {
	t.Parallel()
	for _, times := range []string{``, `,"endsAt":"2026-11-23T12:00:09Z"`, `,"startsAt":"2026-11-23T12:00:05Z","endsAt":"2026-11-23T12:00:09Z"`} {
		got, err := intake.Webhook([]byte(`{"alerts":[{"status":"resolved","labels":{"a":"b"}`+times+`}]}`), defaults())
		require.NoError(t, err)
		require.Empty(t, got.Invalid)
		require.Equal(t, []any{intake.Resolve, now}, []any{got.Events[0].Action, got.Events[0].Ends}, times)
	}
	got, err := intake.Webhook([]byte(`{"alerts":[{"status":"firing","labels":{"a":"b"},"endsAt":"2026-11-23T11:00:00Z"}]}`), defaults())
	require.NoError(t, err)
	require.Equal(t, []any{intake.Fire, time.Time{}}, []any{got.Events[0].Action, got.Events[0].Ends})
}

// check is what holds for each event whatever was sent.
func check(t *testing.T, events []intake.Event) {
	t.Helper()
	for _, e := range events {
		require.Contains(t, []intake.Action{intake.Fire, intake.Acknowledge, intake.Resolve}, e.Action)
		require.LessOrEqual(t, len(e.Key), 255)
		require.LessOrEqual(t, len(e.Title), 512)
		require.LessOrEqual(t, len(e.Text), 8<<10)
		require.LessOrEqual(t, len(e.Labels), 64)
		require.LessOrEqual(t, len(e.Annotations), 32)
		require.LessOrEqual(t, len(e.Links), 8)
		for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
			require.LessOrEqual(t, len(e.Labels[name]), 2<<10)
		}
		for _, l := range e.Links {
			require.Regexp(t, `^(?i)https?://`, l.URL)
		}
		require.False(t, !e.Ends.IsZero() && e.Ends.Before(e.Starts), "ends before it starts")
	}
}

func FuzzPostedAlerts(f *testing.F) {
	f.Add([]byte(`[{"labels":{"alertname":"Disk"},"annotations":{"summary":"x"},"startsAt":"2026-11-23T11:00:00Z","generatorURL":"http://p/"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := intake.PostedAlerts(body, defaults()); err == nil {
			check(t, got.Events)
		}
	})
}

func FuzzWebhook(f *testing.F) {
	f.Add([]byte(grafana))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := intake.Webhook(body, defaults()); err == nil {
			check(t, got.Events)
		}
	})
}
