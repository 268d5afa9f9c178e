package a2aserver

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"

	"sluice/internal/httpapi/conversation"
	"sluice/sessions"
)

// stream shows a turn while the agent works.
func (h *handler) stream(ctx context.Context, begin func(ctx context.Context) (*conversation.Started, error)) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		ctx, cancel := h.api.Turns.UntilStop(ctx)
		defer cancel()
		l := &listener{yield: yield}
		if err := h.follow(ctx, l, begin); err != nil && !l.gone && !l.over {
			yield(nil, h.problem(err))
		}
	}
}

func (h *handler) follow(ctx context.Context, l *listener, begin func(ctx context.Context) (*conversation.Started, error)) (err error) {
	defer h.survive(&err)
	got, err := begin(ctx)
	if err != nil {
		return err
	}
	l.info = task{TaskID: a2a.TaskID(got.Run), ContextID: string(got.Of)}
	if got.Run != "" {
		if err := l.send(&a2a.Task{ID: l.info.TaskID, ContextID: l.info.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}); err != nil {
			return err
		}
	}
	if err := h.api.Turns.Follow(ctx, got, l); err != nil {
		return err
	}
	if !l.over {
		return errCut
	}
	return nil
}

var (
	errGone = errors.New("the caller has gone")
	// errCut: the stream ends, and the run goes on.
	errCut = errors.New("the stream ended before the reply; the task continues: resubscribe, or get the task")
)

// listener makes events of a task from those of its run.
type listener struct {
	yield func(a2a.Event, error) bool
	info  task
	text  strings.Builder // of the reply so far
	begun bool            // the reply's artifact
	gone  bool
	over  bool
}

var _ conversation.Audience = (*listener)(nil)

func (l *listener) send(e a2a.Event) error {
	if !l.yield(e, nil) {
		l.gone = true
		return errGone
	}
	return nil
}

// Beat implements [conversation.Audience].
func (l *listener) Beat() error { return l.status(a2a.TaskStatus{State: a2a.TaskStateWorking}) }

func (l *listener) status(s a2a.TaskStatus) error {
	e := a2a.NewStatusUpdateEvent(l.info, s.State, s.Message)
	e.Final = s.State.Terminal()
	return l.send(e)
}

// Show implements [conversation.Audience].
func (l *listener) Show(e conversation.EventRecord) error {
	switch {
	case e.Type.Terminal():
		return l.end(conversation.EndOf(e))
	case e.Type == sessions.EventNotice && l.info.TaskID == "": // the gateway itself has answered
		l.over = true
		m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: e.Text})
		m.ContextID = l.info.ContextID
		return l.send(m)
	case e.Type == sessions.EventNotice && e.Text != "": // a question that a person answers elsewhere
		return l.status(a2a.TaskStatus{State: a2a.TaskStateWorking, Message: a2a.NewMessageForTask(a2a.MessageRoleAgent, l.info, a2a.TextPart{Text: e.Text})})
	case e.Type == sessions.EventDelta:
		return l.add(e.Text)
	case e.Type == sessions.EventToolCall && l.text.Len() > 0, e.Type == sessions.EventRetrying && l.text.Len() > 0: // the reply begins again
		l.text.Reset()
		l.begun = false
	}
	return nil
}

// add streams text of the reply. A reply that begins again replaces the artifact.
func (l *listener) add(text string) error {
	if text == "" {
		return nil
	}
	e := a2a.NewArtifactUpdateEvent(l.info, replyID, a2a.TextPart{Text: text})
	e.Artifact.Name, e.Append = "reply", l.begun
	l.begun = true
	l.text.WriteString(text)
	return l.send(e)
}

// end sends what is missing of the reply, which was decided as a whole now.
func (l *listener) end(end conversation.End) error {
	if state(end) == a2a.TaskStateCompleted {
		rest, ok := strings.CutPrefix(end.Text, strings.TrimSpace(l.text.String()))
		if !ok { // the bus has lost a part of the text
			l.text.Reset()
			l.begun, rest = false, end.Text
		}
		if err := l.add(rest); err != nil {
			return err
		}
	}
	l.over = true
	return l.status(statusOf(l.info, end))
}
