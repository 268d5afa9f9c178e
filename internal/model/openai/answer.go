package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sluice/internal/model/wire"
	"sluice/sessions"
	"sluice/sessions/port"
)

// chunk is one event of the stream.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Refusal   string `json:"refusal"`
			Reasoning string `json:"reasoning_content"` // the field that several servers use
			ToolCalls []struct {
				Index    int    `json:"index"`
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens        int `json:"prompt_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionTokensDetails struct {
			ReasoningTokens int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
	Error *failure `json:"error"`
}

// failure is an error inside a stream.
type failure struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    any    `json:"code"` // a string, a number or null
}

func (f failure) code() string {
	if f.Code == nil {
		return ""
	}
	return fmt.Sprint(f.Code)
}

// answer assembles a streamed answer.
type answer struct {
	on       func(sessions.Chunk)
	fail     wire.Fail
	text     strings.Builder
	thinking strings.Builder
	calls    []*call
	usage    sessions.Usage
	finish   string
}

type call struct {
	index    int // the provider's index
	id, name string
	args     strings.Builder
}

var _ wire.Completed = (*answer)(nil)

// Event implements [wire.Answer]. The end marker is "[DONE]". A finish reason is not, because the usage comes after
// it.
func (a *answer) Event(_ string, data []byte) (end bool, err error) {
	if string(data) == "[DONE]" {
		if a.finish == "" && a.text.Len() == 0 && len(a.calls) == 0 {
			return false, a.fail(sessions.ModelCut, errors.New("the stream ended without an answer"))
		}
		if a.finish == "content_filter" && a.text.Len() == 0 && len(a.calls) == 0 {
			return false, a.fail(sessions.ModelRefused, port.ErrDeclined)
		}
		return true, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, a.fail(sessions.ModelCut, fmt.Errorf("an event is not JSON: %w", err))
	}
	if c.Error != nil {
		return false, a.failed(c.Error.Type, c.Error.code(), c.Error.Message)
	}
	if c.Usage != nil {
		a.usage = sessions.Usage{
			InputTokens: c.Usage.PromptTokens, OutputTokens: c.Usage.CompletionTokens, CachedTokens: c.Usage.PromptTokensDetails.CachedTokens,
			ThinkingTokens: c.Usage.CompletionTokensDetails.ReasoningTokens,
		}
	}
	for _, choice := range c.Choices {
		a.say(sessions.PartThinking, &a.thinking, choice.Delta.Reasoning)
		a.say(sessions.PartText, &a.text, choice.Delta.Content)
		a.say(sessions.PartText, &a.text, choice.Delta.Refusal)
		for _, t := range choice.Delta.ToolCalls {
			if err := a.call(t.Index, t.ID, t.Function.Name, t.Function.Arguments); err != nil {
				return false, err
			}
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return false, nil
}

// Whole implements [wire.Answer]: several servers send nothing after the finish reason.
func (a *answer) Whole() bool { return a.finish != "" }

// failed returns the error for a failure inside a stream.
func (a *answer) failed(kind, code, message string) error {
	err := fmt.Errorf("%s: %s", strings.TrimSpace(kind+" "+code), message)
	switch {
	case strings.Contains(kind+code, "insufficient_quota"):
		return a.fail(port.ModelBilling, err)
	case strings.Contains(kind+code, "rate_limit"):
		return a.fail(sessions.ModelRateLimited, err)
	case wire.KindOf(http.StatusBadRequest, code+" "+message) == sessions.ModelOverflow:
		return a.fail(sessions.ModelOverflow, err)
	}
	return a.fail(sessions.ModelOverloaded, err)
}

func (a *answer) say(kind sessions.PartType, into *strings.Builder, text string) {
	if text == "" {
		return
	}
	into.WriteString(text)
	a.on(sessions.Chunk{Type: kind, Text: text})
}

// callsMax limits the tool calls of one answer, in case a server counts wrongly.
const callsMax = 128

// call adds a chunk to a tool call. The first chunk has the id and the name. Servers that repeat them, or give every
// call index 0, are supported.
func (a *answer) call(index int, id, name, args string) error {
	c := a.find(index, id)
	if c == nil {
		if len(a.calls) == callsMax {
			return a.fail(sessions.ModelRefused, fmt.Errorf("the answer has more than %d tool calls", callsMax))
		}
		c = &call{index: index, id: cmp.Or(id, fmt.Sprintf("call_%d", len(a.calls)))}
		a.calls = append(a.calls, c)
	}
	if c.name == "" && name != "" {
		c.name = name
		a.on(sessions.Chunk{Type: sessions.PartToolCall, CallID: c.id, Tool: c.name})
	}
	c.args.WriteString(args)
	return nil
}

// find returns the newest call with an index, or nil if the id belongs to another one.
func (a *answer) find(index int, id string) *call {
	for _, c := range slices.Backward(a.calls) {
		if c.index != index {
			continue
		}
		if id == "" || id == c.id {
			return c
		}
		return nil
	}
	return nil
}

// Completion implements [wire.Completed].
func (a *answer) Completion() sessions.Completion {
	done := sessions.Completion{Usage: a.usage, Truncated: a.finish == "length"}
	add := func(kind sessions.PartType, text string) {
		if text != "" {
			done.Parts = append(done.Parts, sessions.Part{Type: kind, Text: text})
		}
	}
	add(sessions.PartThinking, a.thinking.String())
	add(sessions.PartText, a.text.String())
	for _, c := range a.calls {
		if c.name == "" { // no tool has an empty name, and no provider accepts it back
			continue
		}
		done.Parts = append(done.Parts, sessions.Part{
			Type: sessions.PartToolCall, CallID: c.id, Tool: c.name, Args: wire.Args(c.args.String()),
		})
	}
	return done
}
