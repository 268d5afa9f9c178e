package trigger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhereTheOwnerIsTold(t *testing.T) {
	t.Parallel()
	for want, owners := range map[string][]string{
		"": nil, "webchat": {"webchat:local"}, "telegram": {"webchat:local", "telegram:1", "slack:U1"}, "slack": {"slack:U1", "webchat:local", "telegram:1"},
	} {
		got, ok := ownersChannel(owners)
		require.Equal(t, want, got)
		require.Equal(t, want != "", ok)
	}
}
