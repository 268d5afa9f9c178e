package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"sluice/agentkit"
	"sluice/internal/freeport"
	"sluice/sessions"
)

// keys makes the nkey of a program.
func keys(t *testing.T) (public, seed string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err = pair.PublicKey()
	require.NoError(t, err)
	text, err := pair.Seed()
	require.NoError(t, err)
	return public, string(text)
}

// instance is a running program on the bus.
type instance struct {
	end  context.CancelFunc
	done chan error
}

func serveAgent(t *testing.T, agent, listen, seed string, handle agentkit.Handler) *instance {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	i := &instance{end, make(chan error, 1)}
	ready := make(chan struct{})
	go func() {
		i.done <- agentkit.Serve(ctx, agentkit.Options{Agent: agent, URL: "nats://" + listen, Seed: seed, OnReady: func() { close(ready) }}, handle)
	}()
	t.Cleanup(i.stop)
	<-ready
	return i
}

// stop ends an instance in the middle of what it does.
func (i *instance) stop() {
	i.end()
	err := <-i.done
	i.done <- err
}

func (g *gateway) ask1(session, text string) turnReply {
	g.t.Helper()
	said, err := json.Marshal(map[string]string{"message": text})
	require.NoError(g.t, err)
	var r turnReply
	read(g.t, g.call(http.MethodPost, "/v1/sessions/"+session+"/messages", string(said)), http.StatusOK, &r)
	return r
}

// A program on the bus is an agent: it calls the gateway's tools, streams, and ends a run once, over a restart of the gateway
// and of itself.
func TestAProgramOnTheBusIsAnAgent(t *testing.T) {
	t.Parallel()
	listen, err := freeport.Addr()
	require.NoError(t, err)
	public, seed := keys(t)
	g := start(t, `bus: { listen: "`+listen+`" }
agents: { list: [{ id: main, default: true, kind: nats, nkey: `+public+`, classification: INTERNAL }] }
`)
	began := make(chan string, 10)
	hang := make(chan struct{})
	handle := func(ctx context.Context, w *agentkit.Work) (string, error) {
		text := w.LastMessage().Text
		if what, ok := strings.CutPrefix(text, "remember "); ok {
			r, err := w.Call(ctx, "todo_add", map[string]any{"items": []string{what}})
			if err != nil || r.Error {
				return "refused: " + r.Text, err
			}
			began <- "called"
			if strings.HasPrefix(what, "slowly") {
				select {
				case <-hang:
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
			return "kept: " + what, nil
		}
		return fmt.Sprint(len(w.Messages), " messages, tools ", len(w.Tools) > 10, ", ", w.Label), nil
	}
	one := serveAgent(t, "main", listen, seed, handle)
	require.Equal(t, "1 messages, tools true, PUBLIC/trusted", g.ask1("main", "hello").Reply)
	require.Equal(t, "kept: milk", g.ask1("main", "remember milk").Reply)
	<-began

	// The program dies in the middle of a run, after its call, and so does the gateway.
	resp := g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"remember slowly bread"}`, "Prefer", "respond-async", "Idempotency-Key", "slow", "Accept", "text/event-stream")
	defer resp.Body.Close() //nolint:errcheck // it is not read
	<-began
	one.stop()
	g.end()
	g.begin()
	close(hang)
	serveAgent(t, "main", listen, seed, handle)
	var slow turnReply
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"remember slowly bread"}`, "Idempotency-Key", "slow"), http.StatusOK, &slow)
	require.Equal(t, "kept: slowly bread", slow.Reply)
	require.Equal(t, 1, strings.Count(strings.Join(g.texts("main"), "\n"), "kept: slowly bread"))
	reply := g.ask1("main", "hello")
	require.Contains(t, reply.Reply, "messages")
	todos, err := g.Store().Todos(t.Context(), g.session("main"))
	require.NoError(t, err)
	require.Len(t, todos, 2, "no call was made twice")
}

// texts are what was said in a session.
func (g *gateway) texts(session string) (all []string) {
	g.t.Helper()
	var history struct{ Messages []struct{ Text string } }
	read(g.t, g.call(http.MethodGet, "/v1/sessions/"+session+"/history", ""), http.StatusOK, &history)
	for _, m := range history.Messages {
		all = append(all, m.Text)
	}
	return all
}

// session is the id of a session.
func (g *gateway) session(key string) (id sessions.ID) {
	g.t.Helper()
	var r struct{ ID sessions.ID }
	read(g.t, g.call(http.MethodGet, "/v1/sessions/"+key, ""), http.StatusOK, &r)
	return r.ID
}

// example is the source of an example agent.
func example(t *testing.T, name string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "examples", "agents", filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(source)
}

// npmPackages is the folder with the packages of an example, which tools/testdeps installs.
func npmPackages(t *testing.T, example string) string {
	t.Helper()
	packages, err := filepath.Abs(filepath.Join("..", "..", ".bin", example, "node_modules"))
	require.NoError(t, err)
	if _, err := os.Stat(packages); err != nil {
		t.Skip("the npm packages of the example are not installed: tools/testdeps installs them, if it can reach npm")
	}
	return packages
}

// serveNode starts the example agent for Node.js, whose packages tools/testdeps installs, and waits until it is connected.
func serveNode(t *testing.T, agent, listen, seed string) (stop func()) {
	t.Helper()
	packages := npmPackages(t, "node")
	dir := t.TempDir()
	require.NoError(t, os.Symlink(packages, filepath.Join(dir, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.mjs"), []byte(example(t, "node/agent.mjs")), 0o600))
	ctx, end := context.WithCancel(context.Background())
	program := exec.CommandContext(ctx, "node", "agent.mjs")
	program.Dir, program.Env = dir, append(os.Environ(), "AGENT="+agent, "NATS_URL="+listen, "NKEY_SEED="+seed)
	var said strings.Builder
	program.Stderr = &said
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	stop = sync.OnceFunc(func() {
		end()
		_ = program.Wait() // it was killed
	})
	t.Cleanup(stop)
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		stop()
		require.Fail(t, "the agent is not connected", said.String())
	}
	require.Equal(t, "agent "+agent+" is connected", lines.Text())
	return stop
}

// Agents of three languages speak to each other: Go and JavaScript over the bus, Python as a command. The gateway and the programs
// die in the middle; each agent is asked once, and the answer is that of all three.
func TestAgentsOfThreeLanguages(t *testing.T) {
	t.Parallel()
	listen, err := freeport.Addr()
	require.NoError(t, err)
	public, seed := keys(t)
	publicNode, seedNode := keys(t)
	script, err := json.Marshal(example(t, "python/agent.py"))
	require.NoError(t, err)
	g := start(t, `bus: { listen: "`+listen+`" }
agents:
  list:
    - { id: main, default: true, kind: nats, nkey: `+public+`, classification: INTERNAL }
    - { id: shouter, kind: nats, nkey: `+publicNode+`, classification: INTERNAL }
    - { id: snake, kind: command, classification: INTERNAL, command: [/usr/bin/python3, -c, `+string(script)+`] }
    - { id: shell, kind: command, classification: INTERNAL, command: [sh, -c, "read -r turn; echo '{\"type\":\"done\",\"text\":\"it is a shell\"}'"] }
tools: { sessions: { visibility: all }, agentToAgent: { enabled: true } }
session: { agentToAgent: { maxPingPongTurns: 0 } }
`)
	halfway, goOn := make(chan struct{}, 10), make(chan struct{})
	handle := func(ctx context.Context, w *agentkit.Work) (string, error) {
		agents, text, _ := strings.Cut(w.LastMessage().Text, " ")
		status := ""
		for i, agent := range strings.Split(agents, ",") {
			if i == 1 {
				halfway <- struct{}{}
				select {
				case <-goOn:
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
			r, err := w.Call(ctx, "sessions_send", map[string]any{"sessionKey": "agent:" + agent + ":main", "message": text, "timeoutSeconds": 30})
			if err != nil {
				return "", err
			}
			var got struct{ Status, Reply, Error string }
			if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
				return r.Text, nil //nolint:nilerr // it is an error's text
			}
			status, text = got.Status, got.Reply+got.Error
		}
		return status + " " + text, nil
	}
	one := serveAgent(t, "main", listen, seed, handle)
	stopNode := serveNode(t, "shouter", listen, seedNode)
	require.Equal(t, "ok it is a shell", g.ask1("main", "shell what are you").Reply)
	require.Contains(t, g.ask1("main", `snake call session_status {}`).Reply, "ok session_status says: {")

	const question = `{"message":"shouter,snake hello there"}`
	resp := g.call(http.MethodPost, "/v1/sessions/main/messages", question, "Idempotency-Key", "three", "Accept", "text/event-stream")
	defer resp.Body.Close() //nolint:errcheck // it is not read
	<-halfway
	one.stop()
	stopNode()
	g.end()
	g.begin()
	close(goOn)
	serveAgent(t, "main", listen, seed, handle)
	serveNode(t, "shouter", listen, seedNode)
	var answer turnReply
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", question, "Idempotency-Key", "three"), http.StatusOK, &answer)
	require.Equal(t, "ok OLLEH EREHT", answer.Reply)
	for agent, said := range map[string]string{"shouter": "HELLO THERE", "snake": "OLLEH EREHT"} {
		require.Equal(t, 1, strings.Count(strings.Join(g.texts("agent:"+agent+":main"), "\n"), said), "agent %s was asked once", agent)
	}
}
