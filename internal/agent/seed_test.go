package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// The calls of the seed, with its names of parameters. Models are told of one name of each only.
func TestTheCallsOfTheSeed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	child := b.stored(sessions.Record{ID: "sess_000000000001", Key: "agent:main:subagent:c", Agent: "main", Taint: public, SpawnedBy: b.run.Session, Created: start})
	b.runs = map[sessions.RunID]sessions.Run{"run_asked": {Status: sessions.RunDone, Reply: "seven", Label: public}}
	for _, c := range []struct{ tool, args, says string }{
		{"sessions_list", `{}`, `"sessionId":"sess_000000000001"`},
		{"sessions_history", `{"session_id":"sess_000000000001"}`, `"sessionId":"sess_000000000001"`},
		{"sessions_send", `{"session_id":"sess_000000000001","content":"Research is complete: 3 competitors"}`, `"reply":"seven"`},
		{"sessions_spawn", `{"task":"Research competitor pricing and put together a summary"}`, `"status":"accepted"`},
		{"session_status", `{"session_id":"sess_000000000001"}`, `"taint":"PUBLIC"`},
		{"message", `{"channel":"telegram","recipient":"owner","text":"Alert: the disk is full"}`, `"status":"accepted"`},
		{"simulate_tool_call", `{"tool_name":"message"}`, `"decision":"BLOCK"`},
		{"simulate_tool_call", `{"tool_name":"sessions_send","args":{"session_id":"sess_000000000001","content":"hi"}}`, `"decision":"ALLOW"`},
		{"simulate_tool_call", `{"tool_name":"message","args":{"channel":"telegram","recipient":"forbidden","text":"hi"}}`, `"decision":"BLOCK"`},
	} {
		result := b.tool(t, c.tool, c.args)
		require.False(t, result.Error, "%s %s: %s", c.tool, c.args, result.Text)
		require.Contains(t, result.Text, c.says, "%s %s", c.tool, c.args)
		b.run.ID = sessions.NewRunID()
	}
	require.Equal(t, child.ID, b.asked[0].Target.ID)
	require.Equal(t, "Research is complete: 3 competitors", b.asked[0].Text)
	require.Equal(t, []string{"telegram", "owner", "Alert: the disk is full"}, []string{b.sent[0].Channel, b.sent[0].To, b.sent[0].Text})
}

// Two names of one parameter in one call are refused with both names, whatever their values.
func TestTwoNamesOfOneParameter(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for args, says := range map[[2]string]string{
		{"sessions_history", `{"session_id":"main","sessionKey":"main"}`}:              "session_id: means the same as sessionKey; give only one of the two",
		{"session_status", `{"session_id":"main","sessionKey":"current"}`}:             "session_id: means the same as sessionKey; give only one of the two",
		{"sessions_send", `{"session_id":"x","sessionKey":"y","message":"m"}`}:         "session_id: means the same as sessionKey; give only one of the two",
		{"sessions_send", `{"sessionKey":"y","message":"m","content":"n"}`}:            "content: means the same as message; give only one of the two",
		{"message", `{"channel":"telegram","to":"1","recipient":"2","message":"m"}`}:   "recipient: means the same as to; give only one of the two",
		{"message", `{"channel":"telegram","recipient":"2","message":"m","text":"m"}`}: "text: means the same as message; give only one of the two",
		{"message", `{"channel":"telegram","Recipient":"2","message":"m"}`}:            "Recipient: unknown parameter",
		{"sessions_history", `{"session_id":7}`}:                                       "sessionKey: want a string, got a JSON number",
		{"sessions_history", `{"session_id":null}`}:                                    "sessionKey: is required",
		{"sessions_history", `{}`}:                                                     "sessionKey: is required",
		{"sessions_history", `{"session_id":"sess_00000000000a"}`}:                     `sessionKey: there is no session "sess_00000000000a"`,
		{"sessions_spawn", `{"content":"research"}`}:                                   "content: unknown parameter",
	} {
		result := b.tool(t, args[0], args[1])
		require.True(t, result.Error, result.Text)
		require.Contains(t, result.Text, says, args[1])
	}
	require.Empty(t, b.sent)
	require.Empty(t, b.asked)
	require.False(t, b.tool(t, "message", `{"to":null,"recipient":"42","text":"hi"}`).Error, "null stands for a missing parameter")
	require.Equal(t, "42", b.sent[0].To)
}

// Rules name parameters by their first names. They hold for the second ones too, in calls and in simulations.
func TestRulesHoldForBothNames(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) {
		s.Visibility = roster.VisibleAgent
		s.Monitor = monitorOf(policy.EscalationAuto,
			policy.Rule{Name: "no-42", Hook: policy.PreToolCall, Tools: []string{"message"}, When: `has(tool.args.to) && tool.args.to == "42"`, Action: policy.Block},
			policy.Rule{Name: "no-group", Hook: policy.AgentInvocation, When: `agent.to == "` + string(group) + `"`, Action: policy.Block})
	})
	b.reopen(t)
	b.record(group, public)
	for _, c := range []struct{ tool, args string }{
		{"message", `{"channel":"telegram","to":"42","message":"hi"}`},
		{"message", `{"channel":"telegram","recipient":"42","text":"hi"}`},
		{"sessions_send", `{"sessionKey":"` + string(group) + `","message":"hi"}`},
		{"sessions_send", `{"session_id":"` + string(group) + `","content":"hi"}`},
	} {
		result := b.tool(t, c.tool, c.args)
		require.True(t, result.Error, result.Text)
		require.Contains(t, result.Text, "refused: ", c.args)
		require.Contains(t, b.tool(t, "simulate_tool_call", `{"tool_name":"`+c.tool+`","args":`+c.args+`}`).Text, `"decision":"BLOCK"`)
	}
	require.Empty(t, b.sent)
	require.Empty(t, b.asked)
}

// What session_status says of a session is what the seed names: its id, its channel, who writes there, its taint and when it began.
func TestStatusOfTheSeed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	there := b.stored(sessions.Record{
		ID: "sess_000000000001", Key: group, Agent: "main", Taint: public, Created: start,
		Route: sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: "-100"},
	})
	own := b.session
	b.as(t, there, true)
	b.session.Append(
		sessions.Message{Role: sessions.RoleUser, Sender: sessions.Peer{ID: "7", Name: "Ann"}, Parts: []sessions.Part{sessions.TextPart("hi", public)}},
		sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("hello", public)}},
	)
	require.NoError(t, b.session.Persist(t.Context()))
	b.store.records[len(b.store.records)-1] = b.session.Record()
	b.session, b.run.Session = own, own.Record().ID
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(b.tool(t, "session_status", `{"session_id":"sess_000000000001"}`).Text), &got))
	for name, want := range map[string]any{
		"sessionId": "sess_000000000001", "channel": "telegram", "user": "telegram:7", "taint": "PUBLIC", "createdAt": float64(start.UnixMilli()),
	} {
		require.Equal(t, want, got[name], name)
	}
}

// A summary of the topic needs no name of the topic.
func TestSummaryOfTheLatestTopic(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.saying(t, "the ferry leaves at nine", "bread costs 3")
	part := b.summarize(t, `{"scope":"topic"}`, sessiontest.Says("bread"))
	require.JSONEq(t, `{"summary":"bread","messages":5}`, part.Text)
	asked := b.model.Asked()
	request := asked[len(asked)-2]
	require.Contains(t, request.System, "which topic the last messages are about")
	require.Contains(t, request.Messages[0].Text(), "bread costs 3")
	b.saying(t, make([]string, 25)...)
	require.JSONEq(t, `{"summary":"x","messages":39}`, b.summarize(t, `{"scope":"topic","focus":" "}`, sessiontest.Says("x")).Text, "the latest turns only")
}
