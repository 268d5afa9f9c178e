package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice/agentkit"
	"sluice/sessions"
)

// answer puts the frames of a turn together.
type answer struct {
	turn  string
	alone bool // frames without a turn are of this one
	on    func(sessions.Chunk)

	ended bool
	text  strings.Builder
	bytes int // of all texts
	calls []agentkit.Call
	at    string
	usage sessions.Usage
	kind  sessions.ModelErrorKind
	fault error // that the program reports
}

// shown is how much of a program's text an error repeats.
const shown = 200

func quoted(text string) string {
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

// take adds a frame. Frames of other turns do not count. An error means that the program breaks the protocol.
func (a *answer) take(text []byte) error {
	if len(text) > agentkit.FrameMax {
		return fmt.Errorf("the program sent a frame of %d bytes, the maximum is %d", len(text), agentkit.FrameMax)
	}
	var f agentkit.Frame
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("the program sent what is not a frame: %s: %w", quoted(string(text)), err)
	}
	if f.Turn != a.turn && (f.Turn != "" || !a.alone) {
		return nil
	}
	if a.bytes += len(f.Text); a.bytes > agentkit.AnswerMax {
		return fmt.Errorf("the program's answer has more than %d bytes", agentkit.AnswerMax)
	}
	if f.Usage != nil {
		a.usage = sessions.Usage{InputTokens: max(f.Usage.Input, 0), OutputTokens: max(f.Usage.Output, 0)}
	}
	switch f.Type {
	case agentkit.FrameAlive:
	case agentkit.FrameDelta:
		a.text.WriteString(f.Text)
		a.on(sessions.Chunk{Type: sessions.PartText, Text: f.Text})
	case agentkit.FrameThinking:
		a.on(sessions.Chunk{Type: sessions.PartThinking, Text: f.Text})
	case agentkit.FrameDone:
		a.ended = true
		a.whole(f.Text)
	case agentkit.FrameCalls:
		a.ended, a.at = true, f.At
		a.whole(f.Text)
		return a.call(f)
	case agentkit.FrameError:
		a.ended, a.kind = true, sessions.ModelRefused
		if f.Retry {
			a.kind = sessions.ModelOverloaded
		}
		a.fault = errors.New("the program reports: " + quoted(f.Message))
	default:
		return fmt.Errorf("the program sent a frame of type %s: want alive, delta, thinking, calls, done or error", quoted(f.Type))
	}
	return nil
}

// whole sets the text of an answer that was not streamed, or not as it is meant.
func (a *answer) whole(text string) {
	if text == "" || text == a.text.String() {
		return
	}
	if a.text.Len() == 0 {
		a.on(sessions.Chunk{Type: sessions.PartText, Text: text})
	}
	a.text.Reset()
	a.text.WriteString(text)
}

// call checks the calls of a frame. The session checks whether their tools exist.
func (a *answer) call(f agentkit.Frame) error {
	if len(f.Calls) == 0 || len(f.Calls) > agentkit.CallsMax {
		return fmt.Errorf("the program sent a frame with %d calls: want 1 to %d", len(f.Calls), agentkit.CallsMax)
	}
	if strings.ContainsAny(f.At, ".*> \t\r\n") || len(f.At) > 64 {
		return fmt.Errorf("the program waits at %s: want up to 64 characters that may be in a subject, without dots", quoted(f.At))
	}
	for i, c := range f.Calls {
		args := bytes.TrimSpace(c.Arguments)
		if len(args) == 0 || string(args) == "null" {
			f.Calls[i].Arguments = json.RawMessage("{}")
		} else if args[0] != '{' {
			return fmt.Errorf("the program called %s with arguments that are not a JSON object", quoted(c.Name))
		}
	}
	a.calls = f.Calls
	return nil
}

func (a *answer) completion() sessions.Completion {
	c := sessions.Completion{Usage: a.usage}
	if text := a.text.String(); text != "" {
		c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartText, Text: text})
	}
	for _, call := range a.calls {
		c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: call.ID, Tool: call.Name, Args: call.Arguments})
		a.on(sessions.Chunk{Type: sessions.PartToolCall, CallID: call.ID, Tool: call.Name})
	}
	return c
}
