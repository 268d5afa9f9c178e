package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/sessions/port"
)

// Errors of the step API.
var (
	// ErrDirty: the session has changes that are not stored, and the call would lose them.
	ErrDirty = errors.New("session has changes that are not stored")
	// ErrStepBusy: a completion is in progress.
	ErrStepBusy = errors.New("a completion is in progress")
	// ErrNoToolCall: the last message asks for no tools, or all its calls have results.
	ErrNoToolCall = errors.New("the last message has no open tool call")
)

// Session owns what one agent conversation needs: model, tools, messages and
// what of them is not stored yet. The caller drives it one step at a time:
//
//	Append(user) ─► RequestCompletion ─► drain events ─► PendingToolCalls?
//	                      ▲                                  │ yes           no ─► answer
//	                      └──── ConfirmAndExecuteTools ◄─────┘
//
// It can stop between any two steps; a session that was loaded while its last
// message asks for tools goes on with ConfirmAndExecuteTools. One goroutine
// drives a session; any may read it in the meantime: every method locks, and what is
// returned is a copy.
//
// Its only goroutine is that of RequestCompletion, which ends before the event channel is closed.
type Session struct {
	*state
	tree       tree
	saver      saver
	calls      calls
	subAgents  children
	completion completion
}

// state is what a session has in memory. Its parts (completions, tool calls, sub-agents, moves in the tree, storing) are types
// of their own that share it. The user of a field holds the lock.
type state struct {
	store Store
	now   func() time.Time

	mu         sync.Mutex
	record     Record
	isNew      bool // the record is not stored yet
	agent      Agent
	specs      []ToolSpec // of the agent's tools; never changed, only replaced
	briefing   string     // of the present run
	model      Model
	messages   []Message
	lent       bool                  // a request has the messages: what it has is not changed in place
	encoded    Encoded               // what models were told of them
	weighed    int                   // how many messages are in weight
	weight     int                   // of messages, in bytes, about
	aside      map[MessageID]Message // messages of other branches that are not stored yet
	unsaved    map[MessageID]int     // messages that are not stored as they are here, with the order in which they came about
	serial     int                   // grows with each of unsaved
	changed    bool                  // the record has changes that are not stored
	settings   Patch                 // settings that are not stored
	sandbox    SandboxConfig
	permission PermissionMode
	monitor    Monitor                               // nil: only what stays inside runs
	audit      []AuditEntry                          // not stored yet
	postings   []*spending.Posting                   // of completions, not stored yet; a reload keeps them
	reached    map[openCall]Reach                    // what CallsToConfirm found; never changed, only replaced
	skip       func(context.Context) (string, error) // nil: no call is skipped
	children   map[string]*PendingSubAgentToolCall   // of the open calls, by call id
	attempt    *Change                               // was to be stored, and it is unknown whether it was
	building   *port.Streamed                        // nil while no completion is in progress
}

// newSession makes a session of what is stored of it.
func newSession(store Store, now func() time.Time, record Record, messages []Message) *Session {
	st := &state{store: store, now: now, permission: PermissionAsk}
	st.reset(record, messages)
	storing := saver{st}
	running := calls{state: st, saver: storing}
	return &Session{
		state: st, tree: tree{st}, saver: storing, calls: running, subAgents: children{state: st, calls: running}, completion: completion{st},
	}
}

// NewSession makes an empty session that is not stored yet.
func NewSession(store Store, record Record, now func() time.Time) *Session {
	s := newSession(store, now, record, nil)
	s.isNew, s.changed = true, true
	return s
}

// LoadSession loads the selected thread of a stored session.
func LoadSession(ctx context.Context, store Store, record Record, now func() time.Time) (*Session, error) {
	messages, err := store.Thread(ctx, record)
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", record.ID, err)
	}
	return newSession(store, now, record, messages), nil
}

// reset makes the session what is stored.
func (s *state) reset(record Record, messages []Message) {
	s.record, s.messages, s.changed, s.settings, s.attempt = record, messages, false, Patch{ID: record.ID}, nil
	s.audit, s.reached, s.weighed, s.weight = nil, nil, 0, 0
	s.aside, s.unsaved, s.children = map[MessageID]Message{}, map[MessageID]int{}, map[string]*PendingSubAgentToolCall{}
	if record.Compacted != "" && (len(messages) == 0 || messages[0].Role != RoleSummary) {
		s.record.Compacted = "" // its summary stands on another branch
	}
}

// Record is the session's state as it would be stored now; its revision is that of the last store.
func (s *Session) Record() Record { return s.current() }

// current is [Session.Record].
func (s *state) current() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// Taint is the join of everything that the session has learnt.
func (s *Session) Taint() flow.Label {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Taint
}

// ContextSize is the number of tokens of the last completion, with its prompt.
func (s *Session) ContextSize() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.ContextSize
}

// Messages are those of the selected thread, oldest first.
func (s *Session) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages := make([]Message, len(s.messages))
	for i, m := range s.messages {
		messages[i] = cloneMessage(m)
	}
	return messages
}

// Last is the newest message of the thread, or the zero value.
func (s *Session) Last() Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last()
	if last == nil {
		return Message{}
	}
	return cloneMessage(*last)
}

// HasRun reports whether a message of the thread belongs to a run.
func (s *Session) HasRun(run RunID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.messages) - 1; i >= 0; i-- {
		if s.messages[i].Run == run {
			return true
		}
	}
	return false
}

// Size is about how many bytes of memory the session takes.
func (s *Session) Size() int {
	const base, each = 4 << 10, 512 // of a session, and of a message besides its texts
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.weighed > len(s.messages) {
		s.weighed, s.weight = 0, 0
	}
	for _, m := range s.messages[s.weighed:] {
		s.weight += each + textSize(m)
	}
	s.weighed = len(s.messages)
	return base + s.weight + s.encoded.Size()
}

// cloneMessage is a message that shares no memory with m.
func cloneMessage(m Message) Message {
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		m.Parts[i].Args = slices.Clone(m.Parts[i].Args)
		m.Parts[i].Attachment = clonePointer(m.Parts[i].Attachment)
	}
	return m
}

// SetAgent gives the session an agent's prompt and tools. The prompt counts from the next completion on.
func (s *Session) SetAgent(agent Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent, s.specs = agent, agent.Specs; s.specs == nil {
		s.specs = specsOf(agent.Tools)
	}
	if s.record.Agent != agent.ID {
		s.record.Agent, s.changed = agent.ID, true
	}
}

// Tools are those of the session's agent.
func (s *Session) Tools() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.agent.Tools)
}

// ReplaceTools gives the session's agent tools in place of those that drop says; they come behind the others.
func (s *Session) ReplaceTools(drop func(Tool) bool, with []Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(with) == 0 && !slices.ContainsFunc(s.agent.Tools, drop) {
		return
	}
	tools := slices.DeleteFunc(slices.Clone(s.agent.Tools), drop) // the agent's own list may be shared
	s.agent.Tools = slices.Concat(tools, with)
	s.specs = specsOf(s.agent.Tools)
	s.agent.Specs = s.specs
}

func specsOf(tools []Tool) []ToolSpec {
	if len(tools) == 0 {
		return nil
	}
	specs := make([]ToolSpec, 0, len(tools))
	for _, t := range tools {
		specs = append(specs, t.Spec)
	}
	return specs
}

// SetBriefing tells the model something with every completion until it is set
// again, beside the agent's prompt. It is never stored.
func (s *Session) SetBriefing(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.briefing = text
}

// SetModel gives the session a model. The session's own temperature and limit of tokens stay.
func (s *Session) SetModel(model Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model = model
}

// Model is the session's model; nil until [Session.SetModel].
func (s *Session) Model() Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// SetupSandbox makes the session's folder in the agent's workspace, and decides how commands of its tools run there. Tools
// find the result in [Caller]. Only an agent without a sandbox may lack a workspace. If a required sandbox is not available,
// the error is [ErrNoSandbox]: the session then has its folder and may not run commands. If an optional one is not
// available, commands run without it, as [SandboxConfig] shows. Call SetupSandbox before any tool that runs commands.
func (s *Session) SetupSandbox(ctx context.Context) error {
	s.mu.Lock()
	agent, id := s.agent, s.record.ID
	s.mu.Unlock()
	config, missing := agent.Sandbox.Settle(ctx)
	if missing != nil && !errors.Is(missing, ErrNoSandbox) {
		return fmt.Errorf("set up sandbox: %w", missing)
	}
	if agent.Workspace != "" || config.Mode != SandboxOff {
		var err error
		if config.Workspace, err = MakeFolder(agent.Workspace, id); err != nil {
			return fmt.Errorf("set up sandbox: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandbox = config
	if missing != nil {
		return fmt.Errorf("set up sandbox: %w", missing)
	}
	return nil
}

// Sandbox is what SetupSandbox has settled.
func (s *Session) Sandbox() SandboxConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sandbox
}
