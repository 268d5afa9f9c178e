//go:build pictures

package app_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// TestConsolePictures makes the pictures of the documentation.
func TestConsolePictures(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, asks+withModels(models)+`
alerts: { route: { receiver: ops }, receivers: [ { name: ops, targets: ["webchat:local"] } ] }
policy: { rules: [ { name: no-accounts, hook: PRE_OUTPUT, when: 'text.contains("IBAN")', action: block }, { name: no-exec, hook: PRE_TOOL_CALL, tools: [exec], when: "!session.owner", action: block } ] }
`)
	say := func(text string) {
		read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":`+quoted(text)+`}`), http.StatusOK, nil)
	}
	models.Enqueue(modeltest.Say("Here is the plan:\n\n| step | who | until |\n|---|---|---|\n| measure | Ada | Monday |\n| compare | Bob | Tuesday |\n| decide | you | Friday |\n\n```go\nfunc due() string { return \"Friday\" }\n```"))
	say("What is the plan for this week?")
	read(t, g.call(http.MethodPost, "/v1/alerts", `{"key":"disk","severity":"warning","title":"Disk of db1 is filling","text":"12 % left"}`), http.StatusAccepted, nil)
	models.Enqueue(modeltest.Call("memory_save", `{"key":"plan","content":"The figures are due on Friday."}`), modeltest.Say("It is kept."))
	b := g.page()
	b.says("Remember that the figures are due on Friday")
	b.until(`document.getElementById("approvals")?.hidden === false`)
	b.until(`document.querySelector(".assistant .table")`)
	b.picture("conversation")
	b.phone(390, 760)
	b.dark(true)
	b.picture("conversation-phone")
	b.open(g.url("/overview"))
	b.until(`document.querySelector(".needs")`)
	b.do(chromedp.EmulateViewport(1200, 760))
	b.until(`document.querySelector(".chart canvas")`)
	b.picture("overview-dark")
	b.dark(false)
	b.open(g.url("/inbox"))
	b.until(`document.querySelector(".row")`)
	eval[bool](b, `document.querySelector(".row .open-row").click(), true`)
	b.until(`document.querySelector(".peek [data-part=allow]")`)
	b.picture("inbox")
	require.True(t, b.inSight(".peek [data-part=allow]"))
	b.open(g.url("/policy"))
	b.until(`document.querySelector(".matrix, table") && !document.querySelector(".loading")`)
	b.picture("policy")
}

// TestConsolePictureOfTheConfiguration makes a picture of a view that only those see who may see everything.
func TestConsolePictureOfTheConfiguration(t *testing.T) {
	t.Parallel()
	g, path := fromFile(t, `models: { default: offline/guide }
channels:
  webchat: { classification: RESTRICTED }
agents: { defaults: { permission: ask } }
limits: { historyKeep: 20 }
policy:
  rules:
    - { name: no-exec, hook: PRE_TOOL_CALL, tools: [exec], when: "!session.owner", action: block }
`, nil)
	b := g.console("/config?show=changed")
	b.until(`document.querySelector('[data-path="limits.historyKeep"]')`)
	eval[bool](b, `document.querySelector('[data-path="limits.historyKeep"]').click(), true`)
	b.until(`document.querySelector("#value")`)
	eval[bool](b, `(() => { // the file of a test has another folder each time
		const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let n; (n = all.nextNode()); ) n.data = n.data.replaceAll(`+quoted(filepath.Dir(path))+`, "/etc/sluice").replaceAll(`+quoted(g.state)+`, "/var/lib/sluice");
		return true;
	})()`)
	b.picture("config")
}
