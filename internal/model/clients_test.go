package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/model"
	"sluice/internal/model/anthropic"
	"sluice/internal/model/openai"
	"sluice/internal/model/wire"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/port"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wireServer answers every request with the same bytes and keeps the last one.
type wireServer struct {
	*httptest.Server
	status  int
	header  map[string]string
	body    string
	stall   bool // leave the connection open after the body
	silent  bool // not even headers
	got     map[string]any
	gotAuth http.Header
	path    string
	handler func(w http.ResponseWriter, r *http.Request) bool // answers instead if it returns true
}

func newWireServer(t *testing.T) *wireServer {
	t.Helper()
	s := &wireServer{status: http.StatusOK}
	done := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.got, s.gotAuth, s.path = map[string]any{}, r.Header, r.URL.Path
		if err := json.Unmarshal(raw, &s.got); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if s.handler != nil && s.handler(w, r) {
			return
		}
		if s.silent {
			wait(r.Context(), done)
			return
		}
		for k, v := range s.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.body)
		if s.stall {
			_ = http.NewResponseController(w).Flush()
			wait(r.Context(), done)
		}
	}))
	t.Cleanup(func() { close(done); s.Close() })
	return s
}

// wait holds a request until its caller has gone or the test ends.
func wait(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

const (
	kindOpenAI    = "openai"
	kindAnthropic = "anthropic"
	secret        = "sk-very-secret"
)

// client makes a model of a kind that talks to the server; its time-outs are short.
func (s *wireServer) client(t *testing.T, kind string) sessions.Model {
	t.Helper()
	soon := time.Minute
	if s.silent || s.stall {
		soon = 100 * time.Millisecond
	}
	cfg := wire.ProviderConfig{Name: "p", APIKey: secret, BaseURL: s.URL, Level: flow.Internal, FirstByte: soon, Idle: soon}
	if kind == kindOpenAI {
		cfg.BaseURL += "/v1"
		return openai.New(cfg).Model("m")
	}
	return anthropic.New(cfg).Model("m")
}

// stream joins events as they stand on the wire.
func stream(events ...string) string { return strings.Join(events, "\n\n") + "\n\n" }

func delta(d string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

func finish(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const usageOpenAI = `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4}}}`

func claude(kind, data string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + data + "}"
}

const usageAnthropic = `,"message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":6,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":1}}`

// wires are what each kind of provider sends for the same answer.
func wires() map[string]map[string]string {
	return map[string]map[string]string{
		"text": {
			kindOpenAI: stream(`: a comment`, delta(`{"role":"assistant","content":"Hel"}`), delta(`{"content":"lo "}`), delta(`{"content":"there"}`), finish("stop"), usageOpenAI, "data: [DONE]"),
			kindAnthropic: stream(claude("message_start", usageAnthropic), claude("ping", ""),
				claude("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
				claude("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"Hel"}`),
				claude("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"lo "}`),
				claude("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"there"}`),
				claude("content_block_stop", `,"index":0`), claude("something_new", `,"x":1`),
				claude("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}`), claude("message_stop", "")),
		},
		"tools": {
			kindOpenAI: stream(delta(`{"content":"Let me look."}`),
				delta(`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]}`),
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":"}}]}`),
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
				delta(`{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"wait","arguments":""}}]}`),
				finish("tool_calls"), "data: [DONE]"),
			kindAnthropic: stream(claude("message_start", usageAnthropic),
				claude("content_block_start", `,"index":0,"content_block":{"type":"text","text":"Let me look."}`),
				claude("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"call_a","name":"look","input":{}}`),
				claude("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"at\":"}`),
				claude("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}`),
				claude("content_block_start", `,"index":2,"content_block":{"type":"tool_use","id":"call_b","name":"wait","input":{}}`),
				claude("message_delta", `,"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}`), claude("message_stop", "")),
		},
		"cut": {
			kindOpenAI:    stream(delta(`{"content":"Hel"}`)),
			kindAnthropic: stream(claude("message_start", usageAnthropic), claude("content_block_start", `,"index":0,"content_block":{"type":"text","text":"Hel"}`)),
		},
		"cut in an event": {
			kindOpenAI:    stream(delta(`{"content":"Hel"}`)) + "data: {\"choices\"",
			kindAnthropic: stream(claude("message_start", usageAnthropic)) + "event: mess",
		},
		"limit": {
			kindOpenAI: stream(delta(`{"content":"Hel"}`), finish("length"), "data: [DONE]"),
			kindAnthropic: stream(claude("content_block_start", `,"index":0,"content_block":{"type":"text","text":"Hel"}`),
				claude("message_delta", `,"delta":{"stop_reason":"max_tokens"}`), claude("message_stop", "")),
		},
		"overloaded inside": {
			kindOpenAI:    stream(delta(`{"content":"Hel"}`), `data: {"error":{"message":"upstream died","type":"server_error","code":502}}`),
			kindAnthropic: stream(claude("message_start", usageAnthropic), claude("error", `,"error":{"type":"overloaded_error","message":"Overloaded"}`)),
		},
		"not JSON": {
			kindOpenAI:    stream(`data: {"choices":[`),
			kindAnthropic: stream("event: message_start\ndata: {"),
		},
	}
}

func complete(ctx context.Context, m sessions.Model) (said string, c sessions.Completion, err error) {
	c, err = m.Complete(ctx, conversation(), func(chunk sessions.Chunk) { said += chunk.Text })
	return said, c, err
}

// conversation has everything that a request can hold.
func conversation() sessions.Request {
	user := func(text string) sessions.Message {
		return sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{{Type: sessions.PartText, Text: text}}}
	}
	return sessions.Request{
		System: "Be brief.",
		Messages: []sessions.Message{
			{Role: sessions.RoleSummary, Parts: []sessions.Part{{Type: sessions.PartText, Text: "They met."}}},
			user("Look there."),
			{Role: sessions.RoleAssistant, Parts: []sessions.Part{
				{Type: sessions.PartThinking, Text: "hm", Signature: "sig"},
				{Type: sessions.PartToolCall, CallID: "call_0", Tool: "look", Args: json.RawMessage(`{"at":0}`)},
			}},
			{Role: sessions.RoleToolResult, Parts: []sessions.Part{{Type: sessions.PartToolResult, CallID: "call_0", Tool: "look", Text: "nothing", Error: true}}},
			user("And there?"),
			{Role: sessions.RoleUser, Parts: []sessions.Part{{Type: sessions.PartAttachment, Attachment: &sessions.Attachment{Kind: "photo", Name: "cat.jpg", Size: 10}}}},
		},
		Tools: []sessions.ToolSpec{{Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}
}

func eachKind(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	for _, kind := range []string{kindOpenAI, kindAnthropic} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

func TestAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		s := newWireServer(t)
		s.body = wires()["text"][kind]
		said, c, err := complete(t.Context(), s.client(t, kind))
		require.NoError(t, err)
		require.Equal(t, "Hello there", said)
		require.Equal(t, []sessions.Part{{Type: sessions.PartText, Text: "Hello there"}}, c.Parts)
		want := sessions.Usage{InputTokens: 12, OutputTokens: 5, CachedTokens: 4}
		if kind == kindAnthropic {
			want.WrittenTokens = 2 // the others do not say it
		}
		require.Equal(t, want, c.Usage)
		require.False(t, c.Truncated)

		s.body = wires()["limit"][kind]
		_, c, err = complete(t.Context(), s.client(t, kind))
		require.NoError(t, err)
		require.True(t, c.Truncated)
	})
}

func TestToolCallsAreStreamed(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		s := newWireServer(t)
		s.body = wires()["tools"][kind]
		_, c, err := complete(t.Context(), s.client(t, kind))
		require.NoError(t, err)
		require.Equal(t, []sessions.Part{
			{Type: sessions.PartText, Text: "Let me look."},
			{Type: sessions.PartToolCall, CallID: "call_a", Tool: "look", Args: json.RawMessage(`{"at":1}`)},
			{Type: sessions.PartToolCall, CallID: "call_b", Tool: "wait", Args: json.RawMessage(`{}`)},
		}, c.Parts)
	})
}

func TestBrokenStreamsAreNoAnswers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]sessions.ModelErrorKind{
		"cut": sessions.ModelCut, "cut in an event": sessions.ModelCut, "not JSON": sessions.ModelCut, "overloaded inside": sessions.ModelOverloaded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachKind(t, func(t *testing.T, kind string) {
				s := newWireServer(t)
				s.body = wires()[name][kind]
				_, _, err := complete(t.Context(), s.client(t, kind))
				requireKind(t, err, want)
			})
		})
	}
}

func requireKind(t *testing.T, err error, want sessions.ModelErrorKind) {
	t.Helper()
	var me *sessions.ModelError
	require.ErrorAs(t, err, &me)
	require.Equal(t, want, me.Kind, "%v", err)
	require.Equal(t, "p/m", me.Model)
	require.NotContains(t, err.Error(), secret)
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   sessions.ModelErrorKind
	}{
		{429, `{"error":{"message":"slow down"}}`, sessions.ModelRateLimited},
		{500, "oops", sessions.ModelOverloaded},
		{529, `{"type":"error","error":{"type":"overloaded_error"}}`, sessions.ModelOverloaded},
		{401, "who are you", sessions.ModelAuth},
		{403, "not you", port.ModelForbidden},
		{403, `{"error":{"message":"your input was flagged by moderation"}}`, sessions.ModelRefused},
		{404, "no such model", port.ModelMissing},
		{402, "pay", port.ModelBilling},
		{429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, port.ModelBilling},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, port.ModelBilling},
		{400, `{"error":{"message":"the prompt says: Your credit balance is too low, insufficient_quota"}}`, sessions.ModelRefused},
		{503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, port.ModelLoading},
		{400, `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens"}}`, sessions.ModelOverflow},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, sessions.ModelOverflow},
		{413, "too large", sessions.ModelOverflow},
		{400, strings.Repeat("x", 1<<20), sessions.ModelRefused},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.want), func(t *testing.T) {
			t.Parallel()
			eachKind(t, func(t *testing.T, kind string) {
				s := newWireServer(t)
				s.status, s.body, s.header = c.status, c.body, map[string]string{"Retry-After": "30"}
				_, _, err := complete(t.Context(), s.client(t, kind))
				requireKind(t, err, c.want)
				var me *sessions.ModelError
				require.ErrorAs(t, err, &me)
				require.Equal(t, 30*time.Second, me.RetryAfter)
				require.Less(t, len(err.Error()), 6000, "a long body is cut")
			})
		})
	}
}

func TestSilenceEnds(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		silent := newWireServer(t)
		silent.silent = true
		_, _, err := complete(t.Context(), silent.client(t, kind))
		requireKind(t, err, sessions.ModelUnavailable)
		require.ErrorContains(t, err, "too long")

		stalling := newWireServer(t)
		stalling.stall, stalling.body = true, wires()["cut"][kind]
		said, _, err := complete(t.Context(), stalling.client(t, kind))
		requireKind(t, err, sessions.ModelUnavailable)
		require.Equal(t, "Hel", said)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		_, _, err = complete(ctx, silent.client(t, kind))
		require.ErrorIs(t, err, context.Canceled)

		gone := newWireServer(t)
		client := gone.client(t, kind)
		gone.Close()
		_, _, err = complete(t.Context(), client)
		requireKind(t, err, sessions.ModelUnavailable)
	})
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		kindOpenAI: `{"model":"m","stream":true,"stream_options":{"include_usage":true},
			"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"[Summary of the earlier conversation]\nThey met."},
			{"role":"user","content":"Look there."},
			{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"look","arguments":"{\"at\":0}"}}]},
			{"role":"tool","content":"nothing","tool_call_id":"call_0"},{"role":"user","content":"And there?"},
			{"role":"user","content":"[attached photo, cat.jpg, 10 bytes; its content is not available]"}],
			"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}]}`,
		kindAnthropic: `{"model":"m","stream":true,"max_tokens":8192,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"[Summary of the earlier conversation]\nThey met."},{"type":"text","text":"Look there."}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"call_0","name":"look","input":{"at":0}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0","content":"nothing","is_error":true},{"type":"text","text":"And there?"},
			{"type":"text","text":"[attached photo, cat.jpg, 10 bytes; its content is not available]"}]}],
			"tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"}}]}`,
	}
	eachKind(t, func(t *testing.T, kind string) {
		s := newWireServer(t)
		s.body = wires()["text"][kind]
		_, _, err := complete(t.Context(), s.client(t, kind))
		require.NoError(t, err)
		got, err := json.Marshal(s.got)
		require.NoError(t, err)
		require.JSONEq(t, want[kind], string(got))
		if kind == kindOpenAI {
			require.Equal(t, "/v1/chat/completions", s.path)
			require.Equal(t, "Bearer "+secret, s.gotAuth.Get("Authorization"))
			return
		}
		require.Equal(t, "/v1/messages", s.path)
		require.Equal(t, secret, s.gotAuth.Get("X-Api-Key"))
		require.NotEmpty(t, s.gotAuth.Get("Anthropic-Version"))
	})
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r, err := model.New(map[string]model.ProviderConfig{
		"local": {Kind: model.KindOpenAI, BaseURL: "http://127.0.0.1:1/v1", Classification: flow.Confidential, ContextWindow: 4096},
		"far":   {Kind: model.KindAnthropic, Keys: []string{"x"}},
	}, model.Options{})
	require.NoError(t, err)
	m, err := r.Model("local/llama/3.3")
	require.NoError(t, err)
	require.Equal(t, "local/llama/3.3", m.Name())
	require.Equal(t, 4096, m.ContextWindow())
	require.Equal(t, flow.Confidential, m.(sessions.Classified).Classification())
	m, err = r.Model("far/claude")
	require.NoError(t, err)
	require.Equal(t, 200_000, m.ContextWindow())
	for name, says := range map[string]string{
		"lcal/llama":      "use one of offline, far, local",
		"gpt":             "<provider>/<model>",
		"offline/genius":  "offline/guide",
		"offline/slow-2x": "slow-2s",
	} {
		_, err := r.Model(name)
		require.ErrorContains(t, err, says)
	}
	_, err = model.New(map[string]model.ProviderConfig{"x": {Kind: "fortune"}}, model.Options{})
	require.ErrorContains(t, err, "models.providers.x.kind")
	_, err = model.New(map[string]model.ProviderConfig{"offline": {Kind: model.KindOpenAI}}, model.Options{})
	require.ErrorContains(t, err, "built-in")
}
