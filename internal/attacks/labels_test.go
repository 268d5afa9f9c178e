package attacks_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite"
)

// A mark is a word that says how secret it is and whether strangers have said it. Wherever it then stands, what stands there must be
// labelled at least so.
var mark = regexp.MustCompile(`mark([1-4])([tu])n\d+`)

// marksMax is how many marks a model repeats.
const marksMax = 6

func labelOf(word string) flow.Label {
	found := mark.FindStringSubmatch(word)
	trust := flow.Trusted
	if found[2] == "u" {
		trust = flow.Untrusted
	}
	return flow.NewLabel(flow.Levels()[found[1][0]-'1'], trust)
}

// gossip is a model that calls what it is told to, with all the marks that it knows in place of {{known}}, and says them.
type gossip struct{}

var _ sessions.Model = gossip{}

func (gossip) Name() string               { return "m/m" }
func (gossip) ContextWindow() int         { return 0 }
func (gossip) Classification() flow.Level { return flow.Restricted }

func (gossip) Complete(_ context.Context, q sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	all := []string{q.System}
	for _, m := range q.Messages {
		for _, p := range m.Parts {
			all = append(all, p.Text, string(p.Args))
		}
	}
	known := mark.FindAllString(strings.Join(all, " "), -1)
	slices.Reverse(known)
	known = distinct(known)
	said := strings.Join(known[:min(len(known), marksMax)], " ")
	c := sessions.Completion{Usage: sessions.Usage{InputTokens: 10, OutputTokens: 10}}
	if last := q.Messages[len(q.Messages)-1]; last.Role != sessions.RoleToolResult && len(q.Tools) > 0 {
		for i, call := range orders(strings.ReplaceAll(last.Text(), "{{known}}", said)).Calls {
			id := fmt.Sprint("call_", i)
			on(sessions.Chunk{Type: sessions.PartToolCall, CallID: id, Tool: call.Name})
			c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: id, Tool: call.Name, Args: json.RawMessage(call.Args)})
		}
	}
	if len(c.Parts) == 0 {
		c.Parts = []sessions.Part{{Type: sessions.PartText, Text: "I know " + said}}
		on(sessions.Chunk{Type: sessions.PartText, Text: c.Parts[0].Text})
	}
	return c, nil
}

func distinct(words []string) (once []string) {
	for _, w := range words {
		if !slices.Contains(once, w) {
			once = append(once, w)
		}
	}
	return once
}

// rumours is a workplace in which marks go about.
type rumours struct {
	*workplace
	marks  atomic.Int64
	taints map[sessions.ID]flow.Label // the highest that each session was seen at
}

var rumourKeys = []sessions.Key{groupKey, narrowKey, highKey, askedKey}

func newRumours(t testing.TB) *rumours {
	t.Helper()
	w := &rumours{workplace: newWorkplace(t, gossip{}), taints: map[sessions.ID]flow.Label{}}
	w.remote, w.shared = w.sources, true
	w.start()
	for _, key := range rumourKeys {
		clearance := flow.Restricted
		if key == narrowKey {
			clearance = flow.Public
		}
		w.begin(key, clearance)
	}
	return w
}

func (w *rumours) newMark(level flow.Level, owner bool) string {
	trust := "u"
	if owner {
		trust = "t"
	}
	return fmt.Sprintf("mark%d%sn%d", level.Rank(), trust, w.marks.Add(1))
}

// sources are tools of servers of each label, which give a new mark with each call.
func (w *rumours) sources() (tools []sessions.Tool) {
	for _, level := range flow.Levels() {
		for _, owner := range []bool{true, false} {
			trust := flow.Untrusted
			if owner {
				trust = flow.Trusted
			}
			name := fmt.Sprintf("mcp_source_%d%t", level.Rank(), owner)
			tools = append(tools, sessions.Tool{
				Spec: sessions.ToolSpec{Name: name, Description: "Gives a word.", Parameters: json.RawMessage(`{"type":"object"}`)},
				Flow: sessions.ToolFlow{Reads: sessions.FlowOutside, Writes: sessions.FlowNone, Source: flow.NewLabel(level, trust)}, Idempotent: true,
				Remote: &sessions.RemoteTool{Server: "source", Name: name},
				Run: func(context.Context, sessions.Caller, json.RawMessage) (sessions.ToolResult, error) {
					return sessions.ToolResult{Text: w.newMark(level, owner), Label: flow.NewLabel(level, trust)}, nil
				},
			})
		}
	}
	return tools
}

// anOrder draws a call of a tool, of every flow that there is.
func anOrder(t *rapid.T, inner bool) string {
	key := rapid.SampledFrom(rumourKeys).Draw(t, "key")
	then := "hello {{known}}"
	level, owner := rapid.IntRange(1, 4).Draw(t, "level"), rapid.Bool().Draw(t, "owner")
	learn := call(fmt.Sprintf("mcp_source_%d%t", level, owner), args{})
	if inner && rapid.Bool().Draw(t, "learn") {
		then += "\n" + learn // so that who is asked knows more than who asks
	} else if inner {
		then += "\n" + anOrder(t, false)
	}
	ask := call("sessions_send", args{"sessionKey": key, "message": then, "timeoutSeconds": 600 * (level % 2)})
	return rapid.SampledFrom([]string{
		learn, learn, ask, ask,
		call("memory_save", args{"key": "k", "content": "{{known}}", "tags": []string{"rule"}}),
		call("memory_save", args{"key": "{{known}}", "content": "x"}),
		call("memory_get", args{"key": "k"}), call("memory_get", args{"key": "{{known}}"}),
		call("memory_search", args{"query": "mark {{known}}"}), call("memory_list", args{}), call("memory_delete", args{"key": "k", "uncover": owner}),
		call("todo_add", args{"items": []string{"{{known}}"}}), call("todo_list", args{}), call("todo_clear", args{}),
		call("sessions_list", args{"messageLimit": 5}), call("sessions_history", args{"sessionKey": key, "includeTools": true}), call("session_status", args{"sessionKey": key}),
		call("sessions_spawn", args{"task": then, "label": "{{known}}"}),
		call("message", args{"message": "{{known}}"}), call("message", args{"message": "{{known}}", "to": string(placeOfKey(key).Conversation)}),
		call("summarize", args{"scope": "topic", "focus": "{{known}}"}), call("simulate_tool_call", args{"tool_name": "message", "args": args{"message": "{{known}}"}}),
	}).Draw(t, "order")
}

// step lets somebody say something, or the gateway end and come again.
func (w *rumours) step(t *rapid.T) {
	w.Helper()
	key := rapid.SampledFrom(rumourKeys).Draw(t, "where")
	owner := rapid.IntRange(0, 3).Draw(t, "who") > 0
	who := sessions.Peer{ID: "1", Name: "Ada"}
	if !owner {
		who = sessions.Peer{ID: "2", Name: "Eve"}
	}
	carries := flow.Public
	if key == highKey {
		carries = flow.Restricted
	}
	lines := []string{w.newMark(carries, owner)}
	for range rapid.IntRange(0, 4).Draw(t, "orders") {
		lines = append(lines, anOrder(t, true))
	}
	in := adapters.Inbound{Sender: who, Text: strings.Join(lines, "\n"), MessageID: sessions.PlatformMessageID(fmt.Sprint("m", w.ticks.Load()))}
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0:
		w.stop()
		w.start()
		return
	case 1:
		in.Text = rapid.SampledFrom([]string{"/undo", "/undo 2", "/compact", "/retry", "/branch 1"}).Draw(t, "command")
	case 2:
		in.Text = "/new " + lines[0]
	case 3:
		w.admit(key, in)
		in.Edited, in.Text = true, strings.Join(lines, "\n")+" "+w.newMark(carries, owner)
	}
	w.admit(key, in)
	until(w, time.Millisecond, "runs and deliveries to end", w.decidedAndIdle)
}

// decidedAndIdle says yes to whatever waits for it, and reports whether nothing is at work any more.
func (w *rumours) decidedAndIdle() bool {
	waiting, err := w.db.ListApprovals(w.Context(), ledger.Query{MaxLevel: flow.Restricted, Status: string(ledger.ApprovalPending), Limit: 50})
	require.NoError(w, err)
	for _, p := range waiting {
		_, _ = w.router.Approvals.DecideApproval(w.Context(), p.ID, decider.Verdict{Allow: true, Actor: "operator", Owner: true}) // its run may have ended
	}
	return len(waiting) == 0 && w.idle()
}

// judge looks at every row that is stored, and says what is labelled too low, and which session has gone down.
func (w *rumours) judge() (faults []string) {
	w.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, sqlite.FileName)+"?_pragma=busy_timeout(5000)")
	require.NoError(w, err)
	defer db.Close() //nolint:errcheck // only read from
	sessionLabels := map[string]flow.Label{}
	for _, row := range w.rows(db, "sessions") {
		id := sessions.ID(row.text["id"])
		sessionLabels[string(id)] = row.label
		if before, ok := w.taints[id]; ok && row.label.Join(before) != row.label {
			faults = append(faults, fmt.Sprintf("session %s was at %s and is at %s", id, before, row.label))
		}
		w.taints[id] = row.label
	}
	for _, table := range w.tables(db) {
		for _, row := range w.rows(db, table) {
			for column, text := range row.text {
				faults = append(faults, tooLow(fmt.Sprintf("%s.%s %s", table, column, row.text["id"]), text, row.label)...)
			}
			if table == "messages" {
				faults = append(faults, tooLow("session of message "+row.text["id"], row.text["parts"], sessionLabels[row.text["session_id"]])...)
				faults = append(faults, partsTooLow(row.text["parts"])...)
			}
		}
	}
	return faults
}

// partsTooLow are the parts of a message that are labelled below what they say.
func partsTooLow(stored string) (faults []string) {
	var parts []sessions.Part
	if err := json.Unmarshal([]byte(stored), &parts); err != nil {
		return []string{"parts can't be read: " + err.Error()}
	}
	for _, p := range parts {
		faults = append(faults, tooLow("a part: "+string(p.Type)+" "+p.Tool, p.Text+string(p.Args), p.Label)...)
	}
	return faults
}

// tooLow are the marks in a text that are above a label.
func tooLow(where, text string, label flow.Label) (faults []string) {
	for _, word := range distinct(mark.FindAllString(text, -1)) {
		if !label.Valid() || label.Join(labelOf(word)) != label {
			faults = append(faults, fmt.Sprintf("%s is at %s and has %s: %.300s", where, label, word, text))
		}
	}
	return faults
}

// row is what a table has: its texts, and its label where it has one.
type row struct {
	text  map[string]string
	label flow.Label
}

// tables are all that the gateway writes.
func (w *rumours) tables(db *sql.DB) (names []string) {
	w.Helper()
	found, err := db.QueryContext(w.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%' AND name NOT LIKE 'memory_words%'`)
	require.NoError(w, err)
	defer found.Close() //nolint:errcheck // only read from
	for found.Next() {
		var name string
		require.NoError(w, found.Scan(&name))
		names = append(names, name)
	}
	require.NoError(w, found.Err())
	require.Greater(w, len(names), 15)
	return names
}

func (w *rumours) rows(db *sql.DB, table string) (rows []row) {
	w.Helper()
	found, err := db.QueryContext(w.Context(), `SELECT * FROM `+table)
	require.NoError(w, err)
	defer found.Close() //nolint:errcheck // only read from
	columns, err := found.Columns()
	require.NoError(w, err)
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(w, found.Scan(into...))
		rows = append(rows, rowOf(columns, values))
	}
	require.NoError(w, found.Err())
	return rows
}

func rowOf(columns []string, values []any) row {
	r := row{text: map[string]string{}}
	level, trust := int64(0), flow.Untrusted
	for i, v := range values {
		switch v := v.(type) {
		case string:
			r.text[columns[i]] = v
		case []byte:
			r.text[columns[i]] = string(v)
		case int64:
			if columns[i] == "level" {
				level = v
			}
			if columns[i] == "trust" && v == 1 {
				trust = flow.Trusted
			}
		}
	}
	if level > 0 {
		r.label = flow.NewLabel(flow.Levels()[level-1], trust)
	}
	return r
}

// Whatever people and agents do, in whatever order, and wherever the gateway ends between: no session goes down, and everything that is
// stored is labelled at least as what it was made from.
func TestLabelsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newRumours(t)
		defer func() { w.stop() }()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w.step(rt)
			for _, fault := range w.judge() {
				rt.Error(fault)
			}
		}
		w.stop()
		w.start()
		for _, fault := range w.judge() {
			rt.Error(fault)
		}
	})
}
