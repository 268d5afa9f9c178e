package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
	"sluice/sessions"
)

// chatRequest is what is read of a request for a chat completion.
type chatRequest struct {
	Model    string        `json:"model" doc:"id of an agent, as in /v1/models"`
	Messages []chatMessage `json:"messages" doc:"the last one is what the agent replies to"`
	Stream   bool          `json:"stream,omitempty" doc:"send the reply while it is written"`
	Options  struct {
		Usage bool `json:"include_usage,omitempty" doc:"send the usage in a last chunk"`
	} `json:"stream_options,omitzero"`
	Tools  json.RawMessage `json:"tools,omitempty" doc:"functions of the client that the agent may call"`
	Choice json.RawMessage `json:"tool_choice,omitempty" doc:"auto or none"`
	User   string          `json:"user,omitempty" doc:"names a session that lasts: the same user of the same token speaks in the same session"`
}

type chatMessage struct {
	Role    string          `json:"role" enum:"system,developer,user,assistant,tool,function"`
	Content json.RawMessage `json:"content" doc:"a text, or a list of parts with texts"`
	Call    string          `json:"tool_call_id,omitempty" doc:"of tool: the call whose result it is"`
}

// chatReply is a chat completion, or a chunk of one.
type chatReply struct {
	ID      string       `json:"id" doc:"chatcmpl- and the digits of the run's id"`
	Object  string       `json:"object" enum:"chat.completion,chat.completion.chunk"`
	Created int64        `json:"created" doc:"seconds since 1970"`
	Model   string       `json:"model" doc:"id of the agent"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty" doc:"absent if it is not known"`
}

type chatChoice struct {
	Index   int        `json:"index"`
	Message *chatText  `json:"message,omitempty"`
	Delta   *chatDelta `json:"delta,omitempty" doc:"of a chunk"`
	Logs    *struct{}  `json:"logprobs"`
	Finish  *string    `json:"finish_reason" enum:"stop,tool_calls,content_filter" doc:"tool_calls: the client has functions to run. content_filter: the reply is withheld, and the content says why"`
}

type chatText struct {
	Role    string     `json:"role" enum:"assistant"`
	Content *string    `json:"content" doc:"null: the reply has calls alone"`
	Refusal *string    `json:"refusal"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
}

type chatDelta struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
}

// chatCall is a call of a function of the client.
type chatCall struct {
	Index    *int   `json:"index,omitempty" doc:"of a chunk"`
	ID       string `json:"id"`
	Type     string `json:"type" enum:"function"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments" doc:"a JSON object"`
	} `json:"function"`
}

// chatCalls are the calls of a reply; in a chunk each has its index.
func chatCalls(calls []sessions.ClientCall, chunk bool) (all []chatCall) {
	for i, call := range calls {
		c := chatCall{ID: call.ID, Type: "function"}
		if c.Function.Name, c.Function.Arguments = call.Name, string(call.Args); chunk {
			c.Index = &i
		}
		all = append(all, c)
	}
	return all
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func chatUsageOf(u *sessions.Usage) *chatUsage {
	if u == nil {
		return nil
	}
	out := &chatUsage{Prompt: u.InputTokens, Completion: u.OutputTokens, Total: u.InputTokens + u.OutputTokens}
	out.Details.Cached = u.CachedTokens
	return out
}

// Chat completes a chat.
func (a *API) Chat(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := a.Turns.UntilStop(r.Context())
	defer cancel()
	var request chatRequest
	if err := read(r, chatRules(), &request); err != nil {
		return err
	}
	agent, err := a.agent(request.Model)
	if err != nil {
		return err
	}
	t, err := request.turn()
	if err != nil {
		return err
	}
	got, err := a.begin(ctx, w, r, agent, names{user: request.User}, t)
	if err != nil {
		return err
	}
	head := chatReply{ID: idOf("chatcmpl-", cmp.Or(got.Run, sessions.RunID(got.NoticeID))), Object: "chat.completion", Created: a.Now().Unix(), Model: agent.ID}
	if request.Stream {
		head.Object += ".chunk"
		return a.streamTurn(ctx, w, got, func(out *wire.Stream) sink { return &chatChunks{out: out, head: head, usage: request.Options.Usage} })
	}
	end, err := a.finish(ctx, w, got)
	if err == nil {
		message := &chatText{Role: roleAssistant, Calls: chatCalls(end.Calls, false)}
		if end.Text != "" || len(end.Calls) == 0 {
			message.Content = &end.Text
		}
		head.Choices = []chatChoice{{Message: message, Finish: finishOf(end)}}
		head.Usage = chatUsageOf(end.Usage)
		wire.WriteJSON(w, http.StatusOK, head)
	}
	return err
}

func (c *chatRequest) turn() (turn, error) {
	if len(c.Messages) == 0 {
		return turn{}, refuse("messages", codeMissing, "is missing or empty")
	}
	all := make([]said, len(c.Messages))
	for i, m := range c.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		switch m.Role {
		case roleSystem, roleDeveloper, roleUser, roleAssistant, roleTool, "function":
		default:
			return turn{}, refuse(at+".role", codeInvalid, "want system, developer, user, assistant or tool")
		}
		text, err := textOf(at+".content", m.Content)
		if err != nil {
			return turn{}, err
		}
		all[i] = said{m.Role, text, m.Call}
	}
	t, err := turnOf("messages", all)
	if err == nil && string(c.Choice) != choiceNone {
		t.functions, err = functionsOf(c.Tools, true)
	}
	return t, err
}

// finishOf is why a reply has ended.
func finishOf(end conversation.End) *string {
	why := "stop"
	switch {
	case end.Withheld != nil:
		why = "content_filter"
	case len(end.Calls) > 0:
		why = "tool_calls"
	}
	return &why
}

// chatChunks writes a turn as the chunks of a chat completion.
type chatChunks struct {
	out   *wire.Stream
	head  chatReply
	usage bool
}

var _ sink = (*chatChunks)(nil)

func (c *chatChunks) begin() error {
	empty := ""
	return c.chunk(chatDelta{Role: roleAssistant, Content: &empty}, nil)
}

func (c *chatChunks) beat() error { return c.out.Beat() }

func (c *chatChunks) add(text string, next bool) error {
	if next {
		text = "\n\n" + text
	}
	return c.chunk(chatDelta{Content: &text}, nil)
}

func (c *chatChunks) end(end conversation.End) error {
	if len(end.Calls) > 0 {
		if err := c.chunk(chatDelta{Calls: chatCalls(end.Calls, true)}, nil); err != nil {
			return err
		}
	}
	if err := c.chunk(chatDelta{}, finishOf(end)); err != nil {
		return err
	}
	if c.usage {
		last := c.head
		last.Choices, last.Usage = []chatChoice{}, chatUsageOf(end.Usage)
		if err := c.write(last); err != nil {
			return err
		}
	}
	return c.out.Data("[DONE]")
}

func (c *chatChunks) fail(why *wire.Error) error { return c.write(errorBody{recordOf(why, "")}) }

func (c *chatChunks) chunk(d chatDelta, finish *string) error {
	chunk := c.head
	chunk.Choices = []chatChoice{{Delta: &d, Finish: finish}}
	return c.write(chunk)
}

func (c *chatChunks) write(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode chunk: %w", err)
	}
	return c.out.Data(string(text))
}
