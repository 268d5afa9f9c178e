// Package programtest has the conformance suite for the protocols of programs that are agents.
package programtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/agentkit"
	"sluice/internal/program"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Way is a way to a program that [Behave] plays.
type Way struct {
	Carrier    program.Carrier
	Kind       string
	Agent      string
	OwnProcess bool                    // see [program.Config]
	Ended      sessions.ModelErrorKind // of a turn whose program has ended
}

// silence is how long a program may be silent. It is longer than any step of the suite takes on a busy machine.
const silence = 5 * time.Second

// Behave is the program of the suite: it does what the last message says. send writes raw text in place of a frame, and end ends
// the program at once.
func Behave(ctx context.Context, w *agentkit.Work, send func(raw string), end func()) (string, error) {
	order, rest, _ := strings.Cut(w.LastMessage().Text, " ")
	switch order {
	case "say":
		return rest, nil
	case "stream":
		for _, word := range strings.SplitAfter(rest, " ") {
			if err := w.Say(word); err != nil {
				return "", err
			}
		}
		return "", nil
	case "think":
		if err := w.Think(rest); err != nil {
			return "", err
		}
		return "thought", nil
	case "call":
		r, err := w.Call(ctx, rest, map[string]any{"n": 1})
		if err != nil {
			return "", err
		}
		return "it gave " + r.Text, nil
	case "cost":
		w.Usage = agentkit.Usage{Input: 11, Output: 7}
		return "dear", nil
	case "fail":
		return "", errors.New(rest)
	case "retry":
		return "", agentkit.Retry(errors.New(rest))
	case "panic":
		panic(rest)
	}
	return misbehave(ctx, w, order, rest, send, end)
}

// misbehave breaks the protocol, or ends.
func misbehave(ctx context.Context, w *agentkit.Work, order, rest string, send func(raw string), end func()) (string, error) {
	switch order {
	case "raw":
		send(rest)
		<-ctx.Done()
		return "", nil
	case "large":
		send(`{"turn":"x","type":"delta","text":"` + strings.Repeat("a", agentkit.FrameMax) + `"}`)
		<-ctx.Done()
		return "", nil
	case "long":
		for range 40 {
			if err := w.Say(strings.Repeat("b", agentkit.AnswerMax/32)); err != nil {
				return "", err
			}
		}
		return "", nil
	case "twice":
		if err := w.Say("once"); err != nil {
			return "", err
		}
		send(fmt.Sprintf(`{"turn":%q,"type":"done","text":"once"}`, w.ID))
		send(fmt.Sprintf(`{"turn":%q,"type":"done","text":"again"}`, w.ID))
		return "once more", nil
	case "hang":
		<-ctx.Done()
		return "too late", nil
	case "end":
		end()
	}
	return fmt.Sprintf("unknown order %q", order), nil
}

// RunTalking runs the part of the suite for programs that only talk, in a protocol without frames and tools. Each test has a
// way of its own.
func RunTalking(t *testing.T, way func(t *testing.T) Way) {
	t.Helper()
	talking := map[string]func(*talk){
		"an answer": answer, "a streamed answer": streamed, "a failure": failure, "an answer that is too long": tooLong, "a cancelled turn": cancelled,
	}
	run(t, way, talking)
}

// Run runs the suite. Each test has a way of its own.
func Run(t *testing.T, way func(t *testing.T) Way) {
	t.Helper()
	RunTalking(t, way)
	framing := map[string]func(*talk){
		"thinking": thinking, "a call and its result": call, "a call, over a restart": restarted, "what it cost": cost, "a failure that may pass": mayPass,
		"a call that was not stored": forgotten, "a panic": panics, "garbage": garbage, "frames of another turn": others, "a frame that is too large": tooLarge, "a duplicate answer": duplicate,
		"the end of the program": ends, "a conversation that is too long": longConversation,
	}
	run(t, way, framing)
}

func run(t *testing.T, way func(t *testing.T) Way, tests map[string]func(*talk)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newTalk(t, way(t)))
		})
	}
}

// talk is a conversation with a program in one run.
type talk struct {
	*testing.T
	way      Way
	model    sessions.Model
	end      func()
	run      *sessions.Run
	messages []sessions.Message
	chunks   []sessions.Chunk
}

func newTalk(t *testing.T, way Way) *talk {
	t.Helper()
	k := &talk{T: t, way: way, run: &sessions.Run{ID: sessions.NewRunID(), Session: "sess_1"}}
	k.begin()
	return k
}

// begin makes a new way to the program, as a gateway does that takes over the run.
func (k *talk) begin() {
	p := &program.Program{Config: program.Config{
		Agent: k.way.Agent, Kind: k.way.Kind, Classification: flow.Internal, OwnProcess: k.way.OwnProcess, Carrier: k.way.Carrier, Silence: silence, Now: time.Now,
	}}
	k.model, k.end = p.Work(k.run, func() flow.Label { return flow.NewLabel(flow.Public, flow.Trusted) }, "")
	k.Cleanup(k.end)
}

func (k *talk) add(role sessions.Role, parts ...sessions.Part) {
	k.messages = append(k.messages, sessions.Message{Role: role, Parts: parts})
}

// ask says something and returns the program's turn.
func (k *talk) ask(order string) (sessions.Completion, error) {
	k.add(sessions.RoleUser, sessions.Part{Type: sessions.PartText, Text: order})
	return k.turn(k.Context())
}

func (k *talk) turn(ctx context.Context) (sessions.Completion, error) {
	k.chunks = nil
	tools := []sessions.ToolSpec{{Name: "clock", Description: "tells the time", Parameters: json.RawMessage(`{"type":"object"}`)}}
	c, err := k.model.Complete(ctx, sessions.Request{System: "Be brief.", Messages: k.messages, Tools: tools}, func(c sessions.Chunk) { k.chunks = append(k.chunks, c) })
	if err == nil {
		k.add(sessions.RoleAssistant, c.Parts...)
	}
	return c, err
}

// text is that of a turn that must succeed.
func (k *talk) text(order string) string {
	k.Helper()
	c, err := k.ask(order)
	require.NoError(k, err)
	require.Len(k, c.Parts, 1)
	require.Equal(k, sessions.PartText, c.Parts[0].Type)
	return c.Parts[0].Text
}

// fails checks the failure of a turn, and that the program works again in the next one.
func (k *talk) fails(order string, kind sessions.ModelErrorKind, why string) {
	k.Helper()
	_, err := k.ask(order)
	me, ok := errors.AsType[*sessions.ModelError](err)
	require.True(k, ok, "%v", err)
	require.Equal(k, kind, me.Kind, err)
	require.Contains(k, err.Error(), why)
	k.messages = nil
	require.Equal(k, "fine", k.text("say fine"))
}

func answer(k *talk) {
	require.Equal(k, "hello there", k.text("say hello there"))
	require.Equal(k, "again", k.text("say again"))
}

func streamed(k *talk) {
	require.Equal(k, "one two three", k.text("stream one two three"))
	var texts []string
	for _, c := range k.chunks {
		require.Equal(k, sessions.PartText, c.Type)
		texts = append(texts, c.Text)
	}
	require.Equal(k, []string{"one ", "two ", "three"}, texts)
}

func thinking(k *talk) {
	require.Equal(k, "thought", k.text("think hard"))
	require.Equal(k, sessions.Chunk{Type: sessions.PartThinking, Text: "hard"}, k.chunks[0])
}

func called(k *talk) sessions.Part {
	k.Helper()
	c, err := k.ask("call clock")
	require.NoError(k, err)
	require.Len(k, c.Parts, 1)
	require.Equal(k, "clock", c.Parts[0].Tool)
	require.JSONEq(k, `{"n":1}`, string(c.Parts[0].Args))
	return c.Parts[0]
}

func (k *talk) result(call sessions.Part, text string) {
	k.add(sessions.RoleToolResult, sessions.Part{Type: sessions.PartToolResult, CallID: call.CallID, Tool: call.Tool, Text: text})
}

func call(k *talk) {
	k.result(called(k), "noon")
	c, err := k.turn(k.Context())
	require.NoError(k, err)
	require.Equal(k, "it gave noon", c.Parts[0].Text)
}

// A gateway that takes over a run asks a program that has not heard of it: it makes no call again.
func restarted(k *talk) {
	k.result(called(k), "noon")
	k.end()
	k.begin()
	c, err := k.turn(k.Context())
	require.NoError(k, err)
	require.Len(k, c.Parts, 1)
	require.Equal(k, "it gave noon", c.Parts[0].Text)
}

// A gateway that died before it stored the call asks as if there had been none: the program begins again.
func forgotten(k *talk) {
	called(k)
	k.messages = k.messages[:len(k.messages)-1]
	c, err := k.turn(k.Context())
	require.NoError(k, err)
	require.Len(k, c.Parts, 1)
	require.Equal(k, "clock", c.Parts[0].Tool)
	k.result(c.Parts[0], "noon")
	c, err = k.turn(k.Context())
	require.NoError(k, err)
	require.Equal(k, "it gave noon", c.Parts[0].Text)
}

func cost(k *talk) {
	c, err := k.ask("cost")
	require.NoError(k, err)
	require.Equal(k, 11, c.Usage.InputTokens)
	require.Equal(k, 7, c.Usage.OutputTokens)
}

func failure(k *talk) {
	k.fails("fail the disk is full", sessions.ModelRefused, "the disk is full")
}
func mayPass(k *talk) { k.fails("retry later", sessions.ModelOverloaded, `"later"`) }
func panics(k *talk)  { k.fails("panic oh", sessions.ModelRefused, `"panic: oh"`) }

func garbage(k *talk) {
	k.fails("raw <html>", sessions.ModelRefused, `the program sent what is not a frame: "<html>"`)
	k.fails(`raw [1]`, sessions.ModelRefused, "not a frame")
}

func others(k *talk) {
	k.fails(`raw {"turn":"x","type":"done","text":"stolen"}`, sessions.ModelUnavailable, "the program was silent")
}

func tooLarge(k *talk) { k.fails("large", sessions.ModelRefused, strconv.Itoa(agentkit.FrameMax)) }

func tooLong(k *talk) {
	k.fails("long", sessions.ModelRefused, fmt.Sprintf("has more than %d bytes", agentkit.AnswerMax))
}

func duplicate(k *talk) {
	require.Equal(k, "once", k.text("twice"))
	require.Equal(k, "next", k.text("say next"))
}

func ends(k *talk) { k.fails("end", k.way.Ended, "the program") }

func cancelled(k *talk) {
	ctx, cancel := context.WithTimeout(k.Context(), 300*time.Millisecond)
	defer cancel()
	k.add(sessions.RoleUser, sessions.Part{Type: sessions.PartText, Text: "hang"})
	_, err := k.turn(ctx)
	require.Error(k, err)
	require.ErrorIs(k, err, context.DeadlineExceeded)
	k.messages = nil
	require.Equal(k, "fine", k.text("say fine"))
}

func longConversation(k *talk) {
	for range 12 {
		k.add(sessions.RoleUser, sessions.Part{Type: sessions.PartText, Text: strings.Repeat("c", 100_000)})
		k.add(sessions.RoleAssistant, sessions.Part{Type: sessions.PartText, Text: "ok"})
	}
	require.Equal(k, "short", k.text("say short"))
	k.messages = nil
	_, err := k.ask("say " + strings.Repeat("d", 2<<20))
	require.ErrorContains(k, err, "too large for a turn")
}
