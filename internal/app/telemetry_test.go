package app_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/app"
	"sluice/internal/model/modeltest"
	"sluice/store/sqlite/sqlitetest"
	"sluice/store/storetest"
)

// traced is a span with the process that has sent it.
type traced struct {
	*trace.Span
	from string
}

func (s traced) id() string     { return hex.EncodeToString(s.GetSpanId()) }
func (s traced) parent() string { return hex.EncodeToString(s.GetParentSpanId()) }

func (s traced) text(key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// spanSink is a collector on the wire.
type spanSink struct {
	*httptest.Server
	t       *testing.T
	mu      sync.Mutex
	all     []traced
	raw     strings.Builder
	arrived chan struct{}
}

func collects(t *testing.T) *spanSink {
	t.Helper()
	c := &spanSink{t: t, arrived: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

func (c *spanSink) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &m) != nil {
		http.Error(w, "not OTLP", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	for _, rs := range m.GetResourceSpans() {
		for _, s := range rs.GetScopeSpans()[0].GetSpans() {
			c.all = append(c.all, traced{s, rs.GetResource().GetAttributes()[2].GetValue().GetStringValue()})
		}
	}
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// trees are the spans by trace, once there are enough.
func (c *spanSink) trees(enough func(map[string][]traced) bool) map[string][]traced {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		trees := map[string][]traced{}
		for _, s := range c.all {
			id := hex.EncodeToString(s.GetTraceId())
			trees[id] = append(trees[id], s)
		}
		c.mu.Unlock()
		if enough(trees) {
			return trees
		}
		select {
		case <-c.arrived:
		case <-deadline:
			for id, tree := range trees {
				c.t.Log(id, paths(tree))
			}
			c.t.Fatal("spans are missing")
		}
	}
}

// path are the names of a span and of those above it.
func path(tree []traced, s traced) string {
	if s.parent() == "" {
		return s.GetName()
	}
	for _, above := range tree {
		if above.id() == s.parent() {
			return path(tree, above) + " > " + s.GetName()
		}
	}
	return "missing > " + s.GetName()
}

func paths(tree []traced) (all []string) {
	for _, s := range tree {
		all = append(all, path(tree, s))
	}
	return all
}

// One message is followed from the platform's event to the receipt, through a tool and an exchange with another agent. Its
// spans have no text.
func TestAMessageIsFollowed(t *testing.T) {
	t.Parallel()
	c := collects(t)
	bots, models := platforms(t)
	g := start(t, `owners: ["telegram:1001"]
telemetry: { otlp: "`+c.URL+`" }
`+withModels(models)+`agents: { list: [{ id: main, default: true }, { id: ops }] }
bindings: [{ match: { channel: telegram, group: "`+fmt.Sprint(opsGroup)+`" }, agent: ops }]
tools: { sessions: { visibility: all } }
channels:
  telegram:
    groups: { "`+fmt.Sprint(opsGroup)+`": { requireMention: false } }
    accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } }
`)
	owner := telegramtest.User{ID: 1001, FirstName: "Adalovelace"}
	models.Enqueue(modeltest.Say("Opshere."))
	bots.Say(telegramtest.Group(opsGroup, "Opsgroup"), owner, "hellothere")
	_, err := bots.WaitSent(t.Context(), opsGroup, 1)
	require.NoError(t, err)
	key := "agent:ops:telegram:group:" + fmt.Sprint(opsGroup)
	models.Enqueue(
		modeltest.Call("sessions_send", `{"sessionKey":"`+key+`","message":"How many zebras?","timeoutSeconds":30}`),
		modeltest.Say("Sevenzebras."), modeltest.Say("Ops say: sevenzebras."), modeltest.Say("REPLY_SKIP"), modeltest.Say("Main asked for zebras."),
	)
	bots.Say(telegramtest.Private(1001), owner, "ask ops how many zebras there are")
	_, err = bots.WaitSent(t.Context(), opsGroup, 2)
	require.NoError(t, err)
	_, err = bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)

	var tree []traced
	c.trees(func(trees map[string][]traced) bool {
		for _, found := range trees {
			if slices.ContainsFunc(found, func(s traced) bool { return s.GetName() == "exchange" }) {
				tree = found
			}
		}
		return len(tree) == 22
	})
	const run = "intake > invoke_agent main"
	step := run + " > execute_tool sessions_send > exchange > "
	require.ElementsMatch(t, []string{
		"intake",
		run,
		run + " > chat m",
		run + " > chat m",
		run + " > deliver",
		run + " > deliver > send telegram",
		run + " > execute_tool sessions_send",
		run + " > execute_tool sessions_send > exchange",
		step + "invoke_agent main",
		step + "invoke_agent main > chat m",
		step + "invoke_agent ops",
		step + "invoke_agent ops",
		step + "invoke_agent ops > chat m",
		step + "invoke_agent ops > chat m",
		step + "invoke_agent ops > deliver",
		step + "invoke_agent ops > deliver > send telegram",
		step + "invoke_agent ops > gate",
		step + "wait",
		step + "wait",
		step + "wait",
		run + " > gate",
		"intake > wait",
	}, paths(tree))
	for _, s := range tree {
		require.LessOrEqual(t, s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano())
		require.Nil(t, s.GetStatus(), s.GetName())
	}
	model := tree[slices.IndexFunc(tree, func(s traced) bool { return s.GetName() == "chat m" })]
	require.Equal(t, "p", model.text("gen_ai.provider.name"))
	require.Equal(t, "chat", model.text("gen_ai.operation.name"))
	require.Equal(t, trace.Span_SPAN_KIND_CLIENT, model.GetKind())

	resp := g.call(http.MethodGet, "/metrics", "", "Accept", "application/openmetrics-text")
	metrics, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	for _, histogram := range []string{"accept", "queue", "run", "delivery"} {
		require.Regexp(t, `sluice_router_`+histogram+`_seconds_bucket\{[^#\n]*# \{trace_id="[0-9a-f]{32}"`, string(metrics))
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	for _, word := range []string{"zebra", "here", "Adalovelace", "1001", "Opsgroup", fmt.Sprint(opsGroup), "asked", key} {
		require.NotContains(t, strings.ToLower(c.raw.String()), strings.ToLower(word))
	}
}

// A failure is told by a word: its text may quote somebody. Log lines name the trace.
func TestAFailureIsFollowed(t *testing.T) {
	t.Parallel()
	c := collects(t)
	bots, models := platforms(t)
	g := start(t, `owners: ["telegram:1001"]
telemetry: { otlp: "`+c.URL+`" }
`+withModels(models)+`channels: { telegram: { accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
	models.Enqueue(modeltest.Fail(http.StatusBadRequest, "invalid_request_error", "the word zebra is not allowed"))
	bots.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, "hello zebra")
	_, err := bots.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	id := ""
	c.trees(func(trees map[string][]traced) bool {
		for trace, tree := range trees {
			if i := slices.IndexFunc(tree, func(s traced) bool { return s.GetName() == "invoke_agent main" }); i >= 0 {
				id = trace
				require.Equal(t, "failed", tree[i].text("error.type"))
				return true
			}
		}
		return false
	})
	g.log.await(t, "trace_id="+id)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NotContains(t, c.raw.String(), "zebra")
}

// Two replicas on one database and one NATS: the spans of both make one tree.
func TestAMessageIsFollowedOverReplicas(t *testing.T) {
	t.Parallel()
	c := collects(t)
	bots, models := platforms(t)
	bus, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	require.NoError(t, err)
	bus.Start()
	t.Cleanup(func() {
		bus.Shutdown()
		bus.WaitForShutdown()
	})
	require.True(t, bus.ReadyForConnections(patience))
	database := storetest.Postgres(t)
	for range 2 {
		g := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
		g.cfg = load(t, g.state, `owners: ["telegram:1001"]
telemetry: { otlp: "`+c.URL+`" }
store: { url: "`+database+`" }
bus: { url: "`+bus.ClientURL()+`" }
session: { dmScope: per-peer }
`+withModels(models)+`channels: { telegram: { dmPolicy: open, allowFrom: ["*"], accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } } } }
`)
		g.App = app.New(g.cfg, "test", slog.New(slog.NewTextHandler(g.log, nil)))
		require.NoError(t, g.Start(t.Context()))
		t.Cleanup(g.end)
	}
	const people = 12
	for n := range int64(people) {
		models.Enqueue(modeltest.Say("Hello."))
		bots.Say(telegramtest.Private(2000+n), telegramtest.User{ID: 2000 + n, FirstName: "Ann"}, "hi")
		_, err := bots.WaitSent(t.Context(), 2000+n, 1)
		require.NoError(t, err)
	}
	const spansOfOne = 7 // intake, wait, run, model, gate, delivery, send
	trees := c.trees(func(trees map[string][]traced) bool {
		whole := 0
		for _, tree := range trees {
			if len(tree) == spansOfOne {
				whole++
			}
		}
		return whole == people
	})
	shared := 0
	for _, tree := range trees {
		for _, p := range paths(tree) {
			require.True(t, strings.HasPrefix(p, "intake"), p)
		}
		from := map[string]bool{}
		for _, s := range tree {
			from[s.from] = true
		}
		if len(from) == 2 {
			shared++
		}
	}
	require.Positive(t, shared, "some sessions are worked by the replica that does not read the bot's messages")
}
