package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
	"sluice/policy/flow"
	"sluice/router/ledger"
)

// receiver is a server that is notified of the ends of tasks.
type receiver struct {
	*httptest.Server
	statuses chan int // of the next responses; without any: 200
	heard    chan notified
}

// notified is a notification.
type notified struct {
	http.Header
	body string
	a2a.Task
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{statuses: make(chan int, 10), heard: make(chan notified, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, err := io.ReadAll(req.Body)
		n := notified{Header: req.Header, body: string(text)}
		if err != nil || json.Unmarshal(text, &n.Task) != nil {
			n.body = "it can't be read"
		}
		select {
		case status := <-r.statuses:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		default:
		}
		r.heard <- n
	}))
	t.Cleanup(r.Close)
	return r
}

const pushing = "a2a: { push: { hosts: [127.0.0.1], private: true } }\n"

func notifying(g *gateway, task a2a.TaskID, c a2a.PushConfig) error {
	_, err := g.peerOf("main", g.Token()).SetTaskPushConfig(g.t.Context(), &a2a.TaskPushConfig{TaskID: task, Config: c})
	return err
}

// Clients are notified of the end of a task, once, however often it has to be tried; what they registered is shown without secrets.
func TestTheEndOfATaskIsNotified(t *testing.T) {
	t.Parallel()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	r := newReceiver(t)
	g := start(t, pushing+`models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "`+models.OpenAIURL()+`" } } }
agents: { list: [{ id: main, default: true, publish: { a2a: true } }] }
`)
	c := g.peerOf("main", g.Token())
	models.Enqueue(modeltest.Say("Hello!"))
	r.statuses <- http.StatusServiceUnavailable
	message := saying("hello")
	message.Config = &a2a.MessageSendConfig{PushConfig: &a2a.PushConfig{
		URL: r.URL + "/hook?of=me", Token: "the-token", Auth: &a2a.PushAuthInfo{Schemes: []string{"digest", "bearer"}, Credentials: "the-credentials"},
	}}
	result, err := c.SendMessage(t.Context(), message)
	require.NoError(t, err)
	text, task := replyOf(t, result)
	require.Equal(t, "Hello!", text)
	again, err := c.SendMessage(t.Context(), message)
	require.NoError(t, err)
	_, repeated := replyOf(t, again)
	require.Equal(t, task.ID, repeated.ID)

	first, second := <-r.heard, <-r.heard
	require.Equal(t, "the-token", first.Get("X-A2A-Notification-Token"))
	require.Equal(t, "Bearer the-credentials", first.Get("Authorization"))
	require.Equal(t, "application/json", first.Get("Content-Type"))
	require.Len(t, first.Get("Idempotency-Key"), 32)
	require.Equal(t, first.Get("Idempotency-Key"), second.Get("Idempotency-Key"))
	require.Equal(t, first.body, second.body)
	require.Equal(t, task.ID, first.ID)
	got, _ := replyOf(t, &second.Task)
	require.Equal(t, "Hello!", got)

	all, err := c.ListTaskPushConfig(t.Context(), &a2a.ListTaskPushConfigParams{TaskID: task.ID})
	require.NoError(t, err)
	require.Equal(t, []*a2a.TaskPushConfig{{TaskID: task.ID, Config: a2a.PushConfig{ID: "default", URL: r.URL + "/hook?of=me", Auth: &a2a.PushAuthInfo{Schemes: []string{"Bearer"}}}}}, all)
	one, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigParams{TaskID: task.ID, ConfigID: "default"})
	require.NoError(t, err)
	require.Equal(t, all[0], one)
	require.NoError(t, c.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigParams{TaskID: task.ID, ConfigID: "default"}))
	all, err = c.ListTaskPushConfig(t.Context(), &a2a.ListTaskPushConfigParams{TaskID: task.ID})
	require.NoError(t, err)
	require.Empty(t, all)
	require.Empty(t, r.heard)

	// A receiver that refuses is not asked again; another one of the same name is, at once.
	r.statuses <- http.StatusFound
	require.NoError(t, notifying(g, task.ID, a2a.PushConfig{URL: r.URL}))
	<-r.heard
	g.untilPush(task.ID, ledger.TriggerUndelivered)
	require.NoError(t, notifying(g, task.ID, a2a.PushConfig{URL: r.URL + "/other"}))
	require.Equal(t, task.ID, (<-r.heard).ID)
	g.untilPush(task.ID, ledger.TriggerOK)
	require.Empty(t, r.heard)
}

// untilPush waits until the notification of a task has come to an end.
func (g *gateway) untilPush(task a2a.TaskID, status ledger.TriggerStatus) ledger.Trigger {
	g.t.Helper()
	for {
		ended, err := g.Store().EndedTriggers(g.t.Context(), ledger.EndedTriggers{Source: ledger.TriggerPush, Subject: string(task), Limit: 1})
		require.NoError(g.t, err)
		if len(ended) > 0 && ended[0].Status == status {
			return ended[0]
		}
		<-g.committed
	}
}

// A notification outlives the gateway. It has the rights of the token that registered it: without that token, nothing is sent.
func TestANotificationOutlivesTheGateway(t *testing.T) {
	t.Parallel()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	r := newReceiver(t)
	rest := pushing + `models: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: "` + models.OpenAIURL() + `" } } }
agents: { list: [{ id: main, default: true, publish: { a2a: true } }] }
`
	g := start(t, rest)
	state := g.state
	with := "gateway: { listen: 127.0.0.1:0, token: test-token, tokens: [{ name: other, token: a-token-of-another, role: operator, classification: INTERNAL }] }\nstate: " + state + "\n" + rest
	without := "gateway: { listen: 127.0.0.1:0, token: test-token }\nstate: " + state + "\n" + rest
	restart := func(text string) {
		g.end()
		g.cfg = loadText(t, text)
		g.begin()
	}
	restart(with)
	begin := func(token string) a2a.TaskID {
		models.Enqueue(modeltest.Broken("Wait", modeltest.Stall, 1))
		message := saying("hello")
		no := false
		message.Config = &a2a.MessageSendConfig{Blocking: &no, PushConfig: &a2a.PushConfig{ID: "mine", URL: r.URL}}
		result, err := g.peerOf("main", token).SendMessage(t.Context(), message)
		require.NoError(t, err)
		return result.(*a2a.Task).ID
	}
	task, gone := begin(g.Token()), begin("a-token-of-another")
	require.Empty(t, r.heard)
	models.Enqueue(modeltest.Say("Done."), modeltest.Say("Done."))
	restart(without)
	n := <-r.heard
	require.Equal(t, task, n.ID)
	text, _ := replyOf(t, &n.Task)
	require.Equal(t, "Done.", text)
	g.untilPush(task, ledger.TriggerOK)
	require.Contains(t, g.untilPush(gone, ledger.TriggerWithdrawn).Why, "the token that has registered it")
	require.Empty(t, r.heard)
}

// What is above the address, or above who has registered it, is not in a notification.
func TestANotificationHasItsLevel(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	g := withLevels(t, flow.Public, "a2a: { push: { hosts: [127.0.0.1], private: true, classification: INTERNAL } }\n")
	set := func(level flow.Level, run, id string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"` + run + `","pushNotificationConfig":{"id":"` + id + `","url":"` + r.URL + `"}}}`
		return g.ask(level, http.MethodPost, "/a2a/main", body, "Content-Type", "application/json").Body
	}
	low, high := g.plant(g.plantSession(flow.Internal), flow.Internal), g.plant(g.plantSession(flow.Confidential), flow.Confidential)
	require.Contains(t, set(flow.Restricted, string(low.run.ID), "a"), `"result"`)
	n := <-r.heard
	require.Contains(t, n.body, marker)
	require.Contains(t, set(flow.Restricted, string(high.run.ID), "a"), `"result"`)
	n = <-r.heard
	require.Equal(t, a2a.TaskID(high.run.ID), n.ID)
	require.Equal(t, a2a.TaskStateCompleted, n.Status.State)
	require.Equal(t, "level", n.Metadata["withheld"])
	require.NotContains(t, n.body, marker)
	require.Equal(t, set(flow.Public, "run_00000000000000000000000000000001", "a"), set(flow.Public, string(high.run.ID), "a"), "it does not exist for a lower caller")
	require.Empty(t, r.heard)
}

// Only what the configuration allows is registered.
func TestAddressesOfNotifications(t *testing.T) {
	t.Parallel()
	g := withLevels(t, flow.Public, "a2a: { push: { hosts: [hooks.example.com, '*.example.org'] } }\n")
	o := g.plant(g.plantSession(flow.Public), flow.Public)
	set := func(id, address string) error {
		return notifying(g, a2a.TaskID(o.run.ID), a2a.PushConfig{ID: id, URL: address})
	}
	for address, why := range map[string]string{
		"http://hooks.example.com/":        "does not begin with https",
		"https://example.com/":             "a2a.push.hosts",
		"https://hooks.example.com.evil/":  "a2a.push.hosts",
		"https://127.0.0.1/":               "a2a.push.hosts",
		"https://me:you@hooks.example.com": "user name or password",
		"hooks.example.com":                "is not an address",
		"https:hooks.example.com":          "is not an address",
		"file:///etc/passwd":               "is not an address",
		"":                                 "is not an address",
	} {
		require.ErrorContains(t, set("x", address), why, address)
	}
	require.ErrorContains(t, notifying(g, a2a.TaskID(o.run.ID), a2a.PushConfig{URL: "https://hooks.example.com", Token: "a\r\nb"}), "token: want one line")
	require.ErrorContains(t, notifying(g, a2a.TaskID(o.run.ID), a2a.PushConfig{URL: "https://hooks.example.com", Auth: &a2a.PushAuthInfo{Schemes: []string{"Digest"}, Credentials: "x"}}), "want Bearer or Basic")
	for _, id := range []string{"a", "b", "c", "d"} {
		require.NoError(t, set(id, "https://"+id+".example.org/"))
	}
	require.ErrorContains(t, set("e", "https://e.example.org/"), "has 4 push notifications")
	require.NoError(t, set("d", "https://d.example.org/"))

	off := withLevels(t, flow.Public)
	require.ErrorIs(t, notifying(off, "run_00000000000000000000000000000001", a2a.PushConfig{URL: "https://hooks.example.com"}), a2a.ErrPushNotificationNotSupported)
}
