package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// A program that uses the library alone: docs/session-library.md shows it. Its agent's tool asks another agent and waits.
func Example() {
	ctx, store := context.Background(), sessiontest.NewMemory()                           // your database, a sessions.Store
	model := &sessiontest.Scripted{Level: flow.Restricted, Answers: []sessiontest.Answer{ // your model, a sessions.Model
		sessiontest.Calls("ask_expert", `{"question": "When does the ferry leave?"}`, "1"),
		sessiontest.Says("At nine."), sessiontest.Says("Our expert says: at nine."),
	}}
	expert := sessions.Tool{
		Spec: sessions.ToolSpec{Name: "ask_expert", Description: "Asks an expert and waits.", Parameters: json.RawMessage(`{"type": "object"}`)},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone},
		SubAgent: func(_ context.Context, _ sessions.Caller, args json.RawMessage) (sessions.SubAgentPlan, error) {
			return sessions.SubAgentPlan{Agent: sessions.Agent{ID: "expert", SystemPrompt: "You know ferries."}, Task: string(args)}, nil
		},
	}
	workspace, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(workspace) }()
	s := sessions.NewSession(store, sessions.Record{ID: sessions.NewID(), Key: "agent:guide:main", Taint: flow.Bottom(), Clearance: flow.Restricted}, time.Now)
	s.SetAgent(sessions.Agent{ID: "guide", SystemPrompt: "You help travellers.", Workspace: workspace, Tools: []sessions.Tool{expert}})
	s.SetModel(model)
	fmt.Println(s.Patch(sessions.Patch{Temperature: new(sessions.Temperature("0.2")), MaxTokens: new(400), ThinkingLevel: new(sessions.ThinkingLow)}))
	fmt.Println(s.SetupSandbox(ctx)) // makes the session's folder in the workspace
	s.Append(sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("When is my ferry?", flow.Bottom())}})
	fmt.Println(reply(ctx, s), s.Persist(ctx))
	record, _ := store.Session(ctx, s.Record().ID) // as another process reads it
	again, _ := sessions.LoadSession(ctx, store, record, time.Now)
	fmt.Println(record.Agent, record.Temperature, record.MaxTokens, record.ThinkingLevel, again.Last().Text())
	// Output:
	// <nil>
	// <nil>
	// <nil> <nil>
	// guide 0.2 400 low Our expert says: at nine.
}

// reply works a session until its agent has answered, and the sessions of its sub-agents in the same way.
func reply(ctx context.Context, s *sessions.Session) error {
	for {
		if _, err := s.Complete(ctx, func(sessions.Chunk) {}); err != nil || len(s.PendingToolCalls()) == 0 {
			return err
		}
		children, err := s.PendingSubAgentToolCalls(ctx, sessions.Caller{}, nil)
		for _, child := range children {
			if err := reply(ctx, child.Session()); err != nil {
				child.Fail(err)
			}
			child.Complete()
		}
		if err == nil {
			_, err = s.ConfirmAndExecuteTools(ctx, sessions.Caller{}, nil, children...)
		}
		if err != nil {
			return err
		}
	}
}

// The program in the documentation is the example above, which runs as a test.
func TestTheDocumentedProgramRuns(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/session-library.md")
	require.NoError(t, err)
	source, err := os.ReadFile("program_test.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(guide), "```go\n")
	require.True(t, found, "the guide has a program")
	program, _, _ := strings.Cut(rest, "```")
	begin, end := strings.Index(string(source), "func Example() {"), strings.Index(string(source), "\n// The program in the documentation")
	require.Equal(t, string(source[begin:end]), program)
}
