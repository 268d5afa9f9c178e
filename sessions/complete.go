package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"sluice/internal/aside"
	"sluice/sessions/message"
	"sluice/sessions/port"
	"sluice/sessions/prompt"
)

// Step is one event of a completion. Only the last event of a completion is Done; then the channel is closed.
type Step struct {
	Chunk Chunk
	Done  bool
	// Err says why there is no new message; Done only. It is a *[ModelError], or [ErrStepBusy], or [ErrModelLevel].
	Err error
	// Usage is what the completion cost, and Truncated says that the answer hit the token limit; Done only.
	Usage     Usage
	Truncated bool
}

// ErrModelLevel: the session's level is above what its model's provider may see.
var ErrModelLevel = errors.New("the session has learned more than its model may see")

// stepBuffer is how many events wait for a slow reader before the model has to wait.
const stepBuffer = 16

// RequestCompletion begins one completion of the thread. The reader drains the channel; the answer is then the last
// message, in memory only. After a failure the thread is as it was. cancel is idempotent and ends the completion with
// an error; it must be called at the end.
func (s *Session) RequestCompletion(ctx context.Context) (steps <-chan Step, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(ctx)
	out := make(chan Step, stepBuffer)
	go func() {
		defer close(out)
		completion, err := s.Complete(ctx, func(c Chunk) {
			select {
			case out <- Step{Chunk: c}:
			case <-ctx.Done():
			}
		})
		finish(out, Step{Done: true, Err: err, Usage: completion.Usage, Truncated: completion.Truncated})
	}()
	return out, cancel
}

// Complete is RequestCompletion for a caller that waits: on gets each chunk, on the caller's goroutine. A gateway with
// thousands of sessions that wait for their models saves a goroutine for each.
func (s *Session) Complete(ctx context.Context, on func(Chunk)) (Completion, error) {
	var step *asked
	var err error
	aside.Do(func() { step, err = s.completion.beginStep(s.SystemPrompt()) })
	if err != nil {
		return Completion{}, err
	}
	return s.completion.runStep(ctx, step, on)
}

// SystemPrompt is what the model is told before the thread: the agent's template, rendered
// for each completion, or else its fixed text.
func (s *Session) SystemPrompt() (string, error) {
	s.mu.Lock()
	agent, record := s.agent, s.record
	s.mu.Unlock()
	if agent.Prompt == nil {
		return agent.SystemPrompt, nil
	}
	data := TemplateData{
		Agent: AgentData{ID: agent.ID, Name: agent.Name}, Now: s.now(),
		Channel: record.Route.Channel, ChatType: record.Route.ChatType, Conversation: prompt.OneLine(record.Route.Title),
		Session: SessionData{Key: record.Key}, Workspace: agent.Workspace,
	}
	if data.Agent.Name == "" {
		data.Agent.Name = agent.ID
	}
	return agent.Prompt.Render(data)
}

// finish sends the last event even if the reader has stopped reading: a buffered event is dropped to make room.
func finish(out chan Step, last Step) {
	for {
		select {
		case out <- last:
			return
		default:
		}
		select {
		case <-out:
		default:
		}
	}
}

// completion asks the model.
type completion struct{ *state }

// asked is a completion that has begun.
type asked struct {
	model   Model
	request Request
}

// beginStep reserves the session for one completion and makes its request with a system prompt, or returns the error of that.
func (s completion) beginStep(system string, err error) (*asked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case s.building != nil:
		return nil, ErrStepBusy
	case s.model == nil:
		return nil, errors.New("the session has no model")
	}
	may, entries := s.monitored().Model(s.record, s.model)
	s.audit = append(s.audit, entries...)
	if !may {
		return nil, fmt.Errorf("%w: session %s is at %s, model %s at %s", ErrModelLevel, s.record.ID, s.record.Taint.Level(), s.model.Name(), ModelLevel(s.model))
	}
	s.building = &port.Streamed{}
	return &asked{s.model, s.request(system)}, nil
}

// keepEncodedFrom is the number of messages from which a thread keeps their encoded form. Encoding a shorter thread again
// costs less than keeping it.
const keepEncodedFrom = 8

func (s completion) request(system string) Request {
	lasting := 0
	if s.briefing != "" {
		lasting = len(system)
		system += "\n\n" + s.briefing
	}
	r := Request{
		System: system, Lasting: lasting, Messages: slices.Clip(s.messages), Tools: s.specs, Label: s.record.Taint,
		Temperature: s.temperature(), MaxTokens: s.maxTokens(), Thinking: s.thinking(), Kept: true,
	}
	s.lent = true
	if len(s.messages) >= keepEncodedFrom {
		r.Encoded = &s.encoded
	}
	return r
}

// runStep waits for the model, as thousands of goroutines do at once, so it must use little stack.
func (s completion) runStep(ctx context.Context, step *asked, on func(Chunk)) (completion Completion, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &ModelError{Kind: ModelRefused, Model: step.model.Name(), Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
		s.mu.Lock()
		s.building, s.lent = nil, false
		s.mu.Unlock()
	}()
	completion, err = step.model.Complete(ctx, step.request, func(c Chunk) {
		s.mu.Lock()
		s.building.Add(c)
		s.mu.Unlock()
		on(c)
	})
	if err != nil {
		return Completion{}, err
	}
	s.answered(step.model, &completion)
	return completion, nil
}

// answered appends the model's message. Its label is that of everything the model has seen.
func (s completion) answered(model Model, completion *Completion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := Message{Role: RoleAssistant, Model: cmp.Or(completion.Model, model.Name()), Usage: completion.Usage, Label: s.record.Taint, Parts: slices.Clone(completion.Parts)}
	if last := s.last(); last != nil {
		m.Run = last.Run
	}
	for i := range m.Parts {
		m.Parts[i].Label = s.record.Taint
	}
	message.NameCalls(m.Parts)
	s.append(m)
	if completion.Posting != nil {
		s.postings = append(s.postings, completion.Posting)
	}
	s.record.Usage = s.record.Usage.Add(completion.Usage)
	s.record.ContextSize = completion.Usage.InputTokens + completion.Usage.OutputTokens
}

// CurrentParts returns what the completion in progress has produced so far; nil without a completion in progress.
func (s *Session) CurrentParts() []Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.building == nil {
		return nil
	}
	parts := s.building.Parts()
	for i := range parts {
		parts[i].Label = s.record.Taint
	}
	return parts
}
