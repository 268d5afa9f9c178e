package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent"
)

func TestToolNames(t *testing.T) {
	t.Parallel()
	names := agent.ToolNames()
	require.Subset(t, names, []string{"web_fetch", "exec", "memory_save", "sessions_send", "todo_add", "message"})
	require.NotContains(t, names, "")
}
