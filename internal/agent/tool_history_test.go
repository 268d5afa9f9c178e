package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// past is a result of sessions_history.
type past struct {
	SessionKey, SessionID       string
	Truncated, ContentTruncated bool
	DroppedMessages, Bytes      int
	Messages                    []struct {
		Role    string
		Content []sessions.Part
	}
}

// told stores a session that was told these texts.
func (b *bundle) told(t *testing.T, key sessions.Key, texts ...string) sessions.Record {
	t.Helper()
	r := b.record(key, public)
	s, err := b.Open(t.Context(), r)
	require.NoError(t, err)
	for _, text := range texts {
		s.Append(sessions.Message{Role: sessions.RoleUser, Sender: sessions.Peer{Name: "Eve"}, Parts: []sessions.Part{sessions.TextPart(text, public)}})
	}
	require.NoError(t, s.Persist(t.Context()))
	r = s.Record()
	b.store.records[len(b.store.records)-1] = r
	return r
}

func (b *bundle) history(t *testing.T, args string) (got past, text string) {
	t.Helper()
	result := b.tool(t, "sessions_history", args)
	require.False(t, result.Error, result.Text)
	require.NoError(t, json.Unmarshal([]byte(result.Text), &got))
	return got, result.Text
}

func TestHistoryByKeyAndByID(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	r := b.told(t, group, "one", "two", "three")
	byKey, text := b.history(t, `{"sessionKey":"`+string(group)+`"}`)
	_, byID := b.history(t, `{"sessionKey":"`+string(r.ID)+`"}`)
	require.Equal(t, text, byID)
	require.Len(t, byKey.Messages, 3)
	require.Equal(t, "one", byKey.Messages[0].Content[0].Text)
	require.False(t, byKey.Truncated || byKey.ContentTruncated)

	newest, _ := b.history(t, `{"sessionKey":"`+string(group)+`","limit":2}`)
	require.Equal(t, "two", newest.Messages[0].Content[0].Text)
	require.True(t, newest.Truncated)
	require.Equal(t, 1, newest.DroppedMessages)
}

func TestHistoryArguments(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		`{}`:                                         "sessionKey: is required",
		`{"sessionKey":null}`:                        "sessionKey: is required",
		`{"sessionKey":"sess_000000000000"}`:         `sessionKey: there is no session "sess_000000000000"`,
		`{"sessionKey":"sess_0"}`:                    `sessionKey: there is no session "sess_0"`,
		`{"sessionKey":"unknown"}`:                   `sessionKey: there is no session "unknown"`,
		`{"sessionKey":"main","limit":0}`:            "limit: 0 is less than 1",
		`{"sessionKey":"main","limit":-5}`:           "limit: -5 is less than 1",
		`{"sessionKey":"main","includeTools":"yes"}`: "includeTools: want true or false",
		`{"sessionKey":"main","offset":1}`:           "offset: unknown parameter",
		`{"sessionKey":"agent:main:` + strings.Repeat("x", 4000) + `" }`: "sessionKey: there is no session",
	} {
		result := newBundle(t).tool(t, "sessions_history", args)
		require.True(t, result.Error, result.Text)
		require.Contains(t, result.Text, says)
	}
}

func TestHistoryHasSizeCaps(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.told(t, group, strings.Repeat("ü", 5000))
	got, _ := b.history(t, `{"sessionKey":"`+string(group)+`"}`)
	require.True(t, got.ContentTruncated)
	require.False(t, got.Truncated)
	text := got.Messages[0].Content[0].Text
	require.LessOrEqual(t, len(text), 4003)
	require.True(t, utf8.ValidString(text) && strings.HasSuffix(text, "ü…"))

	var many []string
	for range 60 {
		many = append(many, strings.Repeat("x", 3000))
	}
	b.told(t, "agent:main:telegram:group:-2", many...)
	got, raw := b.history(t, `{"sessionKey":"agent:main:telegram:group:-2","limit":200}`)
	require.True(t, got.Truncated)
	require.False(t, got.ContentTruncated)
	require.Equal(t, 60, got.DroppedMessages+len(got.Messages))
	require.Less(t, len(raw), 81*1024)
	require.InDelta(t, len(raw), got.Bytes, 300)
}

// A last message that is too big on its own has a row that says so.
func TestHistoryOfOneHugeMessage(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	r := b.told(t, group, "before")
	s, err := b.Open(t.Context(), r)
	require.NoError(t, err)
	huge := sessions.Message{Role: sessions.RoleAssistant}
	for range 40 {
		huge.Parts = append(huge.Parts, sessions.TextPart(strings.Repeat("x", 3900), public))
	}
	s.Append(huge)
	require.NoError(t, s.Persist(t.Context()))
	b.store.records[len(b.store.records)-1] = s.Record()
	got, raw := b.history(t, `{"sessionKey":"`+string(group)+`"}`)
	require.Less(t, len(raw), 2000)
	require.True(t, got.ContentTruncated)
	require.Len(t, got.Messages, 2)
	require.Regexp(t, `^\[message not shown: it has 1[0-9]{5} bytes`, got.Messages[1].Content[0].Text)
}

func TestHistoryShortensToolCalls(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tool(t, "message", `{"message":"`+strings.Repeat("x", 5000)+`"}`)
	require.NoError(t, b.session.Persist(t.Context()))
	b.store.records[0], _ = b.store.Session(t.Context(), b.run.Session)
	got, text := b.history(t, `{"sessionKey":"main","includeTools":true}`)
	require.True(t, got.ContentTruncated)
	require.Contains(t, text, `"args":{"omittedBytes":5014}`)
}

// What was learnt since the record was read hides the history as if it were not there.
func TestHistoryIsCheckedAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	r := b.told(t, group, "harmless")
	s, err := b.Open(t.Context(), r)
	require.NoError(t, err)
	s.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("secret", confidential)}})
	require.NoError(t, s.Persist(t.Context()))
	stale := s.Record()
	stale.Taint = public
	b.store.records[len(b.store.records)-1] = stale
	for _, name := range []string{string(group), "agent:main:telegram:group:-999"} {
		require.Equal(t, `sessionKey: there is no session "`+name+`"; sessions_list shows those that you can see`, b.tool(t, "sessions_history", `{"sessionKey":"`+name+`"}`).Text)
	}
	require.Zero(t, b.list(t, `{"kinds":["group"],"messageLimit":1}`).Count)
}

// An archived sub-agent's transcript stays readable for the session that started it, by its id and its key. It is not listed,
// and nobody speaks there.
func TestHistoryOfAnArchivedSubAgent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	own := b.session
	there := b.stored(sessions.Record{ID: "sess_00000000000a", Key: "agent:main:subagent:a", Agent: "main", Taint: public, SpawnedBy: b.run.Session, Ended: start, Archived: true})
	b.as(t, there, true)
	b.session.Append(sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("42 EUR", public)}})
	require.NoError(t, b.session.Persist(t.Context()))
	b.store.archived, b.store.records = []sessions.Record{b.session.Record()}, b.store.records[:1]
	b.session, b.run.Session = own, own.Record().ID
	for _, name := range []string{string(there.ID), string(there.Key)} {
		result := b.tool(t, "sessions_history", `{"sessionKey":"`+name+`"}`)
		require.False(t, result.Error, result.Text)
		require.Contains(t, result.Text, "42 EUR")
		require.Contains(t, b.tool(t, "session_status", `{"sessionKey":"`+name+`"}`).Text, `"transcriptPath":"/v1/sessions/sess_00000000000a/history"`)
		require.Contains(t, b.tool(t, "sessions_send", `{"sessionKey":"`+name+`","message":"x"}`).Text, "there is no session")
	}
	require.Equal(t, []string{"main"}, b.list(t, `{}`).keys())
	b.as(t, b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:http:h", Agent: "main", Taint: public}), false)
	require.Contains(t, b.tool(t, "sessions_history", `{"sessionKey":"`+string(there.Key)+`"}`).Text, "there is no session", "others do not see it")
}
