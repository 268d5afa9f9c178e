package app_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

// TestConsolePictures makes the pictures of the documentation: make pictures.
func TestConsolePictures(t *testing.T) { //nolint:paralleltest // it sets a variable of the environment
	if os.Getenv("SLUICE_PICTURES") == "" {
		t.Skip("only for make pictures")
	}
	_, models := platforms(t)
	g := start(t, asks+withModels(models)+`
alerts: { route: { receiver: ops }, receivers: [ { name: ops, targets: ["webchat:local"] } ] }
`)
	t.Setenv("SLUICE_SCREENSHOTS", os.Getenv("SLUICE_PICTURES"))
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
}
