package attacks_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What decides by levels is in a few places. A new one has to be written down here, and asked of a checkpoint if it can be.
func TestLevelsAreComparedInFewPlaces(t *testing.T) {
	t.Parallel()
	known := []string{
		"internal/agent/tools/memory/read.go",                             // the last line of defence behind the store
		"internal/agent/tools/tools.go",                                   // what who is told of a simulation sees
		"internal/config/defaults.go", "internal/config/checks/checks.go", // which of two settings is lower
		"internal/config/advice/advice.go", "internal/cli/doctor/withheld.go", // what doctor says of settings
		"internal/httpapi/auth/caller.go", "internal/httpapi/auth/words.go", "internal/httpapi/auth/tokens.go", // what the bearer of a token sees
		"internal/httpapi/files/files.go", "internal/httpapi/view/visibility.go",
		"internal/app/transcribe.go",                     // which recordings a server gets; it asks a checkpoint
		"internal/model/choose.go",                       // which models a session is told of
		"router/alert/people.go", "router/alert/read.go", // which alerts a reader may know
		"router/jobs/make.go",       // who sees every job may choose the id of one
		"router/decider/decider.go", // what a token decides about; it asks a checkpoint
		"router/work/finish.go",     // how a run failed is told where what its session knows may be said
		"router/outbound/held.go",   // a denial's reason stays beside a message for those who may see the message
		"router/outbound/retire.go", // what came of a question is told where the question was
		"router/commands/tasks.go", "router/commands/tree.go", "router/exchange/task.go", "router/manage/sessions.go", "router/outbound/send.go", "router/place/reset.go", "router/work/orders.go",
		"internal/agent/compact.go", "internal/model/chain/chain.go", "internal/voice/voice.go", // which models and servers get a text
		"internal/agent/tools/skills/skills.go",                        // which skills a session knows of
		"internal/alert/alert.go",                                      // which alerts a silence reaches
		"internal/config/models/check.go",                              // advice about the levels of a chain
		"internal/httpapi/signin/tokens.go",                            // a token makes none above itself
		"internal/httpapi/why/why.go",                                  // whose silence a caller may know of
		"internal/spending/standing/standing.go",                       // whether a caller sees all of a budget
		"internal/transcript/export.go", "internal/transcript/line.go", // what a file of conversations may carry
		"internal/workspace/space.go",                 // what is written to shared files
		"sessions/monitor.go", "sessions/subagent.go", // a session without a monitor, and a child's clearance
	}
	compares := regexp.MustCompile(`\.(CanFlow|FlowsTo)\(`)
	for path, text := range program() {
		if strings.HasPrefix(path, "policy/") || strings.HasPrefix(path, "store/") || slices.Contains(known, path) {
			continue
		}
		require.False(t, compares.MatchString(text), "%s compares levels: ask a policy.Checkpoint, or write the place down here", path)
	}
}

// A text reaches a platform by three calls of the router, which come after the gate's decision.
func TestTextsLeaveByOneWay(t *testing.T) {
	t.Parallel()
	known := []string{"router/outbound/post.go", "router/work/preview.go"}
	leaves := regexp.MustCompile(`\b(a|s\.adapter|adapter)\.(Send|Edit|SendPreview)\(ctx`)
	for path, text := range program() {
		if !strings.HasPrefix(path, "router/") && !strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "internal/bench") {
			continue
		}
		require.Equal(t, slices.Contains(known, path), leaves.MatchString(text), "%s: what it sends has to pass the gate", path)
	}
}

// Every tool that a model is shown is attacked by name, or says here why there is nothing to attack.
func TestEveryToolIsAttacked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lenient)
	s := w.scene(0)
	defer s.end()
	s.low()
	s.tell(s.low(), "PUBLIC", "hello")
	harmless := []string{"agents_list", "edit", "todo_update", "todo_clear", "exec", "simulate_tool_call"}
	all := ""
	for path, text := range sources("internal/attacks") {
		if !strings.HasSuffix(path, "wiring_test.go") {
			all += text
		}
	}
	tools := w.tools()
	require.Greater(t, len(tools), 20)
	for _, tool := range tools {
		require.True(t, slices.Contains(harmless, tool) || strings.Contains(all, `"`+tool+`"`), "the tool %s is in no attack", tool)
	}
}

// An operation of the API is tried by somebody who may not: each is either refused to a stranger, or has its level filtered as the
// sweeps show, which take the operations from the API's own document.
func TestEveryOperationAsksForAToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lenient)
	for _, o := range w.operations() {
		path := regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(o.path, "x")
		// Pairing is for a device that has no token yet: it gets a code that an owner approves.
		if o.path == "/healthz" || o.path == "/v1/nodes/pair" || o.path == "/readyz" || strings.HasPrefix(o.path, "/channels/") {
			continue
		}
		if o.path == "/v2/enqueue" { // senders that speak PagerDuty's API have their token in the body
			got := w.as("wrong", o.method, path, `{"routing_key":"wrong","event_action":"resolve","dedup_key":"x"}`)
			require.Equal(t, 400, got.status)
			require.Contains(t, got.body, "not a token of this gateway")
			continue
		}
		body := ""
		if o.path == "/login" { // the token is in the body
			body = `{"token":"wrong"}`
		}
		require.Equal(t, 401, w.as("wrong", o.method, path, body).status, "%s %s", o.method, o.path)
	}
}
