package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// Anthropic's own API is also asked to cache the conversation; other servers may not know that.
func TestConversationIsCachedByAnthropicAlone(t *testing.T) {
	t.Parallel()
	for own, want := range map[bool]string{true: `{"type":"ephemeral"}`, false: ``} {
		_, _, body := protocol{own}.Prepare("key", "m", &sessions.Request{System: "Be brief."})
		raw, err := json.Marshal(body.Object)
		require.NoError(t, err)
		var got struct {
			Cache json.RawMessage `json:"cache_control"`
		}
		require.NoError(t, json.Unmarshal(raw, &got))
		require.Equal(t, want, string(got.Cache))
	}
}
