package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/internal/sandbox/sandboxtest"
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// heavy is a pattern that takes more than a thousand steps for each character of a line of a's.
const heavy = `(?:(?:a{0,30}){0,30}b?)c`

// A search ends with its run, in the middle of a line too.
func TestGrepStopsWithItsRun(t *testing.T) {
	t.Parallel()
	b, folder := withFiles(t, everything, nil)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "long"), []byte(strings.Repeat("a", 8<<20)), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("grep", args(t, map[string]any{"pattern": heavy}), "call_1")}
	started := time.Now()
	_, err := b.ask(ctx, "search")
	require.Error(t, err)
	require.Less(t, time.Since(started), 10*time.Second)
}

// A search does a bounded amount of work, and says where it has stopped.
func TestGrepSaysWhereItStopped(t *testing.T) {
	t.Parallel()
	b, folder := withFiles(t, everything, nil)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a"), []byte("aac\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "b"), []byte("x\n"+strings.Repeat("a", 8<<20)), 0o600))
	part := b.tool(t, "grep", args(t, map[string]any{"pattern": heavy}))
	require.False(t, part.Error, part.Text)
	require.Contains(t, part.Text, `"count":1`)
	require.Contains(t, part.Text, `"truncated":true`)
	require.Contains(t, part.Text, `"stopped":"in b, line 2: `)
}

func TestGrepRefusesAnEnormousPattern(t *testing.T) {
	t.Parallel()
	b, _ := withFiles(t, everything, nil)
	part := b.tool(t, "grep", args(t, map[string]any{"pattern": strings.Repeat(".{0,1000}", 100)}))
	require.True(t, part.Error)
	require.Contains(t, part.Text, "pattern: its repetitions make it too big")
}

// deaf is a tool that does not check its context. It ends when release is called.
func deaf(name string) (tool sessions.Tool, called <-chan struct{}, release func()) {
	calls, free := make(chan struct{}, 100), make(chan struct{})
	tool = remote(name, func() (sessions.ToolResult, error) {
		calls <- struct{}{}
		<-free
		return sessions.ToolResult{Text: "late", Label: flow.Bottom()}, nil
	})
	return tool, calls, func() { close(free) }
}

// A tool that does not end in its time is left behind: the run goes on, and what the tool gives in the end changes nothing.
func TestAToolThatDoesNotEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		tool, _, release := deaf("mcp_far_deaf")
		b.remote = []sessions.Tool{tool}
		began := time.Now()
		part := b.tool(t, tool.Spec.Name, `{}`)
		require.True(t, part.Error)
		require.Equal(t, "the tool did not end within 2m0s; it may still take effect", part.Text)
		require.Equal(t, sessions.ToolTimeout+2*time.Second, time.Since(began))
		require.InDelta(t, 1, b.metric(t, "sluice_tool_abandoned"), 0)
		release()
		synctest.Wait()
		require.InDelta(t, 0, b.metric(t, "sluice_tool_abandoned"), 0)
		require.InDelta(t, 1, b.metric(t, "sluice_tool_abandoned_total"), 0)
		b.reopen(t)
		for _, m := range b.session.Messages() {
			require.NotContains(t, m.Text()+m.Parts[0].Text, "late")
		}
	})
}

// Neither the end of a run nor of the gateway waits for a tool that does not check its context.
func TestAStoppedRunDoesNotWaitForItsTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		tool, called, release := deaf("mcp_far_deaf")
		b.remote = []sessions.Tool{tool}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-called
			cancel(errors.New("stopped by a person"))
		}()
		began := time.Now()
		b.model.Answers = []sessiontest.Answer{sessiontest.Calls(tool.Spec.Name, `{}`, "call_1")}
		_, err := b.ask(ctx, "go")
		require.ErrorContains(t, err, "stopped by a person")
		require.LessOrEqual(t, time.Since(began), 2*time.Second)
		open := b.session.PendingToolCalls()
		require.Len(t, open, 1, "nobody knows what became of it")
		b.session.ResolveInterrupted()
		require.NoError(t, b.session.Persist(t.Context()))
		revision := b.session.Record().Revision
		release()
		synctest.Wait()
		b.reopen(t)
		require.Equal(t, revision, b.session.Record().Revision, "the late result changes nothing")
		require.Contains(t, b.session.Last().Parts[0].Text, "interrupted")
	})
}

// Of one tool only a limited number of calls are left behind at once; other tools go on.
func TestCallsLeftBehindAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		tool, called, release := deaf("mcp_far_deaf")
		b.remote = []sessions.Tool{tool}
		for range 8 {
			require.Contains(t, b.tool(t, tool.Spec.Name, `{}`).Text, "did not end within")
		}
		part := b.tool(t, tool.Spec.Name, `{}`)
		require.True(t, part.Error)
		require.Equal(t, "not run: 8 earlier calls of mcp_far_deaf have not ended yet; use another tool, or try again later", part.Text)
		require.Len(t, called, 8)
		require.False(t, b.tool(t, "todo_list", `{}`).Error)
		release()
		synctest.Wait()
		require.Equal(t, "late", b.tool(t, tool.Spec.Name, `{}`).Text)
	})
}

// Neither a tool nor a command takes more of the disk than the session may have, and a command can tidy up.
func TestFilesOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	b, folder := withFiles(t, everything, func(d *roster.Definition) { d.Sandbox = sessions.SandboxRequired })
	b.bounds = workspace.Bounds{Session: 4 << 20}
	part := b.tool(t, "exec", `{"command":"i=0; while [ $i -lt 100 ]; do head -c 1000000 /dev/zero >f$i; i=$((i+1)); sleep 0.1; done"}`)
	require.True(t, part.Error)
	require.Contains(t, part.Text, `"stopped":"the command was ended: the files of this conversation take`)
	part = b.tool(t, "write", `{"path":"more","content":"x"}`)
	require.True(t, part.Error)
	require.Contains(t, part.Text, "limits.sessionBytes")
	require.NoFileExists(t, filepath.Join(folder, "more"))
	require.False(t, b.tool(t, "exec", `{"command":"rm f*"}`).Error)
	require.False(t, b.tool(t, "write", `{"path":"more","content":"x"}`).Error)

	b.bounds.Session = 1
	require.Contains(t, b.tool(t, "edit", `{"path":"more","oldText":"x","newText":"yy"}`).Text, "limits.")
}

// A model calls tools that do not exist, by any name. Names that it makes up do not become labels of the counter.
func TestToolsThatDoNotExistAreCountedTogether(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, name := range []string{"made_up", "the_secret_plan"} {
		require.True(t, b.tool(t, name, `{}`).Error)
	}
	require.NoError(t, testutil.GatherAndCompare(b.registry, strings.NewReader(`# HELP sluice_tool_calls_total Tool calls by tool and result.
# TYPE sluice_tool_calls_total counter
sluice_tool_calls_total{result="error",tool="unknown"} 2
`), "sluice_tool_calls_total"))
}

// metric is the sum of a metric's values.
func (b *bundle) metric(t *testing.T, name string) (sum float64) {
	t.Helper()
	families, err := b.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
