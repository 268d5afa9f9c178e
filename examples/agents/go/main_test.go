package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/agentkit"
)

// talk asks the example for turns over standard streams.
type talk struct {
	t      *testing.T
	in     io.Writer
	frames *bufio.Scanner
	n      int
}

func (k *talk) turn(messages ...agentkit.Message) agentkit.Frame {
	k.t.Helper()
	k.n++
	e := agentkit.Event{SpecVersion: "1.0", ID: fmt.Sprint("turn", k.n), Type: agentkit.TypeTurn, Subject: "run_1", Data: agentkit.Turn{Run: "run_1", Messages: messages}}
	text, err := json.Marshal(e)
	require.NoError(k.t, err)
	_, err = k.in.Write(append(text, '\n'))
	require.NoError(k.t, err)
	require.True(k.t, k.frames.Scan())
	var f agentkit.Frame
	require.NoError(k.t, json.Unmarshal(k.frames.Bytes(), &f))
	require.Equal(k.t, e.ID, f.Turn)
	return f
}

func TestTheExampleKeepsWhatItIsTold(t *testing.T) {
	t.Parallel()
	turns, in := io.Pipe()
	out, frames := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- agentkit.ServeStdio(t.Context(), turns, frames, answer) }()
	k := &talk{t: t, in: in, frames: bufio.NewScanner(out)}

	hello := agentkit.Message{Role: agentkit.RoleUser, Text: "hello"}
	require.Contains(t, k.turn(hello).Text, "remember to buy milk")
	milk := agentkit.Message{Role: agentkit.RoleUser, Text: "Remember to buy milk"}
	call := k.turn(milk)
	require.Equal(t, agentkit.FrameCalls, call.Type)
	require.Equal(t, "todo_add", call.Calls[0].Name)
	require.JSONEq(t, `{"items":["buy milk"]}`, string(call.Calls[0].Arguments))
	asked := agentkit.Message{Role: agentkit.RoleAssistant, Calls: call.Calls}
	given := agentkit.Message{Role: agentkit.RoleTool, Results: []agentkit.Result{{ID: call.Calls[0].ID, Name: "todo_add", Text: "{}"}}}
	require.Equal(t, "I keep that: buy milk.", k.turn(milk, asked, given).Text)

	require.NoError(t, in.Close())
	require.NoError(t, <-done)
}
