package app_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/model/modeltest"
	"sluice/internal/sandbox/sandboxtest"
)

// The owner is asked with buttons whether a command may run; the gateway is started over
// while it waits; the press lets the command run, in the sandbox, and its output reaches the answer.
func TestOwnerApprovesACommandOverARestart(t *testing.T) {
	t.Parallel()
	sandboxtest.Need(t)
	bots, models := platforms(t)
	g := start(t, `owners: ["telegram:1001"]
`+withModels(models)+`agents: { list: [{ id: main, permission: ask, sandbox: { mode: required } }] }
channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	workspace := filepath.Join(g.state, "workspaces", "main")
	require.NoError(t, os.MkdirAll(workspace, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "AGENTS.md"), []byte("Never shout."), 0o600))
	owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
	models.Enqueue(modeltest.Call("exec", `{"command":"echo made | tee made; pwd"}`), modeltest.Say("It is made."))
	bots.Say(chat, owner, "make it")
	sent, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	require.Contains(t, sent[0].Plain, "May I use exec?")
	require.Contains(t, sent[0].Plain, "echo made | tee made")
	g.end()
	g.begin()
	require.Len(t, models.Requests(), 1, "waiting uses no model")
	require.Contains(t, models.Requests()[0].System, "Never shout.")
	require.True(t, bots.Press(chat, sent[0].ID, owner, "Allow"))
	sent, err = bots.WaitSent(t.Context(), 1001, 3)
	require.NoError(t, err)
	texts := []string{sent[1].Plain, sent[2].Plain}
	require.ElementsMatch(t, []string{"Allowed: I will run exec.", "It is made."}, texts)
	_, err = bots.WaitCalls(t.Context(), "editMessageText", 1)
	require.NoError(t, err)
	question := bots.Sent(1001)[0]
	require.Empty(t, question.Buttons, "the question is decided")
	require.True(t, strings.HasSuffix(question.Plain, "Allowed."), question.Plain)
	requests := models.Requests()
	require.Len(t, requests, 2)
	messages := requests[1].Messages
	require.Contains(t, messages[len(messages)-1].Text, `"stdout":"made\n/workspace\n"`)
	got := g.call(http.MethodGet, "/v1/sessions/main/files/made", "")
	content, err := io.ReadAll(got.Body)
	require.NoError(t, err)
	require.Equal(t, "made\n", string(content))
	var list struct{ Approvals []struct{ Status, By string } }
	read(t, g.call(http.MethodGet, "/v1/approvals?status=all", ""), http.StatusOK, &list)
	require.Len(t, list.Approvals, 1)
	require.Equal(t, "used", list.Approvals[0].Status)
	require.Equal(t, "telegram:1001", list.Approvals[0].By)
	require.Empty(t, bots.Violations())
	require.Empty(t, models.Violations())
}
