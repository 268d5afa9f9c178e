package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

const (
	chatPath  = "/v1/chat/completions"
	hello     = `{"model":"main","messages":[{"role":"user","content":"2+2"}]}`
	runDigits = "0123456789abcdef0123456789abcdef"
	aRun      = "run_" + runDigits
)

// withRun is a gateway in which a turn's run has ended.
func withRun(run sessions.Run) *gateway {
	g := withMain()
	run.ID, run.Session, run.Route = aRun, mainID, sessions.Route{Channel: "webchat"}
	g.runs[run.ID], g.admitted = run, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: run.ID}
	return g
}

func done(reply string) sessions.Run {
	return sessions.Run{Status: sessions.RunDone, Reply: reply, Usage: sessions.Usage{InputTokens: 5, OutputTokens: 2, CachedTokens: 1}}
}

func TestPublishedAgentsAreModels(t *testing.T) {
	t.Parallel()
	h := serve(t, newGateway())
	w := call(h, "GET", "/v1/models", "")
	require.JSONEq(t, `{"object":"list","data":[{"id":"main","object":"model","created":1777222996,"owned_by":"sluice"},{"id":"research","object":"model","created":1777222996,"owned_by":"sluice"}]}`, w.Body.String())
	for name, id := range map[string]string{"main": "main", "sluice/research": "research", "sluice": "main", "sluice%2Fmain": "main"} {
		require.Contains(t, call(h, "GET", "/v1/models/"+name, "").Body.String(), `"id":"`+id+`"`, name)
	}
	hidden, absent := call(h, "GET", "/v1/models/quiet", ""), call(h, "GET", "/v1/models/other", "")
	require.Equal(t, http.StatusNotFound, hidden.Code)
	require.Equal(t, strings.ReplaceAll(hidden.Body.String(), "quiet", "other"), absent.Body.String(), "what is not published is as what does not exist")
}

func TestChatCompletion(t *testing.T) {
	t.Parallel()
	g := withRun(done("four"))
	w := call(serve(t, g), "POST", chatPath, `{"model":"main","messages":[{"role":"system","content":"Be short."},{"role":"user","content":"1+1"},{"role":"assistant","content":"two"},{"role":"user","content":[{"type":"text","text":"2+2"}]}],
		"temperature":0.1,"seed":1,"metadata":{"a":"b"},"store":true,"n":1,"tools":[],"stop":null,"response_format":{"type":"text"}}`, "Idempotency-Key: one", "Sluice-Label: INTERNAL")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.JSONEq(t, `{"id":"chatcmpl-`+runDigits+`","object":"chat.completion","created":1777222996,"model":"main",
		"choices":[{"index":0,"message":{"role":"assistant","content":"four","refusal":null},"logprobs":null,"finish_reason":"stop"}],
		"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":1}}}`, w.Body.String())
	require.Equal(t, aRun, w.Header().Get("X-Request-Id"))
	said := g.asked[0]
	require.Equal(t, "Be short.\n\n2+2", said.Text)
	require.Equal(t, []sessions.Quotation{
		{Kind: sessions.QuoteThread, From: sessions.Peer{Name: "the user"}, Text: "1+1"}, {Kind: sessions.QuoteThread, From: sessions.Peer{Name: "you"}, Text: "two"},
	}, said.Quotations)
	require.True(t, said.Exclusive)
	require.True(t, strings.HasSuffix(said.Event, "/one"), said.Event)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Trusted), said.Label)
	require.False(t, g.created[0].Persistent)
	require.Equal(t, flow.Restricted, g.created[0].Clearance)
}

// A new session is told the newest of what the client keeps, and that there was more.
func TestEarlierMessagesAreBounded(t *testing.T) {
	t.Parallel()
	g := withRun(done("four"))
	h := serve(t, g)
	many := strings.Repeat(`{"role":"user","content":"again"},{"role":"assistant","content":"yes"},`, 60)
	require.Equal(t, http.StatusOK, call(h, "POST", chatPath, `{"model":"main","messages":[`+many+`{"role":"user","content":"now"}]}`).Code)
	long := `{"role":"user","content":"` + strings.Repeat("x", 40<<10) + `"},`
	require.Equal(t, http.StatusOK, call(h, "POST", chatPath, `{"model":"main","messages":[`+long+long+`{"role":"user","content":"now"}]}`).Code)
	for n, left := range map[int]string{0: "left out: 80.", 1: "left out: 1."} {
		first := g.asked[n].Quotations[0]
		require.Equal(t, "the gateway", first.From.Name)
		require.Contains(t, first.Text, left)
	}
	require.Len(t, g.asked[0].Quotations, 41)
	require.Len(t, g.asked[1].Quotations, 2)
}

func TestSessionsOfClients(t *testing.T) {
	t.Parallel()
	g := withRun(done("four"))
	h := serve(t, g)
	asked := func(path, body string, headers ...string) sessions.ID {
		t.Helper()
		w := call(h, "POST", path, body, headers...)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		last := g.asked[len(g.asked)-1]
		require.Equal(t, string(last.Session), w.Header().Get("X-Session-Id"))
		return last.Session
	}
	const ann, response = `{"model":"main","user":"ann","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`, "/v1/responses"
	first := asked(chatPath, ann)
	require.Empty(t, g.asked[0].Quotations, "the session remembers")
	require.Equal(t, []any{true, time.Duration(0)}, []any{g.created[0].Persistent, g.created[0].TTL})
	require.Equal(t, first, asked(chatPath, ann))
	require.Equal(t, first, asked(response, `{"model":"main","user":"ann","input":"b"}`))
	require.NotEqual(t, first, asked(chatPath, strings.Replace(ann, "ann", "bob", 1)), "another user")
	require.NotEqual(t, first, asked(chatPath, strings.Replace(ann, "main", "research", 1)), "another agent")

	require.Equal(t, mainID, asked(chatPath, hello, "X-Sluice-Session: agent:main:main"))
	require.Equal(t, mainID, asked(response, `{"model":"main","input":"x","conversation":"main"}`))
	require.Equal(t, mainID, asked(response, `{"model":"main","input":"x","conversation":{"id":"`+string(mainID)+`"}}`))
	require.Equal(t, mainID, asked(response, `{"model":"main","input":"x","previous_response_id":"resp_`+runDigits+`"}`))

	once := asked(chatPath, hello, "Idempotency-Key: k")
	require.Equal(t, once, asked(chatPath, hello, "Idempotency-Key: k"), "a repeated request finds its session")
	require.Equal(t, g.asked[len(g.asked)-2].Event, g.asked[len(g.asked)-1].Event)
	require.NotEqual(t, once, asked(chatPath, hello))
	asked(response, `{"model":"main","input":"x"}`)
	require.Equal(t, []any{true, 30 * 24 * time.Hour}, []any{g.created[len(g.created)-1].Persistent, g.created[len(g.created)-1].TTL}, "the next response may continue it")

	for _, c := range []struct{ path, body, header string }{
		{chatPath, hello, "X-Sluice-Session: sess_000000000000"},
		{chatPath, strings.Replace(hello, "main", "research", 1), "X-Sluice-Session: main"},
		{response, `{"model":"main","input":"x","conversation":"sess_000000000000"}`, ""},
		{response, `{"model":"research","input":"x","conversation":"main"}`, ""},
		{response, `{"model":"main","input":"x","previous_response_id":"resp_1"}`, ""},
		{response, `{"model":"research","input":"x","previous_response_id":"resp_` + runDigits + `"}`, ""},
	} {
		w := call(h, "POST", c.path, c.body, c.header)
		require.Equal(t, http.StatusNotFound, w.Code, c.body+c.header)
		require.Contains(t, w.Body.String(), `"code":"not_found"`)
	}
}

// errorOf is an error in OpenAI's shape.
func errorOf(t *testing.T, body string) (out struct {
	Error struct{ Message, Type, Param, Code string }
},
) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), &out), body)
	return out
}

func TestParametersThatNoAgentFollowsAreRefused(t *testing.T) {
	t.Parallel()
	h := serve(t, withRun(done("four")))
	for param, c := range map[string]struct{ path, more, code string }{
		"tools":                  {chatPath, `,"tools":7`, "invalid_value"},
		"tools[0].function":      {chatPath, `,"tools":[{"type":"web_search"}]`, "unsupported_parameter"},
		"tools[0].function.name": {chatPath, `,"tools":[{"type":"function","function":{"name":"a b"}}]`, "invalid_value"},
		"tools[1].function.name": {chatPath, `,"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]`, "invalid_value"},
		"tools[0].parameters":    {"/v1/responses", `,"tools":[{"type":"function","name":"f","parameters":7}]`, "invalid_value"},
		"functions":              {chatPath, `,"functions":[{"name":"f"}]`, "unsupported_parameter"},
		"tool_choice":            {chatPath, `,"tool_choice":"required"`, "unsupported_parameter"},
		"n":                      {chatPath, `,"n":2`, "unsupported_parameter"},
		"response_format":        {chatPath, `,"response_format":{"type":"json_schema"}`, "unsupported_parameter"},
		"logprobs":               {chatPath, `,"logprobs":true`, "unsupported_parameter"},
		"stop":                   {chatPath, `,"stop":["x"]`, "unsupported_parameter"},
		"logit_bias":             {chatPath, `,"logit_bias":{"1":1}`, "unsupported_parameter"},
		"modalities":             {chatPath, `,"modalities":["text", "audio"]`, "unsupported_parameter"},
		"audio":                  {chatPath, `,"audio":{}`, "unsupported_parameter"},
		"web_search_options":     {chatPath, `,"web_search_options":{}`, "unsupported_parameter"},
		"max_token":              {chatPath, `,"max_token":1`, "unknown_parameter"},
		"stream":                 {chatPath, `,"stream":"yes"`, "invalid_value"},
		"user":                   {chatPath, `,"user":"` + strings.Repeat("u", 600) + `"`, "invalid_value"},
		"model":                  {chatPath, `,"model":"quiet"`, "model_not_found"},
		"messages":               {chatPath, `,"messages":[]`, "missing_required_parameter"},
		"messages[0].role":       {chatPath, `,"messages":[{"role":"boss","content":"x"}]`, "invalid_value"},
		"messages[0].content[0]": {chatPath, `,"messages":[{"role":"user","content":[{"type":"image_url"}]}]`, "invalid_value"},
		"messages[0].content":    {chatPath, `,"messages":[{"role":"user","content":7}]`, "invalid_value"},
		"text":                   {"/v1/responses", `,"text":{"format":{"type":"json_object"}}`, "unsupported_parameter"},
		"background":             {"/v1/responses", `,"background":true`, "unsupported_parameter"},
		"prompt":                 {"/v1/responses", `,"prompt":{"id":"p"}`, "unsupported_parameter"},
		"conversation":           {"/v1/responses", `,"conversation":{"id":""}`, "invalid_value"},
		"input":                  {"/v1/responses", `,"input":7`, "missing_required_parameter"},
		"input[0].type":          {"/v1/responses", `,"input":[{"type":"computer_call"}]`, "invalid_value"},
		"previous_response_id":   {"/v1/responses", `,"previous_response_id":"resp_1","conversation":"main"`, "invalid_value"},
	} {
		body := strings.TrimSuffix(hello, "}")
		if c.path != chatPath {
			body = `{"model":"main","input":"2+2"`
		}
		w := call(h, "POST", c.path, body+c.more+"}")
		got := errorOf(t, w.Body.String()).Error
		require.Equal(t, []string{param, c.code, "invalid_request_error"}, []string{got.Param, got.Code, got.Type}, w.Body)
		require.True(t, strings.HasPrefix(got.Message, param+": "), got.Message)
	}
	for _, last := range []string{`{"role":"assistant","content":"x"}`, `{"role":"user","content":" "}`, `{"role":"system","content":"x"}`} {
		w := call(h, "POST", chatPath, `{"model":"main","messages":[`+last+`]}`)
		require.Equal(t, "messages", errorOf(t, w.Body.String()).Error.Param, w.Body)
	}
}

// Every error below OpenAI's paths has its shape, wherever it comes from.
func TestErrorsInTheShapeOfOpenAI(t *testing.T) {
	t.Parallel()
	g := withRun(done("four"))
	h := serve(t, g)
	for code, w := range map[string]struct {
		status                     int
		method, path, body, header string
	}{
		"invalid_api_key":      {401, "GET", "/v1/models", "", "Authorization: Bearer wrong"},
		"cross_site":           {403, "GET", "/v1/models", "", "Sec-Fetch-Site: cross-site"},
		"not_found":            {404, "DELETE", "/v1/responses/resp_1", "", ""},
		"unsupported_endpoint": {404, "POST", "/v1/embeddings", `{"input":"x"}`, ""},
		"too_large":            {413, "POST", chatPath, `{"model":"` + strings.Repeat("x", 4<<20) + `"}`, ""},
		"invalid_request":      {400, "POST", chatPath, `[1]`, ""},
	} {
		got := call(h, w.method, w.path, w.body, w.header)
		require.Equal(t, w.status, got.Code, got.Body)
		require.Equal(t, code, errorOf(t, got.Body.String()).Error.Code)
	}
	require.Equal(t, http.StatusUnprocessableEntity, call(h, "GET", "/v1/models?limit=1", "").Code)
	for fails, status := range map[error]int{request.ErrBusy: 409, request.ErrQueueFull: 429, request.ErrStopping: 503} {
		g.fail = nil
		require.Equal(t, http.StatusOK, call(h, "POST", chatPath, hello, "X-Sluice-Session: main").Code)
		g.fail = fails
		w := call(h, "POST", chatPath, hello, "Idempotency-Key: "+fails.Error())
		require.Equal(t, status, w.Code, w.Body)
		require.NotEmpty(t, errorOf(t, w.Body.String()).Error.Message)
	}
}

// A run without a reply is an error that clients do not repeat by themselves.
func TestRunsWithoutReply(t *testing.T) {
	t.Parallel()
	for status, want := range map[sessions.RunStatus]int{sessions.RunFailed: 502, sessions.RunTimeout: 504, sessions.RunAborted: 409, sessions.RunRunning: 504} {
		h := serve(t, withRun(sessions.Run{Status: status, Error: "My model is not responding."}))
		w := call(h, "POST", chatPath, hello)
		require.Equal(t, want, w.Code, w.Body)
		require.Equal(t, "false", w.Header().Get("X-Should-Retry"))
		if status == sessions.RunFailed {
			require.Equal(t, "My model is not responding.", errorOf(t, w.Body.String()).Error.Message)
		}
		if status.Terminal() {
			require.Contains(t, call(h, "GET", "/v1/responses/resp_"+runDigits, "").Body.String(), `"error":{"code":"run_`)
		}
	}
	g := withMain()
	g.admitted = inbound.Admitted{Outcome: ledger.OutcomeIgnored, Notice: "That message is too long."}
	w := call(serve(t, g), "POST", chatPath, hello)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "That message is too long.", errorOf(t, w.Body.String()).Error.Message)
}

func TestWithheldRepliesAreFiltered(t *testing.T) {
	t.Parallel()
	g := withRun(done("forbidden"))
	g.admitted.Repeat = true // its end is shown at once
	h := serve(t, g)
	for path, want := range map[string]string{chatPath: `"finish_reason":"content_filter"`, "/v1/responses": `"status":"incomplete"`} {
		for _, stream := range []string{"", `,"stream":true`} {
			body := strings.TrimSuffix(hello, "}") + stream + "}"
			if path != chatPath {
				body = `{"model":"main","input":"2+2"` + stream + "}"
			}
			w := call(h, "POST", path, body)
			require.Equal(t, http.StatusOK, w.Code)
			require.Contains(t, w.Body.String(), want)
			require.NotContains(t, w.Body.String(), "forbidden")
		}
	}
	w := call(h, "GET", "/v1/responses/resp_"+runDigits, "")
	require.Contains(t, w.Body.String(), `"incomplete_details":{"reason":"content_filter"}`)
	require.NotContains(t, w.Body.String(), "forbidden")
}

func TestResponse(t *testing.T) {
	t.Parallel()
	h := serve(t, withRun(done("four")))
	made := call(h, "POST", "/v1/responses", `{"model":"main","input":[{"role":"user","content":[{"type":"input_text","text":"2+2"}]}],"instructions":"Be short.","metadata":{"a":"b"},"reasoning":{"effort":"low"},"conversation":"main"}`)
	require.Equal(t, http.StatusOK, made.Code, made.Body)
	var got, stored map[string]any
	require.NoError(t, json.Unmarshal(made.Body.Bytes(), &got))
	require.NoError(t, json.Unmarshal(call(h, "GET", "/v1/responses/resp_"+runDigits, "").Body.Bytes(), &stored))
	require.Equal(t, []any{"resp_" + runDigits, "completed", "Be short.", map[string]any{"a": "b"}}, []any{got["id"], got["status"], got["instructions"], got["metadata"]})
	for _, same := range []string{"id", "object", "status", "model", "output", "usage", "conversation", "error"} {
		require.Equal(t, got[same], stored[same], same)
	}
	require.Equal(t, http.StatusNotFound, call(h, "GET", "/v1/responses/resp_1", "").Code)
	require.Equal(t, http.StatusNotFound, call(h, "GET", "/v1/responses/"+aRun, "").Code)
}

// streamed is what a client reads of a turn whose events are given.
func streamed(t *testing.T, g *gateway, method, path, body string, events ...sessions.Event) string {
	t.Helper()
	_, w := started(t, g)
	read := answer(t, w.dial(t, method, path, body)).Body
	time.AfterFunc(time.Second/2, func() {
		for i, e := range events {
			e.Seq, e.Run = uint64(i+1), aRun
			g.live <- e
		}
	})
	text, err := io.ReadAll(read)
	require.NoError(t, err)
	return string(text)
}

func delta(text string) sessions.Event { return sessions.Event{Type: sessions.EventDelta, Text: text} }

var (
	streamHello    = strings.TrimSuffix(hello, "}") + `,"stream":true,"stream_options":{"include_usage":true}}`
	streamResponse = `{"model":"main","input":"2+2","stream":true,"conversation":"main"}`
)

// chunksOf joins what a client shows of chunks.
func chunksOf(t *testing.T, stream string) (text, finish string, usage bool) {
	t.Helper()
	blocks := strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n")
	require.Equal(t, "data: [DONE]", blocks[len(blocks)-1])
	for _, block := range blocks[:len(blocks)-1] {
		var chunk struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage *struct{}
		}
		data, ok := strings.CutPrefix(block[strings.LastIndex(block, "\n")+1:], "data: ")
		require.True(t, ok, block)
		require.NoError(t, json.Unmarshal([]byte(data), &chunk), data)
		for _, c := range chunk.Choices {
			text += c.Delta.Content
			finish += c.Finish
		}
		usage = usage || chunk.Usage != nil
	}
	return text, finish, usage
}

func TestChatIsStreamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply  string
		events []sessions.Event
		want   string
	}{
		"in pieces":                    {"four", []sessions.Event{delta("fo"), delta("ur")}, "four"},
		"the bus has lost the end":     {"four", []sessions.Event{delta("fo")}, "four"},
		"without any piece":            {"four", nil, "four"},
		"with a text before the tool":  {"four", []sessions.Event{delta("I calculate."), {Type: sessions.EventToolCall, Tool: "sum"}, delta("four")}, "I calculate.\n\nfour"},
		"silence":                      {"NO_REPLY", nil, ""},
		"with a question in between":   {"four", []sessions.Event{delta("fo"), {Type: sessions.EventNotice, Text: "May I?", Buttons: []sessions.Button{{Label: "yes"}}}, delta("ur")}, "four"},
		"with a line break at the end": {"four", []sessions.Event{delta("four\n")}, "four\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stream := streamed(t, withRun(done(c.reply)), "POST", chatPath, streamHello, append(c.events, sessions.Event{Type: sessions.EventDone, Usage: &sessions.Usage{InputTokens: 5}})...)
				require.NotContains(t, stream, "retry:")
				text, finish, usage := chunksOf(t, stream)
				require.Equal(t, []any{c.want, "stop", true}, []any{text, finish, usage})
			})
		})
	}
}

// What a client can't take back is not followed by something else: the stream ends with an error.
func TestStreamsThatFail(t *testing.T) {
	t.Parallel()
	failed := sessions.Run{Status: sessions.RunFailed, Error: "My model is not responding."}
	for name, c := range map[string]struct {
		run    sessions.Run
		events []sessions.Event
		want   string
	}{
		"the model begins again": {done("four"), []sessions.Event{delta("fi"), {Type: sessions.EventRetrying}, delta("four"), {Type: sessions.EventDone}}, "stream_restarted"},
		"a piece is lost":        {done("four"), []sessions.Event{delta("ur"), {Type: sessions.EventDone}}, "stream_cut"},
		"the run fails":          {failed, []sessions.Event{delta("fo"), {Type: sessions.EventFailed}}, "run_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				chat := streamed(t, withRun(c.run), "POST", chatPath, streamHello, c.events...)
				require.Contains(t, chat, `data: {"error":{"message":`)
				require.Contains(t, chat, `"code":"`+c.want+`"`)
				require.NotContains(t, chat, "[DONE]")
				response := streamed(t, withRun(c.run), "POST", "/v1/responses", streamResponse, c.events...)
				require.Contains(t, response, "event: response.failed\n")
				require.Contains(t, response, `"code":"`+c.want+`"`)
			})
		})
	}
}

func TestResponseIsStreamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stream := streamed(t, withRun(done("four")), "POST", "/v1/responses", streamResponse,
			delta("I calculate."), sessions.Event{Type: sessions.EventToolCall, Tool: "sum"}, delta("fo"), delta("ur"), sessions.Event{Type: sessions.EventDone, Usage: &sessions.Usage{InputTokens: 5}})
		var kinds []string
		for i, block := range strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
			var e struct {
				Type     string
				Sequence int `json:"sequence_number"`
				Response struct {
					Output []struct{ Content []struct{ Text string } }
					Status string
				}
			}
			name, data, _ := strings.Cut(block, "\ndata: ")
			require.NoError(t, json.Unmarshal([]byte(data), &e), block)
			require.Equal(t, []any{"event: " + e.Type, i}, []any{name, e.Sequence})
			kinds = append(kinds, strings.TrimPrefix(e.Type, "response."))
			if e.Type == "response.completed" {
				require.Equal(t, "I calculate.", e.Response.Output[0].Content[0].Text)
				require.Equal(t, "four", e.Response.Output[1].Content[0].Text)
			}
		}
		message := []string{"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"}
		want := append([]string{"created", "in_progress"}, message...)
		want = append(append(want, message[:3]...), "output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed")
		require.Equal(t, want, kinds)
	})
}

// A client that has lost its stream goes on behind the last event that it has.
func TestResponseStreamIsResumed(t *testing.T) {
	t.Parallel()
	events := []sessions.Event{delta("fo"), delta("ur"), {Type: sessions.EventDone}}
	resume := func(query, body string) (stream string) {
		synctest.Test(t, func(t *testing.T) {
			g := withRun(done("four"))
			stream = streamed(t, g, "GET", "/v1/responses/resp_"+runDigits+query, body, events...)
			require.EqualValues(t, 1, g.after)
		})
		return stream
	}
	whole := resume("?stream=true", "")
	require.Equal(t, 10, strings.Count(whole, "event: "))
	_, rest, found := strings.Cut(whole, "\"sequence_number\":4,")
	require.True(t, found)
	_, rest, _ = strings.Cut(rest, "\n\n")
	require.Equal(t, rest, resume("?stream=true&starting_after=4", ""))
	require.Equal(t, rest, resume("?starting_after=4", ""))
	require.Equal(t, whole, resume("", `{"stream":true}`), "as the client for Go asks")
	h := serve(t, withRun(done("four")))
	for _, query := range []string{"?stream=maybe", "?stream=true&starting_after=x", "?starting_after=-2"} {
		require.Equal(t, http.StatusBadRequest, call(h, "GET", "/v1/responses/resp_"+runDigits+query, "").Code, query)
	}
}

// A client that stays when the gateway stops is told how to go on.
func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withRun(sessions.Run{Status: sessions.RunRunning})
		s, w := started(t, g)
		read := answer(t, w.dial(t, "POST", chatPath, streamHello)).Body
		synctest.Wait()
		go func() { _ = s.Stop(t.Context()) }()
		text, err := io.ReadAll(read)
		require.NoError(t, err)
		require.Contains(t, string(text), `"code":"stream_cut"`)
	})
}
