package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/internal/sandbox/sandboxtest"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// withFiles is an equipped bundle whose session may use some of its folder.
func withFiles(t *testing.T, access sessions.FileAccess, change func(*roster.Definition)) (b *bundle, folder string) {
	t.Helper()
	return withSession(t, access, flow.NewLabel(flow.Internal, flow.Trusted), change)
}

// withSession is the same for a session that has learned something.
func withSession(t *testing.T, access sessions.FileAccess, taint flow.Label, change func(*roster.Definition)) (b *bundle, folder string) {
	t.Helper()
	b, _ = equipped(t, change)
	r := b.stored(sessions.Record{
		ID: sessions.NewID(), Key: "agent:main:telegram:group:7", Agent: "main", FileAccess: access, Taint: taint, Clearance: flow.Restricted,
	})
	b.as(t, r, true)
	if len(access.Read)+len(access.Write) > 0 {
		space, err := b.roster.Space(r)
		require.NoError(t, err)
		shared := space.Shared
		require.NoError(t, os.MkdirAll(shared, 0o700))
		return b, shared
	}
	return b, b.session.Sandbox().Workspace
}

// everything is access to all that a session without shared files sees: its own folder.
var everything = sessions.FileAccess{}

// args are a call's arguments.
func args(t *testing.T, v map[string]any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func TestFilesAreWrittenReadAndEdited(t *testing.T) {
	t.Parallel()
	b, folder := withFiles(t, everything, nil)
	part := b.tool(t, "write", args(t, map[string]any{"path": "src/a.txt", "content": "one\ntwo\nthree\n"}))
	require.False(t, part.Error, part.Text)
	require.JSONEq(t, `{"path":"src/a.txt","bytes":14,"created":true}`, part.Text)
	part = b.tool(t, "read", `{"path":"src/a.txt"}`)
	require.Equal(t, "one\ntwo\nthree\n", part.Text)
	require.Equal(t, flow.Internal, part.Label.Level(), "as secret as the session")
	require.Equal(t, "two\n[lines 2 to 2 of 3; continue with offset 3]", b.tool(t, "read", `{"path":"src/a.txt","offset":2,"limit":1}`).Text)
	part = b.tool(t, "edit", `{"path":"src/a.txt","oldText":"two","newText":"2"}`)
	require.False(t, part.Error, part.Text)
	content, err := os.ReadFile(filepath.Join(folder, "src/a.txt"))
	require.NoError(t, err)
	require.Equal(t, "one\n2\nthree\n", string(content))
	require.JSONEq(t, `{"count":1,"truncated":false,"entries":[{"path":"src/a.txt","type":"file","size":12}]}`, b.tool(t, "list", `{"path":"src"}`).Text)
	require.JSONEq(t, `{"count":1,"truncated":false,"entries":[{"path":"src/a.txt","type":"file","size":12}]}`, b.tool(t, "find", `{"pattern":"*.txt"}`).Text)
	require.JSONEq(t, `{"count":2,"truncated":false,"skippedFiles":0,"matches":[{"path":"src/a.txt","line":1,"text":"one"},{"path":"src/a.txt","line":3,"text":"three"}]}`,
		b.tool(t, "grep", `{"pattern":"E$","ignoreCase":true,"files":"*.txt"}`).Text)
	require.JSONEq(t, `{"count":0,"truncated":false,"entries":[]}`, b.tool(t, "find", `{"pattern":"*.go"}`).Text)
}

func TestFileToolsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	b, folder := withFiles(t, sessions.FileAccess{Read: []string{"docs"}, Write: []string{"out"}}, nil)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "docs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "docs/a"), []byte("a-a\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "docs/b"), []byte("a\x00"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "hidden"), []byte("x"), 0o600))
	for i, c := range []struct{ tool, args, want string }{
		{"read", `{}`, "path: is required"},
		{"read", `{"path":"hidden"}`, `path: "hidden" does not exist`},
		{"read", `{"path":"/etc/passwd"}`, `path: "/etc/passwd" does not exist`},
		{"read", `{"path":"docs"}`, "is a folder"},
		{"read", `{"path":"docs/b"}`, "is binary (2 bytes)"},
		{"read", `{"path":"docs/a","offset":0}`, "offset: 0"},
		{"read", `{"path":"docs/a","offset":3}`, "offset: the file has 1 lines"},
		{"read", `{"path":"docs/a","limit":0}`, "limit: 0"},
		{"read", `{"path":7}`, "path: want"},
		{"read", `{"file":"x"}`, "file: unknown parameter"},
		{"write", `{"path":"out/x"}`, "content: is required"},
		{"write", `{"content":"x"}`, "path: is required"},
		{"write", `{"path":"docs/a","content":"x"}`, "may read it but not change it"},
		{"write", `{"path":"out/a","content":"x"}`, "this would be INTERNAL, and the shared files are PUBLIC: write it below .sessions/sess_"},
		{"write", `{"path":"hidden","content":"x"}`, `path: "hidden" does not exist`},
		{"write", fmt.Sprintf(`{"path":"out/x","content":%q}`, strings.Repeat("x", 256<<10+1)), "content: is 262145 bytes"},
		{"edit", `{"path":"docs/a","oldText":"b","newText":"c"}`, "oldText: is not in the file"},
		{"edit", `{"path":"docs/a","oldText":"a","newText":"c"}`, "oldText: occurs 2 times in the file"},
		{"edit", `{"path":"docs/a","oldText":"a","newText":"a"}`, "newText: is the same"},
		{"edit", `{"path":"docs/a","oldText":"a-a"}`, "newText: is required"},
		{"edit", `{"path":"docs/a","oldText":"a-a","newText":"b"}`, "may read it but not change it"},
		{"edit", `{"path":"docs/a","newText":"a"}`, "oldText: is required"},
		{"list", `{"path":"out/none"}`, `path: "out/none" does not exist`},
		{"find", `{"pattern":"["}`, "pattern: a [ has no ]"},
		{"find", `{"pattern":"*","path":"private"}`, `path: "private" does not exist`},
		{"grep", `{"pattern":"("}`, "pattern: error parsing regexp"},
		{"grep", `{"pattern":""}`, "pattern: want 1 to"},
		{"grep", `{"pattern":"a","limit":501}`, "limit: 501, want 1 to 500"},
		{"grep", `{"pattern":"a","files":"{"}`, "files: a { has no }"},
	} {
		part := b.tool(t, c.tool, c.args)
		require.True(t, part.Error, "%d: %s", i, part.Text)
		require.Contains(t, part.Text, c.want, "%d: %s %s", i, c.tool, c.args)
		require.NotContains(t, part.Text, folder, "no path of the machine")
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	b, folder := withFiles(t, everything, nil)
	line := strings.Repeat("x", 99) + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "many"), []byte(strings.Repeat(line, 5000)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "one"), []byte(strings.Repeat("y", 300<<10)), 0o600))
	part := b.tool(t, "read", `{"path":"many"}`)
	require.LessOrEqual(t, len(part.Text), 256<<10+100)
	require.Contains(t, part.Text, "[lines 1 to 2621 of 5000; continue with offset 2622]")
	part = b.tool(t, "read", `{"path":"one"}`)
	require.Contains(t, part.Text, "[line 1 continues: it has 307200 bytes]")
	part = b.tool(t, "grep", `{"pattern":"x","limit":2}`)
	require.Contains(t, part.Text, `"count":2`)
	require.Contains(t, part.Text, `"truncated":true`)
	require.NotContains(t, b.tool(t, "grep", `{"pattern":"y"}`).Text, strings.Repeat("y", 401))
}

func TestASubAgentHasFilesOfItsOwn(t *testing.T) {
	t.Parallel()
	b, folder := withFiles(t, everything, nil)
	require.False(t, b.tool(t, "write", `{"path":"mine","content":"x"}`).Error)
	child := b.stored(sessions.Record{
		ID: sessions.NewID(), Key: "agent:main:subagent:1", Agent: "main", SpawnedBy: b.session.Record().ID, FileAccess: everything,
		Taint: flow.Bottom(), Clearance: flow.Restricted,
	})
	b.as(t, child, false)
	require.JSONEq(t, `{"count":0,"truncated":false,"entries":[]}`, b.tool(t, "list", `{}`).Text)
	own := b.session.Sandbox().Workspace
	require.NotEqual(t, folder, own)
	require.Equal(t, filepath.Dir(folder), filepath.Dir(own))
	require.True(t, b.tool(t, "read", `{"path":"../`+filepath.Base(folder)+`/mine"}`).Error)
}

func TestExecInASandbox(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	b, folder := withFiles(t, everything, func(d *roster.Definition) { d.Sandbox = sessions.SandboxRequired })
	part := b.tool(t, "exec", `{"command":"cat; pwd; echo made >made; ls / | grep -c home; exit 3","stdin":"in "}`)
	require.False(t, part.Error, part.Text)
	require.JSONEq(t, `{"exitCode":3,"stdout":"in /workspace\n0\n","stderr":"","timedOut":false,"truncated":false}`, part.Text)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Trusted), part.Label)
	content, err := os.ReadFile(filepath.Join(folder, "made"))
	require.NoError(t, err)
	require.Equal(t, "made\n", string(content))
	require.Equal(t, "made\n", b.tool(t, "read", `{"path":"/workspace/made"}`).Text, "commands and files have the same folder")
	require.Contains(t, b.tool(t, "exec", `{"command":"sleep 60","timeoutSeconds":1}`).Text, `"timedOut":true`)
	part = b.tool(t, "exec", `{"command":"head -c 100000 /dev/zero | tr '\\0' x"}`)
	require.Contains(t, part.Text, `"truncated":true`)
	require.Less(t, len(part.Text), 70_000)
	for given, want := range map[string]string{
		`{}`: "command: is required", `{"command":"true","timeoutSeconds":121}`: "timeoutSeconds: 121, want 1 to 120",
		`{"command":"true","timeoutSeconds":0}`: "timeoutSeconds: 0", `{"command":"true","timeout":3}`: "timeout: unknown parameter",
	} {
		require.Contains(t, b.tool(t, "exec", given).Text, want)
	}
}

// Without a sandbox, a session that may use parts of the shared files runs no commands, which reach all of them.
func TestExecWithoutASandboxNeedsTheWholeFolder(t *testing.T) {
	t.Parallel()
	b, _ := withFiles(t, sessions.FileAccess{Read: []string{""}, Write: []string{"out"}}, func(d *roster.Definition) { d.Tools.Allow = []string{"exec"} })
	part := b.tool(t, "exec", `{"command":"true"}`)
	require.True(t, part.Error)
	require.Contains(t, part.Text, "may use only parts")
}

// A tool that would fail each time is not shown to the model.
func TestAnAgentHasExecWhereItsCommandsCanRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		missing error
		mode    sessions.SandboxMode
		allow   []string
		has     bool
	}{
		"optional and there":            {nil, sessions.SandboxOptional, nil, true},
		"optional and missing":          {errors.New("no bwrap"), sessions.SandboxOptional, nil, false},
		"optional, missing and allowed": {errors.New("no bwrap"), sessions.SandboxOptional, []string{"*", "exec"}, true},
		"required and missing":          {errors.New("no bwrap"), sessions.SandboxRequired, nil, true}, // the tool says what is missing
		"off":                           {nil, sessions.SandboxOff, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := equipped(t, func(d *roster.Definition) { d.Sandbox, d.Tools.Allow = c.mode, c.allow })
			b.sandbox.missing = c.missing
			b.reopen(t)
			b.model.Answers = []sessiontest.Answer{sessiontest.Says("hello")}
			_, err := b.ask(t.Context(), "hi")
			require.NoError(t, err)
			require.Equal(t, c.has, slices.ContainsFunc(b.model.Asked()[0].Tools, func(s sessions.ToolSpec) bool { return s.Name == roster.ExecName }))

			kit, ok, err := b.ToolsOf(t.Context(), "main", flow.Restricted)
			require.NoError(t, err)
			require.True(t, ok)
			var shown []sessions.ToolSpec
			for _, tool := range kit.Tools {
				shown = append(shown, tool.Spec)
			}
			require.Equal(t, b.model.Asked()[0].Tools, shown, "a list of the agent's tools has those that the model sees")
		})
	}
}

func TestExecWithoutASandbox(t *testing.T) {
	t.Parallel()
	missing := errors.New("bubblewrap is not installed")
	for name, c := range map[string]struct {
		mode  sessions.SandboxMode
		allow []string
		want  string
	}{
		"required":          {sessions.SandboxRequired, []string{"*", "exec"}, "install bubblewrap"},
		"optional":          {sessions.SandboxOptional, nil, "install bubblewrap"},
		"optional and said": {sessions.SandboxOptional, []string{"exec"}, `"exitCode":0`},
		"off and said":      {sessions.SandboxOff, []string{"exec"}, `"exitCode":0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, folder := withFiles(t, everything, func(d *roster.Definition) { d.Sandbox, d.Tools.Allow = c.mode, c.allow })
			b.sandbox.missing = missing
			part := b.tool(t, "exec", `{"command":"pwd; env | grep -vE '^(PWD|OLDPWD|_|SHLVL|PATH)=' | sort; sleep 100 >/dev/null 2>&1 &"}`)
			require.Contains(t, part.Text, c.want)
			if c.want == `"exitCode":0` {
				require.Contains(t, part.Text, `"stdout":"`+folder+`\nHOME=`+folder+`\n"`, "nothing of the gateway's environment")
				require.Equal(t, flow.Untrusted, part.Label.Trust(), "a command reaches the world")
			}
		})
	}
}
