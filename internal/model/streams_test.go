package model_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/port"
)

// streamed is what a client makes of a stream.
type streamed struct {
	said      string // what a reader has seen while it came in, of text and of reasoning
	text      string
	thinking  string
	signature string
	calls     string // "tool(arguments)", by id
	usage     sessions.Usage
	truncated bool
	kind      sessions.ModelErrorKind // of the failure; empty: none
	says      string                  // the failure
}

func use(input, output int) sessions.Usage {
	return sessions.Usage{InputTokens: input, OutputTokens: output}
}

// streams are what the files of testdata/streams must become.
func streams() map[string]streamed {
	with := func(u sessions.Usage, cached, written, thinking int) sessions.Usage {
		u.CachedTokens, u.WrittenTokens, u.ThinkingTokens = cached, written, thinking
		return u
	}
	const ferry = "The ferry leaves at nine."
	return map[string]streamed{
		"openai-text":                  {said: ferry, text: ferry, usage: with(use(21, 7), 16, 0, 0)},
		"openai-tools":                 {calls: `call_made_up_a tide({"port":"Brest"}) call_made_up_b clock({})`, usage: use(80, 31)},
		"openai-refusal":               {said: "I can't help with that.", text: "I can't help with that.", usage: use(33, 9)},
		"openai-filter":                {said: "The first step", text: "The first step", usage: use(30, 4)},
		"openai-filter-at-once":        {kind: sessions.ModelRefused, says: "the model declined to answer"},
		"openai-length":                {said: "One, two", text: "One, two", usage: with(use(12, 64), 0, 0, 60), truncated: true},
		"openai-reasoning":             {said: "Nine is the last one.At nine.", text: "At nine.", thinking: "Nine is the last one.", usage: with(use(40, 52), 8, 0, 44)},
		"openai-usage-without-choices": {said: "Yes.", text: "Yes.", usage: use(5, 2)},
		"openai-no-usage":              {said: "Yes.", text: "Yes."},
		"openai-error":                 {said: "The fer", kind: sessions.ModelOverloaded, says: "server_error: The server had a problem with this answer."},
		"openai-error-rate":            {kind: sessions.ModelRateLimited, says: "rate_limit_exceeded: Too many tokens in this minute."},
		"openai-error-quota":           {kind: port.ModelBilling, says: "Your plan has no quota left."},
		"openai-cut":                   {said: "The fer", kind: sessions.ModelCut, says: "before"},

		"anthropic-text":            {said: ferry, text: ferry, usage: with(use(525, 15), 400, 100, 0)},
		"anthropic-thinking":        {said: "Nine is the last one.At nine.", text: "At nine.", thinking: "Nine is the last one.", signature: "bWFkZS11cA==", usage: use(25, 40)},
		"anthropic-thinking-hidden": {said: "At nine.", text: "At nine.", signature: "bWFkZS11cA==", usage: use(25, 40)},
		"anthropic-tools": {
			said: "I look at the tide.", text: "I look at the tide.", usage: use(120, 60),
			calls: `toolu_made_up_a tide({"port": "Brest"}) toolu_made_up_b clock({})`,
		},
		"anthropic-length":          {said: "One, two", text: "One, two", usage: use(25, 64), truncated: true},
		"anthropic-window":          {said: "One, two", text: "One, two", usage: use(25, 64), truncated: true},
		"anthropic-stop-sequence":   {said: "One", text: "One", usage: use(25, 3)},
		"anthropic-refusal":         {said: "The first step", text: "The first step", usage: use(25, 4)},
		"anthropic-refusal-at-once": {kind: sessions.ModelRefused, says: "the model declined to answer"},
		"anthropic-server-tools":    {said: "At nine.", text: "At nine.", usage: use(900, 90)},
		"anthropic-error":           {said: "The fer", kind: sessions.ModelOverloaded, says: "overloaded_error: Overloaded"},
		"anthropic-error-api":       {kind: sessions.ModelOverloaded, says: "api_error: Internal server error"},
		"anthropic-error-rate":      {kind: sessions.ModelRateLimited, says: "Too many tokens in this minute."},
		"anthropic-error-long":      {kind: sessions.ModelOverflow, says: "prompt is too long"},
		"anthropic-new-events":      {said: "Yes.", text: "Yes.", usage: use(25, 2)},
		"anthropic-cut":             {said: "The fer", kind: sessions.ModelCut, says: "before"},
	}
}

// The clients read every shape of event that the documentation of the official clients describes.
func TestStreamsOfTheOfficialClients(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "streams", "*.sse"))
	require.NoError(t, err)
	want := streams()
	require.Len(t, files, len(want), "each file has an expectation")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sse")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			s := newWireServer(t)
			s.header, s.body = map[string]string{"Content-Type": "text/event-stream; charset=utf-8"}, string(body)
			kind, _, _ := strings.Cut(name, "-")
			said, completion, failed := complete(t.Context(), s.client(t, kind))
			require.Equal(t, want[name], seen(t, said, &completion, failed, want[name].says))
		})
	}
}

// seen is what has become of a stream. An error that has the expected text counts as that text.
func seen(t *testing.T, said string, c *sessions.Completion, failed error, says string) streamed {
	t.Helper()
	got := streamed{said: said, usage: c.Usage, truncated: c.Truncated}
	if failed != nil {
		var me *sessions.ModelError
		require.ErrorAs(t, failed, &me)
		require.NotEmpty(t, says, failed)
		require.ErrorContains(t, failed, says)
		got.kind, got.says = me.Kind, says
	}
	var calls []string
	for _, p := range c.Parts {
		switch p.Type {
		case sessions.PartThinking:
			got.thinking += p.Text
			got.signature += p.Signature
		case sessions.PartToolCall:
			calls = append(calls, p.CallID+" "+p.Tool+"("+string(p.Args)+")")
		default:
			got.text += p.Text
		}
	}
	got.calls = strings.Join(calls, " ")
	return got
}

// A chain does not go on to another model after a refusal, whether the model has said why or not.
func TestARefusalMovesToNoOtherModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai-refusal", "openai-filter", "openai-filter-at-once", "anthropic-refusal", "anthropic-refusal-at-once"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(filepath.Join("testdata", "streams", name+".sse"))
			require.NoError(t, err)
			first, second := newWireServer(t), newWireServer(t)
			first.header, first.body = map[string]string{"Content-Type": "text/event-stream"}, string(body)
			kind, _, _ := strings.Cut(name, "-")
			registry, err := model.New(map[string]model.ProviderConfig{
				"a": {Kind: kind, BaseURL: first.URL + "/v1", Classification: flow.Restricted}, "b": {Kind: kind, BaseURL: second.URL + "/v1", Classification: flow.Restricted},
			}, model.Options{})
			require.NoError(t, err)
			chain, err := registry.Model("a/m, b/m")
			require.NoError(t, err)
			request := conversation()
			request.Label = flow.NewLabel(flow.Internal, flow.Trusted)
			_, err = chain.Complete(t.Context(), request, func(sessions.Chunk) {})
			require.Equal(t, streams()[name].kind != "", err != nil, err)
			require.NotEmpty(t, first.path)
			require.Empty(t, second.path)
		})
	}
}
