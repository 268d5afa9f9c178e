package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/httpapi"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

func TestMessageWithButtonsAndFiles(t *testing.T) {
	t.Parallel()
	g := newGateway()
	w := call(serve(t, g), "POST", "/v1/messages", `{"channel":"telegram","to":"#ops","text":"deploy?",
		"buttons":[{"label":"Yes","value":"/deploy"}],"files":[{"name":"a.txt","mime":"text/plain","data":"aGk="}]}`)
	require.Equal(t, 202, w.Code, w.Body)
	require.Len(t, g.messages, 1)
	p := g.messages[0]
	require.Equal(t, "#ops", p.To)
	require.Equal(t, []adapters.Button{{Label: "Yes", Value: "/deploy"}}, p.Buttons)
	require.Equal(t, []outbound.NewFile{{Name: "a.txt", MIME: "text/plain", Content: []byte("hi")}}, p.Files)
	require.Contains(t, w.Body.String(), `"buttons":[{"label":"Yes","value":"/deploy","press":"dlv_1/0"}]`)

	w = call(serve(t, g), "POST", "/v1/messages", `{"channel":"telegram","to":"5","files":[{"name":"a.txt","data":"aGk="}]}`)
	require.Equal(t, 202, w.Code, "a file needs no text")
	for body, want := range map[string]string{
		`{"channel":"c","to":"5","files":[{"name":"a","data":"?"}]}`:                                              "base64",
		`{"channel":"c","to":"5","files":[{"data":"aGk="}]}`:                                                      "name",
		`{"channel":"c","to":"5","text":"x","buttons":[{"label":"` + strings.Repeat("x", 41) + `","value":"x"}]}`: "buttons[0].label",
		`{"channel":"c","to":"5","text":"x","buttons":[{"label":"x"}]}`:                                           "value",
	} {
		w := call(serve(t, g), "POST", "/v1/messages", body)
		require.GreaterOrEqual(t, w.Code, 400, body)
		require.Contains(t, w.Body.String(), want)
	}
	require.Len(t, g.messages, 2)
}

func TestASevereMessageHasASign(t *testing.T) {
	t.Parallel()
	g := newGateway()
	h := serve(t, g)
	for severity, want := range map[string]string{"critical": "🚨 disk", "error": "❗ disk", "warning": "disk", "info": "disk"} {
		w := call(h, "POST", "/v1/messages", `{"channel":"telegram","to":"5","text":"disk","severity":"`+severity+`"}`)
		require.Equal(t, 202, w.Code, w.Body)
		require.Equal(t, want, g.messages[len(g.messages)-1].Text)
	}
	w := call(h, "POST", "/v1/messages", `{"channel":"telegram","to":"5","text":" ","severity":"critical"}`)
	require.Equal(t, 202, w.Code, w.Body)
	require.Equal(t, " ", g.messages[4].Text, "whether there is something to send is the sender's to decide")
	require.Equal(t, 422, call(h, "POST", "/v1/messages", `{"channel":"telegram","to":"5","text":"x","severity":"fatal"}`).Code)
}

// Only a request that may bring files may be as large as they are.
func TestSizeOfUploads(t *testing.T) {
	t.Parallel()
	h := newServer(t, newGateway(), func(c *httpapi.Config) { c.MaxUpload = 5000 }).Handler()
	large := strings.Repeat("a", 3000)
	require.Equal(t, 202, call(h, "POST", "/v1/messages", `{"channel":"c","to":"5","text":"`+large+`"}`).Code)
	require.Equal(t, 413, call(h, "POST", "/v1/messages", `{"channel":"c","to":"5","text":"`+large+large+`"}`).Code)
	require.Equal(t, 413, call(h, "POST", "/v1/sessions", `{"title":"`+large+`"}`).Code)
}

// A file is given as what does no harm on the gateway's own page.
func TestMedia(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.files = map[sessions.MediaID]ledger.Media{}
	for mime, want := range map[string]string{
		"text/plain; charset=utf-8": "text/plain", "image/png": "image/png", "image/svg+xml": "application/octet-stream",
		"text/html": "application/octet-stream", "": "application/octet-stream", "?": "application/octet-stream",
	} {
		g.files["med_1"] = ledger.Media{ID: "med_1", Name: `ü "x".txt`, MIME: mime, Content: []byte("\x00\xff")}
		w := call(serve(t, g), "GET", "/v1/media/med_1", "")
		require.Equal(t, 200, w.Code)
		require.Equal(t, want, w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Content-Disposition"), "attachment; ")
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "\x00\xff", w.Body.String())
	}
	require.Equal(t, 404, call(serve(t, g), "GET", "/v1/media/med_2", "").Code)
	require.Equal(t, 401, call(serve(t, g), "GET", "/v1/media/med_1", "", "Authorization: ").Code)
}

// A delivery and the history say which files there are; the platform's handle for a private answer is not shown.
func TestDeliveryWithFiles(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main"})
	g.files = map[sessions.MediaID]ledger.Media{"med_1": {ID: "med_1", Name: "a.txt", MIME: "text/plain", Size: 2}}
	g.sent = []ledger.Delivery{{
		ID: "dlv_1", Kind: ledger.KindMessage, Status: ledger.DeliverySent, Text: "here", Files: []sessions.MediaID{"med_1", "med_2"},
		Route: sessions.Route{Channel: "slack", Conversation: "C1", Handle: "https://hooks.example/secret"},
	}}
	w := call(serve(t, g), "GET", "/v1/deliveries/dlv_1", "")
	files := `"files":[{"id":"med_1","name":"a.txt","mime":"text/plain","size":2},{"id":"med_2"}]`
	require.Contains(t, w.Body.String(), files)
	require.NotContains(t, w.Body.String(), "secret")
	w = call(serve(t, g), "GET", "/v1/sessions/sess_000000000001/history", "")
	require.Contains(t, w.Body.String(), files)

	run := sessions.Run{ID: "run_1", Status: sessions.RunDone, Route: g.sent[0].Route}
	g.runs["run_1"] = run
	w = call(serve(t, g), "GET", "/v1/runs/run_1", "")
	require.True(t, json.Valid(w.Body.Bytes()))
	require.NotContains(t, w.Body.String(), "secret")
}
