package mcp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/mcp"
	"sluice/policy/flow"
	"sluice/sessions"
)

// overHTTP serves the library's server, and counts what it was asked.
func overHTTP(t *testing.T, options *sdk.StreamableHTTPOptions) (c mcp.Server, seen func() http.Header) {
	t.Helper()
	server := newServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
	headers := make(chan http.Header, 1000)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Clone()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return mcp.Server{Name: "far", URL: adapters.Secret(web.URL), Classification: flow.Internal, Timeout: patience}, func() http.Header { return <-headers }
}

// ways are the ways to the same server.
func ways(t *testing.T) map[string]mcp.Server {
	t.Helper()
	stateful, _ := overHTTP(t, nil)
	stateless, _ := overHTTP(t, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return map[string]mcp.Server{"stdio": program(t, "far", "well"), "http": stateful, "http, stateless": stateless}
}

// eachWay runs a test on the client of one server that is connected, for each way to it.
func eachWay(t *testing.T, ways map[string]mcp.Server, test func(t *testing.T, b *bundle)) {
	t.Helper()
	for name, server := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, server)
			b.log.await(t, connected, 1)
			test(t, b)
		})
	}
}

func TestToolsOfAServer(t *testing.T) {
	t.Parallel()
	eachWay(t, ways(t), func(t *testing.T, b *bundle) {
		tool := b.tool(t, "mcp_far_echo")
		require.NoError(t, tool.Flow.Check())
		require.True(t, tool.Flow.Outside())
		require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), tool.Flow.Source)
		require.Equal(t, flow.Internal, tool.Flow.Sink)
		require.Equal(t, "mcp.servers.far.classification", tool.Flow.Setting)
		require.Equal(t, &sessions.RemoteTool{Server: "far", Name: "echo"}, tool.Remote)
		require.False(t, b.tool(t, "mcp_far_fail").ReadOnly(), "a server's hint that it only reads means nothing")
		require.Contains(t, tool.Spec.Description, `MCP server "far"`)
		require.Contains(t, tool.Spec.Description, "Says it again.")

		result := b.call(t, "mcp_far_echo", `{"x": 1}`)
		require.Contains(t, result.Text, `"arguments":{"x":1}`)
		require.NotContains(t, result.Text, "identity", "who calls is never told")
		require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), result.Label)

		failed := b.call(t, "mcp_far_fail", `{}`)
		require.True(t, failed.Failed)
		require.Equal(t, "the disk is full", failed.Text)
		require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), failed.Label, "a failure is the server's word too")
		require.True(t, b.call(t, "mcp_far_refuse", `{}`).Failed)
		require.Equal(t, adapters.Connected, b.States()[0].Status)

		require.Equal(t, "called", b.call(t, "mcp_far_strict", `{"id":1}`).Text)
		misfit := b.call(t, "mcp_far_strict", `{"id":0}`)
		require.True(t, misfit.Failed)
		require.Contains(t, misfit.Text, "not called: id: ")
		require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), misfit.Label, "what is wrong may quote the server's schema")
	})
}

func TestResultsAreRendered(t *testing.T) {
	t.Parallel()
	b := start(t, program(t, "far", "well"))
	b.log.await(t, connected, 1)
	require.Equal(t, `text
{ "b": 1, "a": [2] }
[a picture, image/png, 3 bytes: not shown]
[a sound, audio/ogg, 2 bytes: not played]
[a link to file:///x: x]
inside
[the file file:///z, a/b, 3 bytes: not shown]`, b.call(t, "mcp_far_kinds", `{}`).Text, "what is said twice is shown once")

	big := b.call(t, "mcp_far_big", `{}`)
	require.Less(t, len(big.Text), 66<<10)
	require.Contains(t, big.Text, "[cut here: the answer has 2097152 bytes, 65536 are shown]")
}

// What a result says of its own label means nothing (L6).
func TestAResultCannotNameItsLabel(t *testing.T) {
	t.Parallel()
	server := program(t, "far", "well")
	server.Classification = flow.Confidential
	b := start(t, server)
	b.log.await(t, connected, 1)
	claim := b.call(t, "mcp_far_claim", `{}`)
	require.Contains(t, claim.Text, "_classification", "it is a text like any other")
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), claim.Label)

	high := caller
	high.Taint = flow.NewLabel(flow.Restricted, flow.Trusted)
	result, err := b.tool(t, "mcp_far_claim").Run(t.Context(), high, json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, flow.NewLabel(flow.Restricted, flow.Untrusted), result.Label, "it only raises")
}

func TestATrustedServer(t *testing.T) {
	t.Parallel()
	server := program(t, "far", "well")
	server.Trusted = true
	b := start(t, server)
	b.log.await(t, connected, 1)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Trusted), b.tool(t, "mcp_far_echo").Flow.Source)
}

func TestAProgramKnowsOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("GATEWAYS_OWN", "secret")
	server := program(t, "far", "well")
	server.Env["TOKEN"] = "given"
	b := start(t, server)
	b.log.await(t, connected, 1)
	env := b.call(t, "mcp_far_environment", `{}`).Text
	require.Equal(t, []string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"), behaviour + "=well", "TOKEN=given"}, strings.Split(env, "\n"))
}

func TestHeadersGoToTheServerAlone(t *testing.T) {
	t.Parallel()
	server, seen := overHTTP(t, nil)
	server.Headers = map[string]adapters.Secret{"Authorization": "Bearer hush"}
	b := start(t, server)
	b.log.await(t, connected, 1)
	require.Equal(t, "Bearer hush", seen().Get("Authorization"))

	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server was asked, with %v", r.Header)
	}))
	t.Cleanup(other.Close)
	web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(web.Close)
	server.URL = adapters.Secret(web.URL + "/?key=hush")
	b.Configure([]mcp.Server{server})
	b.log.await(t, "it redirects to another address", 1)
	require.NotContains(t, b.log.String(), "hush")
	require.NotContains(t, b.States()[0].Detail, "hush")
	require.Empty(t, b.names())
}

func TestChoiceOfTools(t *testing.T) {
	t.Parallel()
	server := program(t, "far", "well")
	server.Allow, server.Deny = []string{"e*", "wait"}, []string{"env*"}
	b := start(t, server)
	b.log.await(t, connected, 1)
	require.Equal(t, []string{"mcp_far_echo", "mcp_far_wait"}, b.names())
}

func TestToolsThatChange(t *testing.T) {
	t.Parallel()
	able := ways(t)
	delete(able, "http, stateless") // it can't say so; its tools are listed again when it is reached again
	eachWay(t, able, func(t *testing.T, b *bundle) {
		require.NotContains(t, b.names(), "mcp_far_extra-1")
		b.call(t, "mcp_far_more", `{}`)
		b.log.await(t, connected, 2)
		require.Equal(t, "extra", b.call(t, "mcp_far_extra-1", `{}`).Text)
	})
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	b := start(t, program(t, "far", "well"))
	b.log.await(t, connected, 1)
	old := b.tool(t, "mcp_far_echo")
	died := b.call(t, "mcp_far_die", `{}`)
	require.True(t, died.Failed)
	require.Contains(t, died.Text, "may have taken effect", "whether the call or the connection is seen to fail first")
	b.log.await(t, "exit status 3", 1)
	b.log.await(t, connected, 2)
	require.Equal(t, 1, b.States()[0].Restarts)
	result, err := old.Run(t.Context(), caller, json.RawMessage(`{}`))
	require.NoError(t, err)
	require.False(t, result.Failed, "a session that is open goes on with the new connection")
}

func TestAHangingCall(t *testing.T) {
	t.Parallel()
	server := program(t, "far", "well")
	server.Timeout = 100 * time.Millisecond
	b := start(t, server, program(t, "other", "well"))
	b.log.await(t, connected, 2)
	require.False(t, b.call(t, "mcp_other_echo", `{}`).Failed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := b.later(ctx, t, "mcp_other_wait")
	b.log.await(t, "line=waiting", 1)
	require.False(t, b.call(t, "mcp_other_echo", `{}`).Failed, "other calls of the same server go on")

	result := b.call(t, "mcp_far_wait", `{}`)
	require.True(t, result.Failed)
	require.Equal(t, "the MCP server far did not answer within 100ms; the call may have taken effect", result.Text)
	b.log.await(t, `line="was cancelled"`, 1)
	cancel()
	require.True(t, (<-waits).Failed)
	b.log.await(t, `line="was cancelled"`, 2)
	require.Equal(t, 0, b.States()[0].Restarts, "the connection is as good as before")
}

func TestCancellationReachesAServerOverHTTP(t *testing.T) {
	t.Parallel()
	cancelled := make(chan struct{})
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "wait", InputSchema: object()}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(web.Close)
	b := start(t, mcp.Server{Name: "far", URL: adapters.Secret(web.URL), Classification: flow.Public, Timeout: 100 * time.Millisecond})
	b.log.await(t, connected, 1)
	require.True(t, b.call(t, "mcp_far_wait", `{}`).Failed)
	select {
	case <-cancelled:
	case <-time.After(patience):
		t.Fatal("the call goes on at the server")
	}
}

func TestAServerThatSaysTooMuch(t *testing.T) {
	t.Parallel()
	eachWay(t, ways(t), func(t *testing.T, b *bundle) {
		require.True(t, b.call(t, "mcp_far_huge", `{}`).Failed)
		b.log.await(t, connected, 2)
		require.False(t, b.call(t, "mcp_far_echo", `{}`).Failed)
	})
}

func TestServersThatCannotBeReached(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		server   mcp.Server
		says     string
		farewell time.Duration // default 10 ms
	}{
		"no program": {server: mcp.Server{Command: []string{"/nowhere/server"}}, says: "no such file or directory"},
		"nobody":     {server: mcp.Server{URL: adapters.Secret(gone.URL)}, says: "connection refused"},
		"garbage":    {server: program(t, "", "garbage"), says: "invalid character", farewell: time.Second},
		"endless":    {server: program(t, "", "endless"), says: "exceeded", farewell: time.Second},
		"silent":     {server: program(t, "", "silent"), says: "it did not answer in time"},
		"ends":       {server: mcp.Server{Command: []string{"true"}}, says: "the program true ended (exit status 0)", farewell: patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.server.Name, c.server.Classification = "far", flow.Public
			b := paced(t, mcp.Pace{Connect: 500 * time.Millisecond, Farewell: cmp.Or(c.farewell, 10*time.Millisecond)}, c.server, program(t, "well", "well"))
			b.log.await(t, "MCP server is not connected", 2)
			b.log.await(t, c.says, 2)
			b.log.await(t, connected, 1)
			require.Contains(t, b.names(), "mcp_well_echo", "the others are not disturbed")
			require.NotContains(t, strings.Join(b.names(), " "), "mcp_far")
			require.NotEqual(t, adapters.Connected, b.States()[0].Status)
		})
	}
}

func TestAServerOfOldThatDoesNotAnswerWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := paced(t, mcp.Pace{Connect: time.Second}, program(t, "old", "old"))
	b.log.await(t, connected, 1)
	require.Equal(t, []string{"mcp_old_plain"}, b.names())
}

func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	b := paced(t, mcp.Pace{Connect: 2 * time.Second}, program(t, "odd", "odd"))
	b.log.await(t, connected, 1)
	names := b.names()
	require.Len(t, names, 4, "%v", names)
	for _, tool := range b.Tools() {
		require.Regexp(t, `^mcp_odd_[a-zA-Z0-9_-]{1,56}$`, tool.Spec.Name)
		require.Less(t, len(tool.Spec.Description), 2300)
		require.True(t, json.Valid(tool.Spec.Parameters))
	}
	require.Equal(t, "mcp_odd_a_b", names[0])
	require.Equal(t, "a.b", b.Tools()[0].Remote.Name)
	require.Len(t, names[1], 64)
	require.Equal(t, "mcp_odd__n_", names[2])
	require.Contains(t, b.Tools()[2].Spec.Description, "hidden text")
	require.Equal(t, "mcp_odd_tree", names[3])
	log := b.log.String()
	require.Contains(t, log, "the schema refers to another document")
	require.Contains(t, log, "nested more than 64 deep")
	require.Contains(t, log, "its arguments are checked by its server only")
	require.Equal(t, 2, strings.Count(log, "which the tool \\\"a.b\\\" already has"), log)
	require.Equal(t, 2, strings.Count(log, "it has no name"), log)
	require.Equal(t, 2, strings.Count(log, "not a JSON Schema of an object"), log)
	require.Contains(t, log, "the maximum is 32768")
}

func TestTenThousandTools(t *testing.T) {
	t.Parallel()
	b := start(t, program(t, "crowd", "crowded"))
	b.log.await(t, connected, 1)
	require.Len(t, b.Tools(), 200)
	require.Contains(t, b.log.String(), "MCP server has too many tools")
	require.Contains(t, b.log.String(), "left_out=9800")
}

func TestStderrIsBounded(t *testing.T) {
	t.Parallel()
	server := program(t, "far", "noisy")
	server.Env["TOKEN"] = "hush-hush"
	b := start(t, server)
	b.log.await(t, connected, 1)
	log := b.log.String()
	require.Less(t, len(log), 200<<10)
	require.Contains(t, log, "line 0 <secret>")
	require.NotContains(t, log, "hush-hush")
}

func TestConfigureChangesWhatHasChanged(t *testing.T) {
	t.Parallel()
	one, two := program(t, "one", "well"), program(t, "two", "well")
	b := start(t, one, two)
	b.log.await(t, connected, 2)
	old := b.tool(t, "mcp_two_echo")
	two.Classification = flow.Public
	b.Configure([]mcp.Server{one, two})
	b.log.await(t, connected, 3)
	require.Equal(t, flow.Public, b.tool(t, "mcp_two_echo").Flow.Sink)
	_, err := old.Run(t.Context(), caller, json.RawMessage(`{}`))
	require.ErrorContains(t, err, "can't be reached now", "what was declared of the old one holds no more")
	b.Configure(nil)
	require.Empty(t, b.Tools())
	require.Empty(t, b.States())
	b.Stop()
	b.Configure([]mcp.Server{one})
	require.Empty(t, b.States(), "nothing begins after the end")
	require.Equal(t, 3, strings.Count(b.log.String(), connected))
}

// A server that was replaced may take its time to end; what it does then is not said of the one in its place.
func TestTheGaugeIsOfTheServerThatIsThere(t *testing.T) {
	t.Parallel()
	parted := make(chan struct{})
	handler := sdk.NewStreamableHTTPHandler(func() func(*http.Request) *sdk.Server {
		server := newServer()
		return func(*http.Request) *sdk.Server { return server }
	}(), nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler.ServeHTTP(w, r); r.Method == http.MethodDelete {
			close(parted)
		}
	}))
	t.Cleanup(web.Close)
	old := mcp.Server{Name: "far", URL: adapters.Secret(web.URL), Classification: flow.Internal, Timeout: patience}
	held, goOn := make(chan struct{}), make(chan struct{})
	b := bundled(t, mcp.Pace{}, func(h slog.Handler) slog.Handler {
		return &holding{Handler: h, text: "MCP server is connected", at: 2, held: held, goOn: goOn}
	}, old)
	b.log.await(t, connected, 1)
	b.call(t, "mcp_far_more", `{}`) // it lists its tools again, and is held in the middle of that
	<-held
	echo := b.tool(t, "mcp_far_echo")
	b.Configure([]mcp.Server{program(t, "far", "well")})
	_, err := echo.Run(t.Context(), caller, json.RawMessage(`{}`))
	require.ErrorContains(t, err, "can't be reached now", "from the moment on that it is replaced")
	b.log.await(t, connected, 2)
	close(goOn)
	<-parted
	require.Equal(t, []string{"far 1"}, b.gauges(t))
	b.Configure(nil)
	require.Empty(t, b.gauges(t))
	b.Configure([]mcp.Server{{Name: "dead", Command: []string{"/nowhere/server"}}})
	require.Equal(t, []string{"dead 0"}, b.gauges(t), "one that has never connected")
}

// gauges are the values of sluice_mcp_up.
func (b *bundle) gauges(t *testing.T) (all []string) {
	t.Helper()
	families, err := b.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "sluice_mcp_up" {
			for _, m := range f.GetMetric() {
				all = append(all, fmt.Sprint(m.GetLabel()[0].GetValue(), " ", m.GetGauge().GetValue()))
			}
		}
	}
	return all
}

func TestAServerThatIsSilentIsLeft(t *testing.T) {
	t.Parallel()
	server := newServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	silent := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
			_, _ = io.Copy(io.Discard, r.Body) // who has not read cannot see the other leave
			<-r.Context().Done()
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	b := paced(t, mcp.Pace{Ping: 50 * time.Millisecond, Connect: time.Second}, mcp.Server{Name: "far", URL: adapters.Secret(web.URL), Classification: flow.Public, Timeout: patience})
	b.log.await(t, connected, 1)
	close(silent)
	b.log.await(t, "it no longer responds", 1)
	require.Empty(t, b.Tools(), "an agent lacks the tools of a server that can't be reached")
}

// A request that did not reach the server is not a failure of the server.
func TestAServerThatHasGoneIsLeft(t *testing.T) {
	t.Parallel()
	server := newServer()
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(web.Close)
	b := paced(t, mcp.Pace{Ping: 50 * time.Millisecond}, mcp.Server{Name: "far", URL: adapters.Secret(web.URL), Classification: flow.Public, Timeout: patience})
	b.log.await(t, connected, 1)
	echo := b.tool(t, "mcp_far_echo")
	require.NoError(t, web.Listener.Close())
	web.CloseClientConnections()
	b.log.await(t, "it no longer responds", 1)
	require.Empty(t, b.Tools())
	_, err := echo.Run(t.Context(), caller, json.RawMessage(`{}`))
	require.ErrorContains(t, err, "the MCP server far can't be reached now")
}
