package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sluice/internal/model/wire"
	"sluice/sessions"
	"sluice/sessions/port"
)

// event is one event of the stream; which fields it has depends on its type.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
		Text string `json:"text"`

		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Input     json.RawMessage `json:"input"` // {} before the chunks of the real input; complete from servers that do not stream it
	} `json:"content_block"`
	Delta struct {
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

// answer assembles a streamed answer.
type answer struct {
	on     func(sessions.Chunk)
	fail   wire.Fail
	blocks []*block
	usage  sessions.Usage
	read   int // tokens of the prompt that were neither read from the cache nor written to it
	stop   string
}

type block struct {
	part  sessions.Part
	text  strings.Builder // text, thinking or a call's arguments
	input json.RawMessage // a call's arguments, if they came at once
}

var _ wire.Completed = (*answer)(nil)

// blocksMax limits the blocks of one answer, in case a server counts wrongly.
const blocksMax = 256

// Event implements [wire.Answer]. It ignores unknown events, as the API requires.
func (a *answer) Event(_ string, data []byte) (end bool, err error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, a.fail(sessions.ModelCut, fmt.Errorf("an event is not JSON: %w", err))
	}
	switch e.Type {
	case "message_start":
		a.count(e.Message.Usage)
	case "content_block_start":
		return false, a.begin(e)
	case "content_block_delta":
		a.delta(e)
	case "message_delta":
		a.stop = cmp.Or(e.Delta.StopReason, a.stop)
		a.count(e.Usage) // of the whole answer; many servers only repeat the output
	case "message_stop":
		if a.stop == "refusal" && !slices.ContainsFunc(a.blocks, (*block).speaks) {
			return false, a.fail(sessions.ModelRefused, port.ErrDeclined)
		}
		return true, nil
	case "error":
		return false, a.failed(e)
	}
	return false, nil
}

// speaks reports whether a block is a part of the answer that somebody reads or that a tool gets.
func (b *block) speaks() bool {
	return b.part.Type == sessions.PartText && b.text.Len() > 0 || b.part.Type == sessions.PartToolCall
}

// count notes what the answer has used so far. The parts of a prompt may come in different events.
func (a *answer) count(u usage) {
	a.read, a.usage.CachedTokens, a.usage.WrittenTokens = max(a.read, u.Input), max(a.usage.CachedTokens, u.CacheRead), max(a.usage.WrittenTokens, u.CacheWrite)
	a.usage.InputTokens = a.read + a.usage.CachedTokens + a.usage.WrittenTokens
	a.usage.OutputTokens = max(a.usage.OutputTokens, u.Output)
}

// Whole implements [wire.Answer]: message_stop is the only end.
func (*answer) Whole() bool { return false }

// failed returns the error for a failure inside a stream.
func (a *answer) failed(e event) error {
	err := fmt.Errorf("%s: %s", e.Error.Type, e.Error.Message)
	switch e.Error.Type {
	case "rate_limit_error":
		return a.fail(sessions.ModelRateLimited, err)
	case "authentication_error":
		return a.fail(sessions.ModelAuth, err)
	case "permission_error":
		return a.fail(port.ModelForbidden, err)
	case "billing_error":
		return a.fail(port.ModelBilling, err)
	case "not_found_error":
		return a.fail(port.ModelMissing, err)
	case "invalid_request_error":
		return a.fail(wire.KindOf(http.StatusBadRequest, e.Error.Message), err)
	}
	return a.fail(sessions.ModelOverloaded, err)
}

// begin opens a block. Blocks that only the provider needs get no type.
func (a *answer) begin(e event) error {
	if e.Index < 0 || e.Index >= blocksMax {
		return a.fail(sessions.ModelRefused, fmt.Errorf("the answer has a block %d: at most %d are accepted", e.Index, blocksMax))
	}
	for len(a.blocks) <= e.Index {
		a.blocks = append(a.blocks, &block{})
	}
	b, start := a.blocks[e.Index], e.ContentBlock
	switch start.Type {
	case "text":
		b.part.Type = sessions.PartText
		a.say(b, start.Text)
	case "thinking":
		b.part = sessions.Part{Type: sessions.PartThinking, Signature: start.Signature}
		a.say(b, start.Thinking)
	case "tool_use":
		b.part = sessions.Part{Type: sessions.PartToolCall, CallID: start.ID, Tool: start.Name}
		b.input = start.Input
		a.on(sessions.Chunk{Type: sessions.PartToolCall, CallID: b.part.CallID, Tool: b.part.Tool})
	}
	return nil
}

func (a *answer) delta(e event) {
	if e.Index < 0 || e.Index >= len(a.blocks) {
		return
	}
	b := a.blocks[e.Index]
	switch b.part.Type {
	case sessions.PartText:
		a.say(b, e.Delta.Text)
	case sessions.PartThinking:
		b.part.Signature += e.Delta.Signature
		a.say(b, e.Delta.Thinking)
	case sessions.PartToolCall:
		b.text.WriteString(e.Delta.PartialJSON)
	}
}

func (a *answer) say(b *block, text string) {
	if text == "" {
		return
	}
	b.text.WriteString(text)
	a.on(sessions.Chunk{Type: b.part.Type, Text: text})
}

// Completion implements [wire.Completed].
func (a *answer) Completion() sessions.Completion {
	done := sessions.Completion{
		Usage:     a.usage,
		Truncated: a.stop == "max_tokens" || a.stop == "model_context_window_exceeded",
	}
	for _, b := range a.blocks {
		switch {
		case b.part.Type == sessions.PartToolCall:
			b.part.Args = wire.Args(cmp.Or(b.text.String(), string(b.input)))
		case b.part.Type == "" || b.text.Len() == 0 && b.part.Signature == "":
			continue
		default:
			b.part.Text = b.text.String()
		}
		done.Parts = append(done.Parts, b.part)
	}
	return done
}
