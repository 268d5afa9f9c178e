package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/model/modeltest"
	"sluice/store/sqlite/sqlitetest"
)

// An agent's reply has files that it made: after the text, each as its own kind and with a receipt, also where a preview was shown.
func TestAReplyHasFiles(t *testing.T) {
	t.Parallel()
	bots, llm := platforms(t)
	g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	g.cfg = loadText(t, `gateway: { listen: 127.0.0.1:0, token: test-token }
state: `+g.state+`
owners: ["telegram:1001"]
limits: { maxMediaBytes: 100000 }
`+withModels(llm)+`channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	g.begin()
	t.Cleanup(g.end)
	owner, chat := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.Private(1001)
	say := func(text string, messages int, replies ...modeltest.Reply) []telegramtest.Message {
		t.Helper()
		n := len(bots.Sent(1001))
		llm.Enqueue(replies...)
		bots.Say(chat, owner, text)
		sent, err := bots.WaitSent(t.Context(), 1001, n+messages)
		require.NoError(t, err)
		return sent[n:]
	}
	result := func() string {
		messages := llm.Requests()[len(llm.Requests())-1].Messages
		return messages[len(messages)-1].Text
	}

	sent := say("make the report", 3,
		modeltest.Call("write", `{"path":"out/sales.csv","content":"month,sales\n"}`),
		modeltest.Call("attach", `{"files":["out/sales.csv"]}`),
		modeltest.Call("write", `{"path":"out/sales.csv","content":"month,sales\njune,7\n"}`),
		modeltest.Call("write", `{"path":"logo.svg","content":"<svg/>"}`),
		modeltest.Call("attach", `{"files":["logo.svg","out/sales.csv"]}`),
		modeltest.Say("Here is the report."))
	require.Equal(t, "Here is the report.", sent[0].Text)
	require.Equal(t, "sales.csv", sent[1].File.FileName)
	require.Equal(t, "month,sales\njune,7\n", string(sent[1].Content), "as it is when the agent has finished")
	require.Equal(t, "logo.svg", sent[2].File.FileName)

	sent = say("again, without a word", 1, modeltest.Call("attach", `{"files":["logo.svg"]}`), modeltest.Say("NO_REPLY"))
	require.Equal(t, "logo.svg", sent[0].File.FileName)

	g.end()
	g.begin()
	require.Len(t, bots.Sent(1001), 4, "nothing is sent again")
	var list struct {
		Deliveries []struct {
			Kind, Status, Text string
			Receipts           []struct{}
			Files              []struct{ Name string }
		}
	}
	read(t, g.call(http.MethodGet, "/v1/deliveries?limit=2", ""), http.StatusOK, &list)
	require.Equal(t, "[{reply sent  [{}] [{logo.svg}]} {reply sent Here is the report. [{} {} {}] [{sales.csv} {logo.svg}]}]", fmt.Sprint(list.Deliveries))

	for files, says := range map[string]string{
		`["none.csv"]`: `files[0]: there is no file "none.csv" in the workspace`, `["out"]`: "it is a folder", `["logo.svg","../../sluice.db"]`: "files[1]: there is no file",
		`["med_1"]`: "want a path", `[]`: "files", `["big"]`: "it has 100001 bytes, the maximum is 100000",
	} {
		say("send it", 1, modeltest.Call("exec", `{"command":"head -c 100001 /dev/zero >big"}`), modeltest.Call("attach", `{"files":`+files+`}`), modeltest.Say("done"))
		require.Contains(t, result(), says)
	}

	// A file that is gone by then is missed, and people are told.
	sent = say("make and delete", 1,
		modeltest.Call("write", `{"path":"brief.txt","content":"x"}`), modeltest.Call("attach", `{"files":["brief.txt"]}`), modeltest.Call("exec", `{"command":"rm brief.txt"}`),
		modeltest.Say("NO_REPLY"))
	require.Equal(t, "(I could not attach brief.txt.)", sent[0].Plain)
}

// An agent can attach files to what it announces after an exchange with another agent. Within the exchange it can't, and it is told so.
func TestAnAnnouncementHasFiles(t *testing.T) {
	t.Parallel()
	bots, llm := platforms(t)
	g := start(t, `owners: ["telegram:1001"]
`+withModels(llm)+`agents: { list: [{ id: main, default: true }, { id: ops }] }
bindings: [{ match: { channel: telegram, group: "`+fmt.Sprint(opsGroup)+`" }, agent: ops }]
tools: { sessions: { visibility: all } }
channels:
  telegram:
    groups: { "`+fmt.Sprint(opsGroup)+`": { requireMention: false } }
    accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } }
`)
	owner := telegramtest.User{ID: 1001, FirstName: "Ada"}
	llm.Enqueue(modeltest.Say("Ops here."))
	bots.Say(telegramtest.Group(opsGroup, "Ops"), owner, "hello")
	_, err := bots.WaitSent(t.Context(), opsGroup, 1)
	require.NoError(t, err)
	talk := func(announcement ...modeltest.Reply) {
		llm.Enqueue(append([]modeltest.Reply{
			modeltest.Call("sessions_send", `{"sessionKey":"agent:ops:telegram:group:`+fmt.Sprint(opsGroup)+`","message":"Make the report.","timeoutSeconds":30}`),
			modeltest.Call("write", `{"path":"sales.csv","content":"june,7\n"}`), modeltest.Call("attach", `{"files":["sales.csv"]}`), modeltest.Say("Made."),
			modeltest.Say("Ops have made it."), modeltest.Say("REPLY_SKIP"),
		}, announcement...)...)
		bots.Say(telegramtest.Private(1001), owner, "have ops make the report")
	}
	talk(modeltest.Call("attach", `{"files":["sales.csv"]}`), modeltest.Say("The report is made."))
	sent, err := bots.WaitSent(t.Context(), opsGroup, 3)
	require.NoError(t, err)
	require.Equal(t, "The report is made.", sent[1].Text)
	require.Equal(t, "june,7\n", string(sent[2].Content))
	told := 0
	for _, r := range llm.Requests() {
		for _, m := range r.Messages {
			if strings.Contains(m.Text, "your reply goes to no conversation, so it can't have files") {
				told++
			}
		}
	}
	require.NotZero(t, told, "in the talk, the tool says that the answer can't have files")

	// An announcement that is silent has no files either.
	talk(modeltest.Call("attach", `{"files":["sales.csv"]}`), modeltest.Say("ANNOUNCE_SKIP"))
	_, err = bots.WaitSent(t.Context(), 1001, 2) // the answers of the two talks
	require.NoError(t, err)
	g.settled()
	var list struct{ Exchanges []struct{ Outcome string } }
	read(t, g.call(http.MethodGet, "/v1/exchanges", ""), http.StatusOK, &list)
	require.Len(t, list.Exchanges, 2)
	require.Equal(t, "silent", list.Exchanges[0].Outcome)
	require.Len(t, bots.Sent(opsGroup), 3)
}
