package openai

import (
	"encoding/json"
	"fmt"
)

// responseRequest is what is read of a request for a response.
type responseRequest struct {
	Model        string          `json:"model" doc:"id of an agent, as in /v1/models"`
	Input        json.RawMessage `json:"input" doc:"a text, or a list of messages; the last one is what the agent replies to"`
	Instructions string          `json:"instructions,omitempty" doc:"what the agent is told before the message"`
	Stream       bool            `json:"stream,omitempty" doc:"send the reply while it is written"`
	Previous     string          `json:"previous_response_id,omitempty" doc:"go on in the session of this response"`
	Conversation json.RawMessage `json:"conversation,omitempty" doc:"go on in a session: its id or key, or an object with it as id"`
	Tools        json.RawMessage `json:"tools,omitempty" doc:"functions of the client that the agent may call"`
	Choice       json.RawMessage `json:"tool_choice,omitempty" doc:"auto or none"`
	User         string          `json:"user,omitempty" doc:"names a session that lasts: the same user of the same token speaks in the same session"`
	Metadata     json.RawMessage `json:"metadata,omitempty" doc:"sent back with the response, and not stored"`
}

type inputItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
	Call    string          `json:"call_id"`
}

// names are what the request says about its session.
func (q *responseRequest) names() (names, error) {
	n := names{user: q.User, previous: q.Previous, lasting: true}
	if absent(q.Conversation) {
		return n, nil
	}
	var object struct{ ID string }
	if json.Unmarshal(q.Conversation, &n.conversation) == nil {
		return n, nil
	}
	if json.Unmarshal(q.Conversation, &object) != nil || object.ID == "" {
		return n, refuse("conversation", codeInvalid, "want the id or key of a session, or an object with it as id")
	}
	n.conversation = object.ID
	return n, nil
}

// turn is what the request says, with the functions that it offers.
func (q *responseRequest) turn() (turn, error) {
	t, err := q.said()
	if err == nil && string(q.Choice) != choiceNone {
		t.functions, err = functionsOf(q.Tools, false)
	}
	return t, err
}

func (q *responseRequest) said() (turn, error) {
	var all []said
	if q.Instructions != "" {
		all = append(all, said{role: roleSystem, text: q.Instructions})
	}
	var text string
	if json.Unmarshal(q.Input, &text) == nil && !absent(q.Input) {
		return turnOf("input", append(all, said{role: roleUser, text: text}))
	}
	var items []inputItem
	if absent(q.Input) || json.Unmarshal(q.Input, &items) != nil {
		return turn{}, refuse("input", codeMissing, "want a text, or a list of messages")
	}
	for i, item := range items {
		s, err := item.read(fmt.Sprintf("input[%d]", i))
		if err != nil {
			return turn{}, err
		}
		all = append(all, s)
	}
	return turnOf("input", all)
}

// read reads an item of the input. What the model has thought is left out.
func (item *inputItem) read(at string) (said, error) {
	content, role := item.Content, item.Role
	switch item.Type {
	case "", "message":
		switch item.Role {
		case roleSystem, roleDeveloper, roleUser, roleAssistant:
		default:
			return said{}, refuse(at+".role", codeInvalid, "want system, developer, user or assistant")
		}
	case "reasoning", "function_call":
		return said{role: roleAssistant}, nil
	case "function_call_output":
		content, role = item.Output, roleTool
	default:
		return said{}, refuse(at+".type", codeInvalid, "%.40q is not taken here; send messages", item.Type)
	}
	text, err := textOf(at+".content", content)
	return said{role, text, item.Call}, err
}
