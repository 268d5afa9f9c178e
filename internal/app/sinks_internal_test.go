package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// A target's level bounds what is said in its conversation, and raises nothing.
func TestTargetsHaveALevel(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
channels:
  telegram:
    classification: CONFIDENTIAL
    groups: { "-3": { classification: PUBLIC } }
    recipients: { "-4": { classification: INTERNAL } }
    accounts: { default: { token: "1:a" } }
targets:
  ops: { channel: telegram, to: "-1", classification: INTERNAL }
  people: { channel: telegram, to: "-1", thread: "7", classification: PUBLIC }
  person: { channel: telegram, to: "42", classification: PUBLIC }
  free: { channel: telegram, to: "-2" }
  group: { channel: telegram, to: "-3", classification: CONFIDENTIAL }
  lower: { channel: telegram, to: "-4", classification: RESTRICTED }
`), 0o600))
	c, err := config.System().Load(path)
	require.NoError(t, err)
	gate := policy.NewGate(sinks(c), nil, nil)
	for id, want := range map[sessions.ConversationID]flow.Level{"-1": flow.Public, "-2": flow.Confidential, "-3": flow.Public, "-4": flow.Internal, "42": flow.Public} {
		require.Equal(t, want, gate.SinkLevel(sessions.Route{Channel: "telegram", Conversation: id}), id)
	}
}
