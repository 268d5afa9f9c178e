package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
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
	turn      string
	artifacts []artifact // in the order in which they began
	shown     strings.Builder
	straight  bool // what was shown is the beginning of the artifacts
	ended     bool
}

// artifact is a part of a reply.
type artifact struct {
	id   a2a.ArtifactID
	text *strings.Builder
}

// converse works a turn: it sends the message and passes on what comes back, until the turn has ended.
func (l *line) converse(turn string, params *a2a.MessageSendParams) {
	r := &reply{line: l, turn: turn, straight: true}
	beats, stop := context.WithCancel(l.life)
	l.work.Go(func() { r.beat(beats) })
	defer stop()
	defer func() {
		if p := recover(); p != nil { // what a remote agent sends is read by a library
			r.error(fmt.Sprintf("its reply can't be read: panic: %v", p), false)
		}
	}()
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
		yield(result, nil)
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
			r.artifact(e)
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
	if settled(t.Status.State) {
		r.artifacts = nil
		for _, a := range t.Artifacts {
			r.add(a.ID, textOf(a.Parts, ""))
		}
		r.end(t.Status)
	}
}

func (r *reply) add(id a2a.ArtifactID, text string) {
	a := artifact{id, &strings.Builder{}}
	a.text.WriteString(text)
	r.artifacts = append(r.artifacts, a)
}

// settled reports whether a task has ended, or waits for a person.
func settled(s a2a.TaskState) bool {
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// artifact takes a part of an artifact, and shows it if it goes on where the text ends that was shown. An artifact that
// comes again, and does not say that it goes on, replaces the previous one.
func (r *reply) artifact(e *a2a.TaskArtifactUpdateEvent) {
	if e.Artifact == nil {
		return
	}
	text := textOf(e.Artifact.Parts, "")
	at := slices.IndexFunc(r.artifacts, func(a artifact) bool { return a.id == e.Artifact.ID })
	switch {
	case at < 0:
		r.add(e.Artifact.ID, text)
		if r.shown.Len() > 0 && text != "" {
			text = paragraph + text
		}
	case !e.Append:
		r.straight = false
		r.artifacts[at].text.Reset()
		r.artifacts[at].text.WriteString(text)
	default:
		r.straight = r.straight && at == len(r.artifacts)-1
		r.artifacts[at].text.WriteString(text)
	}
	if r.straight {
		r.show(text)
	}
}

// text is that of the artifacts, which are paragraphs.
func (r *reply) text() string {
	var texts []string
	for _, a := range r.artifacts {
		if a.text.Len() > 0 {
			texts = append(texts, a.text.String())
		}
	}
	return strings.Join(texts, paragraph)
}

// show streams text, in parts that fit into frames.
func (r *reply) show(text string) {
	r.shown.WriteString(text)
	for len(text) > 0 {
		n := min(len(text), partMax)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		r.send(agentkit.Frame{Type: agentkit.FrameDelta, Text: text[:n]})
		text = text[n:]
	}
}

func (r *reply) status(s a2a.TaskStatus) {
	if settled(s.State) {
		r.end(s)
		return
	}
	if s.Message != nil { // what it does at the moment
		r.send(agentkit.Frame{Type: agentkit.FrameThinking, Text: textOf(s.Message.Parts, paragraph)})
	}
}

// end ends the turn as the task has ended, or waits for a person.
func (r *reply) end(s a2a.TaskStatus) {
	text, message := r.text(), ""
	if s.Message != nil {
		message = textOf(s.Message.Parts, paragraph)
	}
	switch s.State {
	case a2a.TaskStateCompleted:
		r.done(cmp.Or(text, message))
	case a2a.TaskStateInputRequired:
		if text != "" && message != "" {
			text += paragraph
		}
		r.done(text + message)
	case a2a.TaskStateAuthRequired:
		r.error("it asks for further authorization: "+message, false)
	default:
		r.error(fmt.Sprintf("its task ended as %s: %s", s.State, message), false)
	}
}

// done ends the turn with its whole text. It sends what was not shown yet, or all of it if the remote agent has changed what it
// said before.
func (r *reply) done(text string) {
	rest, ok := strings.CutPrefix(text, r.shown.String())
	switch {
	case ok:
		r.show(rest)
		text = ""
	case len(text) > partMax:
		r.error(fmt.Sprintf("it changed a reply of %d bytes after a part was shown; up to %d bytes can be replaced", len(text), partMax), true)
		return
	}
	r.ended = true
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
	long := tooLong(err)
	retry := long == nil && !refused
	if refused {
		retry = status.code == http.StatusTooManyRequests || status.code >= http.StatusInternalServerError
	}
	for _, final := range []error{
		a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams, a2a.ErrTaskNotFound, a2a.ErrUnsupportedOperation,
		a2a.ErrUnsupportedContentType, a2a.ErrInvalidAgentResponse,
	} {
		retry = retry && !errors.Is(err, final)
	}
	r.send(agentkit.Frame{Type: agentkit.FrameError, Message: cmp.Or(long, err).Error(), Retry: retry})
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
