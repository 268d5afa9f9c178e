package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/schema"
	"sluice/sessions"
)

// functionNameMax is the length of a tool's name that all providers take.
const functionNameMax = 64

// offer gives the session the functions of the run's client as tools, until withdraw. A program that works the run is offered none.
func (w *work) offer() (withdraw func(), err error) {
	withdraw = func() {}
	if len(w.run.Input.Functions) == 0 || w.program != nil {
		return withdraw, nil
	}
	taken := map[string]bool{}
	for _, tool := range w.session.Tools() {
		taken[tool.Spec.Name] = tool.Client == ""
	}
	tools := make([]sessions.Tool, len(w.run.Input.Functions))
	for i, f := range w.run.Input.Functions {
		if tools[i], err = w.function(f, freeName(f.Name, taken)); err != nil {
			return withdraw, failed(err, "A function of the program that asks can't be used: "+err.Error())
		}
	}
	w.given = map[string]json.RawMessage{}
	isClients := func(t sessions.Tool) bool { return t.Client != "" }
	w.session.ReplaceTools(isClients, tools)
	return func() { w.session.ReplaceTools(isClients, nil) }, nil
}

// freeName is a name for a function that no tool of the agent has. It takes the name.
func freeName(name string, taken map[string]bool) string {
	free := name
	for n := 1; taken[free]; n++ {
		free = "client" + strings.TrimPrefix(strconv.Itoa(n), "1") + "_" + name
		free = free[:min(len(free), functionNameMax)]
	}
	taken[free] = true
	return free
}

// function is a function of the client as a tool. Its call has a result at once, which says that the client's comes later.
func (w *work) function(f sessions.Function, name string) (sessions.Tool, error) {
	params, _, err := schema.Parse(f.Parameters)
	if err != nil {
		return sessions.Tool{}, fmt.Errorf("the parameters of %s: %w", f.Name, err)
	}
	return sessions.Tool{
		Spec: sessions.ToolSpec{
			Name: name, Description: cmp.Or(f.Description, "A function of the program that talks to you."), Parameters: params.Text(),
		},
		Flow: sessions.ToolFlow{
			Reads: sessions.FlowNone, Writes: sessions.FlowOutside, Sink: f.Level, Setting: "the classification of the client's token in gateway.tokens",
		},
		Client: f.Name, Idempotent: true,
		Run: func(_ context.Context, caller sessions.Caller, args json.RawMessage) (sessions.ToolResult, error) {
			if wrong := params.Check(args); wrong != nil {
				return sessions.ToolResult{}, wrong
			}
			w.given[caller.CallID] = args
			return sessions.ToolResult{
				Text: "The program that talks to you runs this function. Its next message brings the result, as call " + clientCallID(w.run.ID, caller.CallID) + ".", Label: caller.Taint,
			}, nil
		},
	}, nil
}

// clientCallID names a call to the client. It leads to the run, and with it to the session.
func clientCallID(run sessions.RunID, call string) string {
	sum := sha256.Sum256([]byte(call))
	return "call_" + strings.TrimPrefix(string(run), "run_") + "_" + hex.EncodeToString(sum[:4])
}

// handOver finds the calls of the run's last answer that go to the client. With them the run ends.
func (w *work) handOver() (handed bool, err error) {
	last := w.session.Last()
	if len(w.run.Input.Functions) == 0 || last.Role != sessions.RoleToolResult || last.Run != w.run.ID {
		return false, nil
	}
	thread := w.session.Messages()
	asks := thread[len(thread)-2]
	for _, call := range asks.ToolCalls() {
		tool, _ := w.session.Tool(call.Tool)
		ran := func(p sessions.Part) bool { return p.CallID == call.CallID && !p.Error }
		if tool.Client == "" || !slices.ContainsFunc(last.Parts, ran) {
			continue
		}
		args := w.given[call.CallID]
		if args == nil { // another worker has run the call
			args = w.judgedArgs(asks.ID, call, tool)
		}
		if args == nil {
			return false, failed(errors.New("a call of the client's function was allowed before a crash, and is not allowed now"), "I was interrupted before I could answer. Please ask again.")
		}
		w.handed = append(w.handed, sessions.ClientCall{ID: clientCallID(w.run.ID, call.CallID), Name: tool.Client, Args: args})
	}
	w.asks = asks
	return len(w.handed) > 0, nil
}

// judgedArgs are the arguments of a call as the monitor lets them out; nil if it does not.
func (w *work) judgedArgs(message sessions.MessageID, call sessions.Part, tool sessions.Tool) json.RawMessage {
	args, err := call.Arguments()
	if err != nil {
		return nil
	}
	m := runMonitor{w.roster, w.now, w.log, w.run, sessions.Route{}}
	return m.Call(sessions.MonitoredCall{
		Record: w.session.Record(), Message: message, CallID: call.CallID, Tool: tool, Args: tool.Arguments(args), Approved: true,
	}, false).Args
}
