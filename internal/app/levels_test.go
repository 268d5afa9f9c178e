package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
)

// reach is what decides whether the thing that an operation is about is within a caller's level.
type reach string

const (
	bySession reach = "session" // the session's taint alone
	byRow     reach = "row"     // the thing's own label, and its session's taint
	byChannel reach = "channel" // the level of the channel
	byNothing reach = "nothing" // it is about nothing that can be hidden
)

// ruling is what was decided about an operation, with requests that try it.
type ruling struct {
	by   reach
	tail []string // of the path: a query; {name} stands for a thing's id
	at   []string // whole paths, where one operation is about things of several kinds
	body string
	more []string // other bodies, where one request changes nothing for the next
	head []string // names and values of headers
}

// decisions are those about all operations of the API, by the ids in its description.
func decisions() map[string]ruling {
	return map[string]ruling{
		"create-session":       {by: byNothing, body: `{"title":"mine"}`},
		"list-sessions":        {by: bySession, tail: []string{"", "?agent=main", "?after={id}", "?limit=1"}},
		"delete-sessions":      {by: bySession, tail: []string{"?status=idle", "?older_than=1s&status=idle"}},
		"get-session":          {by: bySession},
		"patch-session":        {by: bySession, body: `{"title":"mine"}`},
		"delete-session":       {by: bySession},
		"reset-session":        {by: bySession},
		"history":              {by: byRow, tail: []string{"", "?limit=1", "?limit=1&find=" + marker}},
		"say":                  {by: bySession, body: `{"message":"hello"}`},
		"wake":                 {by: bySession, body: `{"session":"{id}","text":"hello"}`, more: []string{`{"session":"{id}","text":"hello","mode":"next-heartbeat"}`}},
		"events":               {by: bySession, tail: []string{"", "?after=0", "?after=1", "?after=0123456789abcdef0123456789abcdef"}},
		"list-runs":            {by: byRow, tail: []string{"", "?status=done", "?after={run}", "?limit=1", "?exchange={exchange}"}},
		"get-run":              {by: byRow, tail: []string{"", "?wait=1s"}},
		"list-session-runs":    {by: byRow, tail: []string{"", "?after={run}"}},
		"cancel-run":           {by: byRow},
		"list-exchanges":       {by: byRow, tail: []string{"", "?session={id}", "?kind=send", "?limit=1"}},
		"get-exchange":         {by: byRow},
		"tail-steps":           {by: byNothing}, // steps above the caller's level are left out, see TestStepsAreFollowed of package httpapi
		"start-task":           {by: bySession, body: `{"task":"look"}`},
		"send-message":         {by: byNothing, body: `{"channel":"webchat","to":"local","text":"hi"}`},
		"list-deliveries":      {by: byRow, tail: []string{"", "?status=failed", "?session={id}", "?after={delivery}", "?channel=webchat"}},
		"get-delivery":         {by: byRow},
		"retry-delivery":       {by: byRow},
		"discard-delivery":     {by: byRow},
		"check-policy":         {by: bySession, tail: []string{"?channel=webchat&session={id}", "?channel=webchat&to=local"}},
		"check-policy-message": {by: bySession, body: `{"channel":"webchat","session":"{id}","text":"tea"}`},
		"simulate-tool-call":   {by: bySession, body: `{"tool_name":"todo_list","session":"{id}"}`, more: simulated()},
		"list-memories":        {by: bySession, tail: []string{"", "?q=" + marker, "?tag=t", "?namespace=main", "?level=PUBLIC", "?level=RESTRICTED&q=" + marker}},
		"list-memory-versions": {by: bySession, tail: []string{"?key={key}", "?key={key}&namespace=main&limit=1", "?key={key}&after={memory}"}},
		"save-memory":          {by: byNothing, body: `{"key":"mine","content":"tea"}`}, // it has the caller's label, see TestMemoryIsSaved of package httpapi
		"get-memory":           {by: bySession, at: []string{"/v1/memory/{memory}", "/v1/memory/{key}"}},
		"delete-memory":        {by: bySession},
		"get-media":            {by: byRow},
		"list-agents":          {by: byRow, tail: []string{"?calls=true&tools=true"}}, // they are in the configuration, but their calls have levels
		"get-agent":            {by: byRow, tail: []string{"?calls=true&tools=true"}},
		"list-checks":          {by: byNothing}, // their levels are in the configuration, see TestChecksAreShownUpToTheirLevel
		"run-check":            {by: byNothing},
		"status":               {by: byRow},
		"overview":             {by: byRow},
		"stream":               {by: byNothing}, // the events of sessions above the caller's level are left out, by the same function as those of one session
		"why":                  {by: byRow, at: []string{"/v1/why/{run}", "/v1/why/{delivery}", "/v1/why/{approval}", "/v1/why/{exchange}", "/v1/why/cron%2F{job}", "/v1/why/{alert}"}},
		"list-people":          {by: byRow},
		"list-refused":         {by: byNothing}, // as pairings
		"list-providers":       {by: byNothing}, // they are in the configuration
		"check-provider":       {by: byNothing, body: `{}`},
		"clear-provider":       {by: byNothing, body: `{}`},
		"usage":                {by: byRow, tail: []string{"", "?by=day,agent,person,session,job,provider,model,key", "?session={id}", "?agent=main&format=csv"}},
		"list-budgets":         {by: byNothing}, // they are in the configuration, see TestBudgetsAreShownByLevel of package httpapi
		"list-skills":          {by: byNothing}, // those above the caller's level are left out, see the attacks on skills
		"add-skill":            {by: byNothing, body: `{}`},
		"get-skill":            {by: byNothing, tail: []string{"?agent=main"}},
		"trust-skill":          {by: byNothing, tail: []string{"?agent=main"}, body: `{}`},
		"remove-skill":         {by: byNothing, tail: []string{"?agent=main"}},
		"get-config":           {by: byNothing}, // an owner who sees everything, else 403; see TestConfigIsTheOwners
		"list-config-keys":     {by: byNothing},
		"check-config":         {by: byNothing, body: `{"text":""}`},
		"save-config":          {by: byNothing, body: `{"text":""}`, head: []string{"If-Match", "other"}},
		"list-config-versions": {by: byNothing},
		"sign-in":              {by: byNothing, body: `{}`},
		"sign-out":             {by: byNothing},
		"me":                   {by: byNothing},
		"make-link":            {by: byNothing, head: []string{"Sluice-Client", "page"}}, // codes are random; a browser makes none
		"list-sign-ins":        {by: byNothing},
		"end-sign-in":          {by: byNothing},
		"list-tokens":          {by: byNothing, head: []string{"Sluice-Client", "page"}},
		"make-token":           {by: byNothing, body: `{"name":"a:b","role":"viewer","level":"PUBLIC"}`}, // tokens are random
		"revoke-token":         {by: byNothing},
		"look-up":              {by: byNothing, tail: []string{"?channel=webchat&to=local"}},
		"list-audit":           {by: byRow, tail: []string{"", "?session={id}", "?action=a", "?limit=1"}},
		"list-logs":            {by: byNothing, tail: []string{"", "?level=warn&q=a", "?part=telegram/default&limit=1"}}, // who sees everything, else 403
		"verify-audit":         {by: byNothing, tail: []string{"", "?head=0:1:00"}},                                      // who sees everything, else 403
		"list-pairings":        {by: byChannel, tail: []string{"", "?status=all"}},
		"approve-pairing":      {by: byChannel},
		"deny-pairing":         {by: byChannel},
		"revoke-pairing":       {by: byChannel, body: `{"channel":"webchat","user":"{code}"}`},
		"list-approvals":       {by: byRow, tail: []string{"", "?status=all", "?session={id}", "?channel=webchat&limit=1"}},
		"get-approval":         {by: byRow},
		"allow-approval":       {by: byRow},
		"deny-approval":        {by: byRow, body: `{"reason":"no"}`},
		"always-allow":         {by: byRow, body: `{"preview":true}`, more: []string{`{}`}},
		"list-allow-rules":     {by: byNothing}, // those above the caller's level are left out, see TestAlwaysAllow
		"end-allow-rule":       {by: byNothing},
		"get-policy":           {by: bySession, tail: []string{"?session={id}"}},
		"backtest-policy":      {by: byRow, body: `{"policy":"{ name: a, hook: PRE_OUTPUT, action: block }"}`, more: []string{`{"policy":"{ name: a, hook: PRE_TOOL_CALL, action: require_approval }"}`}},
		"list-jobs":            {by: bySession, tail: []string{"", "?limit=1"}},
		"add-job":              {by: byNothing, body: `{"every":"1h"}`},
		"get-job":              {by: bySession},
		"update-job":           {by: bySession, body: `{"text":"mine"}`},
		"run-job":              {by: bySession},
		"pause-job":            {by: bySession},
		"resume-job":           {by: bySession},
		"job-history":          {by: bySession, tail: []string{"", "?limit=1", "?after=cron/{job}/x"}},
		"remove-job":           {by: bySession},
		"get-file":             {by: bySession},
		"put-file":             {by: bySession, body: "mine"},
		"delete-file":          {by: bySession},
		"list-hooks":           {by: byNothing},
		"list-hook-requests":   {by: byRow, tail: []string{"", "?limit=1", "?after={request}"}},
		"get-hook-request":     {by: byRow},
		"replay-hook":          {by: byRow},
		"test-hook":            {by: byNothing, body: `{"payload":"{}"}`},
		"list-nodes":           {by: byNothing}, // rows above the caller's level are left out
		"approve-node":         {by: byNothing, body: `{"code":"ABCDEFGH"}`},
		"set-node-level":       {by: byNothing, body: `{"classification":"PUBLIC"}`}, // the owner only
		"revoke-node":          {by: byNothing},
		"pair-node":            {by: byNothing, body: `{"name":"n","platform":"linux","tokenHash":"` + strings.Repeat("g", 64) + `"}`}, // needs no token; the ids of stored requests are random
		"connect-node":         {by: byNothing},                                                                                        // needs a node's token
		"list-alerts":          {by: bySession, tail: []string{"", "?status=all", "?after={alert}&status=all", "?limit=1", "?filter=key%3D%22{alert}%22"}},
		"list-alert-groups":    {by: byNothing, tail: []string{"", "?after={group}", "?limit=1"}}, // who sees everything, else 403
		"get-alert-group":      {by: byNothing},
		"fire-alert":           {by: byNothing, body: `{"key":"{alert}","title":"mine"}`},
		"test-alert":           {by: byNothing, body: `{"key":"{alert}"}`},
		"get-alert":            {by: bySession},
		"ack-alert":            {by: bySession},
		"resolve-alert":        {by: bySession},
		"silence-alert":        {by: bySession, body: `{"for":"1h"}`},
		"list-silences":        {by: bySession, tail: []string{"", "?state=all", "?after={silence}", "?limit=1"}},
		"add-silence":          {by: byNothing, body: `{"matchers":["a=\"b\""],"for":"1h"}`},
		"get-silence":          {by: bySession},
		"end-silence":          {by: bySession},
		"notify":               {by: byNothing, body: `{"message":"hi"}`},
		"notify-alert":         {by: byNothing, body: `{"message":"hi"}`},
		"pd-enqueue":           {by: byNothing, body: `{"routing_key":"INTERNAL","event_action":"resolve","dedup_key":"a"}`},
		"am-post-alerts":       {by: byNothing, body: `[{"labels":{"alertname":"Disk"}}]`},
		"am-list-alerts":       {by: byRow, tail: []string{"", "?filter=a%3D" + marker, "?silenced=false", "?active=false"}},
		"am-list-groups":       {by: byNothing, tail: []string{"", "?muted=false"}},
		"am-list-receivers":    {by: byNothing},
		"am-status":            {by: byNothing},
		"am-list-silences":     {by: byRow, tail: []string{"", "?filter=nothing%3D" + marker}},
		"am-post-silence":      {by: byRow, body: `{"id":"{silence}","matchers":[{"name":"a","value":"b","isRegex":false}],"startsAt":"2026-01-01T00:00:00Z","endsAt":"2098-01-01T00:00:00Z","createdBy":"a","comment":"c"}`},
		"am-get-silence":       {by: byRow},
		"am-delete-silence":    {by: byRow},

		"openai-chat":         {by: bySession, body: `{"model":"main","messages":[{"role":"user","content":"hello"}]}`, head: []string{"X-Sluice-Session", "{id}"}},
		"openai-respond":      {by: byRow, body: `{"model":"main","input":"hello","previous_response_id":"{response}"}`},
		"openai-get-response": {by: byRow, tail: []string{"", "?stream=true"}},
		"openai-list-models":  {by: byNothing}, // the configuration says which agents are published
		"openai-get-model":    {by: byNothing},
		"openai-embed":        {by: byNothing, body: `{"model":"main","input":"hello"}`},
	}
}

// simulated are calls whose arguments name things.
func simulated() []string {
	return []string{
		`{"tool_name":"sessions_history","args":{"sessionKey":"{id}"}}`, `{"tool_name":"session_status","args":{"sessionKey":"{id}"}}`,
		`{"tool_name":"sessions_send","args":{"sessionKey":"{id}","message":"hi"}}`, `{"tool_name":"sessions_send","args":{"sessionKey":"agent:main:http:{id}","message":"hi"}}`,
		`{"tool_name":"message","args":{"channel":"webchat","to":"local","message":"hi","media":["{media}"]}}`,
	}
}

// operation is one of the API's description.
type operation struct{ ID, Method, Path string }

// operations reads all of the API's description.
func (g *gateway) operations() (all []operation) {
	g.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	require.NoError(g.t, json.Unmarshal([]byte(g.ask(flow.Public, "GET", "/openapi.json", "").Body), &doc))
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Backward(slices.Sorted(maps.Keys(doc.Paths[path]))) { // what deletes comes last
			all = append(all, operation{doc.Paths[path][method].OperationID, strings.ToUpper(method), path})
		}
	}
	require.NotEmpty(g.t, all)
	return all
}

// TestEveryOperationHasADecision: who adds an operation decides here what it is that hides.
func TestEveryOperationHasADecision(t *testing.T) {
	t.Parallel()
	g := withLevels(t, flow.Public)
	var ids []string
	for _, o := range g.operations() {
		ids = append(ids, o.ID)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(decisions())), ids, "an operation has no decision, or a decision no operation")
}

// ids puts the things' ids where a path, a query or a body names them.
func (o things) ids() *strings.Replacer {
	return strings.NewReplacer("{agent}", "main", "{id}", string(o.session.ID), "{run}", string(o.run.ID), "{response}", "resp_"+strings.TrimPrefix(string(o.run.ID), "run_"), "{exchange}", o.exchange.ID, "{delivery}", string(o.delivery.ID),
		"{media}", string(o.media.ID), "{approval}", string(o.approval.ID), "{memory}", string(o.memory.ID), "{key}", o.memory.Key, "{job}", o.job.ID, "{code}", o.pairing.Code, "{path}", "a.txt", "{target}", "ops", "{name}", "ci", "{request}", o.request.ID,
		"{alert}", o.alert.Key, "{group}", o.group.Key, "{silence}", o.silence.ID, "{silenceID}", o.silence.ID)
}

// twins are a gateway with things that may be hidden, and one in which they never were.
type twins struct {
	*testing.T
	with, without *gateway
	things        flow.Level // of what is to be hidden
	paired        bool       // everybody may know who asks to be admitted: it is there in both
}

// TestTheHiddenIsAsTheAbsent: for each operation, each level of a caller and each of a thing, what is above the caller
// answers byte for byte as what never was, and what is not above them answers otherwise.
func TestTheHiddenIsAsTheAbsent(t *testing.T) {
	t.Parallel()
	levels, callers := triedLevels()
	for _, level := range levels {
		for _, by := range []reach{bySession, byChannel} {
			t.Run(fmt.Sprintf("%s by %s", level, by), func(t *testing.T) {
				t.Parallel()
				page := flow.Public
				if by == byChannel {
					page = level
				}
				w := twins{t, withLevels(t, page), withLevels(t, page), level, by == bySession}
				for _, caller := range callers { // ascending: who may do nothing here comes first
					for _, o := range w.with.operations() {
						if by == byChannel == (decisions()[o.ID].by == byChannel) {
							w.compare(caller, o)
						}
					}
				}
			})
		}
	}
}

// compare tries an operation on things in a session of their level, on things of that level in a session that
// everybody may know of, and on PUBLIC things in a session of that level.
func (w twins) compare(caller flow.Level, o operation) {
	w.Helper()
	d := decisions()[o.ID]
	hidden := !flow.CanFlow(w.things, caller)
	w.try(caller, o, hidden, w.things, w.things)
	if d.by == byRow {
		w.try(caller, o, hidden, w.things, flow.Public)
		w.try(caller, o, hidden, flow.Public, w.things)
	}
}

func (w twins) try(caller flow.Level, o operation, hidden bool, label, taint flow.Level) {
	w.Helper()
	d := decisions()[o.ID]
	differs := d.by == byNothing
	paths := d.at
	for _, tail := range append(d.tail, "")[:max(1, len(d.tail))] {
		if d.at == nil {
			paths = append(paths, o.Path+tail)
		}
	}
	for _, path := range paths {
		session := w.with.plantSession(taint)
		if taint == flow.Public && w.things != flow.Public { // what everybody may know of is there in both
			w.without.store(sessionOf(session))
		}
		planted := w.with.plant(session, label)
		w.with.plantFile(session)
		if w.paired {
			w.without.store(ledger.Change{Pairings: []ledger.Pairing{planted.pairing}})
		}
		path = planted.ids().Replace(path)
		for _, body := range append([]string{d.body}, d.more...) {
			body = planted.ids().Replace(body)
			which := fmt.Sprintf("%s by %s, label %s, taint %s: %s %s %s", o.ID, caller, label, taint, o.Method, path, body)
			headers := []string{"Content-Type", "application/json"}
			for _, h := range d.head {
				headers = append(headers, planted.ids().Replace(h))
			}
			one, other := w.with.ask(caller, o.Method, path, body, headers...), w.without.ask(caller, o.Method, path, body, headers...)
			if hidden {
				require.NotContains(w, one.Body, marker, which)
				one, other = normalOfBoth(one, other)
				require.Equal(w, other, one, which)
				w.untouched(planted, which)
			} else if !differs {
				one, other = normalOfBoth(one, other)
				differs = !reflect.DeepEqual(one, other)
			}
		}
	}
	if !hidden {
		require.True(w, differs, "%s by %s, label %s, taint %s: it answers as if the thing were not there", o.ID, caller, label, taint)
	}
}

// untouched: what a caller may not know of they can't change either.
func (w twins) untouched(o things, which string) {
	w.Helper()
	ctx := w.Context()
	require.Equal(w, o.session.Revision, w.with.record(o.session.ID).Revision, which)
	if o.session.Taint.Level() != flow.Public {
		require.Equal(w, o.session, w.with.record(o.session.ID), which)
	}
	d, err := w.with.Store().Delivery(ctx, o.delivery.ID)
	require.NoError(w, err)
	require.Equal(w, o.delivery.Status, d.Status, which)
	p, err := w.with.Store().Approval(ctx, o.approval.ID)
	require.NoError(w, err)
	require.Equal(w, o.approval.Status, p.Status, which)
	j, err := w.with.Store().Job(ctx, ledger.JobMade, o.job.ID)
	require.NoError(w, err)
	require.Equal(w, o.job.Revision, j.Revision, which)
	x, err := w.with.Store().AlertsByKey(ctx, []string{o.alert.Key})
	require.NoError(w, err)
	require.Equal(w, []any{o.alert.Revision, o.alert.Label}, []any{x[0].Revision, x[0].Label}, which)
	s, err := w.with.Store().Silence(ctx, o.silence.ID)
	require.NoError(w, err)
	require.Equal(w, o.silence.Revision, s.Revision, which)
	if w.with.cfg.Channels.Webchat.Classification == w.things { // else everybody may know of it
		found, err := w.with.Store().PairingOf(ctx, o.pairing.Channel, o.pairing.Account, o.pairing.User.ID)
		require.NoError(w, err)
		require.Equal(w, o.pairing.Status, found.Status, which)
	}
}

// TestMetricsAreForWhoSeesEverything: they count what is hidden, too.
func TestMetricsAreForWhoSeesEverything(t *testing.T) {
	t.Parallel()
	g := withLevels(t, flow.Public)
	for _, l := range flow.Levels() {
		want := 403
		if l == flow.Restricted {
			want = 200
		}
		require.Equal(t, want, g.ask(l, "GET", "/metrics", "").Status, l)
	}
}

// TestAHiddenChannelIsAsNone: what is said about a channel above the caller is said about one that is not configured.
func TestAHiddenChannelIsAsNone(t *testing.T) {
	t.Parallel()
	g := withLevels(t, flow.Confidential, "mcp: { servers: { gone: { command: [/nowhere/server], classification: INTERNAL } } }\n")
	const simulate = "/v1/policy/simulate"
	owners := func(channel string) string {
		var answer struct{ Decision, Reason string }
		read(t, g.call("POST", simulate, `{"tool_name":"message","args":{"channel":"`+channel+`","to":"local","message":"hi"}}`), http.StatusOK, &answer)
		return strings.ReplaceAll(answer.Decision+" "+answer.Reason, channel, "CHANNEL")
	}
	require.NotEqual(t, owners("nowhere"), owners("webchat"), "an owner's simulated message depends on the channel")
	for _, l := range flow.Levels() {
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/v1/directory?channel=CHANNEL&to=local", ""},
			{"GET", "/v1/policy/check?channel=CHANNEL", ""},
			{"GET", "/v1/policy/check?channel=CHANNEL&to=local&label=RESTRICTED", ""},
			{"POST", "/v1/policy/check", `{"channel":"CHANNEL","to":"local","label":"RESTRICTED","text":"hi"}`},
			{"POST", "/v1/messages", `{"channel":"CHANNEL","to":"local","text":"hi"}`},
			{"POST", "/v1/pairings/revoke", `{"channel":"CHANNEL","user":"1"}`},
			{"POST", simulate, `{"tool_name":"message","args":{"channel":"CHANNEL","to":"local","message":"hi"}}`},
			{"POST", simulate, `{"tool_name":"message","args":{"channel":"CHANNEL","accountId":"x","to":"owner","message":"hi"}}`},
		} {
			of := func(channel string) answered {
				a := g.ask(l, c.method, strings.ReplaceAll(c.path, "CHANNEL", channel), strings.ReplaceAll(c.body, "CHANNEL", channel))
				a.Body = strings.ReplaceAll(a.Body, channel, "CHANNEL")
				return (&naming{}).normal(a)
			}
			hidden, absent := of("webchat"), of("nowhere")
			if !flow.CanFlow(flow.Confidential, l) {
				require.Equal(t, absent, hidden, "%s %s", l, c.path)
			} else if c.path != "/v1/pairings/revoke" && c.path != simulate { // nobody is paired; only an owner may have messages sent elsewhere
				require.NotEqual(t, absent, hidden, "%s %s", l, c.path)
			}
		}
		status := g.ask(l, "GET", "/v1/status", "").Body
		require.Equal(t, flow.CanFlow(flow.Confidential, l), strings.Contains(status, `"channel":"webchat"`), status)
		for _, path := range []string{"/v1/status", "/readyz"} {
			body := g.ask(l, "GET", path, "").Body
			require.Equal(t, flow.CanFlow(flow.Confidential, l), strings.Contains(body, "webchat/default"), body)
			require.Equal(t, flow.CanFlow(flow.Internal, l), strings.Contains(body, "mcp/gone"), body)
			require.Contains(t, body, `"name":"store"`)
		}
	}
	for _, bearer := range []string{"", "Bearer guessed"} {
		resp := g.call("GET", "/readyz", "", "Authorization", bearer)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		require.NotContains(t, string(body), "webchat")
		require.NotContains(t, string(body), "mcp/")
	}
}

// TestTheTrailIsPagedBelowTheTop: the sealed id of an entry is what the next page begins behind.
func TestTheTrailIsPagedBelowTheTop(t *testing.T) {
	t.Parallel()
	g := withLevels(t, flow.Public)
	session := g.plantSession(flow.Public)
	for _, l := range []flow.Level{flow.Public, flow.Restricted, flow.Internal, flow.Public} {
		g.plant(g.record(session.ID), l)
	}
	page := func(query string) (ids []string) {
		var got struct{ Entries []struct{ ID string } }
		require.NoError(t, json.Unmarshal([]byte(g.ask(flow.Internal, "GET", "/v1/audit?action=a&"+query, "").Body), &got))
		for _, e := range got.Entries {
			require.Len(t, e.ID, 32)
			ids = append(ids, e.ID)
		}
		return ids
	}
	all := page("")
	require.Len(t, all, 3)
	require.Equal(t, all[1:], page("after="+all[0]))
	require.Equal(t, all[1:2], page("limit=1&after="+all[0]))
	require.Empty(t, page("after="+strings.Repeat("0", 32)))
	require.Empty(t, page("after=1-2"))
}
