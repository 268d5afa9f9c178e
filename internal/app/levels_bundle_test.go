package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/alert"
	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite/sqlitetest"
)

// withLevels is a gateway with an operator's token of each level, which are the level's name.
func withLevels(t *testing.T, page flow.Level, more ...string) *gateway {
	t.Helper()
	var tokens []string
	for _, l := range flow.Levels() {
		tokens = append(tokens, fmt.Sprintf("{ name: %s, token: %s, classification: %s, role: operator }", l, l, l))
	}
	g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	g.cfg = loadText(t, "gateway: { listen: 127.0.0.1:0, token: test-token, tokens: ["+strings.Join(tokens, ", ")+"] }\nstate: "+g.state+
		"\nagents: { list: [{ id: main, publish: { openai: true, a2a: true }, tools: { deny: [session_status] } }] }\nchannels: { webchat: { classification: "+page.String()+" } }\nhooks: { ci: { secrets: [a-secret-of-the-test], classification: PUBLIC, filter: \"false\" } }\ntargets: { ops: { channel: webchat, to: local } }\nsession: { queue: { mode: followup, debounceMs: 0 } }\nlimits: { partitions: 1 }\n"+strings.Join(more, ""))
	g.begin()
	t.Cleanup(g.end)
	return g
}

// things are one of each kind that the API knows.
type things struct {
	session  sessions.Record
	run      sessions.Run
	delivery ledger.Delivery
	exchange ledger.Exchange
	approval ledger.Approval
	media    ledger.Media
	pairing  ledger.Pairing
	memory   sessions.Memory
	request  ledger.HookRequest
	job      ledger.Job
	alert    alert.Alert
	group    alert.Group
	silence  alert.Silence
}

// marker is in every text of the things that are to be hidden.
const marker = "the-marker"

// plantSession makes a session of a taint.
func (g *gateway) plantSession(taint flow.Level) sessions.Record {
	g.t.Helper()
	id := sessions.NewID()
	now := time.Now()
	r := sessions.Record{
		ID: id, Key: sessions.Key("agent:main:http:" + string(id)), Agent: "main", Taint: flow.NewLabel(taint, flow.Trusted), Clearance: flow.Restricted,
		FileAccess: sessions.FileAccess{Read: []string{""}, Write: []string{""}}, Persistent: true, Created: now, LastActivity: now,
	}
	if taint != flow.Public {
		r.Title, r.Label, r.Metadata = flow.NewText(marker, r.Taint), flow.NewText(marker, r.Taint), json.RawMessage(`{"a":"`+marker+`"}`)
	}
	g.store(sessionOf(r))
	return r
}

func (g *gateway) store(c ledger.Change) {
	g.t.Helper()
	require.NoError(g.t, g.Store().Commit(context.Background(), c))
}

// callOf is a call of a model in a session.
func callOf(r sessions.Record, run sessions.RunID, level flow.Level, at time.Time) spending.Call {
	return spending.Call{
		ID: uuid.NewString(), Origin: spending.Origin{Run: run, Session: r.ID, Agent: "main", Person: marker, Job: marker}, Provider: marker, Key: marker, Model: marker, Level: level,
		Started: at, Outcome: spending.OutcomeOK, Amount: spending.Amount{Usage: sessions.Usage{InputTokens: 7}}, Cost: spending.One, Currency: "USD", Priced: true,
	}
}

// plant puts one of each thing with a label into a session.
func (g *gateway) plant(r sessions.Record, level flow.Level) things {
	g.t.Helper()
	label, now := flow.NewLabel(level, flow.Trusted), time.Now()
	route := sessions.Route{Channel: "webchat", Account: "default", ChatType: sessions.Direct, Conversation: "local"}
	o := things{session: r}
	o.run = sessions.Run{
		ID: sessions.NewRunID(), Session: r.ID, Kind: sessions.KindMessage, Status: sessions.RunDone, Input: sessions.Input{Text: marker}, Reply: marker,
		Route: route, Label: label, EventKey: uuid.NewString(), Accepted: now, Finished: now,
	}
	o.media = ledger.Media{ID: sessions.MediaID("med_" + strings.ReplaceAll(uuid.NewString(), "-", "")), Session: r.ID, Name: marker, MIME: "text/plain", Content: []byte(marker), Label: label, Created: now}
	o.delivery = ledger.Delivery{
		ID: ledger.NewDeliveryID(), Lane: route.Lane(), Kind: ledger.KindMessage, Route: route, Text: marker, Label: label, Session: r.ID,
		Status: ledger.DeliveryFailed, Created: now, Expires: now.Add(time.Hour), Files: []sessions.MediaID{o.media.ID},
	}
	shown := o.delivery // in the session's history
	shown.ID, shown.Status, shown.Files, shown.Finished = ledger.NewDeliveryID(), ledger.DeliverySent, nil, now
	o.exchange = ledger.Exchange{Revision: 1, First: o.run.ID, Run: o.run.ID, Label: label, Chain: sessions.Chain{ID: "chn_1", Hops: []sessions.ID{r.ID}}}
	o.exchange.Exchange = announce.Exchange{
		ID: exchange.NewID(), Kind: announce.Send, Request: marker, Phase: announce.Ended, Started: now, Ended: now,
		Requester: announce.Party{Session: r.ID, Key: r.Key, Agent: "main"}, Target: announce.Party{Session: r.ID, Key: r.Key, Agent: "main"},
	}
	o.approval = ledger.Approval{
		ID: ledger.ApprovalID("apr_" + uuid.NewString()[:8]), Session: r.ID, Run: o.run.ID, Agent: "main", Tool: marker, Args: json.RawMessage(`{}`),
		Label: label, Status: ledger.ApprovalPending, Created: now, Expires: now.Add(time.Hour),
	}
	code := strings.ToUpper(uuid.NewString()[:8])
	o.pairing = ledger.Pairing{Channel: "webchat", Account: "default", User: sessions.Peer{ID: sessions.UserID(code), Name: marker}, Conversation: "x", Code: code, Status: ledger.PairingPending, Created: now, Expires: now.Add(time.Hour)}
	o.request = ledger.HookRequest{ID: uuid.NewString(), Hook: "ci", Label: label.Join(r.Taint), Received: now, Payload: []byte(`"` + marker + `"`), HookDetail: ledger.HookDetail{Type: "application/json", Headers: map[string]string{"a": marker}}}
	o.request.Key = "hook/ci/" + o.request.ID
	request := ledger.Trigger{Key: o.request.Key, Revision: 1, Source: ledger.TriggerHook, Subject: "ci", Status: ledger.TriggerOK, Label: label, Created: now, Ended: now}
	request.Session, request.Run, request.Why = r.ID, o.run.ID, marker
	message := sessions.Message{ID: sessions.NewMessageID(), Parent: r.Head, Run: o.run.ID, Role: sessions.RoleUser, Label: label, Created: now, Parts: []sessions.Part{sessions.TextPart(marker, label)}}
	r.Head = message.ID
	o.job = ledger.Job{
		Origin: ledger.JobMade, ID: "j-" + uuid.NewString()[:8], Revision: 1, Label: label.Join(r.Taint), Session: r.ID, Created: now, Changed: now,
		JobDetail: ledger.JobDetail{Object: json.RawMessage(`{"every":"1h","text":"` + marker + `"}`), Paused: true, Maker: marker},
	}
	instant := ledger.Trigger{
		Key: "cron/" + o.job.ID + "/x", Revision: 1, Source: ledger.TriggerCron, Subject: o.job.ID, Status: ledger.TriggerOK, Label: o.job.Label, Created: now, Ended: now,
		TriggerDetail: ledger.TriggerDetail{Why: marker},
	}
	o.alert = alert.Alert{
		Key: uuid.NewString(), Revision: 1, Status: alert.Firing, Severity: alert.Error, Source: marker, Label: label.Join(r.Taint), Started: now.Truncate(time.Microsecond), Updated: now.Truncate(time.Microsecond),
		Detail: alert.Detail{Title: marker, Text: marker, Labels: map[string]string{"a": marker}, Occurrences: 1},
	}
	o.silence = alert.Silence{
		ID: uuid.NewString(), Revision: 1, Starts: now, Ends: now.Add(time.Hour), Updated: now, Label: o.alert.Label,
		SilenceDetail: alert.SilenceDetail{Author: marker, Comment: marker, Matchers: []alert.Matcher{{Name: "nothing", Value: marker, IsEqual: true}}},
	}
	o.group = alert.Group{
		Key: uuid.NewString(), Revision: 1, Open: true, Due: now.Add(time.Hour), Earliest: now.Add(time.Hour), Label: flow.Bottom(), Created: now,
		GroupDetail: alert.GroupDetail{Route: "0", Receiver: marker, Labels: map[string]string{"a": marker}},
	}
	g.store(ledger.Change{
		AlertChange: ledger.AlertChange{
			Alerts: []alert.Alert{o.alert}, Silences: []alert.Silence{o.silence},
			AlertTouches: []alert.Touch{{Group: o.group, Alert: o.alert.Key, Due: o.group.Due}},
		},
		Jobs: []ledger.Job{o.job}, Media: []ledger.Media{o.media}, Deliver: []ledger.Delivery{o.delivery, shown}, Exchanges: []ledger.Exchange{o.exchange}, Ask: []ledger.Approval{o.approval}, Pairings: []ledger.Pairing{o.pairing},
		HookRequests: []ledger.HookRequest{o.request}, Triggers: []ledger.Trigger{request, instant},
		Change: sessions.Change{
			Save: []sessions.Record{r}, Messages: []sessions.StoredMessage{{Session: r.ID, Message: message}}, Enqueue: []sessions.Run{o.run},
			Audit:    []sessions.AuditEntry{{At: now, Actor: marker, Action: "a", Object: marker, Session: r.ID, Label: label}},
			Postings: []*spending.Posting{{Call: callOf(r, o.run.ID, level, now)}},
		},
	})
	o.memory = sessions.Memory{
		ID: sessions.NewMemoryID(), Namespace: "main", Audience: sessions.AudienceOwner, Label: label.Join(r.Taint), Key: marker + uuid.NewString(), Content: marker, Tags: []string{"t"},
		Session: r.ID, Created: now, Updated: now,
	}
	require.NoError(g.t, g.Store().SaveMemory(context.Background(), sessions.MemorySave{Memory: o.memory, MaxEntries: 100_000, MaxBytes: 1 << 30}))
	o.session = g.record(r.ID)
	return o
}

func (g *gateway) record(id sessions.ID) sessions.Record {
	g.t.Helper()
	r, err := g.Store().Session(context.Background(), id)
	require.NoError(g.t, err)
	return r
}

// plantFile puts a file into a session's folder.
func (g *gateway) plantFile(r sessions.Record) {
	g.t.Helper()
	folder, err := g.Folder(r)
	require.NoError(g.t, err)
	require.NoError(g.t, os.WriteFile(filepath.Join(folder, "a.txt"), []byte(marker), 0o600))
}

// answered is all of an answer that its caller can tell from another.
type answered struct {
	Status int
	Header http.Header
	Body   string
}

// ask makes a request with the token of a level. Of a stream it takes the beginning.
func (g *gateway) ask(as flow.Level, method, path, body string, headers ...string) answered {
	g.t.Helper()
	resp := g.call(method, path, body, append([]string{"Authorization", "Bearer " + as.String()}, headers...)...)
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	var text []byte
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		text = make([]byte, len("retry: 1000"))
		_, err := io.ReadFull(resp.Body, text)
		require.NoError(g.t, err)
	} else {
		var err error
		text, err = io.ReadAll(resp.Body)
		require.NoError(g.t, err)
	}
	resp.Header.Del("Date")
	a := answered{resp.StatusCode, resp.Header, string(text)}
	return a
}

var (
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT([0-9:.]|%3A)+(Z|[+-]\d\d:\d\d)|"(created|created_at|last_activity|modified)\\?":[0-9.e+]+|\b1[5-9]\d{11}\b|\d+ [A-Z][a-z]{2} \d\d:\d\d UTC|"uptime":"[^"]*"|"runtime_ms":\d+|_runtime [0-9.a-zµ]+`)
	spans = regexp.MustCompile(`,"(waited|took)_ms":\d+`) // left out below a millisecond
	names = regexp.MustCompile(`\b(sess|run|dlv|xch|chn|med|mem|apr|msg|call|resp|fc|chatcmpl)[-_][0-9a-f]{8,}(_[0-9a-f]{8})?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|\b\d{16}-[0-9a-f]{16}\b`)
)

// normal is an answer without what differs of itself: times, and names, which are numbered as they appear.
func (n *naming) normal(a answered) answered {
	header := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(a.Header)) { // in one order, for the numbers of names
		if slices.Contains([]string{"Content-Length", "Etag", "Last-Modified"}, name) {
			continue // as long as its times, and made of them
		}
		for _, v := range a.Header[name] {
			header.Add(name, n.text(v))
		}
	}
	return answered{a.Status, header, n.text(a.Body)}
}

// naming numbers names in the order in which they appear.
type naming struct{ seen map[string]string }

func (n *naming) text(s string) string {
	if n.seen == nil {
		n.seen = map[string]string{}
	}
	s = times.ReplaceAllString(spans.ReplaceAllString(s, ""), "<time>")
	return names.ReplaceAllStringFunc(s, func(name string) string {
		if _, ok := n.seen[name]; !ok {
			n.seen[name] = fmt.Sprintf("<name %d>", len(n.seen))
		}
		return n.seen[name]
	})
}

// normalOfBoth is two answers to one request, without what differs of itself and without what is the same, byte for byte,
// at the same place in both: the request is made thousands of times, and regular expressions are slow.
func normalOfBoth(one, other answered) (answered, answered) {
	ones, others := strings.Split(one.Body, ","), strings.Split(other.Body, ",")
	if len(ones) != len(others) {
		return one, other // no time and no name has a comma
	}
	var mine, theirs []string
	for i, part := range ones {
		if part != others[i] {
			mine, theirs = append(mine, part), append(theirs, others[i])
		}
	}
	one.Body, other.Body = strings.Join(mine, ","), strings.Join(theirs, ",")
	return (&naming{}).normal(one), (&naming{}).normal(other)
}

// sessionOf is the change that makes a session.
func sessionOf(r sessions.Record) ledger.Change {
	return ledger.Change{Change: sessions.Change{Create: []sessions.Record{r}}}
}

// frames are those of a stream of events, until it ends or is not read on.
func frames(body io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		lines := bufio.NewScanner(body)
		for frame := ""; lines.Scan(); {
			if lines.Text() != "" {
				frame += lines.Text() + "\n"
				continue
			}
			if !yield(frame) {
				return
			}
			frame = ""
		}
	}
}

// fieldOf is a field of a frame; empty if it has none.
func fieldOf(frame, name string) string {
	for line := range strings.Lines(frame) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}
