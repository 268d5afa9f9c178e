package wire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

// one is a body that says nothing.
var one = wire.Body{Object: 1} //nolint:gochecknoglobals // never changed

// counting is a protocol that counts the tools that it brings into its form.
type counting struct{ tools *atomic.Int64 }

func (counting) Prepare(_, model string, req *sessions.Request) (path string, header http.Header, body wire.Body) {
	return "/", nil, wire.Body{Object: map[string]any{"model": model, "system": req.System}}
}

func (counting) Append(text []byte, _ string, _ sessions.Message) ([]byte, string, error) {
	return text, "", nil
}

func (counting) Close(string) string { return "" }

func (c counting) Tool(t sessions.ToolSpec) any {
	c.tools.Add(1)
	return map[string]any{"called": t.Name, "takes": t.Parameters}
}

func (counting) MaxTemperature() float32 { return 2 }

func (counting) Begin(func(sessions.Chunk), wire.Fail) wire.Completed { return finished{} }

// finished is an answer that is complete with the first event.
type finished struct{}

func (finished) Event(string, []byte) (bool, error) { return true, nil }
func (finished) Whole() bool                        { return true }
func (finished) Completion() sessions.Completion    { return sessions.Completion{} }

// A list of tools is encoded once, and each request contains it unchanged.
func TestToolsAreEncodedOnce(t *testing.T) {
	t.Parallel()
	var got []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
	}))
	t.Cleanup(server.Close)
	var encoded atomic.Int64
	provider := wire.NewProvider(wire.ProviderConfig{Name: "p", BaseURL: server.URL}, counting{&encoded})
	tools := []sessions.ToolSpec{{Name: "a", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "b", Parameters: json.RawMessage(`{}`)}}
	ask := func(model string, tools []sessions.ToolSpec) string {
		_, err := provider.Model(model).Complete(t.Context(), sessions.Request{System: "s", Tools: tools}, func(sessions.Chunk) {})
		require.NoError(t, err)
		return string(got)
	}
	const list = `[{"called":"a","takes":{"type":"object"}},{"called":"b","takes":{}}]`
	for _, model := range []string{"m", "n"} {
		require.Equal(t, `{"model":"`+model+`","system":"s","tools":`+list+`}`, ask(model, slices.Clone(tools)))
	}
	require.EqualValues(t, 2, encoded.Load())

	changed := slices.Clone(tools)
	changed[1].Parameters = json.RawMessage(`{"type":"object"}`)
	require.Contains(t, ask("m", changed), `{"called":"b","takes":{"type":"object"}}`)
	require.EqualValues(t, 4, encoded.Load())
	require.NotContains(t, ask("m", nil), "tools")

	// The lists that are used stay; others make room for new ones.
	for i := range 100 {
		ask("m", []sessions.ToolSpec{{Name: fmt.Sprint(i), Parameters: json.RawMessage(`{}`)}})
		ask("m", tools)
	}
	require.EqualValues(t, 104, encoded.Load())
	ask("m", changed)
	require.EqualValues(t, 106, encoded.Load())
}
