package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

var (
	public       = flow.Bottom()
	internal     = flow.NewLabel(flow.Internal, flow.Trusted)
	confidential = flow.NewLabel(flow.Confidential, flow.Trusted)
)

const group = sessions.Key("agent:main:telegram:group:-100")

func TestSendArguments(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64<<10+1)
	for name, c := range map[string]struct{ args, says string }{
		"no session":          {`{"message":"x"}`, "sessionKey: is required"},
		"no message":          {`{"sessionKey":"` + string(group) + `"}`, "message: is required"},
		"empty message":       {`{"sessionKey":"` + string(group) + `","message":""}`, "message: is required"},
		"blank message":       {`{"sessionKey":"` + string(group) + `","message":" \n"}`, "message: is required"},
		"oversized text":      {`{"sessionKey":"` + string(group) + `","message":"` + long + `"}`, "message: is 65537 bytes long, the maximum is 65536"},
		"negative time-out":   {`{"sessionKey":"` + string(group) + `","message":"x","timeoutSeconds":-1}`, "timeoutSeconds: -1 is less than 0"},
		"half a second":       {`{"sessionKey":"` + string(group) + `","message":"x","timeoutSeconds":0.5}`, "timeoutSeconds: want a whole number, got a JSON number 0.5"},
		"time-out is a text":  {`{"sessionKey":"` + string(group) + `","message":"x","timeoutSeconds":"30"}`, "timeoutSeconds: want a whole number"},
		"key is a number":     {`{"sessionKey":7,"message":"x"}`, "sessionKey: want a string, got a JSON number"},
		"unknown parameter":   {`{"sessionKey":"` + string(group) + `","message":"x","timeout":3}`, "timeout: unknown parameter"},
		"unknown key":         {`{"sessionKey":"agent:main:telegram:group:-999","message":"x"}`, `sessionKey: there is no session "agent:main:telegram:group:-999"`},
		"unknown id":          {`{"sessionKey":"sess_000000000000","message":"x"}`, `sessionKey: there is no session "sess_000000000000"`},
		"malformed id":        {`{"sessionKey":"sess_zzz","message":"x"}`, `sessionKey: session key "sess_zzz"`},
		"malformed key":       {`{"sessionKey":"agent:main","message":"x"}`, `sessionKey: session key "agent:main"`},
		"reserved key":        {`{"sessionKey":"unknown","message":"x"}`, `sessionKey: session key "unknown" is reserved`},
		"a key with a space":  {`{"sessionKey":"agent:main:x y","message":"x"}`, "sessionKey: "},
		"own key":             {`{"sessionKey":"agent:main:main","message":"x"}`, "sessionKey: that is this session itself"},
		"own alias":           {`{"sessionKey":"main","message":"x"}`, "sessionKey: that is this session itself"},
		"reserved alias":      {`{"sessionKey":"global","message":"x"}`, "sessionKey: that is this session itself"},
		"no such agent":       {`{"sessionKey":"agent:ghost:main","message":"x"}`, "sessionKey: sessions of other agents are out of reach: tools.agentToAgent.enabled is off, it must be on"},
		"too big a number":    {`{"sessionKey":"` + string(group) + `","message":"x","timeoutSeconds":1e30}`, "timeoutSeconds: want a whole number"},
		"an array of targets": {`{"sessionKey":["main"],"message":"x"}`, "sessionKey: want a string, got a JSON array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.record(group, public)
			result := b.tool(t, "sessions_send", c.args)
			require.True(t, result.Error, result.Text)
			require.Contains(t, result.Text, c.says)
			require.Empty(t, b.asked)
		})
	}
}

// sent is a result of sessions_send.
type sent struct {
	RunID, Status, SessionKey string
	Reply, Error              *string
}

func (b *bundle) send(t *testing.T, to, more string) sent {
	t.Helper()
	result := b.tool(t, "sessions_send", `{"sessionKey":"`+to+`","message":"how many?"`+more+`}`)
	require.False(t, result.Error, result.Text)
	var got sent
	require.NoError(t, json.Unmarshal([]byte(result.Text), &got))
	require.Equal(t, "run_asked", got.RunID)
	return got
}

func TestSendResults(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		more   string
		run    sessions.Run
		want   sent
		waited []time.Duration
	}{
		"answered":       {"", sessions.Run{Status: sessions.RunDone, Reply: "seven", Label: public}, sent{Status: "ok", Reply: text("seven")}, []time.Duration{30 * time.Second}},
		"nothing to say": {"", sessions.Run{Status: sessions.RunDone, Reply: "NO_REPLY", Label: public}, sent{Status: "ok"}, []time.Duration{30 * time.Second}},
		"failed":         {"", sessions.Run{Status: sessions.RunFailed, Error: "no model", Label: public}, sent{Status: "error", Error: text("the run ended as failed: no model")}, []time.Duration{30 * time.Second}},
		"too slow": {
			`,"timeoutSeconds":5`,
			sessions.Run{Status: sessions.RunRunning, Label: public},
			sent{Status: "timeout", Error: text("no reply yet, the agent is still working; see sessions_history later")},
			[]time.Duration{5 * time.Second},
		},
		"not waited for":    {`,"timeoutSeconds":0`, sessions.Run{Status: sessions.RunDone, Reply: "seven", Label: public}, sent{Status: "accepted"}, nil},
		"the longest wait":  {`,"timeoutSeconds":86400`, sessions.Run{Status: sessions.RunDone, Reply: "7", Label: public}, sent{Status: "ok", Reply: text("7")}, []time.Duration{10 * time.Minute}},
		"it learnt secrets": {"", sessions.Run{Status: sessions.RunDone, Reply: "seven", Label: confidential}, sent{Status: "accepted"}, []time.Duration{30 * time.Second}},
		"and failed":        {"", sessions.Run{Status: sessions.RunFailed, Error: "seven", Label: confidential}, sent{Status: "accepted"}, []time.Duration{30 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				b.record(group, public)
				b.runs = map[sessions.RunID]sessions.Run{"run_asked": c.run}
				c.want.RunID, c.want.SessionKey = "run_asked", string(group)
				require.Equal(t, c.want, b.send(t, string(group), c.more))
				require.Equal(t, c.waited, b.waited)
				ask := b.asked[0]
				require.Equal(t, announce.Send, ask.Kind)
				require.Equal(t, "how many?", ask.Text)
				require.Equal(t, sessions.Key("agent:main:main"), ask.Caller.Key, "the caller is who the runtime says")
			})
		})
	}
}

// A call that is run again after a crash is the same request, and waits for what is left of its time.
func TestSendGoesOnWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.record(group, public)
		for _, c := range []struct{ begun, waits time.Duration }{{0, 30 * time.Second}, {12 * time.Second, 18 * time.Second}, {time.Hour, 0}} {
			b.begun = c.begun
			b.send(t, string(group), "")
			require.Equal(t, c.waits, b.waited[len(b.waited)-1])
		}
		require.Equal(t, b.asked[0].Key, b.asked[2].Key)
	})
}

func TestSendStartsWhatIsNotThereYet(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Visibility, s.AgentToAgent.Enabled = roster.VisibleAll, true })
	b.send(t, "agent:other:main", "")
	require.True(t, b.asked[0].Create)
	require.Equal(t, "other", b.asked[0].Target.Agent)
	ended := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:other:telegram:group:1", Agent: "other", Taint: public, Ended: start})
	require.Contains(t, b.tool(t, "sessions_send", `{"sessionKey":"`+string(ended.ID)+`","message":"x"}`).Text, "there is no session")
}

// Who may speak to whom, by visibility and agentToAgent.
func TestReach(t *testing.T) {
	t.Parallel()
	const othersMain, othersGroup, child, sibling = "agent:other:main", "agent:other:telegram:group:-7", "agent:main:subagent:c", "agent:main:http:h"
	enabled := roster.AgentToAgent{Enabled: true}
	for i, c := range []struct {
		visibility roster.Visibility
		a2a        roster.AgentToAgent
		owner      bool
		from       sessions.Key
		reached    []string
		says       string // of another agent's sessions
	}{
		{roster.VisibleSelf, enabled, true, "agent:main:main", nil, "visibility is self"},
		{roster.VisibleTree, enabled, true, "agent:main:main", []string{child, sibling, string(group), othersMain}, "visibility is tree, which leaves only their main sessions"},
		{"", enabled, true, "agent:main:main", []string{child, sibling, string(group), othersMain}, "visibility is tree, which leaves only their main sessions"},
		{roster.VisibleTree, roster.AgentToAgent{}, true, "agent:main:main", []string{child, sibling, string(group)}, ""},
		{roster.VisibleTree, roster.AgentToAgent{Enabled: true, Allow: []string{"other"}}, true, "agent:main:main", []string{child, sibling, string(group)}, ""},
		{roster.VisibleTree, enabled, false, "agent:main:main", nil, "visibility is tree"},
		{roster.VisibleTree, enabled, true, group, []string{"main"}, "visibility is tree"},
		{"", enabled, true, group, []string{"main"}, "visibility is tree"},
		{roster.VisibleAgent, enabled, false, group, []string{"main", child, sibling}, "visibility is agent"},
		{roster.VisibleAll, roster.AgentToAgent{}, false, group, []string{"main", child, sibling}, "tools.agentToAgent.enabled is off"},
		{roster.VisibleAll, enabled, false, group, []string{"main", child, sibling, othersMain, othersGroup}, ""},
		{roster.VisibleAll, roster.AgentToAgent{Enabled: true, Allow: []string{"main"}}, false, group, []string{"main", child, sibling}, "agentToAgent.allow does not name both main and other"},
		{roster.VisibleAll, roster.AgentToAgent{Enabled: true, Allow: []string{"main", "oth*"}}, false, group, []string{"main", child, sibling, othersMain, othersGroup}, ""},
		{roster.VisibleAll, roster.AgentToAgent{Enabled: true, Allow: []string{"*"}}, false, group, []string{"main", child, sibling, othersMain, othersGroup}, ""},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.configure(func(s *roster.Settings) { s.Visibility, s.AgentToAgent = c.visibility, c.a2a })
			for _, key := range []sessions.Key{group, sibling, othersMain, othersGroup} {
				b.record(key, public)
			}
			b.stored(sessions.Record{ID: sessions.NewID(), Key: child, Agent: "main", Taint: public, SpawnedBy: b.run.Session})
			from, err := b.store.SessionByKey(t.Context(), c.from)
			require.NoError(t, err)
			b.as(t, from, c.owner)
			var reached []string
			for _, key := range []string{"main", child, sibling, string(group), othersMain, othersGroup} {
				result := b.tool(t, "sessions_send", `{"sessionKey":"`+key+`","message":"x","timeoutSeconds":0}`)
				switch other := strings.HasPrefix(key, "agent:other:"); {
				case !result.Error:
					reached = append(reached, key)
				case other:
					require.Contains(t, result.Text, c.says)
				}
			}
			require.Equal(t, c.reached, reached)
		})
	}
}

// Out of the box an owner's agents may talk: who speaks in one's main session may have it ask the others, gets their replies, and
// reads nothing of their sessions. Whether the other main session knows too much for the reply is not told.
func TestAgentsOfAnOwnerTalk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		taint  flow.Label
		status string
		waits  int
	}{"nobody has spoken there": {flow.Label{}, "ok", 1}, "as much": {public, "ok", 1}, "more": {confidential, "accepted", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.configure(func(s *roster.Settings) { s.AgentToAgent.Enabled = true })
			to := "agent:other:main"
			if c.taint.Valid() {
				b.record("agent:other:main", c.taint)
			}
			b.runs = map[sessions.RunID]sessions.Run{"run_asked": {Status: sessions.RunDone, Reply: "seven", Label: public}}
			require.Equal(t, c.status, b.send(t, to, "").Status)
			require.Len(t, b.waited, c.waits)
			require.True(t, b.tool(t, "sessions_history", `{"sessionKey":"agent:other:main"}`).Error)
			require.Equal(t, []string{"main"}, b.list(t, `{}`).keys())
		})
	}
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.AgentToAgent.Enabled = true })
	for _, name := range []string{"agent:ghost:main", string(b.record("agent:other:telegram:group:-7", public).ID)} {
		require.Contains(t, b.tool(t, "sessions_send", `{"sessionKey":"`+name+`","message":"x"}`).Text, "there is no session")
	}
	b.run.Input.Owner = false
	require.Contains(t, b.tool(t, "sessions_send", `{"sessionKey":"agent:other:main","message":"x"}`).Text,
		"tools.sessions.visibility is tree, which leaves them to an owner who speaks in the main session; all allows this session, too")
}

// A session with a sandbox speaks to what it has started and to its agent's main session, whatever the visibility.
func TestSandboxedReach(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, seesAll := range []bool{false, true} {
		b.configure(func(s *roster.Settings) {
			s.Visibility, s.AgentToAgent.Enabled = roster.VisibleAll, true
			s.Agents[0].Workspace, s.Agents[0].Sandbox, s.Agents[0].SeesAll = t.TempDir(), sessions.SandboxOptional, seesAll
		})
		if !seesAll {
			b.record(group, public)
			b.as(t, b.record("agent:main:http:h", public), true)
		}
		require.False(t, b.tool(t, "sessions_send", `{"sessionKey":"main","message":"x","timeoutSeconds":0}`).Error)
		require.Equal(t, !seesAll, b.tool(t, "sessions_send", `{"sessionKey":"`+string(group)+`","message":"x","timeoutSeconds":0}`).Error)
		other := b.tool(t, "sessions_send", `{"sessionKey":"agent:other:main","message":"x","timeoutSeconds":0}`)
		require.Equal(t, !seesAll, other.Error)
		require.Equal(t, !seesAll, strings.Contains(other.Text, "sandbox.sessionToolsVisibility is spawned"))
	}
}

// What is hidden by its level or by visibility, and what was never there, give the same answer byte for byte, by key and by id.
func TestSendHiddenIsAbsent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Visibility = roster.VisibleAgent })
	secret := b.record("agent:main:telegram:group:-200", confidential)
	foreign := b.record("agent:other:telegram:group:-200", public)
	say := func(key string) string {
		return b.tool(t, "sessions_send", `{"sessionKey":"`+key+`","message":"x"}`).Text
	}
	require.Equal(t, say("agent:main:telegram:group:-999"), strings.ReplaceAll(say(string(secret.Key)), "-200", "-999"))
	require.Equal(t, say("agent:other:telegram:group:-999"), strings.ReplaceAll(say(string(foreign.Key)), "-200", "-999"))
	for _, r := range []sessions.Record{secret, foreign} {
		require.Equal(t, say("sess_000000000000"), strings.ReplaceAll(say(string(r.ID)), string(r.ID), "sess_000000000000"))
	}
	require.Empty(t, b.asked)
}

func TestSendDownIsDeniedWithTheReason(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.record(group, internal)
	high := b.record("agent:main:telegram:group:-300", confidential)
	b.configure(func(s *roster.Settings) { s.Visibility = roster.VisibleAgent })
	b.as(t, high, true)
	result := b.tool(t, "sessions_send", `{"sessionKey":"`+string(group)+`","message":"x"}`)
	require.True(t, result.Error)
	require.Equal(t, "sessionKey: this session has learned CONFIDENTIAL information, and that one may receive at most INTERNAL information: an owner can send /raise CONFIDENTIAL there; /new starts over, which helps if the messages here are not themselves above INTERNAL", result.Text)
	require.Empty(t, b.asked)
}

// Upwards to its parent and to its agent's main session a session may always speak, and learns nothing from it.
func TestSendUpIsBlind(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) {
		s.Visibility, s.SubagentTools.Allow = roster.VisibleSelf, []string{"sessions_send"}
	})
	main := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:other:main", Agent: "other", Taint: confidential})
	parent := b.record("agent:main:http:parent", confidential)
	child := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:other:subagent:c", Agent: "other", Taint: public, SpawnedBy: parent.ID})
	b.as(t, child, false)
	b.runs = map[sessions.RunID]sessions.Run{"run_asked": {Status: sessions.RunDone, Reply: "secret", Label: confidential}}
	for _, to := range []string{string(main.Key), "main", string(parent.Key), string(parent.ID)} {
		require.Equal(t, "accepted", b.send(t, to, "").Status, to)
	}
	require.Empty(t, b.waited)

	b.refuse = fmt.Errorf("%w: %w", request.ErrQueueFull, &request.Error{Field: "sessionKey", Text: "the queue is full"})
	full := b.tool(t, "sessions_send", `{"sessionKey":"main","message":"x"}`)
	require.False(t, full.Error, "that it is full is not told either")
	require.Contains(t, full.Text, `"status":"accepted"`)
	b.refuse = errors.New("password of the database is 123")
	require.NotContains(t, b.tool(t, "sessions_send", `{"sessionKey":"main","message":"x"}`).Text, "123")
}

func TestFullQueueIsTold(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.record(group, public)
	b.refuse = fmt.Errorf("%w: %w", request.ErrQueueFull, &request.Error{Field: "sessionKey", Text: "the queue of that session is full: try again later"})
	result := b.tool(t, "sessions_send", `{"sessionKey":"`+string(group)+`","message":"x"}`)
	require.True(t, result.Error)
	require.Equal(t, "sessionKey: the queue of that session is full: try again later", result.Text)
}

// Who may not see the main session can leave word there, but not have it say what is in it.
func TestMainSessionAnswersOnlyWhoMaySeeIt(t *testing.T) {
	t.Parallel()
	for visibility, sees := range map[roster.Visibility]bool{roster.VisibleTree: false, roster.VisibleSelf: false, roster.VisibleAgent: true, roster.VisibleAll: true} {
		for _, owner := range []bool{false, true} { // an owner in a group is in a group
			b := newBundle(t)
			b.configure(func(s *roster.Settings) { s.Visibility = visibility })
			b.runs = map[sessions.RunID]sessions.Run{"run_asked": {Status: sessions.RunDone, Reply: "secret", Label: public}}
			main := b.run.Session
			b.as(t, b.record(group, public), owner)
			for i, to := range []string{"main", "agent:main:main", string(main)} {
				got := b.send(t, to, "")
				require.Equal(t, sees, got.Status == "ok" && got.Reply != nil, "%s %s", visibility, to)
				require.Equal(t, !sees, b.asked[i].Blind)
			}
			if !sees {
				require.Empty(t, b.waited)
				b.exchange(announce.Send, b.session.Record(), sessions.Record{ID: main, Key: "agent:main:main", Agent: "main"}, func(x *ledger.Exchange) { x.Blind = true })
				require.Empty(t, b.state(t, `{}`).Exchanges, "how it went is not told later either")
			}
		}
	}
}
