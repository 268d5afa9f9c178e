package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// exampleSession is a session that is not stored yet, whose model gives some answers.
func exampleSession(answers ...sessiontest.Answer) (*sessions.Session, *sessiontest.Memory) {
	store := sessiontest.NewMemory()
	s := sessions.NewSession(store, sessions.Record{
		ID: sessions.NewID(), Key: "agent:main:main", Agent: "main", Taint: flow.Bottom(), Clearance: flow.Confidential,
	}, time.Now)
	s.SetModel(&sessiontest.Scripted{Answers: answers, Level: flow.Restricted})
	return s, store
}

// asks is what a user says.
func asks(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}}
}

// complete drains one completion.
func complete(ctx context.Context, s *sessions.Session) error {
	steps, cancel := s.RequestCompletion(ctx)
	defer cancel()
	for step := range steps {
		if step.Done {
			return step.Err // the last event, and the only one that is Done
		}
	}
	return nil
}

func show(s *sessions.Session) {
	for _, m := range s.Messages() {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
}

// A new session is in memory until it is stored, all of it in one transaction.
func ExampleNewSession() {
	ctx := context.Background()
	s, _ := exampleSession(sessiontest.Says("Four."))
	s.Append(asks("Two and two?"))
	if err := complete(ctx, s); err != nil {
		fmt.Println(err)
	}
	fmt.Println("to be stored:", s.Dirty())
	if err := s.Persist(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("to be stored:", s.Dirty())
	show(s)
	// Output:
	// to be stored: true
	// to be stored: false
	// user: Two and two?
	// assistant: Four.
}

// Two processes have loaded the same session; the one that stores later is told.
func ExampleLoadSession() {
	ctx := context.Background()
	s, store := exampleSession()
	s.Append(asks("Hello."))
	fmt.Println("first:", s.Persist(ctx))

	record, err := store.Session(ctx, s.Record().ID)
	if err != nil {
		fmt.Println(err)
	}
	other, err := sessions.LoadSession(ctx, store, record, time.Now)
	if err != nil {
		fmt.Println(err)
	}
	other.Append(asks("Are you there?"))
	fmt.Println("other:", other.Persist(ctx))

	s.Append(asks("Anybody?"))
	fmt.Println("conflict:", errors.Is(s.Persist(ctx), sessions.ErrConflict))
	fmt.Println("reload:", errors.Is(s.Reload(ctx, false), sessions.ErrDirty), s.Reload(ctx, true))
	show(s)
	// Output:
	// first: <nil>
	// other: <nil>
	// conflict: true
	// reload: true <nil>
	// user: Hello.
	// user: Are you there?
}

// A caller drives a session one step at a time, and can ask a person about each tool call.
func ExampleSession() {
	ctx := context.Background()
	s, _ := exampleSession(sessiontest.Calls("dice", `{}`, "1", "2"), sessiontest.Says("You rolled a four."))
	s.SetAgent(sessions.Agent{ID: "main", SystemPrompt: "You roll dice.", Tools: []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "dice", Description: "Rolls a die.", Parameters: json.RawMessage(`{"type":"object"}`)},
		Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowSession},
		Run: func(_ context.Context, caller sessions.Caller, _ json.RawMessage) (sessions.ToolResult, error) {
			fmt.Println("rolled for call", caller.CallID)
			return sessions.ToolResult{Text: `{"eyes": 4}`, Label: flow.Bottom()}, nil
		},
	}}})
	s.Append(asks("Roll twice."))
	for {
		if err := complete(ctx, s); err != nil {
			fmt.Println(err)
			return
		}
		if len(s.PendingToolCalls()) == 0 {
			break
		}
		var confirmations []sessions.Confirmation
		asked, err := s.CallsToConfirm(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, call := range asked {
			confirmations = append(confirmations, sessions.Confirmation{CallID: call.CallID, Approved: call.CallID == "1", Reason: "once is enough"})
		}
		if _, err := s.ConfirmAndExecuteTools(ctx, sessions.Caller{}, confirmations); err != nil {
			fmt.Println(err)
			return
		}
		for _, result := range s.Last().Parts {
			fmt.Println("result of", result.CallID+":", result.Text)
		}
	}
	fmt.Println(s.Last().Text(), s.Persist(ctx))
	// Output:
	// rolled for call 1
	// result of 1: {"eyes": 4}
	// result of 2: once is enough
	// You rolled a four. <nil>
}

// An edit is a branch; both can be selected again.
func ExampleSession_Edit() {
	ctx := context.Background()
	s, _ := exampleSession(sessiontest.Says("Rain."), sessiontest.Says("Sun."))
	s.Append(asks("Weather in Bergen?"))
	if err := complete(ctx, s); err != nil {
		fmt.Println(err)
	}
	first := s.Messages()[0].ID
	second, err := s.Edit(ctx, first, []sessions.Part{sessions.TextPart("Weather in Palermo?", flow.Bottom())})
	if err == nil {
		err = complete(ctx, s)
	}
	fmt.Println(err)
	show(s)

	branches, err := s.Branches(ctx, second)
	if err != nil {
		fmt.Println(err)
	}
	for _, b := range branches {
		fmt.Printf("%d of %d: %s %v\n", b.Position, b.Count, b.Message.Text(), b.Selected)
	}
	fmt.Println(s.Switch(ctx, first), s.Persist(ctx))
	show(s)
	// Output:
	// <nil>
	// user: Weather in Palermo?
	// assistant: Sun.
	// 1 of 2: Weather in Bergen? false
	// 2 of 2: Weather in Palermo? true
	// <nil> <nil>
	// user: Weather in Bergen?
	// assistant: Rain.
}

// The last answer is asked for again, then the last turn is taken back.
func ExampleSession_Retry() {
	ctx := context.Background()
	s, _ := exampleSession(sessiontest.Says("Heads."), sessiontest.Says("Tails."))
	s.Append(asks("Toss a coin."))
	fmt.Println(complete(ctx, s), s.Retry(ctx, ""), complete(ctx, s))
	show(s)
	fmt.Println(s.Undo(ctx, 1))
	fmt.Println(len(s.Messages()))
	// Output:
	// <nil> <nil> <nil>
	// user: Toss a coin.
	// assistant: Tails.
	// 1 <nil>
	// 0
}

// A call of a sub-agent tool is worked by a child session, which the caller drives as any other.
func ExampleSession_PendingSubAgentToolCalls() {
	ctx := context.Background()
	s, _ := exampleSession(sessiontest.Calls("research", `{"topic":"tides"}`, "1"), sessiontest.Says("The moon."), sessiontest.Says("It is the moon."))
	s.SetAgent(sessions.Agent{ID: "main", Tools: []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "research"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowSession},
		SubAgent: func(_ context.Context, _ sessions.Caller, args json.RawMessage) (sessions.SubAgentPlan, error) {
			var p struct{ Topic string }
			if err := json.Unmarshal(args, &p); err != nil {
				return sessions.SubAgentPlan{}, err
			}
			return sessions.SubAgentPlan{Task: "What causes " + p.Topic + "?", Permission: sessions.PermissionDeny}, nil
		},
	}}})
	s.Append(asks("Have the tides explained."))
	fmt.Println(complete(ctx, s))

	confirmations := []sessions.Confirmation{{CallID: "1", Approved: true}}
	pending, err := s.PendingSubAgentToolCalls(ctx, sessions.Caller{}, confirmations)
	if err != nil {
		fmt.Println(err)
	}
	for _, p := range pending {
		fmt.Println("task:", p.Session().Last().Text())
		if err := complete(ctx, p.Session()); err != nil {
			p.Fail(err) // the model reads it
		}
		p.Complete()
	}
	_, err = s.ConfirmAndExecuteTools(ctx, sessions.Caller{}, confirmations, pending...)
	fmt.Println(s.Last().Parts[0].Text, err)
	fmt.Println(complete(ctx, s), s.Last().Text())
	// Output:
	// <nil>
	// task: What causes tides?
	// The moon. <nil>
	// <nil> It is the moon.
}

// A prompt is checked when it is read.
func ExampleParsePrompt() {
	_, err := sessions.ParsePrompt("You are {{.Agent.Nme}}.")
	fmt.Println(err)
	prompt, err := sessions.ParsePrompt("You are {{.Agent.Name}}.{{with .Instructions}}\n\n{{.}}{{end}}")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prompt.Execute(sessions.TemplateData{Agent: sessions.AgentData{Name: "Ada"}}))
	// Output:
	// parse prompt: system prompt:1:16: there is no .Agent.Nme; there are ID, Name
	// You are Ada. <nil>
}
