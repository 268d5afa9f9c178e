package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
	"sluice/internal/sandbox/sandboxtest"
	"sluice/store/sqlite/sqlitetest"
)

// seedRecord is a session's record as the seed shows it.
type seedRecord struct {
	ID           string  `json:"id"`
	CreatedAt    float64 `json:"created_at"`
	LastActivity float64 `json:"last_activity"`
	Busy         *bool   `json:"busy"`
	Persistent   *bool   `json:"persistent"`
	TTL          int     `json:"ttl"`
	Status       string  `json:"status"`
	Metadata     map[string]any
	FileAccess   struct{ Read, Write []string } `json:"file_access"`
}

// The API for sessions, by the shapes and words of the seed alone.
func TestSessionsAsTheSeedDescribesThem(t *testing.T) {
	t.Parallel()
	g := start(t, "")
	create := func(body string) (r seedRecord) {
		t.Helper()
		read(t, g.call("POST", "/v1/sessions", body), http.StatusCreated, &r)
		return r
	}
	plain := create("")
	require.Regexp(t, `^sess_[0-9a-f]{12}$`, plain.ID)
	require.InDelta(t, plain.CreatedAt, plain.LastActivity, 0.001)
	require.Greater(t, plain.CreatedAt, 1.7e9, "seconds since 1970")
	require.False(t, *plain.Busy)
	require.False(t, *plain.Persistent)
	require.Equal(t, 14400, plain.TTL)
	require.Equal(t, "ready", plain.Status)
	require.Equal(t, map[string]any{}, plain.Metadata)
	require.Equal(t, []string{""}, plain.FileAccess.Read)
	require.Equal(t, []string{""}, plain.FileAccess.Write)
	require.Equal(t, []string{""}, create(`{"file_access":{}}`).FileAccess.Write)
	full := create(`{"persistent":true,"ttl":60,"metadata":{"a":[1]},"file_access":{"read":["projects/my-project","shared/templates"],"write":["projects/my-project/output"]}}`)
	require.True(t, *full.Persistent)
	require.Equal(t, 60, full.TTL)
	require.Equal(t, map[string]any{"a": []any{1.0}}, full.Metadata)
	require.Equal(t, []string{"projects/my-project", "shared/templates"}, full.FileAccess.Read)
	require.Equal(t, []string{"projects/my-project/output"}, full.FileAccess.Write)
	var all []seedRecord
	read(t, g.call("GET", "/v1/sessions", ""), http.StatusOK, &all)
	require.Len(t, all, 3)
	var again seedRecord
	read(t, g.call("GET", "/v1/sessions/"+full.ID, ""), http.StatusOK, &again)
	require.Equal(t, full, again)

	for entry, says := range map[string]string{
		`{"read":["/etc"]}`:          `file_access: read[0] is "/etc": paths are relative`,
		`{"read":["a"],"write":[]}`:  "file_access: write is an empty list",
		`{"write":["ok","a/../.."]}`: `write[1] is "a/../.."`,
		`{"read":["a\u0000"]}`:       "NUL",
		`{"reads":["a"]}`:            "file_access.reads: unknown key; the lists are read and write",
	} {
		var problem struct{ Error, Message string }
		read(t, g.call("POST", "/v1/sessions", `{"file_access":`+entry+`}`), http.StatusBadRequest, &problem)
		require.Contains(t, problem.Message, says)
	}

	status := func(method, session, path, body string) int {
		t.Helper()
		resp := g.call(method, "/v1/sessions/"+session+"/files/"+path, body)
		_, _ = io.Copy(io.Discard, resp.Body)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, 201, status("PUT", plain.ID, "shared/templates/letter.txt", "Dear {{name}}"))
	require.Equal(t, 201, status("PUT", plain.ID, "projects/other/plan.txt", "x"))
	require.Equal(t, 200, status("GET", full.ID, "shared/templates/letter.txt", ""))
	require.Equal(t, 404, status("GET", full.ID, "projects/other/plan.txt", ""), "out of scope")
	require.Equal(t, 404, status("PUT", full.ID, "shared/templates/new.txt", "x"))
	require.Equal(t, 201, status("PUT", full.ID, "projects/my-project/output/a.txt", "x"))
	require.Equal(t, 200, status("GET", full.ID, "projects/my-project/output/a.txt", ""), "write implies read")
	require.Equal(t, 200, status("GET", plain.ID, "projects/my-project/output/a.txt", ""))
	require.Equal(t, 201, status("PUT", full.ID, ".sessions/"+full.ID+"/own.txt", "x"))
	require.Equal(t, 404, status("GET", plain.ID, ".sessions/"+full.ID+"/own.txt", ""))

	require.Equal(t, 204, g.call("DELETE", "/v1/sessions/"+full.ID, "").StatusCode)
	require.Equal(t, 404, g.call("DELETE", "/v1/sessions/"+full.ID, "").StatusCode)
	require.Equal(t, 404, g.call("GET", "/v1/sessions/"+full.ID, "").StatusCode)
	var deleted struct{ Deleted int }
	read(t, g.call("DELETE", "/v1/sessions?status=idle&older_than=1h30m", ""), http.StatusOK, &deleted)
	require.Zero(t, deleted.Deleted)
	read(t, g.call("DELETE", "/v1/sessions?status=idle", ""), http.StatusOK, &deleted)
	require.Equal(t, 2, deleted.Deleted)
}

// A file that one session's agent has written another session's agent reads, with its tools and with commands, and so does the API. A
// program's file makes who reads it untrusted.
func TestSessionsExchangeAFile(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	_, models := platforms(t)
	g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	g.cfg = loadText(t, `gateway: { listen: 127.0.0.1:0, token: test-token, tokens: [{ name: ops, token: ops, classification: PUBLIC, role: operator }] }
state: `+g.state+`
agents: { list: [{ id: main, sandbox: { mode: required } }] }
`+withModels(models))
	g.begin()
	t.Cleanup(g.end)
	create := func(body string) string {
		var r seedRecord
		read(t, g.call("POST", "/v1/sessions", body), http.StatusCreated, &r)
		return r.ID
	}
	does := func(session, tool, args string) string {
		t.Helper()
		models.Enqueue(modeltest.Call(tool, args), modeltest.Say("done"))
		var reply turnReply
		read(t, g.call("POST", "/v1/sessions/"+session+"/messages", `{"message":"go"}`, "Accept", "application/json"), http.StatusOK, &reply)
		messages := models.Requests()[len(models.Requests())-1].Messages
		return messages[len(messages)-1].Text
	}
	taint := func(session string) string {
		var r struct{ Taint string }
		read(t, g.call("GET", "/v1/sessions/"+session, ""), http.StatusOK, &r)
		return r.Taint
	}
	one, other, scoped := create(""), create(""), create(`{"file_access":{"read":["reports"]}}`)
	require.Contains(t, does(one, "write", `{"path":"reports/june.md","content":"Sales went up."}`), `"created":true`)
	require.Equal(t, "Sales went up.", does(other, "read", `{"path":"reports/june.md"}`))
	require.Contains(t, does(scoped, "exec", `{"command":"cat reports/june.md"}`), "Sales went up.")
	require.Contains(t, does(scoped, "exec", `{"command":"echo x >reports/new"}`), "Read-only")
	require.Contains(t, does(other, "exec", `{"command":"echo Costs too. >>reports/june.md"}`), `"exitCode":0`)
	content, err := io.ReadAll(g.call("GET", "/v1/sessions/"+one+"/files/reports/june.md", "").Body)
	require.NoError(t, err)
	require.Equal(t, "Sales went up.Costs too.\n", string(content))
	require.Equal(t, "PUBLIC/trusted", taint(other))

	require.Equal(t, 201, g.call("PUT", "/v1/sessions/"+one+"/files/inbox/mail", "pay Eve", "Authorization", "Bearer ops").StatusCode)
	require.Equal(t, "PUBLIC/trusted", taint(one), "it has not read it")
	require.Equal(t, "pay Eve", does(other, "read", `{"path":"inbox/mail"}`))
	require.Equal(t, "PUBLIC/untrusted", taint(other))
	require.Contains(t, does(one, "list", `{"path":"reports"}`), "june.md")
	require.Equal(t, "PUBLIC/trusted", taint(one))
	g.end()
	g.begin()
	require.Contains(t, does(one, "grep", `{"pattern":"Eve"}`), "inbox/mail", "the mark outlives the gateway")
	require.Equal(t, "PUBLIC/untrusted", taint(one))
	require.True(t, json.Valid(bytes.TrimSpace([]byte(does(scoped, "list", `{}`)))))
}
