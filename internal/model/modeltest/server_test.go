package modeltest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/model/anthropic"
	"sluice/internal/model/modeltest"
	"sluice/internal/model/openai"
	"sluice/internal/model/wire"
	"sluice/sessions"
	"sluice/sessions/port"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *modeltest.Server {
	t.Helper()
	s, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// each runs a test with the gateway's own client of either API. A test must
// leave no broken rule behind.
func each(t *testing.T, idle time.Duration, test func(t *testing.T, s *modeltest.Server, m sessions.Model)) {
	t.Helper()
	models := map[string]func(s *modeltest.Server) sessions.Model{
		"openai": func(s *modeltest.Server) sessions.Model {
			return openai.New(wire.ProviderConfig{Name: "p", APIKey: "k", BaseURL: s.OpenAIURL(), FirstByte: idle, Idle: idle}).Model("m")
		},
		"anthropic": func(s *modeltest.Server) sessions.Model {
			return anthropic.New(wire.ProviderConfig{Name: "p", APIKey: "k", BaseURL: s.AnthropicURL(), FirstByte: idle, Idle: idle}).Model("m")
		},
	}
	for name, of := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			test(t, s, of(s))
			require.Empty(t, s.Violations())
		})
	}
}

func user(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{{Type: sessions.PartText, Text: text}}}
}

func ask(ctx context.Context, m sessions.Model, messages ...sessions.Message) (said string, c sessions.Completion, err error) {
	c, err = m.Complete(ctx, sessions.Request{Messages: messages}, func(chunk sessions.Chunk) {
		if chunk.Type == sessions.PartText {
			said += chunk.Text
		}
	})
	return said, c, err
}

const ample = 30 * time.Second

func TestEchoIsWhatComesWithoutAScript(t *testing.T) {
	t.Parallel()
	each(t, ample, func(t *testing.T, s *modeltest.Server, m sessions.Model) {
		said, c, err := ask(t.Context(), m, user("old"), assistant("done"), user("one  "), user("two <&>"))
		require.NoError(t, err)
		require.Equal(t, "echo: one  \ntwo <&>", said)
		require.Equal(t, said, c.Parts[0].Text)
		require.Positive(t, c.Usage.InputTokens)
		require.Len(t, s.Requests(), 1)
		require.Equal(t, "m", s.Requests()[0].Model)
	})
}

func assistant(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{{Type: sessions.PartText, Text: text}}}
}

func TestToolsGoThereAndBack(t *testing.T) {
	t.Parallel()
	each(t, ample, func(t *testing.T, s *modeltest.Server, m sessions.Model) {
		first := modeltest.Reply{
			Thinking: "let me see", Signature: "sig", Text: "I look.", Pings: true,
			Calls: []modeltest.ToolCall{{ID: "call_a", Name: "look", Args: `{"at":"the längste place"}`}, {Name: "wait"}, {ID: "call_c", Name: "look", Args: `{"at":`}},
			Usage: modeltest.Usage{Input: 12, Output: 5, Cached: 4},
		}
		s.Enqueue(first, modeltest.Say("Nothing there."))
		_, c, err := ask(t.Context(), m, user("look"))
		require.NoError(t, err)
		require.Equal(t, sessions.Usage{InputTokens: 12, OutputTokens: 5, CachedTokens: 4}, c.Usage)
		calls := sessions.Message{Parts: c.Parts}.ToolCalls()
		require.Len(t, calls, 3)
		require.JSONEq(t, `{"at":"the längste place"}`, string(calls[0].Args))
		require.JSONEq(t, `{}`, string(calls[1].Args))
		require.JSONEq(t, `{"_raw":"{\"at\":"}`, string(calls[2].Args), "spoilt arguments are kept where a tool's check finds them")

		results := sessions.Message{Role: sessions.RoleToolResult}
		for _, call := range calls {
			results.Parts = append(results.Parts, sessions.Part{Type: sessions.PartToolResult, CallID: call.CallID, Tool: call.Tool, Text: "no"})
		}
		said, _, err := ask(t.Context(), m, user("look"), sessions.Message{Role: sessions.RoleAssistant, Parts: c.Parts}, results)
		require.NoError(t, err)
		require.Equal(t, "Nothing there.", said)
		back := s.Requests()[1].Messages
		require.Equal(t, []string{"user", "assistant", "tool", "tool", "tool"}, roles(back))
		require.Equal(t, "call_a", back[2].CallID)
	})
}

func roles(messages []modeltest.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Role)
	}
	return out
}

func TestFailuresAreUnderstood(t *testing.T) {
	t.Parallel()
	const text = "one two three four five"
	for name, c := range map[string]struct {
		reply modeltest.Reply
		want  sessions.ModelErrorKind
	}{
		"rate limit":     {modeltest.RateLimited(1500 * time.Millisecond), sessions.ModelRateLimited},
		"overloaded":     {modeltest.Overloaded(), sessions.ModelOverloaded},
		"server error":   {modeltest.Fail(500, "api_error", "Internal server error"), sessions.ModelOverloaded},
		"wrong key":      {modeltest.Unauthorized(), sessions.ModelAuth},
		"too long":       {modeltest.Overflow(), sessions.ModelOverflow},
		"unknown model":  {modeltest.Fail(404, "not_found_error", "model: m"), port.ModelMissing},
		"cut at once":    {modeltest.Broken(text, modeltest.Cut, 0), sessions.ModelCut},
		"cut":            {modeltest.Broken(text, modeltest.Cut, 3), sessions.ModelCut},
		"cut at the end": {modeltest.Broken(text, modeltest.Cut, 1000), sessions.ModelCut},
		"broken":         {modeltest.Broken(text, modeltest.Break, 3), sessions.ModelCut},
		"half an event":  {modeltest.Broken(text, modeltest.HalfBreak, 3), sessions.ModelCut},
		"malformed":      {modeltest.Broken(text, modeltest.Malformed, 3), sessions.ModelCut},
		"error inside":   {modeltest.Broken(text, modeltest.Failure, 3), sessions.ModelOverloaded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, ample, func(t *testing.T, s *modeltest.Server, m sessions.Model) {
				s.Enqueue(c.reply)
				_, _, err := ask(t.Context(), m, user("hi"))
				wait := requireKind(t, err, c.want)
				if c.want == sessions.ModelRateLimited {
					require.Equal(t, 2*time.Second, wait)
				}
				require.Len(t, s.Requests(), 1, "nothing is tried again in secret")
			})
		})
	}
}

// requireKind looks at an error's kind and gives what the provider asked to wait.
func requireKind(t *testing.T, err error, want sessions.ModelErrorKind) (retryAfter time.Duration) {
	t.Helper()
	var failed *sessions.ModelError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, want, failed.Kind, "%v", err)
	return failed.RetryAfter
}

func TestSilenceEndsByTimeOut(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]modeltest.Reply{
		"no headers":     {Latency: -1},
		"no first event": {Text: "x", FirstByte: -1},
		"stall":          modeltest.Broken("one two", modeltest.Stall, 2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, 50*time.Millisecond, func(t *testing.T, s *modeltest.Server, m sessions.Model) {
				s.Enqueue(reply)
				_, _, err := ask(t.Context(), m, user("hi"))
				requireKind(t, err, sessions.ModelUnavailable)
			})
		})
	}
}

func TestCallerCanGo(t *testing.T) {
	t.Parallel()
	each(t, ample, func(t *testing.T, s *modeltest.Server, m sessions.Model) {
		s.Always(func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Latency: -1} })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, _, err := ask(ctx, m, user("hi"))
			ended <- err
		}()
		require.NoError(t, s.AwaitWaiting(t.Context(), 1))
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

// post sends a request as it stands and gives the status and the body.
func post(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer k"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"},
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(raw)
}

const (
	chatCall = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}`
	turnCall = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}}]}`
	hi       = `{"role":"user","content":"hi"}`
)

// TestRulesOfChat and TestRulesOfMessages break one rule each; the empty reason means that none is broken.
func TestRulesOfChat(t *testing.T) {
	t.Parallel()
	for messages, says := range map[string]string{
		hi: "",
		hi + `,` + chatCall + `,{"role":"tool","tool_call_id":"a","content":"x"}`: "",
		``:                                                 "there are none",
		`{"role":"wizard","content":"hi"}`:                 "no role",
		hi + `,{"role":"system","content":"hi"}`:           "not the first",
		`{"role":"user","content":null}`:                   "content is missing",
		`{"role":"user","text":"hi"}`:                      "unknown field",
		`{"role":"assistant","content":null}`:              "content is missing",
		`{"role":"tool","tool_call_id":"a","content":"x"}`: "has no call",
		hi + `,` + chatCall:                                "has no result",
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}`:                     "no data URL",
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,R0lGODlh"}}]}`:      "is said to be image/png and is image/gif",
		`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}}]}`: "can't show images",
		hi + `,` + chatCall + `,` + hi:                                            "has no result",
		hi + `,` + chatCall + `,{"role":"tool","tool_call_id":"b","content":"x"}`: "has no call",
		hi + `,` + strings.Replace(chatCall, `"{}"`, `"{"`, 1):                    "no JSON object",
		hi + `,` + strings.Replace(chatCall, `"id":"a"`, `"id":""`, 1):            "has no id",
		hi + `,` + strings.Replace(chatCall, `"look"`, `"look there"`, 1):         "tool's name",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			status, body := post(t, s.OpenAIURL()+"/chat/completions", `{"model":"m","stream":true,"messages":[`+messages+`]}`)
			requireRule(t, s, status, body, says)
		})
	}
}

func TestRulesOfMessages(t *testing.T) {
	t.Parallel()
	result := `{"type":"tool_result","tool_use_id":"a","content":"x"}`
	turn := func(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }
	for messages, says := range map[string]string{
		hi: "",
		hi + `,` + turnCall + `,` + turn(result+`,{"type":"text","text":"and"}`): "",
		``:                                       "there are none",
		`{"role":"assistant","content":"hi"}`:    "not the user's",
		hi + `,` + hi:                            "follows itself",
		hi + `,{"role":"system","content":"hi"}`: "no role",
		turn(`{"type":"text","text":" \n"}`):     "non-whitespace",
		turn(`{"type":"audio"}`):                 "can't have a block",
		turn(`{"type":"image"}`):                 "no source in base64",
		turn(`{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"SUkqAA=="}}`): "of the type",
		turn(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"R0lGODlh"}}`):  "is said to be image/png and is image/gif",
		turn(`{"type":"text","text":"x","label":1}`):                                                    "unknown field",
		turn(``):            "content is empty",
		turn(result):        "has no call",
		hi + `,` + turnCall: "has no result",
		hi + `,` + turnCall + `,{"role":"user","content":"x"}`:                      "has no result",
		hi + `,` + turnCall + `,` + turn(`{"type":"text","text":"and"},`+result):    "stands behind",
		hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}`: "no signature",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			status, body := post(t, s.AnthropicURL()+"/v1/messages", `{"model":"m","stream":true,"max_tokens":9,"messages":[`+messages+`]}`)
			requireRule(t, s, status, body, says)
		})
	}
}

func requireRule(t *testing.T, s *modeltest.Server, status int, body, says string) {
	t.Helper()
	if says == "" {
		require.Equal(t, http.StatusOK, status, body)
		require.Empty(t, s.Violations())
		return
	}
	require.Equal(t, http.StatusBadRequest, status)
	require.True(t, json.Valid([]byte(body)))
	require.Contains(t, body, says)
	require.Len(t, s.Violations(), 1)
	require.Empty(t, s.Requests())
}

func TestKeyIsWanted(t *testing.T) {
	t.Parallel()
	s, err := modeltest.NewServer(modeltest.Options{Key: "other"})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	status, body := post(t, s.AnthropicURL()+"/v1/messages", `{}`)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, body, "authentication_error")
}
