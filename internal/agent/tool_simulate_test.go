package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
)

// simulated is what a reader of a level is told of a call that a session would make.
func (b *bundle) simulated(t *testing.T, of sessions.Record, reader flow.Level, tool, args string) string {
	t.Helper()
	got, err := b.Simulate(t.Context(), of, sessions.Caller{Owner: true, Reader: reader}, tool, json.RawMessage(args))
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	return string(text)
}

// A tool that brings in or tells what is above who asks is to them as one that is not there.
func TestSimulationHidesToolsAboveItsReader(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sessions.Tool){
		"its source": func(tool *sessions.Tool) { tool.Flow.Sink = flow.Public },
		"its sink":   func(tool *sessions.Tool) { tool.Flow.Source = flow.Bottom() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			far := remote("mcp_far_read", says("news"))
			end(&far)
			b.remote = []sessions.Tool{far}
			record := b.session.Record()
			absent := strings.ReplaceAll(b.simulated(t, record, flow.Public, "mcp_nil_read", `{}`), "mcp_nil_read", "mcp_far_read")
			require.Equal(t, absent, b.simulated(t, record, flow.Public, "mcp_far_read", `{}`))
			require.NotEqual(t, absent, b.simulated(t, record, flow.Internal, "mcp_far_read", `{}`))
		})
	}
}

// Who has started a sub-agent is not there for a reader below it.
func TestSimulationHidesAParentAboveItsReader(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.SubagentTools.Allow = []string{"sessions_send"} })
	parent := b.record("agent:main:telegram:group:-1", flow.NewLabel(flow.Confidential, flow.Trusted))
	child := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:1", Agent: "main", SpawnedBy: parent.ID, Taint: flow.Bottom()})
	say := func(to string, reader flow.Level) string {
		return b.simulated(t, child, reader, "sessions_send", `{"sessionKey":"`+to+`","message":"hi"}`)
	}
	none := strings.ReplaceAll(say("agent:main:telegram:group:-9", flow.Public), "-9", "-1")
	require.Equal(t, none, say(string(parent.Key), flow.Public))
	require.NotEqual(t, none, say(string(parent.Key), flow.Restricted))
}

// Why a secret is refused tells that it is there, which is for those who may see everything.
func TestSimulationHidesWhyASecretIsRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Monitor = knowing(t) })
	record := b.session.Record()
	ask := func(name string, reader flow.Level) string {
		return b.simulated(t, record, reader, "message", `{"message":"{{secret:`+name+`}}"}`)
	}
	for _, reader := range []flow.Level{flow.Public, flow.Confidential} {
		require.Equal(t, strings.ReplaceAll(ask("nil", reader), "nil", "crm"), ask("crm", reader))
	}
	require.NotEqual(t, strings.ReplaceAll(ask("nil", flow.Restricted), "nil", "crm"), ask("crm", flow.Restricted))
}
