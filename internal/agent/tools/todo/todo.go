// Package todo has the tools for the to-do list of a session.
package todo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/agent/tools"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

type todoAdd struct {
	Items []string `json:"items" jsonschema:"the tasks, each at most 500 bytes" bounds:"minItems=1,maxItems=50,each.minLength=1"`
}

type todoList struct {
	Status *sessions.TodoStatus `json:"status,omitempty" jsonschema:"only these; default: all" bounds:"enum=open|doing|done"`
}

type todoClear struct {
	Done bool `json:"done,omitempty" jsonschema:"only the items that are done; default false: all items"`
}

// todoRow is an item as a model sees it.
type todoRow struct {
	ID     sessions.TodoID     `json:"id"`
	Text   string              `json:"text"`
	Status sessions.TodoStatus `json:"status"`
}

// Store stores the items of sessions' lists.
type Store interface {
	// Todos reads the items of a session, the oldest first.
	Todos(ctx context.Context, session sessions.ID) ([]sessions.Todo, error)
	// ChangeTodos applies a change to the items of a session in one transaction.
	ChangeTodos(ctx context.Context, c sessions.TodoChange) error
}

// Tools keep the to-do list of a session. All of them are idempotent: an item's id is derived from the call that adds
// it. Their data stays in the session, so every permission mode allows them.
type Tools struct {
	Store Store
	Now   func() time.Time
}

func todoTool[A any](name, about string, run func(context.Context, tools.Call[A]) (sessions.ToolResult, error)) sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{Name: name, Description: about},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
	}, tools.Work[A]{Run: run})
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	return []sessions.Tool{
		todoTool("todo_add", "Adds items to the to-do list of this conversation, so that nothing is forgotten over many steps.", ts.addTodos),
		todoTool("todo_list", "Shows the to-do list of this conversation, oldest item first.", ts.listTodos),
		todoTool("todo_update", "Changes an item of this conversation's to-do list: its status, its text or both.", ts.updateTodo),
		todoTool("todo_clear", "Removes all items of this conversation's to-do list, or only those that are done.", ts.clearTodos),
	}
}

// todos are the items that the caller may see.
func (ts *Tools) todos(ctx context.Context, caller sessions.Caller) ([]sessions.Todo, error) {
	items, err := ts.Store.Todos(ctx, caller.Session)
	if err != nil {
		return nil, tools.Inside("read todos", err)
	}
	return slices.DeleteFunc(items, func(t sessions.Todo) bool { return !policy.CallerOf(caller).May(policy.CheckTodos, t.Label) }), nil
}

func (ts *Tools) addTodos(ctx context.Context, call tools.Call[todoAdd]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	change := sessions.TodoChange{Session: caller.Session}
	for i, text := range args.Items {
		if err := checkTodo(text); err != nil {
			return sessions.ToolResult{}, fmt.Errorf("items[%d]: %w", i, err)
		}
		named := sha256.Sum256(fmt.Append(nil, call.Key(), "/", i))
		change.Add = append(change.Add, sessions.Todo{
			ID: sessions.TodoID("todo_" + hex.EncodeToString(named[:6])), Session: caller.Session, Text: text, Status: sessions.TodoOpen,
			Label: caller.Taint, Created: ts.Now(), Place: i, Updated: ts.Now(),
		})
	}
	there, err := ts.todos(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	if countNew(there, change.Add)+len(there) > sessions.TodosMax {
		return sessions.ToolResult{}, fmt.Errorf("items: the list has %d already, and the maximum is %d: todo_clear removes those that are done", len(there), sessions.TodosMax)
	}
	return ts.changedTodos(ctx, caller, change)
}

// countNew counts the new items: a repeated call finds its own items.
func countNew(there, add []sessions.Todo) (n int) {
	for _, t := range add {
		if !slices.ContainsFunc(there, func(o sessions.Todo) bool { return o.ID == t.ID }) {
			n++
		}
	}
	return n
}

func checkTodo(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("is empty")
	case len(text) > sessions.TodoTextMax:
		return fmt.Errorf("is %d bytes long, the maximum is %d", len(text), sessions.TodoTextMax)
	}
	return nil
}

func (ts *Tools) listTodos(ctx context.Context, call tools.Call[todoList]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	items, err := ts.todos(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	return todoResult(slices.DeleteFunc(items, func(t sessions.Todo) bool { return args.Status != nil && t.Status != *args.Status }))
}

// todoUpdate are the arguments of todo_update.
type todoUpdate struct {
	ID     sessions.TodoID      `json:"id" jsonschema:"as todo_list shows it"`
	Status *sessions.TodoStatus `json:"status,omitempty" bounds:"enum=open|doing|done"`
	Text   *string              `json:"text,omitempty" jsonschema:"at most 500 bytes" bounds:"minLength=1"`
}

func (a *todoUpdate) check() error {
	switch {
	case a.ID == "":
		return errors.New("id: is required")
	case a.Status == nil && a.Text == nil:
		return errors.New("status: is required without a text")
	}
	if a.Text != nil {
		if err := checkTodo(*a.Text); err != nil {
			return fmt.Errorf("text: %w", err)
		}
	}
	return nil
}

// apply changes an item, which then has the label of the writer.
func (a *todoUpdate) apply(item sessions.Todo, label flow.Label, now time.Time) sessions.Todo {
	item.Label, item.Updated = item.Label.Join(label), now
	if a.Status != nil {
		item.Status = *a.Status
	}
	if a.Text != nil {
		item.Text = *a.Text
	}
	return item
}

func (ts *Tools) updateTodo(ctx context.Context, call tools.Call[todoUpdate]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	if err := args.check(); err != nil {
		return sessions.ToolResult{}, err
	}
	items, err := ts.todos(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	i := slices.IndexFunc(items, func(t sessions.Todo) bool { return t.ID == args.ID })
	if i < 0 {
		return sessions.ToolResult{}, fmt.Errorf("id: there is no item %q; todo_list shows them", args.ID)
	}
	item := args.apply(items[i], caller.Taint, ts.Now())
	return ts.changedTodos(ctx, caller, sessions.TodoChange{Session: caller.Session, Update: []sessions.Todo{item}})
}

func (ts *Tools) clearTodos(ctx context.Context, call tools.Call[todoClear]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	items, err := ts.todos(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	change := sessions.TodoChange{Session: caller.Session}
	for _, t := range items {
		if !args.Done || t.Status == sessions.TodoDone {
			change.Remove = append(change.Remove, t.ID)
		}
	}
	return ts.changedTodos(ctx, caller, change)
}

// changedTodos stores a change and shows the new list.
func (ts *Tools) changedTodos(ctx context.Context, caller sessions.Caller, change sessions.TodoChange) (sessions.ToolResult, error) {
	err := ts.Store.ChangeTodos(ctx, change)
	if errors.Is(err, sessions.ErrNotFound) {
		return sessions.ToolResult{}, errors.New("this conversation has ended, and its list with it")
	}
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("store todos", err)
	}
	items, err := ts.todos(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	return todoResult(items)
}

func todoResult(items []sessions.Todo) (sessions.ToolResult, error) {
	rows, label := []todoRow{}, flow.NewLabel(flow.Public, flow.Trusted)
	for _, t := range items {
		rows = append(rows, todoRow{ID: t.ID, Text: t.Text, Status: t.Status})
		label = label.Join(t.Label)
	}
	text, err := tools.JSON(map[string]any{"count": len(rows), "items": rows})
	return sessions.ToolResult{Text: text, Label: label}, err
}
