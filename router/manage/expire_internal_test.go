package manage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Each setting of a conversation outlives its unused session.
func TestConversationsWithSettingsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]sessions.Record{
		"send policy": {SendPolicy: sessions.SendDeny}, "activation": {Activation: sessions.ActivationAlways}, "queue mode": {QueueMode: sessions.QueueSteer},
		"thinking": {ThinkingLevel: sessions.ThinkingOff}, "verbose": {VerboseLevel: sessions.VerboseOn}, "label": {Label: flow.NewText("x", flow.Bottom())},
		"temperature": {Temperature: "0"}, "maximum tokens": {MaxTokens: 1},
	} {
		r.Key = "agent:main:group:g"
		require.True(t, adjusted(r), name)
		r.Key = "agent:main:http:x"
		require.False(t, adjusted(r), name)
	}
	require.False(t, adjusted(sessions.Record{Key: "agent:main:group:g"}))
}
