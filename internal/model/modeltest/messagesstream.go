package modeltest

import "net/http"

func (messagesAPI) fail(w http.ResponseWriter, r Reply) {
	if r.Code == codeOverflow && r.Message == "" {
		r.Code, r.Message = "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
	}
	writeFailure(w, r, object{"type": "error", "error": object{"type": r.Code, "message": r.Message}, "request_id": "req_fake"})
}

func (messagesAPI) events(id string, q Request, r Reply) answer {
	send := func(kind string, fields object) string {
		fields["type"] = kind
		return event(kind, fields)
	}
	u := r.usage(q)
	a := answer{body: []string{send("message_start", object{"message": object{
		"id": "msg_" + id, "type": "message", "role": roleAssistant, "model": q.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": u.Input - u.Cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": u.Cached, "output_tokens": 1,
		},
	}})}}
	for i, b := range r.messagesBlocks(id) {
		a.body = append(a.body, send("content_block_start", object{"index": i, "content_block": b.start}))
		for _, d := range b.deltas {
			a.body = append(a.body, send("content_block_delta", object{"index": i, "delta": d}))
		}
		a.body = append(a.body, send("content_block_stop", object{"index": i}))
	}
	a.tail = []string{
		send("message_delta", object{
			"delta": object{"stop_reason": r.messagesStop(), "stop_sequence": nil},
			"usage": object{"output_tokens": u.Output},
		}),
		send("message_stop", object{}),
	}
	a.bad = send("error", object{"error": object{"type": "overloaded_error", "message": "Overloaded"}})
	a.ping = send("ping", object{})
	return a
}

// sentBlock is one content block of an answer.
type sentBlock struct {
	start  object
	deltas []object
}

func (r Reply) messagesBlocks(id string) []sentBlock {
	var out []sentBlock
	if r.Thinking != "" || r.Signature != "" {
		b := sentBlock{start: object{"type": "thinking", "thinking": "", "signature": ""}}
		for _, p := range chunks(r.Thinking) {
			b.deltas = append(b.deltas, object{"type": "thinking_delta", "thinking": p})
		}
		out = append(out, b.with(object{"type": "signature_delta", "signature": r.Signature}))
	}
	if r.Text != "" {
		b := sentBlock{start: object{"type": "text", "text": ""}}
		for _, p := range chunks(r.Text) {
			b.deltas = append(b.deltas, object{"type": "text_delta", "text": p})
		}
		out = append(out, b)
	}
	for i, c := range r.Calls {
		b := sentBlock{start: object{"type": "tool_use", "id": c.callID(id, i), "name": c.Name, "input": object{}}}
		b = b.with(object{"type": "input_json_delta", "partial_json": ""})
		for _, p := range shreds(c.Args) {
			b.deltas = append(b.deltas, object{"type": "input_json_delta", "partial_json": p})
		}
		out = append(out, b)
	}
	return out
}

func (b sentBlock) with(delta object) sentBlock {
	b.deltas = append(b.deltas, delta)
	return b
}

func (r Reply) messagesStop() string {
	switch {
	case r.Truncated:
		return "max_tokens"
	case len(r.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}
