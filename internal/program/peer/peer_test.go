package peer_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/agentkit"
	"sluice/internal/program"
	"sluice/internal/program/peer"
	"sluice/internal/program/programtest"
	"sluice/policy/flow"
	"sluice/sessions"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The SDK's server, which only the tests have, ends its executions a little later than its connections.
		goleak.IgnoreAnyFunction("github.com/a2aproject/a2a-go/internal/taskexec.(*LocalManager).handleExecution"),
		goleak.IgnoreAnyFunction("github.com/a2aproject/a2a-go/internal/taskexec.(*LocalManager).handleExecution.func2"),
		goleak.IgnoreAnyFunction("github.com/a2aproject/a2a-go/internal/taskexec.(*promise).wait"),
		goleak.IgnoreAnyFunction("github.com/a2aproject/a2a-go/a2asrv/eventqueue.newInMemoryEventBroker.func1"),
	)
}

const secret = "Bearer of-the-remote-agent"

// remote is an agent behind the SDK's own server. It does what the message says.
type remote struct {
	*httptest.Server
	card      *a2a.AgentCard
	cancelled chan a2a.TaskID
	messages  chan *a2a.Message
	goOn      chan struct{} // lets a reply go on after its first part
}

func startRemote(t *testing.T, streaming bool) *remote {
	t.Helper()
	r := &remote{cancelled: make(chan a2a.TaskID, 10), messages: make(chan *a2a.Message, 100), goOn: make(chan struct{})}
	mux := http.NewServeMux()
	rpc := a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(r))
	mux.HandleFunc("/rpc", func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		rpc.ServeHTTP(w, req)
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	r.card = &a2a.AgentCard{
		Name: "Remote", URL: r.URL + "/rpc", PreferredTransport: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0",
		Capabilities: a2a.AgentCapabilities{Streaming: streaming},
	}
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(r.card) })
	mux.HandleFunc("/elsewhere/", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/.well-known/agent-card.json", http.StatusFound)
	})
	return r
}

// Execute implements [a2asrv.AgentExecutor].
func (r *remote) Execute(ctx context.Context, c *a2asrv.RequestContext, q eventqueue.Queue) error {
	r.messages <- c.Message
	text := c.Message.Parts[0].(a2a.TextPart).Text
	order, rest, _ := strings.Cut(text, " ")
	say := func(text string) *a2a.Message {
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, c, a2a.TextPart{Text: text})
	}
	status := func(state a2a.TaskState, m *a2a.Message) error {
		e := a2a.NewStatusUpdateEvent(c, state, m)
		e.Final = state.Terminal() || state == a2a.TaskStateInputRequired
		return q.Write(ctx, e)
	}
	if order == "say" {
		return q.Write(ctx, say(rest))
	}
	if err := status(a2a.TaskStateSubmitted, nil); err != nil {
		return err
	}
	switch order {
	case "fail":
		return status(a2a.TaskStateFailed, say(rest))
	case "ask":
		return status(a2a.TaskStateInputRequired, say(rest))
	case "finish":
		return status(a2a.TaskStateCompleted, say(rest))
	case "hang":
		if err := status(a2a.TaskStateWorking, say("thinking about it")); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	case "stream":
		var artifact a2a.ArtifactID
		for _, word := range strings.SplitAfter(rest, " ") {
			e := a2a.NewArtifactEvent(c, a2a.TextPart{Text: word})
			if artifact != "" {
				e = a2a.NewArtifactUpdateEvent(c, artifact, a2a.TextPart{Text: word})
			}
			artifact = e.Artifact.ID
			if err := q.Write(ctx, e); err != nil {
				return err
			}
		}
		return status(a2a.TaskStateCompleted, nil)
	case "change", "halves":
		first := a2a.NewArtifactEvent(c, a2a.TextPart{Text: rest})
		if err := q.Write(ctx, first); err != nil {
			return err
		}
		<-r.goOn
		if order == "change" {
			if err := q.Write(ctx, a2a.NewArtifactEvent(c, a2a.TextPart{Text: rest})); err != nil {
				return err
			}
		}
		second := a2a.NewArtifactUpdateEvent(c, first.Artifact.ID, a2a.TextPart{Text: strings.ToUpper(rest)})
		second.Append = order == "halves"
		if err := q.Write(ctx, second); err != nil {
			return err
		}
		return status(a2a.TaskStateCompleted, nil)
	case "long":
		var artifact a2a.ArtifactID
		for range 40 {
			e := a2a.NewArtifactEvent(c, a2a.TextPart{Text: strings.Repeat("b", 40_000)})
			if artifact != "" {
				e = a2a.NewArtifactUpdateEvent(c, artifact, e.Artifact.Parts...)
			}
			artifact = e.Artifact.ID
			if err := q.Write(ctx, e); err != nil {
				return err
			}
		}
		return status(a2a.TaskStateCompleted, nil)
	}
	return errors.New("unknown order")
}

// Cancel implements [a2asrv.AgentExecutor].
func (r *remote) Cancel(ctx context.Context, c *a2asrv.RequestContext, q eventqueue.Queue) error {
	r.cancelled <- c.TaskID
	e := a2a.NewStatusUpdateEvent(c, a2a.TaskStateCanceled, nil)
	e.Final = true
	return q.Write(ctx, e)
}

func TestRemoteAgents(t *testing.T) {
	t.Parallel()
	peers := peer.New(time.Now)
	t.Cleanup(peers.Close)
	programtest.RunTalking(t, func(t *testing.T) programtest.Way {
		t.Helper()
		return programtest.Way{Carrier: peers.For(startRemote(t, true).URL, secret), Kind: "a2a", Agent: "legal"}
	})
}

// asked asks a remote agent for a turn.
func asked(t *testing.T, url, auth string, messages ...sessions.Message) (string, error) {
	t.Helper()
	return followed(t, url, auth, func(sessions.Chunk) {}, messages...)
}

// followed asks a remote agent for a turn, and follows it.
func followed(t *testing.T, url, auth string, on func(sessions.Chunk), messages ...sessions.Message) (string, error) {
	t.Helper()
	peers := peer.New(time.Now)
	defer peers.Close()
	p := &program.Program{Config: program.Config{Agent: "legal", Kind: "a2a", Classification: flow.Public, Carrier: peers.For(url, auth), Now: time.Now}}
	m, end := p.Work(&sessions.Run{ID: "run_1", Session: "sess_1"}, flow.Bottom, "")
	defer end()
	c, err := m.Complete(t.Context(), sessions.Request{Messages: messages}, on)
	if err != nil {
		return "", err
	}
	return c.Parts[0].Text, nil
}

func user(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}}
}

// The remote agent gets what was said since its last reply, in the session's context; the message's id is the same each time.
func TestAMessageIsKnownAgain(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{true, false} {
		r := startRemote(t, streaming)
		said := sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("hi", flow.Bottom())}}
		for range 2 {
			text, err := asked(t, r.URL, secret, user("hello"), said, user("say yes"), user("please"))
			require.NoError(t, err)
			require.Equal(t, "yes\n\nplease", text)
			m := <-r.messages
			require.Equal(t, "sess_1", m.ContextID)
			require.Equal(t, "run_1-1", m.ID)
		}
		for order, want := range map[string]string{"ask which one?": "which one?", "finish it is done": "it is done", "stream a b": "a b"} {
			text, err := asked(t, r.URL, secret, user(order))
			require.NoError(t, err)
			require.Equal(t, want, text)
		}
	}
}

// A stream that breaks loses and repeats nothing, however long the reply is. (The SDK's client takes events of up to 64 KiB.)
func TestAStreamBreaks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{100, 20_000} {
		r := startRemote(t, true)
		half := strings.Repeat("ab ", n)
		var shown strings.Builder
		var once sync.Once
		text, err := followed(t, r.URL, secret, func(c sessions.Chunk) {
			shown.WriteString(c.Text)
			if shown.Len() == len(half) {
				once.Do(func() {
					r.CloseClientConnections()
					close(r.goOn)
				})
			}
		}, user("halves "+half))
		require.NoError(t, err)
		require.Equal(t, half+strings.ToUpper(half), text)
		require.Equal(t, text, shown.String())
	}
}

// A remote agent may replace what it said. A long reply can't be replaced: it ends with an error that says so.
func TestAReplyIsReplaced(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{true, false} {
		r := startRemote(t, streaming)
		close(r.goOn)
		text, err := asked(t, r.URL, secret, user("change draft"))
		require.NoError(t, err)
		require.Equal(t, "DRAFT\n\ndraft", text)
		text, err = asked(t, r.URL, secret, user("change "+strings.Repeat("a", 50_000)))
		if streaming {
			require.ErrorContains(t, err, "it changed a reply of 100002 bytes after a part was shown")
			continue
		}
		require.NoError(t, err)
		require.Len(t, text, 100_002)
	}
}

// Who goes away cancels the task.
func TestATaskIsCancelled(t *testing.T) {
	t.Parallel()
	r := startRemote(t, true)
	peers := peer.New(time.Now)
	defer peers.Close()
	line, err := peers.For(r.URL, secret).Begin(t.Context(), program.Run{ID: "run_1", Session: "sess_1"})
	require.NoError(t, err)
	require.NoError(t, line.Send(t.Context(), []byte(`{"id":"one","data":{"messages":[{"role":"user","text":"hang on"}]}}`), ""))
	frame, err := line.Next(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"turn":"one","type":"`+agentkit.FrameThinking+`","text":"thinking about it"}`, string(frame))
	line.Close("one")
	require.NotEmpty(t, <-r.cancelled)
}

// Nothing is sent to a host that the configuration does not name, and refusals are clear.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := startRemote(t, true)
	_, err := asked(t, r.URL, "Bearer wrong", user("say hi"))
	require.ErrorContains(t, err, "it answers 401 Unauthorized")
	me, ok := errors.AsType[*sessions.ModelError](err)
	require.True(t, ok)
	require.Equal(t, sessions.ModelRefused, me.Kind)
	_, err = asked(t, r.URL+"/elsewhere/card.json", secret, user("say hi"))
	require.ErrorContains(t, err, "it redirects: set url to where it redirects")
	_, err = asked(t, r.URL+"/nothing/card.json", secret, user("say hi"))
	require.ErrorContains(t, err, "it answers 404 Not Found")
	require.ErrorIs(t, err, program.ErrAbsent)
	text, err := asked(t, r.URL+"/.well-known/agent-card.json", secret, user("say hi"))
	require.NoError(t, err)
	require.Equal(t, "hi", text)
	r.card.URL = "https://elsewhere.example/rpc"
	_, err = asked(t, r.URL, secret, user("say hi"))
	require.ErrorContains(t, err, "the agent card names another host (\"https://elsewhere.example/rpc\"): set url to that host")
	r.card.URL, r.card.PreferredTransport = r.URL+"/rpc", a2a.TransportProtocolGRPC
	_, err = asked(t, r.URL, secret, user("say hi"))
	require.ErrorContains(t, err, "offers no JSON-RPC interface")
	r.Close()
	_, err = asked(t, r.URL, secret, user("say hi"))
	require.ErrorIs(t, err, program.ErrAbsent)
}
