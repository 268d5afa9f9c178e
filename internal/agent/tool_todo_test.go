package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

type todoList struct {
	Count int
	Items []struct{ ID, Text, Status string }
}

// todo calls a todo tool that must succeed, and gives the list as "text: status".
func (b *bundle) todo(t *testing.T, tool, args string) (got todoList, lines []string) {
	t.Helper()
	result := b.tool(t, tool, args)
	require.False(t, result.Error, result.Text)
	require.NoError(t, json.Unmarshal([]byte(result.Text), &got))
	require.Len(t, got.Items, got.Count)
	for _, item := range got.Items {
		lines = append(lines, item.Text+": "+item.Status)
	}
	return got, lines
}

func TestTodos(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, lines := b.todo(t, "todo_list", `{}`)
	require.Empty(t, lines)
	got, lines := b.todo(t, "todo_add", `{"items":["buy bread","feed the cat"]}`)
	require.Equal(t, []string{"buy bread: open", "feed the cat: open"}, lines)
	_, lines = b.todo(t, "todo_update", `{"id":"`+got.Items[0].ID+`","status":"doing"}`)
	require.Equal(t, []string{"buy bread: doing", "feed the cat: open"}, lines)
	_, lines = b.todo(t, "todo_update", `{"id":"`+got.Items[1].ID+`","status":"done","text":"feed both cats"}`)
	require.Equal(t, []string{"buy bread: doing", "feed both cats: done"}, lines)
	_, lines = b.todo(t, "todo_list", `{"status":"done"}`)
	require.Equal(t, []string{"feed both cats: done"}, lines)
	_, lines = b.todo(t, "todo_clear", `{"done":true}`)
	require.Equal(t, []string{"buy bread: doing"}, lines)
	_, lines = b.todo(t, "todo_clear", `{}`)
	require.Empty(t, lines)
}

// A call that is run again after a crash adds nothing a second time.
func TestTodoIsAddedOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.todo(t, "todo_add", `{"items":["buy bread","buy bread"]}`)
	_, lines := b.todo(t, "todo_add", `{"items":["buy bread","buy bread"]}`) // the same run and call id
	require.Len(t, lines, 2)
	b.run.ID = sessions.NewRunID()
	_, lines = b.todo(t, "todo_add", `{"items":["buy bread","buy bread"]}`)
	require.Len(t, lines, 4)
}

func TestTodoArguments(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	got, _ := b.todo(t, "todo_add", `{"items":["buy bread"]}`)
	id := got.Items[0].ID
	for _, c := range []struct{ tool, args, says string }{
		{"todo_add", `{}`, "items: is required"},
		{"todo_add", `{"items":[]}`, "items: want 1 to 50 of them, got 0"},
		{"todo_add", `{"items":["` + strings.Repeat(`x","`, 50) + `x"]}`, "items: want 1 to 50 of them, got 51"},
		{"todo_add", `{"items":"buy"}`, "items: want an array, got a JSON string"},
		{"todo_add", `{"items":["ok"," "]}`, "items[1]: is empty"},
		{"todo_add", `{"items":["` + strings.Repeat("x", 501) + `"]}`, "items[0]: is 501 bytes long, the maximum is 500"},
		{"todo_add", `{"items":["x"],"session":"main"}`, "session: unknown parameter"},
		{"todo_list", `{"status":"lost"}`, `status: "lost" is not open, doing or done`},
		{"todo_update", `{}`, "id: is required"},
		{"todo_update", `{"id":"todo_none","status":"done"}`, `id: there is no item "todo_none"; todo_list shows them`},
		{"todo_update", `{"id":"` + id + `"}`, "status: is required without a text"},
		{"todo_update", `{"id":"` + id + `","status":""}`, `status: "" is not open, doing or done`},
		{"todo_update", `{"id":"` + id + `","text":""}`, "text: is required"},
		{"todo_update", `{"id":"` + id + `","text":"` + strings.Repeat("x", 501) + `"}`, "text: is 501 bytes long, the maximum is 500"},
		{"todo_clear", `{"done":"yes"}`, "done: want true or false, got a JSON string"},
	} {
		result := b.tool(t, c.tool, c.args)
		require.True(t, result.Error, c.args)
		require.Contains(t, result.Text, c.says)
	}
	_, lines := b.todo(t, "todo_list", `{}`)
	require.Equal(t, []string{"buy bread: open"}, lines)
}

func TestTodosAreBounded(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range 4 {
		b.todo(t, "todo_add", `{"items":["`+strings.Repeat(fmt.Sprint(i, `","`), 49)+`last"]}`)
	}
	result := b.tool(t, "todo_add", `{"items":["one more"]}`)
	require.True(t, result.Error)
	require.Equal(t, "items: the list has 200 already, and the maximum is 200: todo_clear removes those that are done", result.Text)
	require.Len(t, b.store.todos, 200)
}

// An item is as secret as what the session had learnt when it was written; another session, and a level below, know nothing of it.
func TestTodosAreLabelled(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	main := b.session.Record()
	b.as(t, b.record("agent:main:http:h", confidential), true)
	got, _ := b.todo(t, "todo_add", `{"items":["the secret"]}`)
	require.Equal(t, confidential.Level(), b.store.todos[0].Label.Level())
	require.Equal(t, confidential.Level(), b.tool(t, "todo_list", `{}`).Label.Level())

	b.store.todos[0].Session = main.ID // as after a reset that had lost the label
	b.as(t, main, true)
	_, lines := b.todo(t, "todo_list", `{}`)
	require.Empty(t, lines)
	require.Contains(t, b.tool(t, "todo_update", `{"id":"`+got.Items[0].ID+`","status":"done"}`).Text, "there is no item")
	b.todo(t, "todo_clear", `{}`)
	require.Len(t, b.store.todos, 1)
}

// Changing an item makes it as secret as who changes it.
func TestTodoRises(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	got, _ := b.todo(t, "todo_add", `{"items":["buy bread"]}`)
	require.Equal(t, public, b.store.todos[0].Label)
	b.session.Append(sessions.Message{Role: sessions.RoleAgent, Parts: []sessions.Part{sessions.TextPart("news", internal)}})
	b.todo(t, "todo_update", `{"id":"`+got.Items[0].ID+`","status":"done"}`)
	require.Equal(t, internal, b.store.todos[0].Label)
}

func TestTodosOfAnEndedSession(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.store.broken = sessions.ErrNotFound
	require.Equal(t, "this conversation has ended, and its list with it", b.tool(t, "todo_clear", `{}`).Text)
}
