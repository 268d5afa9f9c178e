package model_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// A session's thinking level stands in the request as each API says it.
func TestThinkingOnTheWire(t *testing.T) {
	t.Parallel()
	for level, want := range map[sessions.ThinkingLevel]map[string]string{
		sessions.ThinkingInherit: {kindOpenAI: `{"max_completion_tokens":100,"temperature":0.5}`, kindAnthropic: `{"max_tokens":100,"temperature":0.5}`},
		sessions.ThinkingOff:     {kindOpenAI: `{"max_completion_tokens":100,"temperature":0.5,"reasoning_effort":"none"}`, kindAnthropic: `{"max_tokens":100,"temperature":0.5,"thinking":{"type":"disabled"}}`},
		sessions.ThinkingLow:     {kindOpenAI: `{"max_completion_tokens":100,"temperature":0.5,"reasoning_effort":"low"}`, kindAnthropic: `{"max_tokens":2148,"thinking":{"type":"enabled","budget_tokens":2048}}`},
		sessions.ThinkingMedium:  {kindOpenAI: `{"max_completion_tokens":100,"temperature":0.5,"reasoning_effort":"medium"}`, kindAnthropic: `{"max_tokens":8292,"thinking":{"type":"enabled","budget_tokens":8192}}`},
		sessions.ThinkingHigh:    {kindOpenAI: `{"max_completion_tokens":100,"temperature":0.5,"reasoning_effort":"high"}`, kindAnthropic: `{"max_tokens":24676,"thinking":{"type":"enabled","budget_tokens":24576}}`},
	} {
		eachKind(t, func(t *testing.T, kind string) {
			got := asked(t, kind, sessions.Request{Thinking: level, Messages: conversation().Messages[:2]})
			require.JSONEq(t, want[kind], got, "%q", level)
		})
	}
}

// A turn that began without reasoning goes on without it: the API refuses anything else.
func TestThinkingBeginsWithATurn(t *testing.T) {
	t.Parallel()
	messages := conversation().Messages[:4] // it ends with a tool's result
	got := asked(t, kindAnthropic, sessions.Request{Thinking: sessions.ThinkingLow, Messages: messages})
	require.Contains(t, got, "enabled", "the answer before began with reasoning")
	messages[2].Parts = messages[2].Parts[1:]
	got = asked(t, kindAnthropic, sessions.Request{Thinking: sessions.ThinkingLow, Messages: messages})
	require.NotContains(t, got, "thinking")
}

// asked is what a request says of how the model is to answer.
func asked(t *testing.T, kind string, req sessions.Request) string {
	t.Helper()
	s := newWireServer(t)
	s.body = wires()["text"][kind]
	temperature := float32(0.5)
	req.Temperature, req.MaxTokens = &temperature, 100
	_, err := s.client(t, kind).Complete(t.Context(), req, func(sessions.Chunk) {})
	require.NoError(t, err)
	raw, err := json.Marshal(s.got)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(raw, &all))
	for _, key := range []string{"model", "stream", "stream_options", "messages", "tools"} {
		delete(all, key)
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	return string(text)
}
