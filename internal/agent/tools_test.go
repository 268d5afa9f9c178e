package agent_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/request"
	"sluice/sessions"
)

func TestArgumentsAreStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, args, says string }{
		"unknown parameter": {"sessions_list", `{"limits": 3}`, "limits: unknown parameter"},
		"wrong type":        {"sessions_list", `{"limit": "three"}`, "limit: want a whole number, got a JSON string"},
		"too small":         {"sessions_list", `{"limit": 0}`, "limit: 0 is less than 1"},
		"wrong kind":        {"sessions_list", `{"kinds": ["main", "mine"]}`, `kinds[1]: "mine"`},
		"not an object":     {"sessions_list", `[]`, "not a JSON object"},
		"required":          {"sessions_history", `{}`, "sessionKey: is required"},
		"empty message":     {"message", `{"message": ""}`, "message: is required"},
		"a word of silence": {"message", `{"message": " NO_REPLY\n"}`, `message: "NO_REPLY" means silence`},
		"no such session":   {"session_status", `{"sessionKey": "sess_000000000000"}`, "there is no session"},
		"no key at all":     {"session_status", `{"sessionKey": "what ever"}`, "there is no session"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := newBundle(t).tool(t, c.tool, c.args)
			require.True(t, result.Error)
			require.Contains(t, result.Text, c.says)
		})
	}
}

func TestSessionsList(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.record("agent:main:telegram:group:-100", flow.Bottom())
	b.record("agent:main:telegram:group:-200", flow.NewLabel(flow.Restricted, flow.Trusted))
	b.store.records = append(b.store.records, sessions.Record{ID: "sess_1", Key: "agent:other:main", Agent: "other", Taint: flow.Bottom()})
	var got struct {
		Count    int
		Sessions []struct{ Key, Kind, Model, Channel string }
	}
	require.NoError(t, json.Unmarshal([]byte(b.tool(t, "sessions_list", `{}`).Text), &got))
	require.Equal(t, 2, got.Count, "what is more secret, or another agent's, is not there")
	require.Equal(t, "main", got.Sessions[0].Key)
	require.Equal(t, "main", got.Sessions[0].Kind)
	require.Equal(t, "test/scripted", got.Sessions[0].Model)

	require.NoError(t, json.Unmarshal([]byte(b.tool(t, "sessions_list", `{"kinds":["group"],"messageLimit":2}`).Text), &got))
	require.Equal(t, 1, got.Count)
	require.Equal(t, "group", got.Sessions[0].Kind)

	b.run.Input.Owner = false
	require.NoError(t, json.Unmarshal([]byte(b.tool(t, "sessions_list", `{}`).Text), &got))
	require.Equal(t, 1, got.Count, "a guest's words show only their own session")
}

// A hidden session and one that never was give the same answer, byte for byte.
func TestHiddenIsAbsent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	hidden := b.record("agent:main:telegram:group:-200", flow.NewLabel(flow.Restricted, flow.Trusted))
	for _, tool := range []string{"sessions_history", "session_status"} {
		secret := b.tool(t, tool, `{"sessionKey":"`+string(hidden.Key)+`"}`).Text
		absent := b.tool(t, tool, `{"sessionKey":"agent:main:telegram:group:-999"}`).Text
		require.Equal(t, absent, replaceAll(secret, "-200", "-999"))
	}
}

func replaceAll(s, old, with string) string {
	b := []byte(s)
	for i := 0; i+len(old) <= len(b); i++ {
		if string(b[i:i+len(old)]) == old {
			copy(b[i:], with)
		}
	}
	return string(b)
}

func TestHistoryLeavesOutTools(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.tool(t, "session_status", `{}`)
	require.NoError(t, b.session.Persist(t.Context()))
	b.reopen(t)
	b.store.records[0], _ = b.store.Session(t.Context(), b.run.Session)
	var got struct {
		Messages []struct {
			Role    string
			Content []sessions.Part
		}
	}
	text := b.tool(t, "sessions_history", `{"sessionKey":"main"}`).Text
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Len(t, got.Messages, 2)
	text = b.tool(t, "sessions_history", `{"sessionKey":"main","includeTools":true,"limit":3}`).Text
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Len(t, got.Messages, 3)
	require.Contains(t, text, "droppedMessages")
}

func TestMessageGoesWhereTheRunCameFrom(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.False(t, b.tool(t, "message", `{"message":"wait a moment"}`).Error)
	require.Equal(t, "42", b.sent[0].To)
	require.Equal(t, "telegram", b.sent[0].Channel)
	require.Equal(t, sessions.Direct, b.sent[0].ChatType)
	require.Contains(t, b.sent[0].Idempotency, "tool/"+string(b.run.ID)+"/call_1")
	require.Equal(t, b.session.Taint(), b.sent[0].Label)

	require.Contains(t, b.tool(t, "message", `{"message":"x","to":"forbidden"}`).Text, `"status":"blocked"`)
	b.refuse = &request.Error{Field: "channel", Text: "no channel"}
	require.Contains(t, b.tool(t, "message", `{"message":"x","channel":"fax","to":"1"}`).Text, "channel: no channel")
	b.refuse = errors.New("password of the database is 123")
	require.NotContains(t, b.tool(t, "message", `{"message":"x"}`).Text, "123", "an internal text never leaves")
}

func TestMessageWithButtonsAndMedia(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	args := `{"message":"deploy?","buttons":[{"label":"Yes","value":"/deploy"}],"media":["med_1"]}`
	require.False(t, b.tool(t, "message", args).Error)
	require.False(t, b.tool(t, "message", `{"media":["med_1"]}`).Error)
	require.Equal(t, []adapters.Button{{Label: "Yes", Value: "/deploy"}}, b.sent[0].Buttons)
	require.Equal(t, []sessions.MediaID{"med_1"}, b.sent[0].Media)
	require.Equal(t, b.session.Record().ID, b.sent[0].Session, "only what came into the session may be sent")
	require.NotEqual(t, b.sent[0].Idempotency, b.sent[1].Idempotency)
	require.Contains(t, b.tool(t, "message", `{"message":"x","buttons":[{"label":"Yes","action":"x"}]}`).Text, "action")
}

// A call that is run again is the same message; another one that a model has given the same id is not.
func TestCallIDsThatAreNotUnique(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, args := range []string{`{"message":"one"}`, `{"message":"two"}`, `{"message":"one"}`} {
		require.False(t, b.tool(t, "message", args).Error)
	}
	require.Equal(t, b.sent[0].Idempotency, b.sent[2].Idempotency)
	require.NotEqual(t, b.sent[0].Idempotency, b.sent[1].Idempotency)
}

func TestOnlyAnOwnersWordsSpeakElsewhere(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.run.Input.Owner = false
	require.True(t, b.tool(t, "message", `{"message":"x","to":"43"}`).Error)
	require.False(t, b.tool(t, "message", `{"message":"x","to":"42"}`).Error)
	require.Len(t, b.sent, 1)
}

// What rules are told of a call that has another session work is what their document lists.
func TestToolsThatInvokeAreListed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	var found []string
	for _, name := range b.toolNames(t) {
		if tool, _ := b.session.Tool(name); tool.Flow.Writes == sessions.FlowAgent {
			found = append(found, name)
		}
	}
	require.NotEmpty(t, found)
	require.Subset(t, []string{"sessions_send", "sessions_spawn"}, found)
}
