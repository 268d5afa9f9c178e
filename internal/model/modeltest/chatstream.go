package modeltest

import "net/http"

// object is a JSON object built by hand.
type object = map[string]any

func (chatAPI) fail(w http.ResponseWriter, r Reply) {
	if r.Status == statusOverloaded {
		r.Status = http.StatusServiceUnavailable
	}
	if r.Code == codeOverflow && r.Message == "" {
		r.Message = "This model's maximum context length is 128000 tokens. However, your messages resulted in 190000 tokens."
	}
	writeFailure(w, r, object{"error": object{"message": r.Message, "type": chatErrorType(r.Status), "param": nil, "code": r.Code}})
}

func chatErrorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "requests"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// writeFailure writes an error's status, headers and text.
func writeFailure(w http.ResponseWriter, r Reply, body any) {
	w.Header().Set("Content-Type", "application/json")
	if r.RetryAfter > 0 {
		w.Header().Set("Retry-After", r.retryAfter())
	}
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write([]byte(text(body))) // fails if the client has disconnected
}

func (chatAPI) events(id string, q Request, r Reply) answer {
	chunk := func(choices []any, usage any) string {
		return event("", object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1_700_000_000, "model": q.Model,
			"system_fingerprint": "fp_fake", "choices": choices, "usage": usage,
		})
	}
	delta := func(d object, finish any) string {
		return chunk([]any{object{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	a := answer{body: []string{delta(object{"role": roleAssistant, "content": ""}, nil)}}
	for _, p := range chunks(r.Thinking) {
		a.body = append(a.body, delta(object{"reasoning_content": p}, nil))
	}
	for _, p := range chunks(r.Text) {
		a.body = append(a.body, delta(object{"content": p}, nil))
	}
	for i, c := range r.Calls {
		first := object{"index": i, "id": c.callID(id, i), "type": "function", "function": object{"name": c.Name, "arguments": ""}}
		a.body = append(a.body, delta(object{"tool_calls": []any{first}}, nil))
		for _, p := range shreds(c.Args) {
			more := object{"index": i, "function": object{"arguments": p}}
			a.body = append(a.body, delta(object{"tool_calls": []any{more}}, nil))
		}
	}
	u := r.usage(q)
	a.tail = []string{
		delta(object{}, r.chatFinish()),
		chunk([]any{}, object{
			"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"prompt_tokens_details": object{"cached_tokens": u.Cached},
		}),
		"data: [DONE]\n\n",
	}
	a.bad = event("", object{"error": object{"message": "The server had an error while processing your request.", "type": "server_error", "param": nil, "code": nil}})
	a.ping = ": keep-alive\n\n"
	return a
}

func (r Reply) chatFinish() string {
	switch {
	case r.Truncated:
		return "length"
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// shreds cuts arguments at arbitrary places, but never inside a character.
func shreds(args string) []string {
	const runes = 5
	var out []string
	all := []rune(args)
	if string(all) != args { // not UTF-8: sent at once
		return []string{args}
	}
	for len(all) > runes {
		out, all = append(out, string(all[:runes])), all[runes:]
	}
	if len(all) > 0 {
		out = append(out, string(all))
	}
	return out
}
