package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// functionCall is a call of a client's function in a chat completion.
type functionCall struct {
	ID, Type string
	Function struct{ Name, Arguments string }
}

// called is a chat completion that may have calls.
type called struct {
	ID      string
	Choices []struct {
		Message struct {
			Content *string
			Calls   []functionCall `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
}

// weather is a function of a client.
const weather = `"tools":[{"type":"function","function":{"name":"get_weather","description":"The weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}]`

// complete asks for a chat completion with functions.
func (g *gateway) complete(body string, headers ...string) (called, *http.Response) {
	g.t.Helper()
	resp := g.call("POST", "/v1/chat/completions", `{"model":"main",`+body+`}`, headers...)
	var got called
	read(g.t, resp, http.StatusOK, &got)
	return got, resp
}

// A client runs its functions for the agent: the reply has the calls, the next request the results. The gateway may restart in
// between, the results find the session by themselves, and results that come twice ask the model once.
func TestAClientRunsItsFunctions(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	models.Enqueue(
		modeltest.Reply{Text: "Let me look.", Calls: []modeltest.ToolCall{
			{ID: "a", Name: "get_weather", Args: `{"city":"Paris"}`}, {ID: "b", Name: "agents_list", Args: `{}`}, {ID: "c", Name: "get_weather", Args: `{"city":"Rome"}`},
		}},
		modeltest.Say("21 in Paris, 25 in Rome."),
	)
	first, one := g.complete(weather + `,"messages":[{"role":"user","content":"weather in Paris and Rome?"}]`)
	require.Equal(t, "tool_calls", first.Choices[0].Finish)
	require.Equal(t, "Let me look.", *first.Choices[0].Message.Content)
	calls := first.Choices[0].Message.Calls
	require.Len(t, calls, 2, "the agent's own call is not the client's")
	require.Equal(t, []string{"function", "get_weather", `{"city":"Rome"}`}, []string{calls[1].Type, calls[1].Function.Name, calls[1].Function.Arguments})
	require.Len(t, models.Requests(), 1)

	g.end()
	g.begin()
	asked, err := json.Marshal(calls)
	require.NoError(t, err)
	results := fmt.Sprintf(`%s,"messages":[{"role":"user","content":"weather in Paris and Rome?"},{"role":"assistant","content":"Let me look.","tool_calls":%s},`+
		`{"role":"tool","tool_call_id":"%s","content":"25 degrees\n[a line]"},{"role":"tool","tool_call_id":"%s","content":"21 degrees"}]`, weather, asked, calls[1].ID, calls[0].ID)
	second, two := g.complete(results)
	require.Equal(t, []string{"stop", "21 in Paris, 25 in Rome."}, []string{second.Choices[0].Finish, *second.Choices[0].Message.Content})
	require.Equal(t, one.Header.Get("X-Session-Id"), two.Header.Get("X-Session-Id"))
	all := models.Requests()
	raw := string(all[len(all)-1].Raw)
	require.Contains(t, raw, `[The result of a function that you called; words of \"get_weather\" (id \"`+calls[0].ID+`\"):]\n\u003e 21 degrees`)
	require.Contains(t, raw, `\n\u003e 25 degrees\n\u003e [a line]`)
	require.Equal(t, 1, strings.Count(raw, "weather in Paris and Rome?"), "the session remembers it")

	again, _ := g.complete(results)
	require.Equal(t, second, again)
	require.Len(t, models.Requests(), len(all), "the model is asked once")
}

// A function has another name for the agent if the agent has a tool of this name. The client gets its own name back.
func TestAFunctionWithTheNameOfATool(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	models.Enqueue(modeltest.Call("client_agents_list", `{"of":"them"}`))
	got, _ := g.complete(`"tools":[{"type":"function","function":{"name":"agents_list"}}],"messages":[{"role":"user","content":"list"}]`)
	require.Equal(t, "agents_list", got.Choices[0].Message.Calls[0].Function.Name)
	require.Nil(t, got.Choices[0].Message.Content)
	raw := string(models.Requests()[0].Raw)
	require.Contains(t, raw, `"name":"agents_list"`)
	require.Contains(t, raw, `"name":"client_agents_list"`)

	models.Enqueue(modeltest.Say("no functions here"))
	_, _ = g.complete(`"tool_choice":"none",` + weather + `,"messages":[{"role":"user","content":"hello"}]`)
	require.NotContains(t, string(models.Requests()[1].Raw), "get_weather")
	require.NotContains(t, string(models.Requests()[1].Raw), "client_agents_list")
}

// Calls with arguments that don't fit go back to the model, and never to the client.
func TestACallThatDoesNotFit(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	models.Enqueue(modeltest.Call("get_weather", `{"town":"Paris"}`), modeltest.Call("get_weather", `{"city":"Paris"}`))
	got, _ := g.complete(weather + `,"messages":[{"role":"user","content":"weather in Paris?"}]`)
	require.Len(t, got.Choices[0].Message.Calls, 1)
	require.JSONEq(t, `{"city":"Paris"}`, got.Choices[0].Message.Calls[0].Function.Arguments)
	require.Contains(t, string(models.Requests()[1].Raw), "city")
	require.Len(t, models.Requests(), 2)
}

// Results that name no call, or calls of different replies, are refused and told to nobody.
func TestResultsOfUnknownCalls(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	of := func() string {
		models.Enqueue(modeltest.Call("get_weather", `{"city":"Paris"}`))
		got, _ := g.complete(weather + `,"messages":[{"role":"user","content":"weather?"}]`)
		return got.Choices[0].Message.Calls[0].ID
	}
	one, two := of(), of()
	for name, c := range map[string]struct {
		messages string
		status   int
		says     string
	}{
		"a strange id":        {`{"role":"tool","tool_call_id":"call_x","content":"1"}`, http.StatusNotFound, "there is no call call_x"},
		"no id":               {`{"role":"tool","content":"1"}`, http.StatusNotFound, "there is no call"},
		"a run that is not":   {`{"role":"tool","tool_call_id":"call_0123456789abcdef0123456789abcdef_00000000","content":"1"}`, http.StatusNotFound, "there is no call"},
		"no call of the run":  {`{"role":"tool","tool_call_id":"` + one[:len(one)-8] + `00000000","content":"1"}`, http.StatusBadRequest, "not a call of the reply"},
		"two replies":         {`{"role":"tool","tool_call_id":"` + one + `","content":"1"},{"role":"tool","tool_call_id":"` + two + `","content":"1"}`, http.StatusBadRequest, "different replies"},
		"strange, then words": {`{"role":"assistant","content":"x"},{"role":"tool","tool_call_id":"call_x","content":"quoted"},{"role":"user","content":"and now?"}`, http.StatusOK, ""},
	} {
		resp := g.call("POST", "/v1/chat/completions", `{"model":"main","messages":[`+c.messages+`]}`)
		require.Equal(t, c.status, resp.StatusCode, name)
		var got struct {
			Error struct{ Message, Param string }
		}
		read(t, resp, c.status, &got)
		if c.status != http.StatusOK {
			require.Contains(t, got.Error.Message, c.says, name)
			require.Equal(t, "messages", got.Error.Param, name)
		}
	}
	require.Len(t, models.Requests(), 3, "only the words were told to an agent")

	resp := g.call("POST", "/v1/chat/completions", `{"model":"main","user":"ann","messages":[{"role":"tool","tool_call_id":"`+one+`","content":"1"}]}`)
	read(t, resp, http.StatusBadRequest, nil)
	_, resp = g.complete(`"messages":[{"role":"tool","tool_call_id":"` + one + `","content":"1"},{"role":"user","content":"in Fahrenheit"}]`)
	all := models.Requests()
	require.Contains(t, string(all[len(all)-1].Raw), "in Fahrenheit")
	require.Equal(t, http.StatusNoContent, g.call("DELETE", "/v1/sessions/"+resp.Header.Get("X-Session-Id"), "").StatusCode)
	resp = g.call("POST", "/v1/chat/completions", `{"model":"main","messages":[{"role":"tool","tool_call_id":"`+one+`","content":"2"}]}`)
	read(t, resp, http.StatusNotFound, nil)
}

// What the gate withholds of a call withholds the reply; what it redacts is redacted in the call, too.
func TestCallsPassTheGate(t *testing.T) {
	t.Parallel()
	g, models := published(t, `policy:
  rules:
    - { name: no-codes, hook: PRE_OUTPUT, when: 'text.contains("code-")', action: block }
    - { name: pins, hook: PRE_OUTPUT, when: 'true', action: redact, redact: 'pin [0-9]+' }
    - { name: not-there, hook: PRE_TOOL_CALL, when: 'tool.name == "get_weather" && tool.args.city == "Atlantis"', action: block }
`)
	for args, want := range map[string]string{`{"city":"code-7"}`: "content_filter", `{"city":"pin 1234"}`: `{"city":"[redacted]"}`} {
		models.Enqueue(modeltest.Call("get_weather", args))
		got, resp := g.complete(weather + `,"messages":[{"role":"user","content":"weather?"}]`)
		if want == "content_filter" {
			require.Equal(t, want, got.Choices[0].Finish)
			require.Empty(t, got.Choices[0].Message.Calls)
		} else {
			require.JSONEq(t, want, got.Choices[0].Message.Calls[0].Function.Arguments)
		}
		var run struct {
			Calls    []struct{ Args json.RawMessage }
			Withheld *struct{ Code string }
		}
		read(t, g.call("GET", "/v1/runs/"+resp.Header.Get("X-Run-Id"), ""), http.StatusOK, &run)
		require.Equal(t, want == "content_filter", run.Withheld != nil)
		require.Equal(t, want != "content_filter", len(run.Calls) == 1)
	}
	models.Enqueue(modeltest.Call("get_weather", `{"city":"Atlantis"}`), modeltest.Say("I may not ask."))
	got, _ := g.complete(weather + `,"messages":[{"role":"user","content":"weather?"}]`)
	require.Equal(t, "I may not ask.", *got.Choices[0].Message.Content)
}

// Responses have the calls as items of their output, whole, streamed, and when they are read again.
func TestFunctionsOfResponses(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	const tools = `"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}},"strict":true}]`
	type response struct {
		ID, Status string
		Output     []struct {
			Type, Name, Arguments string
			Call                  string `json:"call_id"`
			Content               []struct{ Text string }
		}
		Tools []json.RawMessage
	}
	models.Enqueue(modeltest.Call("get_weather", `{"city":"Paris"}`))
	var first, stored, second response
	read(t, g.call("POST", "/v1/responses", `{"model":"main",`+tools+`,"input":"weather?"}`), http.StatusOK, &first)
	require.Equal(t, []string{"completed", "function_call", "get_weather", `{"city":"Paris"}`}, []string{first.Status, first.Output[0].Type, first.Output[0].Name, first.Output[0].Arguments})
	require.Len(t, first.Tools, 1)
	read(t, g.call("GET", "/v1/responses/"+first.ID, ""), http.StatusOK, &stored)
	require.Equal(t, first.Output, stored.Output)
	models.Enqueue(modeltest.Reply{Text: "One moment.", Calls: []modeltest.ToolCall{{Name: "get_weather", Args: `{"city":"Rome"}`}}})
	events := g.call("POST", "/v1/responses", `{"model":"main","stream":true,`+tools+`,"previous_response_id":"`+first.ID+`","input":[{"type":"function_call_output","call_id":"`+first.Output[0].Call+`","output":"21"}]}`)
	var text string
	var types []string
	for event := range serverEvents(t, events) {
		var e struct {
			Type, Delta string
			Response    *response
		}
		require.NoError(t, json.Unmarshal([]byte(event), &e))
		types = append(types, e.Type)
		if e.Type == "response.output_text.delta" {
			text += e.Delta
		}
		if e.Response != nil {
			second = *e.Response
		}
	}
	require.Equal(t, "One moment.", text)
	require.Equal(t, []string{"response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done", "response.completed"}, types[len(types)-5:])
	require.Len(t, second.Output, 2)
	require.Equal(t, "One moment.", second.Output[0].Content[0].Text)
	require.JSONEq(t, `{"city":"Rome"}`, second.Output[1].Arguments)

	models.Enqueue(modeltest.Say("Warm."))
	var third response
	read(t, g.call("POST", "/v1/responses", `{"model":"main","input":[{"role":"user","content":"weather?"},{"type":"function_call","call_id":"`+second.Output[1].Call+`","name":"get_weather","arguments":"{}"},`+
		`{"type":"function_call_output","call_id":"`+second.Output[1].Call+`","output":"25"}]}`), http.StatusOK, &third)
	require.Equal(t, "Warm.", third.Output[0].Content[0].Text)
}

// In a stream of chunks, the calls come in one chunk, and the text before them once.
func TestFunctionsAreStreamed(t *testing.T) {
	t.Parallel()
	g, models := published(t, "")
	models.Enqueue(modeltest.Reply{Text: "One moment.", Calls: []modeltest.ToolCall{{Name: "get_weather", Args: `{"city":"Rome"}`}, {Name: "get_weather", Args: `{"city":"Oslo"}`}}})
	var text, finish string
	var calls []functionCall
	for event := range serverEvents(t, g.call("POST", "/v1/chat/completions", `{"model":"main","stream":true,`+weather+`,"messages":[{"role":"user","content":"weather?"}]}`)) {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string
					Calls   []functionCall `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(event), &chunk))
		text += chunk.Choices[0].Delta.Content
		finish += chunk.Choices[0].Finish
		calls = append(calls, chunk.Choices[0].Delta.Calls...)
	}
	require.Equal(t, []string{"One moment.", "tool_calls"}, []string{text, finish})
	require.Len(t, calls, 2)
	require.JSONEq(t, `{"city":"Oslo"}`, calls[1].Function.Arguments)
}
