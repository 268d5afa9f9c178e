package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/store/sqlite/sqlitetest"
)

// bearer adds a token to requests.
type bearer struct{ token string }

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// mcpAs connects the SDK's own client with a token.
func (g *gateway) mcpAs(token string) *mcp.ClientSession {
	g.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(g.t.Context(), &mcp.StreamableClientTransport{Endpoint: g.url("/mcp"), HTTPClient: &http.Client{Transport: bearer{token}}, DisableStandaloneSSE: true}, nil)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = s.Close() })
	return s
}

// useTool calls a tool and returns the text of its result.
func useTool(t *testing.T, s *mcp.ClientSession, name, args string) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	require.Len(t, r.Content, 1)
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

// A client of MCP talks to an agent, reads what was said, and works with messages, memories and alerts.
func TestTheGatewayIsAnMCPServer(t *testing.T) {
	t.Parallel()
	g := start(t, "targets: { ops: { channel: webchat, to: local } }\nalerts: { route: { receiver: us }, receivers: [{ name: us, targets: [ops] }] }\n")
	s := g.mcpAs(g.Token())
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	hints := map[string]string{}
	for _, tool := range list.Tools {
		require.NotEmpty(t, tool.Description)
		hints[tool.Name] = "changes"
		switch {
		case tool.Annotations.ReadOnlyHint:
			hints[tool.Name] = "reads"
		case *tool.Annotations.DestructiveHint:
			hints[tool.Name] = "destroys"
		}
	}
	require.Equal(t, map[string]string{
		"agents_list": "reads", "sessions_list": "reads", "session_status": "reads", "sessions_history": "reads", "sessions_send": "changes", "sessions_spawn": "changes",
		"run_status": "reads", "memory_list": "reads", "memory_search": "reads", "memory_get": "reads", "memory_save": "changes", "memory_delete": "destroys", "message": "changes", "deliveries_list": "reads",
		"delivery_show": "reads", "alert_list": "reads", "alert_show": "reads", "alert_fire": "changes", "alert_ack": "changes", "alert_resolve": "changes", "alert_silence": "changes",
	}, hints)

	text, failed := useTool(t, s, "sessions_send", `{"sessionKey":"main","message":"/status","name":"one"}`)
	require.False(t, failed, text)
	require.Contains(t, text, "agent main, model")
	text, failed = useTool(t, s, "sessions_send", `{"sessionKey":"main","message":"hello"}`)
	require.False(t, failed, text)
	require.Contains(t, text, `"status":"ok"`)
	at, failed := useTool(t, s, "sessions_send", `{"sessionKey":"main","message":"hello again","timeoutSeconds":0}`)
	require.False(t, failed, at)
	require.Contains(t, at, `"status":"accepted"`)
	var said struct {
		Run string `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &said))
	text, failed = useTool(t, s, "run_status", `{"run":"`+said.Run+`","wait":"1s"}`)
	require.False(t, failed, text)
	require.Contains(t, text, `"done"`)
	text, _ = useTool(t, s, "sessions_history", `{"sessionKey":"main"}`)
	require.Contains(t, text, `"hello"`)
	text, _ = useTool(t, s, "sessions_list", `{}`)
	require.Contains(t, text, `{"sessions":[`)
	require.Contains(t, text, "agent:main:main")
	text, _ = useTool(t, s, "sessions_list", `{"limit":1}`)
	require.Contains(t, text, `"after":"sess_`, "a page says where the next one begins")
	text, failed = useTool(t, s, "sessions_list", `{"kinds":["main"],"activeMinutes":5,"messageLimit":1}`)
	require.False(t, failed, text)
	var rows struct {
		Sessions []struct {
			Key      string
			Messages []struct{ Role, Text string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &rows))
	require.Len(t, rows.Sessions, 1)
	require.Len(t, rows.Sessions[0].Messages, 1)
	text, failed = useTool(t, s, "sessions_send", `{"sessionKey":"main","message":"list sessions"}`)
	require.False(t, failed, text)
	text, failed = useTool(t, s, "sessions_list", `{"kinds":["main"],"messageLimit":3}`)
	require.False(t, failed, text)
	require.NoError(t, json.Unmarshal([]byte(text), &rows))
	roles := make([]string, 0, 3)
	for _, m := range rows.Sessions[0].Messages {
		roles = append(roles, m.Role)
	}
	require.Equal(t, []string{"user", "assistant", "assistant"}, roles, "a call and the reply, without the result of the tool")
	text, _ = useTool(t, s, "sessions_list", `{"kinds":["cron","group"]}`)
	require.JSONEq(t, `{"sessions":[]}`, text)
	text, failed = useTool(t, s, "sessions_list", `{"kinds":["nonsense"]}`)
	require.True(t, failed, text)

	text, failed = useTool(t, s, "memory_save", `{"key":"milk/price","content":"two euros","tags":["shop"]}`)
	require.False(t, failed, text)
	require.Contains(t, text, `"classification":"PUBLIC"`)
	text, failed = useTool(t, s, "memory_save", `{"key":"milk/supplier","content":"the farm","label":"CONFIDENTIAL"}`)
	require.False(t, failed, text)
	require.Contains(t, text, `"classification":"CONFIDENTIAL"`)
	text, failed = useTool(t, s, "memory_get", `{"key":"milk/price"}`)
	require.False(t, failed, text)
	require.Contains(t, text, "two euros")
	text, failed = useTool(t, s, "memory_search", `{"query":"price","max_results":1}`)
	require.False(t, failed, text)
	require.Contains(t, text, "two euros")
	text, failed = useTool(t, s, "memory_delete", `{"key":"milk/price"}`)
	require.False(t, failed, text)
	text, failed = useTool(t, s, "memory_get", `{"key":"milk/price"}`)
	require.True(t, failed, text)
	require.Contains(t, text, "not found")

	resources, err := s.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, resources.Resources, 1)
	content, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: resources.Resources[0].URI})
	require.NoError(t, err)
	require.Contains(t, content.Contents[0].Text, `"hello"`)
	for _, uri := range []string{"sluice://sessions/sess_000000000000", "sluice://sessions/", "sluice://other/x", "sluice://sessions/a%2F..%2Fb"} {
		_, err = s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		require.ErrorContains(t, err, "not found", uri)
	}

	text, failed = useTool(t, s, "alert_fire", `{"key":"disk","title":"The disk is full"}`)
	require.False(t, failed, text)
	for tool, args := range map[string]string{"alert_show": `{"alert":"disk"}`, "alert_list": `{"status":"open"}`, "alert_ack": `{"alert":"disk"}`} {
		text, failed = useTool(t, s, tool, args)
		require.False(t, failed, text)
		require.Contains(t, text, "The disk is full")
	}
	for tool, args := range map[string]string{
		"memory_search": `{"query":"milk"}`, "deliveries_list": `{}`, "agents_list": `{}`, "session_status": `{"sessionKey":"main"}`,
		"alert_silence": `{"alert":"disk","for":"1h"}`, "alert_resolve": `{"alert":"disk"}`, "message": `{"channel":"webchat","to":"local","message":"hi"}`,
		"sessions_spawn": `{"session_id":"main","task":"look around"}`,
	} {
		text, failed = useTool(t, s, tool, args)
		require.False(t, failed, "%s: %s", tool, text)
	}
	for tool, args := range map[string]string{
		"sessions_history": `{"session_id":"main"}`, "session_status": `{"session_id":"main"}`, "sessions_send": `{"session_id":"main","content":"hi"}`,
		"message": `{"channel":"webchat","recipient":"local","text":"hi"}`,
	} {
		text, failed = useTool(t, s, tool, args)
		require.False(t, failed, "%s: %s", tool, text)
	}
	for args, want := range map[string]string{
		`{"sessionKey":"main","session_id":"main"}`: "session_id: means the same as sessionKey",
		`{}`: "sessionKey: is required", `{"sessionKey":"main","limit":"x"}`: "limit", `{"sessionKey":"nobody"}`: "not found", `{"sessionKey":"../../v1/status"}`: "not found",
		`{"sessionKey":".."}`: "not found", `{"sessionKey":"main","zzz":1}`: "zzz: unknown parameter",
	} {
		text, failed = useTool(t, s, "sessions_history", args)
		require.True(t, failed, "%s: %s", args, text)
		require.Contains(t, text, want, args)
	}
	_, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "exec", Arguments: json.RawMessage(`{}`)})
	require.ErrorContains(t, err, "exec")
}

// A token does over MCP what it may do over the API, and no more.
func TestMCPHasTheTokensRights(t *testing.T) {
	t.Parallel()
	g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	g.cfg = loadText(t, "gateway: { listen: 127.0.0.1:0, token: test-token, tokens: [{ name: reads, token: a-token-that-only-reads, role: reader, classification: INTERNAL }, "+
		"{ name: sends, token: a-token-that-only-sends, role: sender, classification: INTERNAL }] }\nstate: "+g.state+"\n")
	g.begin()
	t.Cleanup(g.end)
	s := g.mcpAs("a-token-that-only-reads")
	_, failed := useTool(t, s, "sessions_list", `{}`)
	require.False(t, failed)
	for tool, args := range map[string]string{
		"sessions_send": `{"sessionKey":"main","message":"hi"}`, "alert_fire": `{"key":"a","title":"b"}`, "memory_delete": `{"id":"mem_1"}`,
		"message": `{"channel":"webchat","to":"local","message":"hi"}`,
	} {
		text, failed := useTool(t, s, tool, args)
		require.True(t, failed, tool)
		require.Contains(t, text, "has the role viewer and may only read", tool)
	}
	for _, authorization := range []string{"", "Bearer wrong", "Bearer a-token-that-only-sends"} {
		resp := g.call(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization", authorization, "Accept", "application/json, text/event-stream")
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, resp.StatusCode, authorization)
		require.NoError(t, resp.Body.Close())
	}
	resp := g.call(http.MethodPost, "/mcp", `{}`, "Origin", "https://evil.example")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

// What is above a caller looks over MCP as what never was: for each tool and each level.
func TestTheHiddenIsAsTheAbsentOverMCP(t *testing.T) {
	t.Parallel()
	calls := map[string]string{
		"sessions_list": `{}`, "session_status": `{"sessionKey":"{id}"}`, "sessions_history": `{"sessionKey":"{id}"}`, "sessions_send": `{"sessionKey":"{id}","message":"hi"}`,
		"sessions_spawn": `{"sessionKey":"{id}","task":"look"}`, "run_status": `{"run":"{run}"}`, "memory_search": `{"query":"` + marker + `"}`, "memory_get": `{"id":"{memory}"}`,
		"memory_list":   `{}`,
		"memory_delete": `{"id":"{memory}"}`, "deliveries_list": `{"sessionKey":"{id}"}`, "delivery_show": `{"id":"{delivery}"}`, "alert_list": `{"status":"all"}`,
		"alert_show": `{"alert":"{alert}"}`, "alert_ack": `{"alert":"{alert}"}`, "alert_silence": `{"alert":"{alert}","for":"1h"}`, "alert_resolve": `{"alert":"{alert}"}`,
	}
	with, without := withLevels(t, flow.Public), withLevels(t, flow.Public)
	session := with.plantSession(flow.Confidential)
	planted := with.plant(session, flow.Confidential)
	for _, level := range []flow.Level{flow.Public, flow.Internal, flow.Restricted} {
		hidden := !flow.CanFlow(flow.Confidential, level)
		one, other := with.mcpAs(level.String()), without.mcpAs(level.String())
		differs := 0
		for tool, args := range calls {
			if !hidden && (strings.HasPrefix(tool, "sessions_s") || tool == "memory_delete" || tool == "alert_resolve") {
				continue // it would change what the others look at
			}
			args = planted.ids().Replace(args)
			text, failed := useTool(t, one, tool, args)
			absent, absentFailed := useTool(t, other, tool, args)
			if hidden {
				require.NotContains(t, text, marker, tool)
				require.Equal(t, absent, text, tool)
				require.Equal(t, absentFailed, failed, tool)
			} else if text != absent {
				differs++
			}
		}
		if !hidden {
			require.GreaterOrEqual(t, differs, 8)
		}
		resource := "sluice://sessions/" + string(planted.session.ID)
		_, err := one.ReadResource(context.WithoutCancel(t.Context()), &mcp.ReadResourceParams{URI: resource})
		require.Equal(t, hidden, err != nil, err)
		list, err := one.ListResources(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, hidden, len(list.Resources) == 0)
	}
}
