package offline_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/model/offline"
	"sluice/sessions"
)

func text(role sessions.Role, words string) sessions.Message {
	return sessions.Message{ID: "msg_1", Role: role, Parts: []sessions.Part{{Type: sessions.PartText, Text: words}}}
}

func ask(t *testing.T, name string, messages ...sessions.Message) (streamed string, c sessions.Completion) {
	t.Helper()
	m, err := offline.New(name)
	require.NoError(t, err)
	c, err = m.Complete(t.Context(), sessions.Request{Messages: messages}, func(chunk sessions.Chunk) { streamed += chunk.Text })
	require.NoError(t, err)
	return streamed, c
}

func TestEchoAnswersWhatHasNoAnswer(t *testing.T) {
	t.Parallel()
	streamed, c := ask(t, "echo", text(sessions.RoleUser, "old"), text(sessions.RoleAssistant, "x"), text(sessions.RoleUser, "one"), text(sessions.RoleUser, "two"))
	require.Equal(t, "echo: one\ntwo", streamed)
	require.Equal(t, streamed, c.Parts[0].Text)
	long := strings.Repeat("many words ", 10_000)
	streamed, c = ask(t, "echo", text(sessions.RoleUser, long))
	require.Equal(t, "echo: "+long, streamed)
	require.Equal(t, 20_001, c.Usage.OutputTokens)
}

func TestSlowWaitsAndCanBeStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ask(t, "slow-2s", text(sessions.RoleUser, "hi"))
		require.Equal(t, 2*time.Second, time.Since(begun))
		m, err := offline.New("slow-1h")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = m.Complete(ctx, sessions.Request{}, func(sessions.Chunk) {})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestGuideInAnExchange(t *testing.T) {
	t.Parallel()
	m, err := offline.New("guide")
	require.NoError(t, err)
	said := func(system string, messages ...sessions.Message) string {
		c, err := m.Complete(t.Context(), sessions.Request{System: system, Messages: messages}, func(sessions.Chunk) {})
		require.NoError(t, err)
		return c.Parts[0].Text
	}
	asked, answered := text(sessions.RoleAgent, "repeat seven"), text(sessions.RoleAssistant, "seven")
	last := text(sessions.RoleAgent, "Now write what …")
	last.ID = "msg_2"
	for _, x := range []struct {
		exchange announce.Exchange
		want     string
		messages []sessions.Message
	}{
		{announce.Exchange{Kind: announce.Send, Phase: announce.Asking}, "seven", []sessions.Message{asked}},
		{announce.Exchange{Kind: announce.Send, Phase: announce.Replying, Turn: 1}, sessions.ReplySkip, []sessions.Message{asked, answered, last}},
		{announce.Exchange{Kind: announce.Send, Phase: announce.Announcing}, "Another agent asked: “repeat seven”. I answered: “seven”.", []sessions.Message{asked, answered, last}},
	} {
		require.Equal(t, x.want, said(announce.Brief(x.exchange), x.messages...))
	}
}

func TestGuideDrivesTheTools(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"ask agent ops: how many?":              `sessions_send {"message":"how many?","sessionKey":"agent:ops:main"}`,
		"Ask session agent:a:b: what?":          `sessions_send {"message":"what?","sessionKey":"agent:a:b"}`,
		"start a background task: list all":     `sessions_spawn {"task":"list all"}`,
		"List sessions":                         `sessions_list {"messageLimit":1}`,
		"please show me the conversations.":     `sessions_list {"messageLimit":1}`,
		"show history of agent:main:direct:7":   `sessions_history {"limit":10,"sessionKey":"agent:main:direct:7"}`,
		"show history":                          `sessions_history {"limit":10,"sessionKey":"main"}`,
		"status?":                               `session_status {}`,
		"Remember that Ada likes ginger tea.":   `memory_save {"content":"Ada likes ginger tea","key":"ada-likes-ginger-tea"}`,
		"please remember: நினைவு":               `memory_save {"content":"நினைவு","key":"நினைவு"}`,
		"What do you know about tea?":           `memory_search {"query":"tea"}`,
		"what do you remember?":                 `memory_list {}`,
		"list memories":                         `memory_list {}`,
		"forget ada-likes-ginger-tea":           `memory_delete {"key":"ada-likes-ginger-tea"}`,
		"Forget that Ada likes ginger tea":      `memory_delete {"key":"ada-likes-ginger-tea"}`,
		"Tell Telegram 42: dinner\nis ready":    `message {"channel":"telegram","message":"dinner\nis ready","to":"42"}`,
		"tell telegram owner: the disk is full": `message {"channel":"telegram","message":"the disk is full","to":"owner"}`,
		"send \"see you\" to Telegram 42.":      `message {"channel":"telegram","message":"see you","to":"42"}`,
	} {
		_, c := ask(t, "guide", text(sessions.RoleUser, said))
		require.Len(t, c.Parts, 1)
		require.Equal(t, want, c.Parts[0].Tool+" "+string(c.Parts[0].Args), said)
		require.NotEmpty(t, c.Parts[0].CallID)
	}
}

func TestGuideTellsWhatToolsGave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, result, says string }{
		{"sessions_list", `{"count":1,"sessions":[{"key":"agent:main:main","channel":"webchat","updatedAt":1000}]}`, "one session"},
		{"sessions_history", `{"messages":[{"role":"user","sender":"Ann","content":[{"type":"text","text":"hi","label":"PUBLIC/trusted"}]}]}`, "**Ann**: hi"},
		{"session_status", `{"key":"agent:main:main","running":1}`, "1 working"},
		{"message", `{"status":"blocked","reason":"the rule"}`, "withheld the message: the rule"},
		{"message", `{"status":"accepted","channel":"telegram","to":"42"}`, "on its way"},
		{"memory_save", `{"saved":true,"key":"tea"}`, "remember that (`tea`)"},
		{"memory_search", `{"results":[{"key":"tea","content":"Ada likes it"}],"query":"x"}`, "- Ada likes it (`tea`)"},
		{"memory_search", `{"results":[],"query":"x"}`, "nothing of that"},
		{"memory_list", `{"memories":[{"key":"tea","content":"Ada likes it"}]}`, "- Ada likes it (`tea`)"},
		{"memory_delete", `{"deleted":true,"key":"tea"}`, "forgotten `tea`"},
	} {
		result := sessions.Message{Role: sessions.RoleToolResult, Parts: []sessions.Part{{Type: sessions.PartToolResult, Tool: c.tool, Text: c.result}}}
		streamed, _ := ask(t, "guide", text(sessions.RoleUser, "x"), result)
		require.Contains(t, streamed, c.says)
	}
	failed := sessions.Message{Role: sessions.RoleToolResult, Parts: []sessions.Part{{Type: sessions.PartToolResult, Tool: "message", Text: "to: name a", Error: true}}}
	streamed, _ := ask(t, "guide", failed)
	require.Contains(t, streamed, "did not work: to: name a")
}

func TestGuideHelpsAndRepeats(t *testing.T) {
	t.Parallel()
	streamed, _ := ask(t, "guide", text(sessions.RoleUser, "what is the meaning of life?"))
	require.Contains(t, streamed, "not an AI")
	streamed, _ = ask(t, "guide", text(sessions.RoleUser, "repeat after me"))
	require.Equal(t, "after me", streamed)
}

// Messages that wait together are one prompt: each gets its answer.
func TestGuideAnswersEachOfSeveral(t *testing.T) {
	t.Parallel()
	messages := []sessions.Message{text(sessions.RoleUser, "repeat one"), text(sessions.RoleUser, "what?"), text(sessions.RoleUser, "why?"), text(sessions.RoleUser, "repeat two")}
	streamed, _ := ask(t, "guide", messages...)
	require.Equal(t, 1, strings.Count(streamed, "not an AI"))
	require.True(t, strings.HasPrefix(streamed, "one\n\n") && strings.HasSuffix(streamed, "\n\ntwo"), streamed)

	messages = append(messages[:1], text(sessions.RoleUser, "status"), text(sessions.RoleUser, "list sessions"))
	messages[2].ID = "msg_2"
	_, c := ask(t, "guide", messages...)
	require.Len(t, c.Parts, 2, "the tools first")
	require.NotEqual(t, c.Parts[0].CallID, c.Parts[1].CallID)
	result := sessions.Message{Role: sessions.RoleToolResult, Parts: []sessions.Part{{Type: sessions.PartToolResult, Tool: "session_status", Text: `{"running":1}`}}}
	streamed, _ = ask(t, "guide", append(messages, sessions.Message{Role: sessions.RoleAssistant, Parts: c.Parts}, result)...)
	require.True(t, strings.HasPrefix(streamed, "one\n\n") && strings.Contains(streamed, "1 working"), streamed)
}

// In a group a message names its speaker and comes with what was said before.
func TestGuideUnderstandsAGroup(t *testing.T) {
	t.Parallel()
	asked := text(sessions.RoleUser, "[Messages here since your last reply that were not addressed to you]\nBob: lunch?")
	asked.Sender = sessions.Peer{ID: "5", Name: "Ada"}
	asked.Parts = append(asked.Parts, sessions.Part{Type: sessions.PartText, Text: "Ada: repeat hello"})
	streamed, _ := ask(t, "guide", asked)
	require.Equal(t, "hello", streamed)
}
