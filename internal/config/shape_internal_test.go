package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheIdsOfEveryPlatformAreKnown(t *testing.T) {
	t.Parallel()
	for _, p := range new(Channels).Platforms() {
		require.NotNil(t, idShapes[p.Name].user, "add %s to idShapes", p.Name)
		require.NotNil(t, idShapes[p.Name].group, "add %s to idShapes", p.Name)
		require.NotNil(t, idShapes[p.Name].recipient, "add %s to idShapes", p.Name)
	}
	require.True(t, idShape{}.isUser("anybody"))
	require.True(t, idShape{}.isGroup("anywhere"))
	require.True(t, idShape{}.isRecipient("anybody"))
}
