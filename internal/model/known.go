package model

import (
	"strings"

	"sluice/internal/model/chain"
	"sluice/internal/picture"
)

// family is what is known about the models whose names begin alike.
type family struct {
	prefix string
	can    chain.Capabilities
}

// families lists well-known models, as their providers described them in 2026; the longest matching prefix counts. What is
// in neither set is tried.
func families() []family {
	const vision = chain.Pictures | chain.Tools
	const reasoning = vision | chain.Thinking | chain.Structured
	return []family{
		{"claude", chain.Capabilities{Window: 200_000, Has: vision, Lacks: chain.Audio}},
		{"claude-3-", chain.Capabilities{Window: 200_000, Has: vision, Lacks: chain.Audio | chain.Thinking}},
		{"claude-3-7", chain.Capabilities{Window: 200_000, Has: vision | chain.Thinking, Lacks: chain.Audio}},
		{"claude-opus-4", chain.Capabilities{Window: 200_000, Has: vision | chain.Thinking, Lacks: chain.Audio}},
		{"claude-sonnet-4", chain.Capabilities{Window: 200_000, Has: vision | chain.Thinking, Lacks: chain.Audio}},
		{"claude-haiku-4", chain.Capabilities{Window: 200_000, Has: vision | chain.Thinking, Lacks: chain.Audio}},
		{"gpt-3.5-turbo", chain.Capabilities{Window: 16_385, Has: chain.Tools, Lacks: chain.Pictures | chain.Audio | chain.Thinking}},
		{"gpt-4-turbo", chain.Capabilities{Window: 128_000, Has: vision, Lacks: chain.Audio | chain.Thinking}},
		{"gpt-4o", chain.Capabilities{Window: 128_000, Has: vision | chain.Structured, Lacks: chain.Audio | chain.Thinking}},
		{"gpt-4o-audio", chain.Capabilities{Window: 128_000, Has: chain.Audio | chain.Tools, Lacks: chain.Pictures | chain.Thinking}},
		{"gpt-4.1", chain.Capabilities{Window: 1_047_576, Has: vision | chain.Structured, Lacks: chain.Audio | chain.Thinking}},
		{"gpt-5", chain.Capabilities{Window: 400_000, Has: reasoning, Lacks: chain.Audio}},
		{"o1", chain.Capabilities{Window: 200_000, Has: reasoning, Lacks: chain.Audio}},
		{"o1-mini", chain.Capabilities{Window: 128_000, Has: chain.Thinking, Lacks: chain.Audio | chain.Pictures | chain.Tools}},
		{"o3", chain.Capabilities{Window: 200_000, Has: reasoning, Lacks: chain.Audio}},
		{"o3-mini", chain.Capabilities{Window: 200_000, Has: chain.Tools | chain.Thinking | chain.Structured, Lacks: chain.Audio | chain.Pictures}},
		{"o4-mini", chain.Capabilities{Window: 200_000, Has: reasoning, Lacks: chain.Audio}},
		{"gemini-2", chain.Capabilities{Window: 1_048_576, Has: vision | chain.Audio | chain.Structured}},
		{"deepseek-chat", chain.Capabilities{Window: 64_000, Has: chain.Tools, Lacks: chain.Pictures | chain.Audio}},
		{"deepseek-reasoner", chain.Capabilities{Window: 64_000, Has: chain.Thinking, Lacks: chain.Pictures | chain.Audio}},
		{"mistral-large", chain.Capabilities{Window: 128_000, Has: chain.Tools, Lacks: chain.Audio}},
		// Of models on own servers, the server's settings decide about the window.
		{"llama3.2-vision", chain.Capabilities{Has: chain.Pictures, Lacks: chain.Audio | chain.Thinking}},
		{"llama3", chain.Capabilities{Has: chain.Tools, Lacks: chain.Audio | chain.Pictures | chain.Thinking}},
		{"llava", chain.Capabilities{Has: chain.Pictures, Lacks: chain.Audio | chain.Tools | chain.Thinking}},
		{"qwen3", chain.Capabilities{Has: chain.Tools | chain.Thinking, Lacks: chain.Audio}},
		{"gemma", chain.Capabilities{Lacks: chain.Audio | chain.Thinking}},
	}
}

// anthropicWindow is that of models of the kind anthropic whose name says nothing: those from 2024 and later.
const anthropicWindow = 200_000

// anthropicPicture is how large a picture may be without Anthropic's servers scaling it down. They refuse more than 5 MB in Base64.
var anthropicPicture = picture.Limits{Side: 1568, Bytes: 5_000_000 / 4 * 3}

// known is what is known about a model: from its name, else from the kind of its provider. Of a name such as
// openai/gpt-4o, which servers in front of several providers have, the last part counts.
func known(kind, model string) (can chain.Capabilities) {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	longest := -1
	for _, f := range families() {
		if len(f.prefix) > longest && strings.HasPrefix(name, f.prefix) {
			longest, can = len(f.prefix), f.can
		}
	}
	if kind == KindAnthropic || strings.HasPrefix(name, "claude") {
		can.Picture = anthropicPicture
	}
	if can.Window == 0 && kind == KindAnthropic {
		can.Window = anthropicWindow
	}
	return can
}
