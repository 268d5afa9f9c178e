package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"sluice/internal/httpapi/wire"
)

// rule says why a value of a parameter is refused; empty if it is not.
type rule func(value json.RawMessage) string

// free takes any value: the parameter is read elsewhere, or changes nothing that the reply means.
func free(json.RawMessage) string { return "" }

// only takes the values that mean what agents do anyway.
func only(why string, values ...string) rule {
	return func(value json.RawMessage) string {
		if slices.Contains(values, string(value)) {
			return ""
		}
		return why
	}
}

// Why parameters are refused.
const (
	noChoice  = "the agent decides itself which functions it calls; leave it out, or send auto or none"
	noOld     = "is the old form; send tools and tool_choice instead"
	noChoices = "a reply has one choice; leave it out"
	noFormat  = "an agent replies with text, and can't promise a format; leave it out, and ask for the format in the message"
	noLogs    = "the probabilities of tokens are not known; leave it out"
	noStops   = "an agent's reply is never cut at a text; leave it out"
	noBias    = "an agent chooses its words itself; leave it out"
	noAudio   = "replies are text; leave it out, or ask for text alone"
	noSearch  = "the agent searches the web with its own tools, if it has any; leave it out"
	noPrompts = "prompts are not stored here; leave it out, and put the text into instructions"
	noBack    = "a reply is always waited for; leave it out. POST /v1/wake does not wait"
)

// choiceNone forbids the agent to call functions of the client.
const choiceNone = `"none"`

// common are the parameters that both endpoints know.
func common() map[string]rule {
	all := map[string]rule{
		"tools": free, "tool_choice": only(noChoice, `"auto"`, `"none"`), "top_logprobs": only(noLogs, "0"),
	}
	for _, name := range strings.Fields("model stream stream_options user metadata store temperature top_p parallel_tool_calls service_tier safety_identifier prompt_cache_key prompt_cache_retention") {
		all[name] = free
	}
	return all
}

// chatRules are the parameters of chat completions.
func chatRules() map[string]rule {
	all := common()
	maps.Copy(all, map[string]rule{
		"functions": only(noOld, "[]"), "function_call": only(noOld, `"auto"`, `"none"`), "n": only(noChoices, "1"),
		"response_format": formatRule, "logprobs": only(noLogs, "false"), "stop": only(noStops, "[]", `""`), "logit_bias": only(noBias, "{}"),
		"modalities": only(noAudio, `["text"]`), "audio": only(noAudio), "web_search_options": only(noSearch),
	})
	for _, name := range strings.Fields("messages seed max_tokens max_completion_tokens frequency_penalty presence_penalty reasoning_effort verbosity prediction") {
		all[name] = free
	}
	return all
}

// responsesRules are the parameters of responses.
func responsesRules() map[string]rule {
	all := common()
	maps.Copy(all, map[string]rule{"text": textRule, "prompt": only(noPrompts), "background": only(noBack, "false")})
	for _, name := range strings.Fields("input instructions previous_response_id conversation max_output_tokens max_tool_calls reasoning include truncation") {
		all[name] = free
	}
	return all
}

// formatRule takes the format text.
func formatRule(value json.RawMessage) string {
	var format struct{ Type string }
	if json.Unmarshal(value, &format) != nil || format.Type != "text" {
		return noFormat
	}
	return ""
}

// textRule takes settings of a text that has no format.
func textRule(value json.RawMessage) string {
	var text struct{ Format json.RawMessage }
	if json.Unmarshal(value, &text) != nil || !absent(text.Format) && formatRule(text.Format) != "" {
		return noFormat
	}
	return ""
}

func absent(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// read reads a body into a request: all its parameters must be known, and those that no agent follows are refused.
func read(r *http.Request, rules map[string]rule, into any) error {
	body, err := io.ReadAll(r.Body)
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return wire.TooLarge(fmt.Sprintf("the request is longer than %d bytes; send fewer messages, or name a session with the header %s, which remembers them", big.Limit, SessionHeader))
	}
	if err != nil {
		return wire.ErrCutBody
	}
	var params map[string]json.RawMessage
	if err := json.Unmarshal(body, &params); err != nil || params == nil {
		return wire.BadRequest("the body is not a JSON object with model and messages, or model and input")
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		rule, known := rules[name]
		var plain bytes.Buffer
		_ = json.Compact(&plain, params[name]) // it was parsed already
		switch {
		case !known:
			return refuse(wire.Printable(name), codeUnknown, "there is no such parameter here; leave it out")
		case absent(plain.Bytes()):
		default:
			if why := rule(plain.Bytes()); why != "" {
				return refuse(name, codeUnsupported, "%s", why)
			}
		}
	}
	err = json.Unmarshal(body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return refuse(wrong.Field, codeInvalid, "a %s does not fit here", wrong.Value)
	}
	if err != nil {
		return wire.BadRequest("the body can't be read: " + err.Error())
	}
	return nil
}
