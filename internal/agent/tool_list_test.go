package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
)

// full is a session with everything that a row can show.
func full(b *bundle) sessions.Record {
	return sessions.Record{
		ID: "sess_000000000001", Key: group, Agent: "main", Taint: public, SpawnedBy: b.run.Session, Label: flow.NewText("the team", public), Title: flow.NewText("Team ünï", public),
		Model: flow.NewText("test/scripted", public), ThinkingLevel: sessions.ThinkingHigh, VerboseLevel: sessions.VerboseOn, SendPolicy: sessions.SendDeny,
		Route:       sessions.Route{Channel: "telegram", Account: "work", ChatType: sessions.Group, Conversation: "-100", Thread: "7"},
		Usage:       sessions.Usage{InputTokens: 40, OutputTokens: 2},
		ContextSize: 30, AbortedLast: true, LastActivity: start.Add(time.Minute),
	}
}

func TestRowHasAllOfIt(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.stored(full(b))
	require.JSONEq(t, `{"count":1,"sessions":[{
		"key":"agent:main:telegram:group:-100","kind":"group","channel":"telegram","label":"the team","displayName":"Team ünï",
		"updatedAt":946684860000,"sessionId":"sess_000000000001","spawnedBy":"main","model":"test/scripted",
		"contextTokens":30,"totalTokens":42,"thinkingLevel":"high","verboseLevel":"on","systemSent":true,"abortedLastRun":true,
		"sendPolicy":"deny","lastChannel":"telegram","lastTo":"-100","deliveryContext":{"channel":"telegram","to":"-100","accountId":"work"},"transcriptPath":"/v1/sessions/sess_000000000001/history"}]}`,
		b.tool(t, "sessions_list", `{"kinds":["group"]}`).Text)
}

// listed is a result of sessions_list.
type listed struct {
	Count    int
	Sessions []struct {
		Key, Kind, Channel, SpawnedBy string
		Messages                      []struct {
			Role    string
			Content []sessions.Part
		}
	}
}

func (l listed) keys() (keys []string) {
	for _, s := range l.Sessions {
		keys = append(keys, s.Key)
	}
	return keys
}

func (b *bundle) list(t *testing.T, args string) (got listed) {
	t.Helper()
	result := b.tool(t, "sessions_list", args)
	require.False(t, result.Error, result.Text)
	require.NoError(t, json.Unmarshal([]byte(result.Text), &got))
	require.Len(t, got.Sessions, got.Count)
	return got
}

func TestKindsAndChannels(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	kinds := map[string][2]string{
		"main":                                {"main", "telegram"},
		"agent:main:telegram:group:-1":        {"group", "telegram"},
		"agent:main:slack:channel:C1":         {"group", "slack"},
		"agent:main:slack:channel:C1:thread:": {"group", "slack"},
		"cron:nightly":                        {"cron", "internal"},
		"hook:0b5e":                           {"hook", "internal"},
		"node-7":                              {"node", "internal"},
		"agent:main:subagent:c":               {"other", "internal"},
		"agent:main:http:h":                   {"other", "unknown"},
		"agent:main:cron:y":                   {"other", "unknown"},
		"agent:main:direct:eve":               {"other", "unknown"},
	}
	for key := range kinds {
		if key != "main" {
			b.record(sessions.Key(key), public)
		}
	}
	got := b.list(t, `{}`)
	require.Equal(t, len(kinds), got.Count)
	counts := map[string]int{}
	for _, s := range got.Sessions {
		got := [2]string{s.Kind, s.Channel}
		require.Equal(t, kinds[s.Key], got, s.Key)
		counts[s.Kind]++
	}
	for kind, n := range counts {
		require.Equal(t, n, b.list(t, `{"kinds":["`+kind+`"]}`).Count, kind)
	}
	require.Equal(t, 3, b.list(t, `{"kinds":["cron","hook","node"]}`).Count)
}

// The reserved words are never listed, even were they stored; as a name, global is the main session.
func TestReservedKeysAreNotListed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.record("global", public)
	b.record("unknown", public)
	require.Equal(t, []string{"main"}, b.list(t, `{}`).keys())
	for _, tool := range []string{"session_status", "sessions_history"} {
		text := b.tool(t, tool, `{"sessionKey":"global"}`).Text
		require.Contains(t, text, `"main"`)
		require.NotContains(t, text, "global")
		require.True(t, b.tool(t, tool, `{"sessionKey":"unknown"}`).Error)
	}
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range 230 {
		b.record(sessions.Key(fmt.Sprint("agent:main:telegram:group:-", i)), public)
	}
	for args, n := range map[string]int{`{}`: 200, `{"limit":7}`: 7, `{"limit":100000}`: 200, `{"activeMinutes":1}`: 0} {
		got := b.list(t, args)
		require.Equal(t, n, got.Count, args)
	}
	for args, says := range map[string]string{
		`{"limit":-1}`: "limit: -1 is less than 1", `{"activeMinutes":0}`: "activeMinutes: 0 is less than 1", `{"messageLimit":-1}`: "messageLimit: -1 is less than 0",
		`{"kinds":"main"}`: "kinds: want an array", `{"kinds":["global"]}`: `kinds[0]: "global" is not main, group, cron, hook, node or other`, `{"messageLimit":1.5}`: "messageLimit: want a whole number",
	} {
		result := b.tool(t, "sessions_list", args)
		require.True(t, result.Error)
		require.Contains(t, result.Text, says)
	}
}

// Sessions that a caller can't see don't use up the rows of those that it can.
func TestListLooksBehindWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Visibility = roster.VisibleAgent })
	b.store.records = nil
	for i := range 2500 {
		key := sessions.Key(fmt.Sprintf("agent:other:telegram:group:-%d", i))
		b.store.records = append(b.store.records, sessions.Record{ID: sessions.ID(fmt.Sprintf("sess_%012d", i)), Key: key, Agent: "other", Taint: public})
	}
	b.record(group, public)
	require.Equal(t, []string{string(group)}, b.list(t, `{"limit":1}`).keys())
}

func TestListShowsNewestMessagesWithoutTools(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range 25 {
		b.tool(t, "todo_add", fmt.Sprintf(`{"items":["%d"]}`, i))
	}
	require.NoError(t, b.session.Persist(t.Context()))
	b.store.records[0], _ = b.store.Session(t.Context(), b.run.Session)
	for args, n := range map[string]int{`{}`: 0, `{"messageLimit":3}`: 3, `{"messageLimit":1000}`: 20} {
		messages := b.list(t, args).Sessions[0].Messages
		require.Len(t, messages, n)
		for _, m := range messages {
			require.NotEqual(t, "toolResult", m.Role)
			for _, p := range m.Content {
				require.Equal(t, sessions.PartText, p.Type)
			}
		}
	}
}

// Who started a sub-agent is told only to those who can see that session.
func TestSpawnedByIsHidden(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Visibility = roster.VisibleAgent })
	secret := b.record("agent:main:http:secret", confidential)
	b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:c", Agent: "main", Taint: public, SpawnedBy: secret.ID})
	for _, s := range b.list(t, `{}`).Sessions {
		require.Empty(t, s.SpawnedBy)
	}
	require.NotContains(t, b.tool(t, "session_status", `{"sessionKey":"agent:main:subagent:c"}`).Text, "secret")
}

// Whatever the caller has learnt, and whatever is stored: no row is above it, and each one is labelled in the result.
func TestListMatrix(t *testing.T) {
	t.Parallel()
	for _, caller := range flow.Levels() {
		b := newBundle(t)
		b.configure(func(s *roster.Settings) { s.Visibility = roster.VisibleAgent })
		b.as(t, b.record("agent:main:http:h", flow.NewLabel(caller, flow.Trusted)), true)
		for _, level := range flow.Levels() {
			b.record(sessions.Key("agent:main:telegram:group:"+level.String()), flow.NewLabel(level, flow.Trusted))
		}
		keys := strings.Join(b.list(t, `{}`).keys(), " ")
		for _, level := range flow.Levels() {
			require.Equal(t, flow.CanFlow(level, caller), strings.Contains(keys, ":"+level.String()), "%s seen from %s", level, caller)
		}
	}
}

// The main session of the caller's agent is main in every result, as in every parameter. That of another agent has its key.
func TestMainIsShownAsMain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Visibility, s.AgentToAgent.Enabled = roster.VisibleAll, true })
	b.record("agent:other:main", public)
	child := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:c", Agent: "main", Taint: public, SpawnedBy: b.run.Session, LastActivity: start})
	require.Equal(t, []string{"main", "agent:other:main", string(child.Key)}, b.list(t, `{}`).keys())
	require.Contains(t, b.tool(t, "sessions_history", `{"sessionKey":"main"}`).Text, `"sessionKey":"main"`)
	b.as(t, b.record(group, public), true)
	b.runs = map[sessions.RunID]sessions.Run{"run_asked": {Status: sessions.RunDone, Reply: "7", Label: public}}
	require.Equal(t, "main", b.send(t, "agent:main:main", "").SessionKey)
	require.Equal(t, "agent:other:main", b.send(t, "agent:other:main", "").SessionKey)
	require.Contains(t, b.tool(t, "session_status", `{"sessionKey":"`+string(child.ID)+`"}`).Text, `"spawnedBy":"main"`)
}

// The channel is right from the first message on: it is that of the message while its run has not ended.
func TestChannelOfTheFirstMessage(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Visibility, s.AgentToAgent.Enabled = roster.VisibleAll, true })
	b.record("agent:other:main", public)
	b.as(t, b.record(group, public), true)
	channel := func() (channel string) {
		for _, s := range b.list(t, `{"kinds":["main"]}`).Sessions {
			if s.Key == "agent:other:main" {
				channel = s.Channel
			}
		}
		return channel
	}
	require.Equal(t, "unknown", channel(), "nobody has spoken there")
	slack := sessions.Route{Channel: "slack", Conversation: "D1", ChatType: sessions.Direct}
	b.store.waiting = []sessions.Run{{Status: sessions.RunQueued, Route: slack, Label: confidential}}
	require.Equal(t, "unknown", channel(), "what is more secret is not there")
	b.store.waiting = append(b.store.waiting, sessions.Run{Status: sessions.RunRunning, Route: slack, Label: public})
	require.Equal(t, "slack", channel())
}
