// Package openai speaks the Chat Completions API, as OpenAI and many other servers have it.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/internal/model/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config is what a client needs.
type Config struct {
	Provider string // its name in the configuration
	APIKey   string
	BaseURL  string // empty for DefaultBaseURL
	Level    flow.Level
	Window   int

	FirstByte, Idle time.Duration // 0 for the defaults of package wire
}

// Client is one provider.
type Client struct {
	cfg  Config
	http *http.Client
}

// New makes a client. It makes no request.
func New(cfg Config) *Client {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/")
	return &Client{cfg: cfg, http: wire.NewHTTP()}
}

// Model is one of the provider's models.
func (c *Client) Model(name string) *Model { return &Model{client: c, name: name} }

// Model is one model behind the provider.
type Model struct {
	client *Client
	name   string
}

var (
	_ sessions.Model      = (*Model)(nil)
	_ sessions.Classified = (*Model)(nil)
)

// Name implements [sessions.Model].
func (m *Model) Name() string { return m.client.cfg.Provider + "/" + m.name }

// ContextWindow implements [sessions.Model]; 0 unless configured, because servers differ.
func (m *Model) ContextWindow() int { return m.client.cfg.Window }

// Classification implements [sessions.Classified].
func (m *Model) Classification() flow.Level { return m.client.cfg.Level }

// Complete implements [sessions.Model].
func (m *Model) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	cfg := m.client.cfg
	w := wire.NewClient(m.client.http, m.Name(), cfg.FirstByte, cfg.Idle)
	header := http.Header{}
	if cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	a := &answer{on: on, wire: w}
	err := w.Stream(ctx, cfg.BaseURL+"/chat/completions", header, newRequest(m.name, req), a.event)
	if err != nil {
		return sessions.Completion{}, err
	}
	return a.completion(), nil
}

// chunk is one event of the stream.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"` // as several servers send it
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
	} `json:"usage"`
	Error *struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	} `json:"error"`
}

// answer puts a streamed answer together.
type answer struct {
	on       func(sessions.Chunk)
	wire     *wire.Client
	text     strings.Builder
	thinking strings.Builder
	calls    []*call
	usage    sessions.Usage
	finish   string
}

type call struct {
	id, name string
	args     strings.Builder
}

// event takes one event. The stream's end marker is "[DONE]"; that a choice has
// finished is not, because the usage comes after it.
func (a *answer) event(_ string, data []byte) (done bool, err error) {
	if string(data) == "[DONE]" {
		if a.finish == "" {
			return false, a.wire.Fail(sessions.ModelCut, errors.New("the stream ended and its answer had not"))
		}
		return true, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, a.wire.Fail(sessions.ModelCut, fmt.Errorf("an event is no JSON: %w", err))
	}
	if c.Error != nil {
		return false, a.failed(c.Error.Type, fmt.Sprint(c.Error.Code), c.Error.Message)
	}
	if c.Usage != nil {
		a.usage = sessions.Usage{
			InputTokens: c.Usage.PromptTokens, OutputTokens: c.Usage.CompletionTokens, CachedTokens: c.Usage.PromptTokensDetails.CachedTokens,
		}
	}
	for _, choice := range c.Choices {
		a.say(sessions.PartThinking, &a.thinking, choice.Delta.Reasoning)
		a.say(sessions.PartText, &a.text, choice.Delta.Content)
		for _, t := range choice.Delta.ToolCalls {
			a.call(t.Index, t.ID, t.Function.Name, t.Function.Arguments)
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return false, nil
}

// failed is an error inside a stream that had begun well.
func (a *answer) failed(kind, code, message string) error {
	err := fmt.Errorf("%s %s: %s", kind, code, message)
	switch {
	case strings.Contains(kind+code, "rate_limit"):
		return a.wire.Fail(sessions.ModelRateLimited, err)
	case wire.KindOf(http.StatusBadRequest, code+" "+message) == sessions.ModelOverflow:
		return a.wire.Fail(sessions.ModelOverflow, err)
	}
	return a.wire.Fail(sessions.ModelOverloaded, err)
}

func (a *answer) say(kind sessions.PartType, into *strings.Builder, text string) {
	if text == "" {
		return
	}
	into.WriteString(text)
	a.on(sessions.Chunk{Type: kind, Text: text})
}

// callsMost bounds the tool calls of one answer, against a server that counts wrongly.
const callsMost = 128

func (a *answer) call(index int, id, name, args string) {
	if index < 0 || index >= callsMost {
		return
	}
	for len(a.calls) <= index {
		a.calls = append(a.calls, &call{})
	}
	c := a.calls[index]
	if id != "" {
		c.id = id
	}
	if name != "" {
		c.name += name
		a.on(sessions.Chunk{Type: sessions.PartToolCall, CallID: c.id, Tool: c.name})
	}
	c.args.WriteString(args)
}

func (a *answer) completion() sessions.Completion {
	done := sessions.Completion{Usage: a.usage, Truncated: a.finish == "length"}
	add := func(kind sessions.PartType, text string) {
		if text != "" {
			done.Parts = append(done.Parts, sessions.Part{Type: kind, Text: strings.ToValidUTF8(text, "\uFFFD")})
		}
	}
	add(sessions.PartThinking, a.thinking.String())
	add(sessions.PartText, a.text.String())
	for i, c := range a.calls {
		if c.name == "" {
			continue
		}
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d", i)
		}
		done.Parts = append(done.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: c.id, Tool: c.name, Args: wire.Args(c.args.String())})
	}
	return done
}
