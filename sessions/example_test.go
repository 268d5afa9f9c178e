package sessions_test

import (
	"context"
	"fmt"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// A caller drives a session one step at a time.
func ExampleSession() {
	ctx := context.Background()
	store := sessiontest.NewMemory()
	s := sessions.NewSession(store, sessions.Record{ID: sessions.NewID(), Key: "agent:main:main", Taint: flow.Bottom()}, time.Now)
	s.SetModel(&sessiontest.Scripted{Answers: []sessiontest.Answer{sessiontest.Says("Four.")}, Level: flow.Restricted})

	s.Append(sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("Two and two?", flow.Bottom())}})
	for {
		steps, cancel := s.RequestCompletion(ctx)
		for step := range steps {
			fmt.Print(step.Chunk.Text)
		}
		cancel()
		calls := s.PendingToolCalls()
		if len(calls) == 0 {
			break
		}
		// Here a person could be asked about each call.
		if _, err := s.ConfirmAndExecuteTools(ctx, sessions.Caller{}, confirm(calls)); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println()
	fmt.Println(s.Persist(ctx), s.Dirty())
	// Output:
	// Four.
	// <nil> false
}
