package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the agent is told to remember outlives the conversation, until it is told to forget it.
func TestMemoryOutlivesAConversation(t *testing.T) {
	t.Parallel()
	g := start(t, `owners: ["webchat:local"]`)
	says := func(text string) string {
		t.Helper()
		var got struct{ Reply string }
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"`+text+`"}`), http.StatusOK, &got)
		return got.Reply
	}
	require.Equal(t, "I'll remember that (`ada-likes-ginger-tea`).", says("remember that Ada likes ginger tea"))
	read(t, g.call(http.MethodPost, "/v1/sessions/main/reset", ""), http.StatusOK, nil)
	require.Contains(t, says("what do you know about tea?"), "Ada likes ginger tea")

	var list struct {
		Memories []struct{ ID, Key, Audience, Namespace string }
	}
	read(t, g.call(http.MethodGet, "/v1/memory?q=ginger", ""), http.StatusOK, &list)
	require.Len(t, list.Memories, 1)
	require.Equal(t, []string{"owner", "main"}, []string{list.Memories[0].Audience, list.Memories[0].Namespace})
	require.Equal(t, "I have forgotten `ada-likes-ginger-tea`.", says("forget ada-likes-ginger-tea"))
	require.Equal(t, "I remember nothing of that.", says("what do you know about tea?"))
	var shown struct {
		Versions []struct {
			Deleted bool
			Content string
		}
	}
	read(t, g.call(http.MethodGet, "/v1/memory/"+list.Memories[0].ID, ""), http.StatusOK, &shown)
	require.Len(t, shown.Versions, 2)
	require.True(t, shown.Versions[0].Deleted, "what was there is kept")
	require.Equal(t, "Ada likes ginger tea", shown.Versions[1].Content)
}
