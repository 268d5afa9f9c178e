package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/alert"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/operator"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// The slashes of a job's id need no escaping.
func TestWhyTakesAnIDWithSlashes(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	trigger := ledger.Trigger{Key: "cron/brief/x", Revision: 1, Source: ledger.TriggerCron, Subject: "brief", Status: ledger.TriggerOK, Label: flow.Bottom(), Created: clock, Ended: clock}
	require.NoError(t, a.db.Commit(t.Context(), ledger.Change{Triggers: []ledger.Trigger{trigger}}))
	escaped := call(a.http, "GET", "/v1/why/cron%2Fbrief%2Fx", "")
	require.Equal(t, http.StatusOK, escaped.Code, escaped.Body)
	require.Equal(t, escaped.Body.String(), call(a.http, "GET", "/v1/why/cron/brief/x", "").Body.String())
	for _, path := range []string{"cron/other", "cron/brief/x/", "cron/%2e%2e/x", "a/b/c/d"} {
		require.Equal(t, http.StatusNotFound, call(a.http, "GET", "/v1/why/"+path, "").Code, path)
	}
	require.Equal(t, http.StatusUnauthorized, call(a.http, "GET", "/v1/why/cron/brief/x", "", "Authorization: Bearer nobody").Code)
}

// Every delivery and run of every status is explained, each step with a text, and hidden ones look missing.
func TestWhyExplainsEveryStatus(t *testing.T) {
	t.Parallel()
	h := busyDay(t)
	for i := range 28 {
		for _, kind := range []string{"dlv", "run"} {
			path := fmt.Sprintf("/v1/why/%s_%d", kind, i)
			w := call(h, "GET", path, "")
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			var got struct {
				Kind, Status, Answer string
				Steps                []struct{ Step, State, Text string }
				Links                map[string]string
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.NotEmpty(t, got.Answer)
			require.Equal(t, "sluice why "+fmt.Sprintf("%s_%d", kind, i), got.Links["cli"])
			var names []string
			for _, s := range got.Steps {
				require.NotEmpty(t, s.Text)
				names = append(names, s.Step)
			}
			require.Subset(t, names, []string{"heard", "session", "waited", "run", "gate", "sent"}, path)
			want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[i%2 == 1]
			require.Equal(t, want, call(h, "GET", path, "", "Authorization: Bearer low").Code, path)
		}
	}
	require.Equal(t, http.StatusNotFound, call(h, "GET", "/v1/why/dlv_99", "").Code)
	require.Equal(t, http.StatusNotFound, call(h, "GET", "/v1/why/anything", "").Code)
	require.Equal(t, http.StatusForbidden, call(h, "GET", "/v1/refused", "", "Authorization: Bearer low").Code)
	require.JSONEq(t, `{"refused":[]}`, call(h, "GET", "/v1/refused", "").Body.String())
}

// explained is an explanation as far as tests look at it.
type explained struct {
	Kind, Status, Title, Answer string
	Change                      []struct{ Text, Command string }
	Steps                       []struct {
		Step, State, Text string
		Object            *struct{ ID string }
		Facts             []struct{ Value string }
	}
	Links struct{ Page, API, CLI string }
}

// texts are what the steps say.
func (e *explained) texts() (all []string) {
	for _, s := range e.Steps {
		all = append(all, s.Text)
	}
	return all
}

// states are the steps of an explanation with their states.
func (e *explained) states() (all []string) {
	for _, s := range e.Steps {
		all = append(all, s.Step+" "+s.State)
	}
	return all
}

func (a alerting) why(id string, headers ...string) (int, explained) {
	a.Helper()
	w := call(a.http, "GET", "/v1/why/"+url.PathEscape(id), "", headers...)
	var got explained
	if w.Code == http.StatusOK {
		require.NoError(a, json.Unmarshal(w.Body.Bytes(), &got))
	}
	return w.Code, got
}

// Questions, causes, exchanges, alerts and refusals are explained to whoever may know of them, and are missing for others.
func TestWhyExplainsEveryKind(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	secret := flow.NewLabel(flow.Confidential, flow.Trusted)
	session := sessions.Record{ID: "sess_000000000001", Key: "agent:main:http:1", Agent: "main", Taint: secret, Clearance: flow.Restricted, Created: clock, LastActivity: clock}
	run := sessions.Run{ID: "run_1", Session: session.ID, Kind: sessions.KindMessage, Status: sessions.RunDone, Label: secret, Accepted: clock, Started: clock, Finished: clock, Reply: "done"}
	held := ledger.Delivery{
		ID: "dlv_1", Kind: ledger.KindReply, Session: session.ID, Run: run.ID, Label: secret, Lane: "l", Route: sessions.Route{Channel: "telegram", Account: "default", Conversation: "7"},
		Text: "x", Status: ledger.DeliveryBlocked, Created: clock, Expires: clock.Add(time.Hour), Decision: &policy.Decision{Action: policy.Hold, Reason: "a rule asks"},
	}
	sent := held
	sent.ID, sent.Status = "dlv_2", ledger.DeliverySent
	about := ledger.Approval{ID: "apr_msg", Session: session.ID, Run: run.ID, Delivery: held.ID, Agent: "main", Label: secret, Status: ledger.ApprovalDenied, By: "telegram:1", Why: "a rule asks", Created: clock, Expires: clock.Add(time.Hour), Decided: clock}
	tool := ledger.Approval{ID: "apr_tool", Session: session.ID, Run: run.ID, Agent: "main", Tool: "exec", Args: json.RawMessage(`{}`), Label: secret, Status: ledger.ApprovalPending, Why: "it runs a command", Created: clock, Expires: clock.Add(time.Hour)}
	tool.Terms.Approvers = [][]string{{"test:eve"}, {}}
	ok := ledger.Trigger{Key: "cron/brief/x", Revision: 1, Source: ledger.TriggerCron, Subject: "brief", Status: ledger.TriggerOK, Label: secret, Created: clock, Ended: clock}
	ok.Plan, ok.Instant, ok.Run, ok.Session, ok.Sends = "|2m||Europe/Berlin|0s", clock, run.ID, session.ID, []ledger.TriggerSend{{Target: "ops", Delivery: sent.ID, At: clock, Received: true}, {Target: "gone", Error: "no such chat", At: clock}}
	waiting := ledger.Trigger{Key: "cron/brief/y", Revision: 1, Source: ledger.TriggerCron, Subject: "brief", Status: ledger.TriggerWaiting, Label: secret, Created: clock}
	lost := ledger.Trigger{Key: "hook/ci/1", Revision: 1, Source: ledger.TriggerHook, Subject: "ci", Status: ledger.TriggerFiltered, Label: secret, Created: clock, Ended: clock}
	exchange := ledger.Exchange{Revision: 1, First: run.ID, Run: run.ID, Label: secret}
	exchange.Exchange = announce.Exchange{
		ID: "xch_1", Kind: announce.Send, Phase: announce.Ended, Outcome: announce.Announced, Started: clock, Ended: clock, MaxTurns: 3,
		Requester: announce.Party{Session: session.ID, Key: session.Key, Agent: "main"}, Target: announce.Party{Session: session.ID, Key: session.Key, Agent: "main"},
	}
	require.NoError(t, a.db.Commit(t.Context(), ledger.Change{
		Deliver: []ledger.Delivery{held, sent}, Ask: []ledger.Approval{about, tool}, Triggers: []ledger.Trigger{ok, waiting, lost}, Exchanges: []ledger.Exchange{exchange},
		Change: sessions.Change{Create: []sessions.Record{session}, Enqueue: []sessions.Run{run}},
	}))
	route := sessions.Route{Channel: "telegram", Account: "default", Conversation: "9"}
	refused := ledger.Refusal{ID: ledger.RefusalIDOf(route, "5"), Channel: "telegram", Account: "default", Chat: "9", User: sessions.Peer{ID: "5"}, Reason: "dmPolicy is disabled", Level: flow.Confidential, Count: 2, First: clock, Last: clock}
	require.NoError(t, a.db.SaveRefusals(t.Context(), []ledger.Refusal{refused}))
	a.ask(http.StatusAccepted, "POST", "/v1/alerts", `{"key":"disk","title":"The disk is full","severity":"critical","label":"CONFIDENTIAL"}`)
	memory := func(id, key string, run sessions.RunID) sessions.Memory {
		return sessions.Memory{ID: sessions.MemoryID(id), Namespace: "main", Audience: sessions.AudienceOwner, Label: secret, Key: key, Content: "x", Run: run, Updated: clock}
	}
	byToken := []sessions.AuditEntry{{At: clock, Actor: "token:ci", Action: "memory.save", Object: "mem_token", Label: secret}}
	for m, audit := range map[string][]sessions.AuditEntry{"mem_run": nil, "mem_token": byToken, "mem_nobody": nil} {
		one := memory(m, "of "+m, map[string]sessions.RunID{"mem_run": run.ID}[m])
		require.NoError(t, a.db.SaveMemory(t.Context(), sessions.MemorySave{Memory: one, MaxEntries: 10, MaxBytes: 10_000, Audit: audit}))
	}
	var note ledger.Change
	note.AlertNotes = []alert.Note{{
		Key: "alert/g/ops/1", Group: a.group("disk"), Target: "ops", Sequence: 1, Reason: alert.First, Status: alert.NoteWaiting, Label: secret, Created: clock,
		NoteDetail: alert.NoteDetail{Alerts: []string{"disk"}, Step: 1, Why: "the target's budget is used up"},
	}}
	require.NoError(t, a.db.Commit(t.Context(), note))

	for id, want := range map[string]struct {
		kind, status, answer string
		steps                []string
	}{
		"apr_msg":         {"approval", "denied", "a rule asks", []string{"run ok", "asked stopped", "gate waits", "sent stopped"}},
		"apr_tool":        {"approval", "pending", "it runs a command It waits for a decision", []string{"run ok", "asked waits"}},
		"cron/brief/x":    {"trigger", "ok", "Its status is ok.", []string{"heard ok", "run ok", "sent ok", "sent failed", "ended ok"}},
		"cron/brief/y":    {"trigger", "waiting", "Its status is waiting.", []string{"heard ok", "ended waits"}},
		"hook/ci/1":       {"trigger", "filtered", "Its status is filtered.", []string{"heard ok", "ended stopped"}},
		"xch_1":           {"exchange", "announced", "It has ended", []string{"heard ok", "run ok", "ended ok"}},
		"disk":            {"alert", "firing", "nobody has acknowledged it", []string{"heard ok", "sent waits"}},
		alert.Ref("disk"): {"alert", "firing", "nobody has acknowledged it", []string{"heard ok", "sent waits"}},
		"mem_run":         {"memory", "current", "The agent saved it in the run run_1.", []string{"run ok"}},
		"mem_token":       {"memory", "current", "with the token ci", []string{"recorded ok"}},
		"mem_nobody":      {"memory", "current", "Who saved it is not recorded.", []string{"recorded not_recorded"}},
		refused.ID:        {"refusal", "ignored", "dmPolicy is disabled", []string{"heard stopped", "sent not_recorded"}},
	} {
		code, got := a.why(id)
		require.Equal(t, http.StatusOK, code, id)
		require.Equal(t, []string{want.kind, want.status}, []string{got.Kind, got.Status}, id)
		require.Contains(t, got.Answer, want.answer, id)
		require.Subset(t, got.states(), want.steps, id)
		for _, s := range got.Steps {
			require.NotContains(t, s.Text, "|", "no stored form of a schedule")
		}
		code, _ = a.why(id, asShift)
		require.Equal(t, http.StatusNotFound, code, "%s is above the caller", id)
	}
	_, got := a.why("cron/brief/x")
	require.Equal(t, []string{"/why/cron%2Fbrief%2Fx", "/v1/why/cron%2Fbrief%2Fx", "sluice why cron/brief/x"}, []string{got.Links.Page, got.Links.API, got.Links.CLI})
	_, got = a.why("apr_tool")
	require.Equal(t, "sluice approvals allow apr_tool", got.Change[0].Command)
	require.Contains(t, got.Steps[len(got.Steps)-1].Facts, struct{ Value string }{"test:eve; and of these only to the owners"}, "who may decide")
	_, got = a.why("apr_msg")
	require.Empty(t, got.Change, "it is decided")
}

// People read little about why a run failed. The reason is in the trail, and Why says it to whoever may know it.
func TestWhySaysTheReasonOfAFailure(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	open, secret := flow.Bottom(), flow.NewLabel(flow.Confidential, flow.Trusted)
	session := sessions.Record{ID: "sess_000000000001", Key: "agent:main:http:1", Agent: "main", Taint: open, Clearance: flow.Restricted, Created: clock, LastActivity: clock}
	run := sessions.Run{ID: "run_1", Session: session.ID, Kind: sessions.KindMessage, Status: sessions.RunFailed, Label: open, Accepted: clock, Started: clock, Finished: clock.Add(time.Minute), Error: "The program failed."}
	together, other := run, run
	together.ID, together.Leader, other.ID = "run_2", "run_1", "run_3"
	change := ledger.Change{Change: sessions.Change{Create: []sessions.Record{session}, Enqueue: []sessions.Run{run, together, other}}}
	for id, label := range map[string]flow.Label{"run_1": open, "run_3": secret} {
		change.Audit = append(change.Audit, sessions.AuditEntry{
			At: clock.Add(time.Minute), Actor: "agent:main", Action: "run.failed", Object: id, Session: session.ID, Label: label, Detail: map[string]string{"error": "it exited with code 3"},
		})
	}
	require.NoError(t, a.db.Commit(t.Context(), change))
	for _, tc := range []struct{ id, as, want string }{
		{"run_1", "", "it exited with code 3"},
		{"run_1", asShift, "it exited with code 3"},
		{"run_2", "", "it exited with code 3"},
		{"run_3", "", "it exited with code 3"},
		{"run_3", asShift, "The program failed."},
	} {
		code, got := a.why(tc.id, tc.as)
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, tc.want, got.Answer, "%s %s", tc.id, tc.as)
	}
}

// The message of an alert is explained by the alert, who was notified and why, as far as the caller may know.
func TestWhyExplainsTheMessageOfAnAlert(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	secret := flow.NewLabel(flow.Confidential, flow.Trusted)
	a.ask(http.StatusAccepted, "POST", "/v1/alerts", `{"key":"disk","title":"The disk is full","severity":"critical","label":"CONFIDENTIAL"}`)
	var change ledger.Change
	send := func(id ledger.DeliveryID, target string, label flow.Label, note alert.Note) {
		d := ledger.Delivery{ID: id, Kind: ledger.KindMessage, Label: label, Lane: "l", Route: sessions.Route{Channel: "slack", Account: "default", Conversation: "C1"}, Text: "x", Status: ledger.DeliverySent, Created: clock, Expires: clock.Add(time.Hour)}
		change.Deliver = append(change.Deliver, d)
		note.Key, note.Group, note.Target, note.Status, note.Delivery, note.Label, note.Created = string(id), a.group("disk"), target, alert.NoteQueued, string(id), secret, clock.Add(-time.Second)
		note.Alerts = append([]string{"disk"}, note.Alerts...)
		change.AlertNotes = append(change.AlertNotes, note)
	}
	plain := flow.NewLabel(flow.Public, flow.Trusted)
	send("dlv_first", "ops", secret, alert.Note{Reason: alert.First})
	send("dlv_again", "ops", secret, alert.Note{Reason: alert.Escalation, NoteDetail: alert.NoteDetail{Step: 2}})
	send("dlv_edit", "ops", secret, alert.Note{NoteDetail: alert.NoteDetail{Edits: true}})
	send("dlv_digest", "ops", secret, alert.Note{NoteDetail: alert.NoteDetail{Alerts: []string{"gone", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}}})
	send("dlv_withheld", "ops", plain, alert.Note{Reason: alert.First, NoteDetail: alert.NoteDetail{Withheld: true}})
	require.NoError(t, a.db.Commit(t.Context(), change))
	about := `The alert "The disk is full" (critical) was reported by `
	for id, want := range map[string][]string{
		"dlv_first":  {"ops was notified: it is the first message", "oncall"},
		"dlv_again":  {"ops was notified: nobody has acknowledged the alert in time", "oncall", "2"},
		"dlv_edit":   {"ops was notified: what the message shows has changed", "oncall"},
		"dlv_digest": {"ops was notified: quiet hours or the target's limit", "oncall", "2"},
	} {
		code, got := a.why(id)
		require.Equal(t, http.StatusOK, code, id)
		require.Contains(t, got.Steps[0].Text, about, id)
		require.Equal(t, "disk", got.Steps[0].Object.ID, id)
		require.Equal(t, []struct{ Value string }{{"disk"}, {alert.Ref("disk")}}, got.Steps[0].Facts, id)
		told := got.Steps[slices.IndexFunc(got.texts(), func(text string) bool { return strings.HasPrefix(text, "ops was") })]
		require.Contains(t, told.Text, want[0], id)
		require.Len(t, told.Facts, len(want)-1, id)
		for i, f := range told.Facts {
			require.Equal(t, want[i+1], f.Value, id)
		}
		require.NotContains(t, strings.Join(got.texts(), " "), "Who caused it", id)
	}
	_, got := a.why("dlv_digest")
	require.Equal(t, "The alert can't be shown any more.", got.Steps[1].Text)
	code, got := a.why("dlv_withheld", asShift)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "It is about an alert that you may not see.", got.Steps[0].Text)
	require.NotContains(t, strings.Join(got.texts(), " "), "disk")
	code, _ = a.why("dlv_first", asShift)
	require.Equal(t, http.StatusNotFound, code)
}

// The message below an alert's message, and the attempts whose response was lost, lead to what caused them.
func TestWhyExplainsWhatBelongsToAMessage(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	a.ask(http.StatusAccepted, "POST", "/v1/alerts", `{"key":"disk","title":"The disk is full","severity":"critical"}`)
	label := flow.NewLabel(flow.Public, flow.Trusted)
	message := func(id ledger.DeliveryID, status ledger.DeliveryStatus) ledger.Delivery {
		return ledger.Delivery{ID: id, Kind: ledger.KindMessage, Label: label, Lane: "l", Route: sessions.Route{Channel: "slack", Account: "default", Conversation: "C1"}, Text: "x", Status: status, Created: clock, Expires: clock.Add(time.Hour)}
	}
	edit, over, lost := message("dlv_edit", ledger.DeliverySent), message("dlv_over", ledger.DeliverySent), message("dlv_lost", ledger.DeliveryUnknown)
	over.Idempotency, edit.ResendOf = alert.OverKey("dlv_edit"), lost.ID
	entry := func(action string, of ledger.DeliveryID, actor, detail string, minute int) sessions.AuditEntry {
		return sessions.AuditEntry{At: clock.Add(time.Duration(minute) * time.Minute), Actor: actor, Action: action, Object: string(of), Label: label, Detail: json.RawMessage(detail)}
	}
	change := ledger.Change{Deliver: []ledger.Delivery{lost, edit, over}}
	change.AlertNotes = []alert.Note{{
		Key: "n", Group: a.group("disk"), Target: "ops", Reason: alert.AllResolved, Status: alert.NoteQueued, Delivery: "dlv_edit", Label: label, Created: clock,
		NoteDetail: alert.NoteDetail{Alerts: []string{"disk"}},
	}}
	change.Audit = []sessions.AuditEntry{
		entry("delivery.unknown", lost.ID, "gateway", `{"error":"no response","again":"dlv_edit"}`, 1),
		entry("delivery.retry", edit.ID, "operator", `{}`, 2),
	}
	require.NoError(t, a.db.Commit(t.Context(), change))
	about := `The alert "The disk is full" (critical) was reported by api.`
	lostText := "The response to an earlier attempt was lost, so that message may have arrived. This delivery repeats it, as channels.slack.onUnknown says."
	for id, want := range map[string][]string{
		"dlv_over": {about, "ops was notified below the message: all alerts of the group are over.", "The platform has accepted it."},
		"dlv_edit": {
			about, "ops was notified: all alerts of the group are over.", lostText,
			"It was queued again, as requested. It was done with the gateway's own token, over the HTTP API: by the page, the command line or a program.", "The platform has accepted it.",
		},
		"dlv_lost": {
			about, "ops was notified: all alerts of the group are over.",
			"The response was lost, so the message may have arrived. Another delivery repeats it, as channels.slack.onUnknown says.",
		},
	} {
		code, got := a.why(id)
		require.Equal(t, http.StatusOK, code, id)
		for _, text := range want {
			require.Contains(t, got.texts(), text, id)
		}
	}
	_, got := a.why("dlv_lost")
	again := got.Steps[slices.IndexFunc(got.texts(), func(text string) bool { return strings.HasPrefix(text, "The response was lost") })]
	require.Equal(t, "dlv_edit", again.Object.ID)
}

// The reason of a delivery's state is said once, and only what a platform said is called that.
func TestWhySaysEachReasonOnce(t *testing.T) {
	t.Parallel()
	a := newAlerting(t)
	message := func(id ledger.DeliveryID, status ledger.DeliveryStatus, reason string) ledger.Delivery {
		return ledger.Delivery{
			ID: id, Kind: ledger.KindMessage, Label: flow.NewLabel(flow.Public, flow.Trusted), Lane: "l", Route: sessions.Route{Channel: "slack", Account: "default", Conversation: "C1"},
			Text: "x", Status: status, LastError: reason, Decision: &policy.Decision{Action: policy.Hold, Reason: "rule look applies"}, Created: clock, Expires: clock.Add(time.Hour),
		}
	}
	require.NoError(t, a.db.Commit(t.Context(), ledger.Change{Deliver: []ledger.Delivery{
		message("dlv_held", ledger.DeliveryHeld, "rule look applies"),
		message("dlv_lost", ledger.DeliveryUnknown, "it is unknown whether it arrived: no response"),
		message("dlv_denied", ledger.DeliveryBlocked, "not now"),
	}}))
	for id, want := range map[string][]string{
		"dlv_held":   {"A person has to allow it: rule look applies"},
		"dlv_lost":   {"It is unknown whether it arrived: no response"},
		"dlv_denied": {"It was blocked: rule look applies", "not now"},
	} {
		code, got := a.why(id)
		require.Equal(t, http.StatusOK, code, id)
		last := got.Steps[len(got.Steps)-1]
		said := []string{last.Text}
		for _, f := range last.Facts {
			said = append(said, f.Value)
		}
		require.Equal(t, want, said, id)
	}
}

// stored are the jobs of a test.
type stored struct {
	operator.Jobs
	rows map[string]jobs.Job
	db   *store.DB
}

func (s stored) Get(_ context.Context, id string) (jobs.Job, error) {
	if j, known := s.rows[id]; known {
		return j, nil
	}
	return jobs.Job{}, sessions.ErrNotFound
}

func (s stored) History(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error) {
	q.Source = ledger.TriggerCron
	return s.db.ListTriggers(ctx, q)
}

// A job is explained by who made and changed it, what its latest time has caused, and when it is due next.
func TestWhyExplainsJobs(t *testing.T) {
	t.Parallel()
	made := func(id string, level flow.Level) jobs.Job {
		j := jobs.Job{Row: ledger.Job{Label: flow.NewLabel(level, flow.Trusted), Created: clock, JobDetail: ledger.JobDetail{Maker: "telegram:1001", By: "operator"}}}
		j.ID, j.Made, j.When = id, true, "every day"
		return j
	}
	brief, paused, faulty, ended, secret, vault := made("brief", flow.Public), made("paused", flow.Public), made("faulty", flow.Public), made("ended", flow.Public), made("secret", flow.Confidential), made("vault", flow.Public)
	brief.Next, paused.Row.Paused, faulty.Fault, secret.Next, vault.Next = clock.Add(time.Hour), true, "its target is gone", clock.Add(time.Hour), clock.Add(time.Hour)
	vault.Deliver.To = []ledger.TriggerTarget{{Name: "v", Channel: "telegram", To: "1"}}
	file := jobs.Job{Place: "cron.jobs[0]", Next: clock.Add(time.Hour)}
	file.ID = "file"
	a := newAlerting(t, func(c *httpapi.Config, db *store.DB) {
		c.Gateway.Jobs = stored{db: db, rows: map[string]jobs.Job{"brief": brief, "paused": paused, "faulty": faulty, "ended": ended, "secret": secret, "vault": vault, "file": file}}
	})
	time1 := ledger.Trigger{Key: "cron/brief/1", Revision: 1, Source: ledger.TriggerCron, Subject: "brief", Status: ledger.TriggerMissed, Label: flow.Bottom(), Created: clock, Ended: clock}
	time1.Why = "the gateway was not running at that time"
	next, told := time1, time1
	next.Key, next.Status, next.Ended, next.Why = "cron/brief/2", ledger.TriggerWaiting, time.Time{}, ""
	told.Key, told.Subject, told.Deliver = "cron/vault/1", "vault", vault.Deliver
	require.NoError(t, a.db.Commit(t.Context(), ledger.Change{
		Triggers: []ledger.Trigger{time1, next, told},
		Change: sessions.Change{Audit: []sessions.AuditEntry{
			{At: clock, Actor: "telegram:1001", Action: "cron.add", Object: "brief", Label: flow.Bottom()},
			{At: clock.Add(time.Minute), Actor: "operator", Action: "cron.pause", Object: "brief", Label: flow.Bottom()},
			{At: clock.Add(time.Minute), Actor: "operator", Action: "cron.update", Object: "brief", Label: flow.Top()},
			{At: clock, Actor: "operator", Action: "skill.remove", Object: "brief", Label: flow.Bottom()},
		}},
	}))
	for id, want := range map[string]struct {
		status, answer string
		steps          []string
		change         string
	}{
		"brief":  {"active", "It is due next at 2026-", []string{"heard ok", "recorded ok", "recorded ok", "recorded ok", "heard ok", "ended stopped", "waited waits"}, "sluice cron pause brief"},
		"paused": {"paused", "The last change was made by operator", []string{"heard ok", "waited stopped"}, "sluice cron resume paused"},
		"faulty": {"faulty", "its target is gone", []string{"heard ok", "waited failed"}, ""},
		"ended":  {"ended", "no next time", []string{"heard ok", "waited ok"}, ""},
		"file":   {"active", "It is due next", []string{"heard ok", "waited waits"}, "sluice cron pause file"},
	} {
		code, got := a.why("cron/" + id)
		require.Equal(t, http.StatusOK, code, id)
		require.Equal(t, []string{"job", want.status, "job " + id}, []string{got.Kind, got.Status, got.Title})
		require.Contains(t, got.Answer, want.answer)
		require.Equal(t, want.steps, got.states(), id)
		if want.change == "" {
			require.Empty(t, got.Change)
		} else {
			require.Equal(t, want.change, got.Change[0].Command)
		}
	}
	_, got := a.why("cron/brief", asShift)
	require.Equal(t, []string{"telegram:1001 created the job.", "cron.add brief, by telegram:1001", "cron.pause brief, by operator"}, got.texts()[:3], "an entry above the caller is left out")
	_, got = a.why("cron/brief/1")
	require.Equal(t, "the gateway was not running at that time", got.Answer)
	for _, id := range []string{"cron/secret", "cron/vault", "cron/vault/1", "cron/nothing"} {
		code, _ := a.why(id, asShift)
		require.Equal(t, http.StatusNotFound, code, id)
	}
}

// An entry of the audit trail is explained by what it is about. Above the caller it is missing.
func TestWhyExplainsAuditEntries(t *testing.T) {
	t.Parallel()
	job := jobs.Job{Place: "cron.jobs[0]", Next: clock.Add(time.Hour)}
	job.ID = "brief"
	a := newAlerting(t, func(c *httpapi.Config, db *store.DB) {
		c.Gateway.Jobs = stored{db: db, rows: map[string]jobs.Job{"brief": job}}
	})
	a.ask(http.StatusAccepted, "POST", "/v1/alerts", `{"key":"disk","title":"The disk is full","severity":"critical"}`)
	open := flow.Bottom()
	session := sessions.Record{ID: "sess_000000000001", Key: "agent:main:http:1", Agent: "main", Taint: open, Clearance: flow.Restricted, Created: clock, LastActivity: clock}
	run := sessions.Run{ID: "run_1", Session: session.ID, Kind: sessions.KindMessage, Status: sessions.RunDone, Label: open, Accepted: clock, Started: clock, Finished: clock.Add(time.Minute), Reply: "done"}
	hidden := run
	hidden.ID, hidden.Label = "run_2", flow.Top()
	held := ledger.Delivery{ID: "dlv_1", Kind: ledger.KindReply, Session: session.ID, Run: run.ID, Label: open, Lane: "l", Text: "x", Status: ledger.DeliveryBlocked, Created: clock.Add(time.Minute), Expires: clock.Add(time.Hour), Decision: &policy.Decision{Action: policy.Block, Reason: "a rule forbids it"}}
	answer := ledger.Delivery{ID: "dlv_answer", Kind: ledger.KindNotice, Route: sessions.Route{Channel: "telegram", ChatType: sessions.Direct, Conversation: "1001"}, Label: open, Lane: "l", Text: "x", Status: ledger.DeliverySent, Created: clock, Expires: clock.Add(time.Hour)}
	secret := answer
	secret.ID, secret.Label = "dlv_secret", flow.Top()
	type detail struct {
		Event    string           `json:"event,omitempty"`
		Answer   string           `json:"answer,omitempty"`
		Run      sessions.RunID   `json:"run,omitempty"`
		Key      string           `json:"key,omitempty"`
		Reason   string           `json:"reason,omitempty"`
		Decision *policy.Decision `json:"decision,omitempty"`
	}
	ruled := &policy.Decision{Action: policy.Block, Reason: "exec needs a person", Rules: []policy.CheckResult{{Rule: "no exec", Matched: true, Action: policy.Block}}}
	entries := []sessions.AuditEntry{
		{Actor: "agent:main", Action: "tool.block", Object: "exec", Session: session.ID, Detail: detail{Run: run.ID, Decision: ruled}},
		{Actor: "agent:main", Action: "tool.allow", Object: "web_fetch", Session: session.ID, Detail: detail{Run: hidden.ID, Decision: &policy.Decision{Action: policy.Allow}}},
		{Actor: "gateway", Action: "delivery.block", Object: "dlv_1", Session: session.ID, Detail: held.Decision},
		{Actor: "agent:main", Action: "model.block", Object: "p/m", Session: session.ID, Detail: detail{Run: run.ID, Reason: "the model may receive at most PUBLIC"}},
		{Actor: "operator", Action: "cron.pause", Object: "brief"},
		{Actor: "operator", Action: "alert.ack", Object: alert.Ref("disk"), Detail: detail{Key: "disk"}},
		{Actor: "operator", Action: "session.patch", Object: string(session.ID), Session: session.ID},
		{Actor: "operator", Action: "delivery.retry", Object: "dlv_gone"},
		{Actor: "operator", Action: "pairing.locked"},
		{Actor: "token:ada", Action: "session.learn", Object: "agent:main:http:1", Session: session.ID, Detail: json.RawMessage(`{"from":"PUBLIC/trusted","to":"INTERNAL/trusted"}`)},
		{Actor: "agent:main", Action: "run.failed", Object: "run_gone", Session: session.ID, Detail: json.RawMessage(`{"error":"the model does not answer"}`)},
		{Actor: "job:gone", Action: "cron.fired", Object: "cron/gone/1"},
		{Actor: "telegram:1001", Action: "pairing.request", Object: "1001"},
		{Actor: "hook:ci", Action: "message.send", Object: "dlv_gone"},
		{Actor: "proxy:ada", Action: "memory.delete", Object: "mem_gone"},
		{Actor: "gateway", Action: "audit.begin"},
		{Actor: "unknown", Action: "http.denied"},
		{Actor: "telegram:1001", Action: "session.sendPolicy", Object: "agent:main:http:1", Session: session.ID, Detail: detail{Event: "telegram/default/7", Answer: "dlv_answer"}},
		{Actor: "telegram:1002", Action: "session.model", Object: "agent:main:http:1", Session: session.ID, Detail: detail{Event: "telegram/default/8", Answer: "dlv_secret"}},
		{Actor: "telegram:1003", Action: "command.denied", Object: "/send", Detail: detail{Event: "telegram/default/9", Reason: "not an owner"}},
	}
	for i := range entries {
		entries[i].At, entries[i].Label = clock.Add(time.Duration(i+1)*time.Second), open
	}
	top := sessions.AuditEntry{At: clock, Actor: "operator", Action: "secret.thing", Object: "x", Label: flow.Top()}
	require.NoError(t, a.db.Commit(t.Context(), ledger.Change{
		Deliver: []ledger.Delivery{held, answer, secret}, Change: sessions.Change{Create: []sessions.Record{session}, Enqueue: []sessions.Run{run, hidden}, Audit: append(entries, top)},
	}))
	var list struct{ Entries []struct{ ID, Action string } }
	of := func(headers ...string) map[string]string {
		require.NoError(t, json.Unmarshal(call(a.http, "GET", "/v1/audit?limit=200", "", headers...).Body.Bytes(), &list))
		all := map[string]string{}
		for _, e := range list.Entries {
			all[e.Action] = "aud_" + e.ID
		}
		return all
	}
	own, theirs := of(), of(asShift)
	const byToken = "It was done with the gateway's own token, over the HTTP API: by the page, the command line or a program."
	for action, want := range map[string]struct {
		status, answer string
		steps          []string // some of them
	}{
		"tool.block":      {"block", "exec needs a person", []string{"heard ok", "session ok", "run ok", "tool stopped"}},
		"tool.allow":      {"allow", "The agent main did it.", []string{"tool ok"}},
		"delivery.block":  {"block", "a rule forbids it", []string{"heard ok", "run ok", "recorded stopped", "gate stopped", "sent stopped"}},
		"model.block":     {"block", "the model may receive at most PUBLIC", []string{"heard ok", "run ok"}},
		"cron.pause":      {"pause", byToken, []string{"heard ok", "recorded ok", "waited waits"}},
		"alert.ack":       {"ack", byToken, []string{"heard ok", "recorded ok", "sent waits"}},
		"session.patch":   {"patch", byToken, []string{"learnt ok"}},
		"delivery.retry":  {"retry", byToken, []string{"recorded ok"}},
		"session.learn":   {"learn", "Text of another level came into the conversation. It was done with the token ada, over the HTTP API: by the page, the command line or a program. The level changed from PUBLIC/trusted to INTERNAL/trusted.", []string{"learnt ok"}},
		"run.failed":      {"failed", "the model does not answer", []string{"recorded ok"}},
		"cron.fired":      {"fired", "The job was due. The job gone did it.", []string{"recorded ok"}},
		"pairing.request": {"request", "Somebody who may not talk to the bot wrote to it. It was done by telegram:1001.", []string{"recorded ok"}},
		"message.send":    {"send", "The hook ci did it.", nil},
		"memory.delete":   {"delete", "Somebody asked to forget the memory. It was done by ada over the HTTP API. The proxy in front of the gateway gave this name.", nil},
		"audit.begin":     {"begin", "The chain of hashes begins here. The gateway did it by itself.", nil},
		"http.denied":     {"denied", "It is not known who did it.", nil},
		"pairing.locked":  {"locked", "There were too many wrong codes. For an hour, no code is accepted. " + byToken, []string{"recorded ok"}},
	} {
		for _, by := range []struct{ id, as string }{{own[action], ""}, {theirs[action], asShift}, {theirs[action], ""}} {
			code, got := a.why(by.id, by.as)
			require.Equal(t, http.StatusOK, code, action)
			require.Equal(t, []string{"entry", want.status, want.answer}, []string{got.Kind, got.Status, got.Answer}, action)
			require.Subset(t, got.states(), want.steps, action)
			if action == "tool.allow" && by.as == asShift {
				require.Equal(t, want.steps, got.states(), "its run is above the caller")
			}
			if action == "tool.block" {
				n := 0
				for _, s := range got.Steps {
					if s.Text == "tool.block exec: exec needs a person" {
						n++
					}
				}
				require.Equal(t, 1, n, "once, also if the run's chain has it")
			}
		}
	}
	for action, want := range map[string]string{
		"session.sendPolicy": "telegram:1001 caused it with a command in telegram direct 1001, which the gateway answered. telegram/default/7 dlv_answer",
		"session.model":      "telegram:1002 caused it with a message. telegram/default/8 ", // the answer is above the caller
		"command.denied":     "telegram:1003 caused it with a message. telegram/default/9 ",
	} {
		_, got := a.why(theirs[action], asShift)
		heard := got.Steps[0]
		text := heard.Text + " " + heard.Facts[0].Value + " "
		if heard.Object != nil {
			text += heard.Object.ID
		}
		require.Equal(t, want, text, action)
	}
	require.NotContains(t, theirs, "secret.thing")
	code, _ := a.why(own["secret.thing"])
	require.Equal(t, http.StatusOK, code)
	for _, id := range []string{own["secret.thing"], own["tool.block"], "aud_", "aud_x", "aud_1-0123456789abcdef"} {
		code, _ = a.why(id, asShift)
		require.Equal(t, http.StatusNotFound, code, id)
	}
}

// group is the key of the group of an alert.
func (a alerting) group(key string) string {
	a.Helper()
	x, err := a.alerts.Find(a.Context(), key, flow.Restricted)
	require.NoError(a, err)
	return x.Groups[0]
}

// broken is a database whose deliveries can't be read.
type broken struct{ *store.DB }

func (broken) Delivery(context.Context, ledger.DeliveryID) (ledger.Delivery, error) {
	return ledger.Delivery{}, errors.New("the disk is gone")
}

// A store that fails is an error, not an explanation without what it could not read.
func TestWhySaysThatTheStoreFails(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	p := ledger.Approval{ID: "apr_1", Session: "sess_000000000001", Run: "run_1", Delivery: "dlv_1", Agent: "main", Label: flow.Bottom(), Status: ledger.ApprovalPending, Created: clock, Expires: clock.Add(time.Hour)}
	require.NoError(t, db.Commit(t.Context(), ledger.Change{Ask: []ledger.Approval{p}}))
	s := newServer(t, newGateway(), func(c *httpapi.Config) { useRows(c, db); c.Rows.Why = broken{db} })
	require.Equal(t, http.StatusInternalServerError, call(s.Handler(), "GET", "/v1/why/apr_1", "").Code)
}
