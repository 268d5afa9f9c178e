package intake_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert/intake"
)

const trigger = `{"payload":{"summary":"DISK at 99% on prod-datapipe03","timestamp":"2026-11-23T08:42:58.315+0000","severity":"critical",
	"source":"prod-datapipe03.example.com","component":"mysql","group":"prod-datapipe","class":"disk",
	"custom_details":{"free space":"1%","load avg":0.75,"more":{"a":[1]}}},
	"routing_key":"a-key","dedup_key":"srv01/mysql","event_action":"trigger","client":"Monitor","client_url":"https://monitor.example",
	"links":[{"href":"https://pd.example","text":"An example link."},{"href":"ftp://no"}],"images":[{"src":"https://pd.example/i.png"}]}`

func TestAPagerDutyTrigger(t *testing.T) {
	t.Parallel()
	got, faults, err := intake.PagerDuty([]byte(trigger), defaults())
	require.NoError(t, err)
	require.Empty(t, faults)
	key, err := intake.RoutingKey([]byte(trigger))
	require.NoError(t, err)
	require.Equal(t, "a-key", key)
	require.Equal(t, intake.Event{
		Action: intake.Fire, Key: "srv01/mysql", Severity: intake.Critical, Title: "DISK at 99% on prod-datapipe03",
		Text: "free space: 1%\nload avg: 0.75\nmore: {\"a\":[1]}",
		Labels: map[string]string{
			"severity": "critical", "source": "prod-datapipe03.example.com", "component": "mysql", "group": "prod-datapipe", "class": "disk", "client": "Monitor",
		},
		Annotations: map[string]string{},
		Links:       []intake.Link{{Title: "Monitor", URL: "https://monitor.example"}, {Title: "An example link.", URL: "https://pd.example"}, {Title: "Image", URL: "https://pd.example/i.png"}},
		Starts:      time.Date(2026, 11, 23, 8, 42, 58, 315000000, time.UTC),
	}, got)
}

func TestPagerDutyFollowUpsAndFaults(t *testing.T) {
	t.Parallel()
	for _, action := range []intake.Action{intake.Acknowledge, intake.Resolve} {
		got, faults, err := intake.PagerDuty([]byte(`{"routing_key":"k","dedup_key":"d","event_action":"`+string(action)+`"}`), defaults())
		require.NoError(t, err)
		require.Empty(t, faults)
		require.Equal(t, intake.Event{Action: action, Key: "d"}, got)
	}
	for name, c := range map[string]struct {
		body   string
		faults []string
	}{
		"empty":     {`{}`, []string{"'routing_key' is missing or blank", "'event_action' is invalid (must be one of the following: 'trigger', 'acknowledge' or 'resolve')"}},
		"no key":    {`{"routing_key":"k","event_action":"resolve"}`, []string{"'dedup_key' is missing or blank"}},
		"long key":  {`{"routing_key":"k","event_action":"resolve","dedup_key":"` + strings.Repeat("d", 256) + `"}`, []string{"'dedup_key' is too long (maximum is 255 bytes)"}},
		"two lines": {`{"routing_key":"k","event_action":"resolve","dedup_key":"a\nb"}`, []string{"'dedup_key' is invalid (must be one line)"}},
		"no parts":  {`{"routing_key":"k","event_action":"trigger"}`, []string{"'payload.summary' is missing or blank", "'payload.source' is missing or blank", "'payload.severity' is invalid (must be one of the following: 'critical', 'error', 'warning' or 'info')"}},
		"a severty": {`{"routing_key":"k","event_action":"trigger","payload":{"summary":"s","source":"s","severity":"bad"}}`, []string{"'payload.severity' is invalid (must be one of the following: 'critical', 'error', 'warning' or 'info')"}},
	} {
		_, faults, err := intake.PagerDuty([]byte(c.body), defaults())
		require.NoError(t, err, name)
		require.Equal(t, c.faults, faults, name)
	}
	for _, body := range []string{`{`, `[]`, `{"routing_key":7}`} {
		_, _, err := intake.PagerDuty([]byte(body), defaults())
		require.ErrorIs(t, err, intake.ErrUnreadable)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers map[string]string
		body    string
		want    intake.Note
		fault   string
	}{
		"text":          {nil, "Backup done\n", intake.Note{Text: "Backup done", Priority: 3}, ""},
		"curl -d":       {map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "a=b&c", intake.Note{Text: "a=b&c", Priority: 3}, ""},
		"headers":       {map[string]string{"Title": "Backup", "Priority": "urgent", "Tags": "warning, db 1,", "Click": "https://x.example"}, "failed", intake.Note{Title: "Backup", Text: "failed", Priority: 5, Tags: []string{"warning", "db 1"}, Click: "https://x.example"}, ""},
		"x headers":     {map[string]string{"X-Title": "=?utf-8?q?B=C3=A4ckup?=", "X-Priority": "4", "X-Tags": "a"}, "x", intake.Note{Title: "Bäckup", Text: "x", Priority: 4, Tags: []string{"a"}}, ""},
		"JSON":          {map[string]string{"Content-Type": "application/json; charset=utf-8", "Priority": "2"}, `{"message":"m","title":"t","tags":["a"]}`, intake.Note{Title: "t", Text: "m", Priority: 2, Tags: []string{"a"}}, ""},
		"JSON priority": {map[string]string{"Content-Type": "application/json"}, `{"message":"m","priority":5}`, intake.Note{Text: "m", Priority: 5}, ""},
		"only a title":  {map[string]string{"Title": "Backup"}, "", intake.Note{Text: "Backup", Priority: 3}, ""},
		"empty":         {nil, " \n", intake.Note{}, "the text is empty: send it as the body of the request"},
		"delay":         {map[string]string{"Delay": "30m"}, "x", intake.Note{}, "the header Delay is not supported: send the text without it"},
		"file":          {map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, "x", intake.Note{}, "files are not supported here: send a text"},
		"priority":      {map[string]string{"Priority": "6"}, "x", intake.Note{}, `priority "6": want 1 to 5, or min, low, default, high, urgent`},
		"click":         {map[string]string{"Click": "javascript:x"}, "x", intake.Note{}, "the address to click is not an http or https address"},
		"bytes":         {nil, "\xff", intake.Note{}, "the text is not UTF-8"},
		"long":          {nil, strings.Repeat("x", intake.NoteMax+1), intake.Note{}, "the text has 65537 bytes, more than 65536"},
		"long title":    {map[string]string{"Title": strings.Repeat("x", 513)}, "x", intake.Note{}, "the title has 513 bytes, more than 512"},
		"many tags":     {map[string]string{"Tags": strings.Repeat("a,", 17)}, "x", intake.Note{}, "too many tags"},
		"misspelt JSON": {map[string]string{"Content-Type": "application/json"}, `{"mesage":"m"}`, intake.Note{}, `unknown field "mesage"`},
		"two objects":   {map[string]string{"Content-Type": "application/json"}, `{"message":"m"}{}`, intake.Note{}, "there is more after the object"},
	} {
		headers := http.Header{}
		for key, value := range c.headers {
			headers.Set(key, value)
		}
		got, err := intake.Plain(headers, []byte(c.body))
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestANoteAsAnAlert(t *testing.T) {
	t.Parallel()
	got := intake.Note{Text: "disk full\n97 %", Priority: 4, Tags: []string{"a", "b"}, Click: "https://x.example"}.Event(defaults())
	require.Equal(t, intake.Event{
		Action: intake.Fire, Severity: intake.Error, Title: "disk full", Text: "disk full\n97 %", Labels: map[string]string{"severity": "error", "tags": "a,b"},
		Annotations: map[string]string{}, Links: []intake.Link{{Title: "Open", URL: "https://x.example"}}, Starts: now,
	}, got)
	require.Empty(t, intake.Note{Text: "disk full", Priority: 1}.Event(defaults()).Text)
}

func FuzzPagerDuty(f *testing.F) {
	f.Add([]byte(trigger))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, faults, err := intake.PagerDuty(body, defaults()); err == nil && len(faults) == 0 {
			key, err := intake.RoutingKey(body)
			require.NoError(t, err)
			require.NotEmpty(t, key)
			check(t, []intake.Event{got})
		}
	})
}

func FuzzPlain(f *testing.F) {
	f.Add("Backup", "urgent", "a,b", "https://x.example", "text/plain", []byte("failed"))
	f.Add("", "", "", "", "application/json", []byte(`{"message":"m","priority":"5"}`))
	f.Fuzz(func(t *testing.T, title, priority, tags, click, kind string, body []byte) {
		n, err := intake.Plain(http.Header{"Title": {title}, "Priority": {priority}, "Tags": {tags}, "Click": {click}, "Content-Type": {kind}}, body)
		if err == nil {
			require.NotEmpty(t, n.Text)
			check(t, []intake.Event{n.Event(defaults())})
		}
	})
}
