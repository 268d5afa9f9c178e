package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/a2a"

	"sluice/agentkit"
	"sluice/internal/pause"
)

// partMax is the text of a frame, in bytes, at most: JSON may write a byte as six.
const partMax = agentkit.FrameMax / 8

// reply is a turn of a remote agent while it arrives.
type reply struct {
	*line
	turn  string
	parts map[a2a.ArtifactID]bool // artifacts that have begun
	said  bool                    // something was streamed
	ended bool
}

// converse works a turn: it sends the message and passes on what comes back, until the turn has ended.
func (l *line) converse(turn string, params *a2a.MessageSendParams) {
	r := &reply{line: l, turn: turn, parts: map[a2a.ArtifactID]bool{}}
	beats, stop := context.WithCancel(l.life)
	l.work.Go(func() { r.beat(beats) })
	defer stop()
	l.task, l.over = "", false
	err := r.follow(l.begin(params))
	for look := 0; err != nil && l.task != "" && look < looksMax && l.life.Err() == nil; look++ { // the stream broke, the task goes on
		if pause.Wait(l.life, lookAgain) != nil {
			return
		}
		var t *a2a.Task
		if t, err = l.client.GetTask(l.life, &a2a.TaskQueryParams{ID: l.task}); err == nil {
			look = -1
			if r.took(t); !r.ended {
				err = errors.New("the task goes on")
			}
		}
	}
	stop()
	l.over = r.ended
	if !r.ended && l.life.Err() == nil {
		r.fail(err)
	}
}

// begin sends the message.
func (l *line) begin(params *a2a.MessageSendParams) iter.Seq2[a2a.Event, error] {
	if l.streams {
		return l.client.SendStreamingMessage(l.life, params)
	}
	return func(yield func(a2a.Event, error) bool) {
		result, err := l.client.SendMessage(l.life, params)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(result.(a2a.Event), nil) //nolint:forcetypeassert // a task and a message are events
	}
}

// follow passes on events until the turn has ended. It returns an error if they stop before.
func (r *reply) follow(events iter.Seq2[a2a.Event, error]) error {
	for event, err := range events {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case *a2a.Message:
			r.done(textOf(e.Parts, paragraph))
		case *a2a.Task:
			r.took(e)
		case *a2a.TaskArtifactUpdateEvent:
			r.task = e.TaskID
			r.artifact(e.Artifact)
		case *a2a.TaskStatusUpdateEvent:
			r.task = e.TaskID
			r.status(e.Status)
		}
		if r.ended {
			return nil
		}
	}
	return errors.New("the stream ended before the task")
}

// took takes a whole task.
func (r *reply) took(t *a2a.Task) {
	r.task = t.ID
	if t.Status.State.Terminal() || t.Status.State == a2a.TaskStateInputRequired {
		r.parts, r.said = map[a2a.ArtifactID]bool{}, false
		var texts []string
		for _, a := range t.Artifacts {
			texts = append(texts, textOf(a.Parts, ""))
		}
		r.end(t.Status, strings.Join(texts, "\n\n"))
	}
}

// artifact streams the text of an artifact. Artifacts are paragraphs.
func (r *reply) artifact(a *a2a.Artifact) {
	if a == nil {
		return
	}
	text := textOf(a.Parts, "")
	if !r.parts[a.ID] && r.said {
		text = "\n\n" + text
	}
	r.parts[a.ID], r.said = true, true
	r.send(agentkit.Frame{Type: agentkit.FrameDelta, Text: text})
}

func (r *reply) status(s a2a.TaskStatus) {
	if s.State.Terminal() || s.State == a2a.TaskStateInputRequired || s.State == a2a.TaskStateAuthRequired {
		r.end(s, "")
		return
	}
	if s.Message != nil { // what it does at the moment
		r.send(agentkit.Frame{Type: agentkit.FrameThinking, Text: textOf(s.Message.Parts, paragraph)})
	}
}

// end ends the turn as the task has ended, or waits for a person. text is the task's result, if it was not streamed.
func (r *reply) end(s a2a.TaskStatus, text string) {
	message := ""
	if s.Message != nil {
		message = textOf(s.Message.Parts, paragraph)
	}
	switch s.State {
	case a2a.TaskStateCompleted, a2a.TaskStateInputRequired:
		switch {
		case text == "" && !r.said:
			text = message
		case s.State == a2a.TaskStateInputRequired && message != "":
			text = strings.TrimSpace(text + "\n\n" + message)
			if r.said {
				r.send(agentkit.Frame{Type: agentkit.FrameDelta, Text: "\n\n" + message})
				text = ""
			}
		}
		r.done(text)
	case a2a.TaskStateAuthRequired:
		r.error("it wants further authorization: "+message, false)
	default:
		r.error(fmt.Sprintf("its task ended as %s: %s", s.State, message), false)
	}
}

func (r *reply) done(text string) {
	r.ended = true
	for len(text) > partMax { // one frame may be too small for it
		n := partMax
		for !utf8.RuneStart(text[n]) {
			n--
		}
		r.send(agentkit.Frame{Type: agentkit.FrameDelta, Text: text[:n]})
		text, r.said = text[n:], true
	}
	if r.said && text != "" {
		r.send(agentkit.Frame{Type: agentkit.FrameDelta, Text: text})
		text = ""
	}
	r.send(agentkit.Frame{Type: agentkit.FrameDone, Text: text})
}

func (r *reply) error(message string, retry bool) {
	r.ended = true
	r.send(agentkit.Frame{Type: agentkit.FrameError, Message: message, Retry: retry})
}

// fail reports that the remote agent could not be asked.
func (r *reply) fail(err error) {
	if err == nil {
		err = errors.New("it sent no reply")
	}
	status, refused := errors.AsType[*statusError](err)
	retry := !errors.Is(err, errTooLong) && !refused
	if refused {
		retry = status.code == http.StatusTooManyRequests || status.code >= http.StatusInternalServerError
	}
	for _, final := range []error{
		a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams, a2a.ErrTaskNotFound, a2a.ErrUnsupportedOperation,
		a2a.ErrUnsupportedContentType, a2a.ErrInvalidAgentResponse,
	} {
		retry = retry && !errors.Is(err, final)
	}
	r.send(agentkit.Frame{Type: agentkit.FrameError, Message: err.Error(), Retry: retry})
}

// beat says that the connection is open.
func (r *reply) beat(ctx context.Context) {
	t := time.NewTicker(aliveEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			r.sendUntil(ctx, agentkit.Frame{Type: agentkit.FrameAlive})
		case <-ctx.Done():
			return
		}
	}
}

func (r *reply) send(f agentkit.Frame) { r.sendUntil(r.life, f) }

func (r *reply) sendUntil(ctx context.Context, f agentkit.Frame) {
	f.Turn = r.turn
	text, err := json.Marshal(f)
	if err != nil { // its types can all be encoded
		return
	}
	select {
	case r.frames <- text:
	case <-ctx.Done():
	}
}

// paragraph stands between the parts of a message. Those of an artifact are as they were streamed.
const paragraph = "\n\n"

func textOf(parts a2a.ContentParts, between string) string {
	var texts []string
	for _, p := range parts {
		switch p := p.(type) {
		case a2a.TextPart:
			texts = append(texts, p.Text)
		case *a2a.TextPart:
			texts = append(texts, p.Text)
		case a2a.DataPart:
			if text, err := json.Marshal(p.Data); err == nil {
				texts = append(texts, "```json\n"+string(text)+"\n```")
			}
		}
	}
	return strings.Join(texts, between)
}
