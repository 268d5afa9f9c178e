package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/model/anthropic"
	"sluice/internal/model/openai"
	"sluice/internal/model/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

// thread is a conversation that is changed as sessions change theirs: messages get other parts, and never change them.
type thread struct {
	messages []sessions.Message
	count    int
}

func (c *thread) parts(t *rapid.T, role sessions.Role) []sessions.Part {
	c.count++
	text := sessions.Part{Type: sessions.PartText, Text: fmt.Sprintf("text <%d> \"é\"", c.count), Label: flow.Bottom()}
	parts := []sessions.Part{text}
	switch what := rapid.IntRange(0, 5).Draw(t, "parts"); {
	case what == 0:
		return nil
	case what == 1:
		parts[0].Text = ""
	case role == sessions.RoleAssistant && what == 2:
		parts = append(parts, sessions.Part{Type: sessions.PartToolCall, CallID: fmt.Sprint("call", c.count), Tool: "find", Args: json.RawMessage(`{"a":1}`)})
	case role == sessions.RoleAssistant && what == 3:
		parts = append([]sessions.Part{{Type: sessions.PartThinking, Text: "hm", Signature: "signed"}}, parts...)
	case role == sessions.RoleUser && what == 2:
		parts = append(parts, sessions.Part{Type: sessions.PartAttachment, Attachment: &sessions.Attachment{Kind: "document", Name: "a.pdf"}})
	case role == sessions.RoleUser && what == 3:
		parts = append(parts, sessions.Part{Type: sessions.PartAttachment, Attachment: &sessions.Attachment{Kind: "photo", MIME: "image/png"}, Content: fmt.Append(nil, c.count)})
	}
	if role == sessions.RoleToolResult {
		parts[0].Type, parts[0].CallID = sessions.PartToolResult, fmt.Sprint("call", c.count)
	}
	return parts
}

func (c *thread) add(t *rapid.T) {
	role := rapid.SampledFrom([]sessions.Role{sessions.RoleUser, sessions.RoleAssistant, sessions.RoleToolResult, sessions.RoleAgent, sessions.RoleSummary}).Draw(t, "role")
	m := sessions.Message{ID: sessions.NewMessageID(), Role: role, Parts: c.parts(t, role)}
	if role == sessions.RoleAgent {
		m.Sender = sessions.Peer{ID: "agent:other:main", Name: "other"}
	}
	c.messages = append(c.messages, m)
}

func (c *thread) change(t *rapid.T) {
	if len(c.messages) == 0 {
		return
	}
	i := rapid.IntRange(0, len(c.messages)-1).Draw(t, "which")
	c.messages[i].Parts = c.parts(t, c.messages[i].Role)
}

func (c *thread) leave(t *rapid.T) {
	c.messages = slices.Clone(c.messages[:rapid.IntRange(0, len(c.messages)).Draw(t, "left")])
}

func (c *thread) summarize(t *rapid.T) {
	n := rapid.IntRange(0, len(c.messages)).Draw(t, "summarized")
	c.messages = slices.Clone(c.messages[n:])
}

// What is kept of a conversation changes no request: each is, byte for byte, what it would be from scratch.
func TestKeptFormsSayTheSame(t *testing.T) {
	t.Parallel()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	for kind, newProvider := range map[string]func(wire.ProviderConfig) *wire.Provider{kindOpenAI: openai.New, kindAnthropic: anthropic.New} {
		model := newProvider(wire.ProviderConfig{Name: kind, BaseURL: server.URL}).Model("m")
		ask := func(t *rapid.T, req sessions.Request) []byte {
			body = nil
			_, err := model.Complete(context.Background(), req, func(sessions.Chunk) {})
			me, ok := errors.AsType[*sessions.ModelError](err)
			require.True(t, ok)
			require.Equal(t, sessions.ModelRefused, me.Kind, "%v", err)
			require.True(t, json.Valid(body), "%s", body)
			return bytes.Clone(body)
		}
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c, kept := &thread{}, new(sessions.Encoded)
				t.Repeat(map[string]func(*rapid.T){
					"add": c.add, "add another": c.add, "change": c.change, "leave": c.leave, "summarize": c.summarize,
					"": func(t *rapid.T) {
						req := sessions.Request{Messages: c.messages, System: rapid.SampledFrom([]string{"", "Be brief."}).Draw(t, "system")}
						fresh := ask(t, req)
						req.Encoded = kept
						require.Equal(t, string(fresh), string(ask(t, req)))
					},
				})
			})
		})
	}
}
