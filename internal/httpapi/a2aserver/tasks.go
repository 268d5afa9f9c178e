package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/google/uuid"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/sessions"
)

const (
	contextTTL = 30 * 24 * time.Hour // of a session
	idMax      = 256                 // bytes of an id that a client chooses
)

// task names a task and its context.
type task a2a.TaskInfo

// TaskInfo implements [a2a.TaskInfoProvider].
func (t task) TaskInfo() a2a.TaskInfo { return a2a.TaskInfo(t) }

// session finds or opens the session of a message: that of its task, or of its context, which the client may name.
func (h *handler) session(ctx context.Context, m *a2a.Message) (sessions.Record, error) {
	if len(m.ID) > idMax || len(m.ContextID) > idMax {
		return sessions.Record{}, fmt.Errorf("%w: messageId and contextId have at most %d bytes", a2a.ErrInvalidParams, idMax)
	}
	if m.TaskID != "" {
		run, err := h.run(ctx, m.TaskID)
		if err != nil {
			return sessions.Record{}, err
		}
		if run.Status.Terminal() {
			return sessions.Record{}, fmt.Errorf("%w: the task has ended; send the message without taskId to begin another one in its context", a2a.ErrInvalidParams)
		}
		return h.api.Face.Existing(ctx, h.agent.ID, string(run.Session))
	}
	if _, err := sessions.ParseID(m.ContextID); err == nil {
		record, err := h.api.Face.Existing(ctx, h.agent.ID, m.ContextID)
		if err == nil || !errors.Is(err, wire.ErrNotFound) && !errors.Is(err, sessions.ErrNotFound) {
			return record, err
		}
	}
	kind, of := "context", m.ContextID
	if of == "" {
		if kind, of = "message", m.ID; of == "" {
			of = uuid.NewString()
		}
	}
	return h.api.Face.Open(ctx, h.agent.ID, manage.NewSession{Persistent: true, TTL: contextTTL}, kind, of)
}

// run finds the run of a task that the caller may see.
func (h *handler) run(ctx context.Context, task a2a.TaskID) (sessions.Run, error) {
	id, err := sessions.ParseRunID(string(task))
	if err != nil {
		return sessions.Run{}, wire.ErrNotFound
	}
	run, agent, err := h.api.Face.Run(ctx, id)
	if err == nil && agent != h.agent.ID {
		err = wire.ErrNotFound
	}
	return run, err
}

// start takes a message in.
func (h *handler) start(ctx context.Context, params *a2a.MessageSendParams) (*conversation.Started, error) {
	text, err := textOf(params.Message)
	if err != nil {
		return nil, err
	}
	var push a2a.PushConfig
	notify := params.Config != nil && params.Config.PushConfig != nil
	if notify {
		if push, err = h.api.Push.checked(*params.Config.PushConfig); err != nil {
			return nil, err
		}
	}
	record, err := h.session(ctx, params.Message)
	if err != nil {
		return nil, err
	}
	got, err := h.api.Turns.Start(ctx, record, conversation.Turn{Text: text, ID: params.Message.ID})
	if err == nil && got.Outcome == ledger.OutcomeIgnored {
		end, err := h.api.Turns.Finish(ctx, got)
		return nil, errors.Join(err, fmt.Errorf("%w: the agent does not take this message: %s", a2a.ErrInvalidParams, end.Text))
	}
	if err != nil || !notify || got.Run == "" {
		return got, err
	}
	run, err := h.api.Turns.Runs.Run(ctx, got.Run)
	if err == nil {
		err = h.api.Push.register(ctx, h.agent.ID, run, push)
	}
	return got, err
}

// OnSendMessage implements [a2asrv.RequestHandler].
func (h *handler) OnSendMessage(ctx context.Context, params *a2a.MessageSendParams) (result a2a.SendMessageResult, err error) {
	defer h.survive(&err)
	ctx, cancel := h.api.Turns.UntilStop(ctx)
	defer cancel()
	got, err := h.start(ctx, params)
	if err != nil {
		return nil, h.problem(err)
	}
	info := task{TaskID: a2a.TaskID(got.Run), ContextID: string(got.Of)}
	if got.Run != "" && params.Config != nil && params.Config.Blocking != nil && !*params.Config.Blocking {
		return &a2a.Task{ID: info.TaskID, ContextID: info.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}, nil
	}
	end, err := h.api.Turns.Finish(ctx, got)
	if err != nil {
		return nil, h.problem(err)
	}
	if got.Run == "" { // the gateway itself has answered
		m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: end.Text})
		m.ContextID = info.ContextID
		return m, nil
	}
	return taskOf(info, end), nil
}

// state is that of a task whose run has ended this way, or goes on.
func state(end conversation.End) a2a.TaskState {
	switch {
	case !end.Status.Terminal():
		return a2a.TaskStateWorking
	case end.Withheld != nil:
		return a2a.TaskStateRejected
	case end.Status == sessions.RunDone:
		return a2a.TaskStateCompleted
	case end.Status == sessions.RunAborted || end.Status == sessions.RunDropped:
		return a2a.TaskStateCanceled
	}
	return a2a.TaskStateFailed
}

// statusOf is the status of a task. A reply that is withheld, or missing, is explained by a message.
func statusOf(info task, end conversation.End) a2a.TaskStatus {
	s := a2a.TaskStatus{State: state(end)}
	if s.State.Terminal() && s.State != a2a.TaskStateCompleted && end.Text != "" {
		s.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, info, a2a.TextPart{Text: end.Text})
		if end.Withheld != nil {
			s.Message.Metadata = map[string]any{"withheld": end.Withheld.Code}
		}
	}
	return s
}

// replyID is the artifact with the reply.
const replyID a2a.ArtifactID = "reply"

func taskOf(info task, end conversation.End) *a2a.Task {
	t := &a2a.Task{ID: info.TaskID, ContextID: info.ContextID, Status: statusOf(info, end)}
	if t.Status.State == a2a.TaskStateCompleted && end.Text != "" {
		t.Artifacts = []*a2a.Artifact{{ID: replyID, Name: "reply", Parts: a2a.ContentParts{a2a.TextPart{Text: end.Text}}}}
	}
	return t
}

// OnGetTask implements [a2asrv.RequestHandler].
func (h *handler) OnGetTask(ctx context.Context, query *a2a.TaskQueryParams) (t *a2a.Task, err error) {
	defer h.survive(&err)
	run, err := h.run(ctx, query.ID)
	if err != nil {
		return nil, h.problem(err)
	}
	end, err := h.api.Turns.Past(ctx, run)
	if err != nil {
		return nil, h.problem(err)
	}
	return taskOf(task{TaskID: query.ID, ContextID: string(run.Session)}, end), nil
}

// OnCancelTask implements [a2asrv.RequestHandler].
func (h *handler) OnCancelTask(ctx context.Context, id *a2a.TaskIDParams) (t *a2a.Task, err error) {
	defer h.survive(&err)
	run, err := h.run(ctx, id.ID)
	if err != nil {
		return nil, h.problem(err)
	}
	if run.Status.Terminal() {
		return nil, a2a.ErrTaskNotCancelable
	}
	if err := h.api.Runs.Stop(ctx, run); err != nil {
		return nil, h.problem(err)
	}
	ctx, cancel := h.api.Turns.UntilStop(ctx)
	defer cancel()
	end, err := h.api.Turns.Finish(ctx, h.api.Turns.Again(ctx, run))
	if err != nil {
		return nil, h.problem(err)
	}
	return taskOf(task{TaskID: id.ID, ContextID: string(run.Session)}, end), nil
}

// OnSendMessageStream implements [a2asrv.RequestHandler].
func (h *handler) OnSendMessageStream(ctx context.Context, params *a2a.MessageSendParams) iter.Seq2[a2a.Event, error] {
	return h.stream(ctx, func(ctx context.Context) (*conversation.Started, error) { return h.start(ctx, params) })
}

// OnResubscribeToTask implements [a2asrv.RequestHandler].
func (h *handler) OnResubscribeToTask(ctx context.Context, id *a2a.TaskIDParams) iter.Seq2[a2a.Event, error] {
	return h.stream(ctx, func(ctx context.Context) (*conversation.Started, error) {
		run, err := h.run(ctx, id.ID)
		if err != nil {
			return nil, err
		}
		return h.api.Turns.Again(ctx, run), nil
	})
}

// OnGetExtendedAgentCard implements [a2asrv.RequestHandler].
func (h *handler) OnGetExtendedAgentCard(context.Context) (*a2a.AgentCard, error) {
	return h.api.card(h.agent, h.request), nil
}
