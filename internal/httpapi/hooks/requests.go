package hooks

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"sluice/internal/alert/intake"
	"sluice/internal/hook"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	routing "sluice/router/hook"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Keeper has the configured hooks.
type Keeper interface {
	List() []*routing.Hook
	Find(name string) (*routing.Hook, bool)
	Replay(ctx context.Context, old ledger.HookRequest, actor string) (ledger.HookRequest, error)
}

// Rows reads requests and what happened to them.
type Rows interface {
	HookRequest(ctx context.Context, key string) (ledger.HookRequest, error)
	ListHookRequests(ctx context.Context, q ledger.HookQuery) ([]ledger.HookRequest, error)
	TriggersOf(ctx context.Context, keys []string) ([]ledger.Trigger, error)
}

// API serves the hooks and their requests.
type API struct {
	Visible *view.Visibility
	Keeper  Keeper
	Rows    Rows
	Now     func() time.Time
}

// hookRecord is a hook as programs see it.
type hookRecord struct {
	Name           string   `json:"name"`
	Path           string   `json:"path" doc:"where its requests go"`
	Preset         string   `json:"preset"`
	Signature      string   `json:"signature" doc:"how senders prove who they are"`
	Classification string   `json:"classification" doc:"level of what its requests say"`
	Agent          string   `json:"agent"`
	Deliver        []string `json:"deliver" doc:"where replies are sent"`
	Alert          bool     `json:"alert,omitempty" doc:"requests become alerts; no agent is asked"`
}

type hookList struct {
	Hooks []hookRecord `json:"hooks"`
}

// List lists the hooks that the caller may know of.
func (a *API) List(ctx context.Context, _ *struct{}) (*wire.Body[hookList], error) {
	out := hookList{Hooks: []hookRecord{}}
	for _, h := range a.Keeper.List() {
		if !auth.CallerOf(ctx).Sees(h.Label()) {
			continue
		}
		to := []string{}
		for _, t := range h.Deliver.To {
			to = append(to, t.Name)
		}
		out.Hooks = append(out.Hooks, hookRecord{h.Name, Prefix + h.Name, h.Preset, string(h.Scheme()), h.Level.String(), h.Agent, to, h.Reports()})
	}
	return wire.NewBody(out), nil
}

// find is a hook that the caller may know of.
func (a *API) find(ctx context.Context, name string) (*routing.Hook, error) {
	h, ok := a.Keeper.Find(name)
	if !ok {
		return nil, wire.ErrNotFound
	}
	return h, a.Visible.Check(ctx, nil, denials.Object{Kind: "hook", ID: name, Label: h.Label()})
}

// requestRecord is a request as programs see it.
type requestRecord struct {
	ID       string               `json:"id"`
	Key      string               `json:"key" doc:"for GET /v1/why/{id}"`
	Hook     string               `json:"hook"`
	Status   ledger.TriggerStatus `json:"status,omitempty" doc:"what happened to it: waiting, filtered, running, delivering, ok, failed, undelivered or withdrawn; absent if that is no longer stored or is above the caller's level"`
	Why      string               `json:"why,omitempty" doc:"why it went no further"`
	Session  sessions.ID          `json:"session,omitempty"`
	Run      sessions.RunID       `json:"run,omitempty"`
	Sends    []sentRecord         `json:"sends,omitempty" doc:"where the reply was sent"`
	Alerts   []string             `json:"alerts,omitempty" doc:"keys of the alerts that it has reported, the first 100"`
	Label    string               `json:"label"`
	ReplayOf string               `json:"replay_of,omitempty" doc:"the id of the request that this one repeats"`
	Digest   string               `json:"digest" doc:"SHA-256 of the body"`
	Headers  map[string]string    `json:"headers,omitempty" doc:"only of a single request"`
	Query    map[string]string    `json:"query,omitempty" doc:"only of a single request"`
	Payload  string               `json:"payload,omitempty" doc:"the body as it came in; only of a single request"`
	Received time.Time            `json:"received"`
	Ended    *time.Time           `json:"ended,omitempty"`
}

// sentRecord is a reply to one target.
type sentRecord struct {
	ledger.TriggerSend
	State ledger.SendState `json:"state" enum:"waiting,sent,replaced,failed" doc:"sent: there is a receipt; waiting: there is no receipt yet; replaced: a fallback was sent instead"`
}

// record shows a request with what happened to it, as far as the caller may know.
func (a *API) record(ctx context.Context, r ledger.HookRequest, triggers []ledger.Trigger) (requestRecord, error) {
	out := requestRecord{ID: r.ID, Key: r.Key, Hook: r.Hook, Label: r.Label.String(), ReplayOf: r.ReplayOf, Digest: r.Digest, Received: r.Received}
	who := auth.CallerOf(ctx)
	for _, t := range triggers {
		if t.Key != r.Key || !who.Sees(t.Label) {
			continue
		}
		if t.Session != "" {
			taint, err := a.Visible.Taint(ctx, who, t.Session)
			if err != nil {
				return out, err
			}
			if !who.Sees(taint) {
				continue
			}
		}
		out.Status, out.Why, out.Session, out.Run, out.Alerts, out.Ended = t.Status, t.Why, t.Session, t.Run, t.Alerts, view.Optional(t.Ended)
		for _, s := range t.Sends {
			out.Sends = append(out.Sends, sentRecord{s, t.StateOf(s)})
		}
	}
	return out, nil
}

type requestList struct {
	Requests []requestRecord `json:"requests"`
}

// Requests lists the requests to a hook.
func (a *API) Requests(ctx context.Context, in *struct {
	view.PageQuery
	Name string `path:"name"`
},
) (*view.Page[requestList], error) {
	who, bound := auth.CallerOf(ctx), view.NewBound()
	if _, err := a.find(ctx, in.Name); err != nil {
		return nil, err
	}
	after := ""
	if in.After != "" {
		after = routing.Key(in.Name, in.After)
	}
	found, err := a.Rows.ListHookRequests(ctx, ledger.HookQuery{Hook: in.Name, MaxLevel: who.Level, Limit: in.Limit, After: after, Bound: bound})
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(found))
	for i, r := range found {
		keys[i] = r.Key
	}
	triggers, err := a.Rows.TriggersOf(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := requestList{make([]requestRecord, len(found))}
	for i, r := range found {
		if out.Requests[i], err = a.record(ctx, r, triggers); err != nil {
			return nil, err
		}
	}
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(found, func(r ledger.HookRequest) string { return r.ID })), out), nil
}

type requestPath struct {
	Name    string `path:"name"`
	Request string `path:"request"`
}

// request is a request that the caller may know of.
func (a *API) request(ctx context.Context, in *requestPath) (ledger.HookRequest, error) {
	r, err := a.Rows.HookRequest(ctx, routing.Key(in.Name, in.Request))
	return r, a.Visible.Check(ctx, err, denials.Object{Kind: "hook request", ID: r.Key, Label: r.Label})
}

// Request answers with a request and its payload.
func (a *API) Request(ctx context.Context, in *requestPath) (*wire.Body[requestRecord], error) {
	r, err := a.request(ctx, in)
	if err != nil {
		return nil, err
	}
	triggers, err := a.Rows.TriggersOf(ctx, []string{r.Key})
	if err != nil {
		return nil, err
	}
	out, err := a.record(ctx, r, triggers)
	out.Headers, out.Query, out.Payload = r.Headers, r.Query, string(r.Payload)
	return wire.NewBody(out), err
}

// Replay works a request again.
func (a *API) Replay(ctx context.Context, in *requestPath) (*wire.Body[requestRecord], error) {
	r, err := a.request(ctx, in)
	if err != nil {
		return nil, err
	}
	if _, err := a.find(ctx, r.Hook); err != nil {
		return nil, err
	}
	again, err := a.Keeper.Replay(ctx, r, auth.CallerOf(ctx).Actor())
	if err != nil {
		return nil, err
	}
	out, err := a.record(ctx, again, nil)
	return wire.NewBody(out), err
}

type testInput struct {
	Name string `path:"name"`
	Body struct {
		Payload string            `json:"payload" maxLength:"1048576" doc:"the body of a request"`
		Type    string            `json:"type,omitempty" doc:"its media type; default application/json"`
		Headers map[string]string `json:"headers,omitempty" doc:"the request's headers"`
		Query   map[string]string `json:"query,omitempty"`
	}
}

type testRecord struct {
	Passes  bool        `json:"passes" doc:"whether the filter lets the request pass"`
	Why     string      `json:"why,omitempty" doc:"why it does not, or which alerts would be left out"`
	Session string      `json:"session"`
	Prompt  string      `json:"prompt"`
	Alerts  []testAlert `json:"alerts,omitempty" doc:"what a hook with alert would report"`
	Label   string      `json:"label" doc:"of what the request says"`
}

type testAlert struct {
	Key      string            `json:"key"`
	Action   string            `json:"action" doc:"fire or resolve"`
	Severity string            `json:"severity,omitempty"`
	Title    string            `json:"title"`
	Text     string            `json:"text,omitempty"`
	Source   string            `json:"source"`
	Labels   map[string]string `json:"labels,omitempty"`
	Links    []string          `json:"links,omitempty"`
}

// Test shows what a hook makes of a payload; no effects.
func (a *API) Test(ctx context.Context, in *testInput) (*wire.Body[testRecord], error) {
	h, err := a.find(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	kind, err := hook.MediaType(in.Body.Type)
	if err != nil {
		return nil, wire.BadRequest(err.Error())
	}
	out, err := h.Render(ctx, hook.Request{Type: kind, Headers: lower(in.Body.Headers), Query: in.Body.Query, Payload: []byte(in.Body.Payload)}, a.Now())
	if err != nil {
		return nil, wire.Invalid(err.Error())
	}
	record := testRecord{
		Passes: out.Passes, Why: out.Why, Session: string(out.Session), Prompt: out.Prompt, Alerts: testAlerts(out.Alerts),
		Label: flow.NewLabel(h.Level, flow.Untrusted).String(),
	}
	if len(out.Alerts.Faults) > 0 {
		record.Why = errors.Join(out.Alerts.Faults...).Error()
	}
	return wire.NewBody(record), nil
}

func testAlerts(said hook.Alerts) []testAlert {
	var all []testAlert
	for _, a := range said.List {
		shown := testAlert{
			Key: a.Key, Action: string(a.Action), Severity: string(cmp.Or(a.Severity, intake.Warning)), Title: a.Title, Text: a.Text, Source: a.Source, Labels: a.Labels,
		}
		for _, l := range a.Links {
			shown.Links = append(shown.Links, l.URL)
		}
		all = append(all, shown)
	}
	return all
}

func lower(headers map[string]string) map[string]string {
	all := make(map[string]string, len(headers))
	for name, value := range headers {
		all[strings.ToLower(name)] = value
	}
	return all
}
