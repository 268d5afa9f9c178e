package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/alert"
	"sluice/internal/httpapi"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

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
	Steps                       []struct{ Step, State, Text string }
	Links                       struct{ Page, API, CLI string }
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
		"cron/brief/x":    {"trigger", "ok", "It is ok.", []string{"heard ok", "run ok", "sent ok", "sent failed", "ended ok"}},
		"cron/brief/y":    {"trigger", "waiting", "It is waiting.", []string{"heard ok", "ended waits"}},
		"hook/ci/1":       {"trigger", "filtered", "It is filtered.", []string{"heard ok", "ended stopped"}},
		"xch_1":           {"exchange", "announced", "It has ended", []string{"heard ok", "run ok", "ended ok"}},
		"disk":            {"alert", "firing", "nobody has acknowledged it", []string{"heard ok", "sent waits"}},
		alert.Ref("disk"): {"alert", "firing", "nobody has acknowledged it", []string{"heard ok", "sent waits"}},
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
	_, got = a.why("apr_msg")
	require.Empty(t, got.Change, "it is decided")
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
