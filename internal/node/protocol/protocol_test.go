package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/node/protocol"
)

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	f := protocol.Frame{
		Kind: protocol.Event, Version: 1, Platform: "linux", Tools: true, Node: "n", Level: "PUBLIC", ID: "e1", Name: "door", Text: "ü", Data: json.RawMessage(`{"open":true}`),
		At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Silent: true, Body: json.RawMessage(`[1]`),
	}
	text, err := protocol.Encode(f)
	require.NoError(t, err)
	got, err := protocol.Decode(text)
	require.NoError(t, err)
	require.Equal(t, f, got)
}

func TestBadFramesAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "[]", "{\"kind\":\"\xff\"}", `{"kind":"` + strings.Repeat("x", protocol.FrameMax) + `"}`} {
		_, err := protocol.Decode([]byte(text))
		require.Error(t, err)
	}
	_, err := protocol.Encode(protocol.Frame{Text: strings.Repeat("x", protocol.FrameMax)})
	require.ErrorContains(t, err, "maximum")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	message, event := protocol.Frame{Kind: protocol.Message, ID: "a", Text: "hi"}, protocol.Frame{Kind: protocol.Event, ID: "A-1_.:", Name: "door"}
	require.NoError(t, message.Check())
	require.NoError(t, event.Check())
	for name, change := range map[string]func(m, e *protocol.Frame) *protocol.Frame{
		"no id":         func(m, _ *protocol.Frame) *protocol.Frame { m.ID = ""; return m },
		"bad id":        func(m, _ *protocol.Frame) *protocol.Frame { m.ID = "a/b"; return m },
		"long id":       func(_, e *protocol.Frame) *protocol.Frame { e.ID = strings.Repeat("a", protocol.IDMax+1); return e },
		"empty":         func(m, _ *protocol.Frame) *protocol.Frame { m.Text = " \n"; return m },
		"long text":     func(m, _ *protocol.Frame) *protocol.Frame { m.Text = strings.Repeat("a", protocol.TextMax+1); return m },
		"no name":       func(_, e *protocol.Frame) *protocol.Frame { e.Name = ""; return e },
		"long name":     func(_, e *protocol.Frame) *protocol.Frame { e.Name = strings.Repeat("a", protocol.NameMax+1); return e },
		"name of lines": func(_, e *protocol.Frame) *protocol.Frame { e.Name = "a\nb"; return e },
		"long data": func(_, e *protocol.Frame) *protocol.Frame {
			e.Data = []byte(strings.Repeat("1", protocol.TextMax+1))
			return e
		},
	} {
		m, e := message, event
		require.Error(t, change(&m, &e).Check(), name)
	}
}
