package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"sluice/adapters/slack/slacktest"
	"sluice/internal/chaos"
	"sluice/internal/chaos/child"
	"sluice/store/storetest"
)

// owner is who is asked; each of those who want something is a person of their own.
const (
	owner      = 9000
	firstWants = 5000
)

// desk is an MCP server that does what it is told once for each time that it is told. It outlives the gateways.
type desk struct {
	*httptest.Server
	told chan struct{} // capacity 1; when it has done something, and has not answered yet
	mu   sync.Mutex
	done map[string]int
}

// deskTakes is how long it takes to answer, in which a gateway may die.
const deskTakes = 50 * time.Millisecond

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{done: map[string]int{}, told: make(chan struct{}, 1)}
	server := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "act", Description: "Does something."}, func(ctx context.Context, _ *sdk.CallToolRequest, in struct {
		Word string `json:"word"`
	},
	) (*sdk.CallToolResult, any, error) {
		d.mu.Lock()
		d.done[in.Word]++
		d.mu.Unlock()
		select {
		case d.told <- struct{}{}:
		default:
		}
		select {
		case <-time.After(deskTakes):
		case <-ctx.Done():
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done: " + in.Word}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	d.Server = httptest.NewServer(handler)
	t.Cleanup(d.Close)
	return d
}

// await lets time pass until the desk is at work, or a time is over.
func (d *desk) await(most time.Duration, rng *rand.Rand) {
	select {
	case <-d.told: // of before
	default:
	}
	select {
	case <-d.told:
		<-time.After(time.Duration(rng.Int64N(int64(deskTakes))))
	case <-time.After(most):
	}
}

func (d *desk) times(word string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done[word]
}

// wants is what somebody has asked for: a call that an owner has to allow, an answer that a rule holds, or that something is remembered.
type wants struct {
	kind   string // call, held or memory
	person int64
	word   string // of their message; a token that stands nowhere else
}

// consent is a campaign in which gateways are killed while people wait for an owner's word, and the owner gives it.
type consent struct {
	*world
	platform string
	desk     *desk
	asked    []wants
	die      func() // ends the gateway, and lets another one begin

	mu    sync.Mutex
	taken map[string]bool // the owner's words, by approval, that a gateway has confirmed
}

func newConsent(w *world, platform string, d *desk) *consent {
	return &consent{world: w, platform: platform, desk: d, taken: map[string]bool{}, die: func() {
		w.kill()
		if w.rng.IntN(4) == 0 {
			w.start() // and perhaps die while it starts
			return
		}
		w.startReady()
	}}
}

// consentOptions configure a gateway that asks about calls of the desk and about what it holds.
func consentOptions(platform string, d *desk, seedPlus uint64) options {
	return options{platform: platform, seedPlus: seedPlus, owners: []string{fmt.Sprintf("%q", principal(platform, owner))}, extra: fmt.Sprintf(`mcp:
  servers:
    desk: { url: %q }
policy:
  rules:
    - { name: ask-desk, hook: MCP_TOOL_CALL, action: require_approval }
    - { name: hold, hook: PRE_OUTPUT, when: 'text.contains("[held]")', action: require_approval }
`, d.URL)}
}

// want lets somebody new want something.
func (c *consent) want() {
	c.t.Helper()
	kind := []string{"call", "held", "memory"}[len(c.asked)%3]
	person := int64(firstWants + len(c.asked))
	word := chaos.Token(int(person), 0, c.rng.Uint32())
	text := map[string]string{
		"call":   fmt.Sprintf(`[call mcp_desk_act {"word":%q}]`, word),
		"held":   "[held]",
		"memory": fmt.Sprintf(`[call memory_save {"key":%q,"content":%q}]`, word, word),
	}[kind]
	c.chat.say(person, word+" "+text)
	c.asked = append(c.asked, wants{kind, person, word})
}

// decide gives the owner's word on some of what waits. A gateway that dies over it leaves open whether it has taken it.
func (c *consent) decide(ctx context.Context, process *child.Process, rng *rand.Rand, all bool) {
	waiting, err := process.Approvals(ctx, "pending")
	if err != nil {
		return
	}
	for _, p := range waiting {
		if !all && rng.IntN(2) == 0 {
			continue
		}
		yes := rng.IntN(3) > 0
		if !all && rng.IntN(3) == 0 { // in their chat, where the word is as durable as any message
			c.chat.say(owner, fmt.Sprintf("/approve %s %s", p.ID, map[bool]string{true: "allow", false: "deny"}[yes]))
			continue
		}
		if taken, err := process.Decide(ctx, p.ID, yes); err == nil && taken {
			c.mu.Lock()
			c.taken[p.ID] = yes
			c.mu.Unlock()
		}
	}
}

// live lets people want things and the owner decide for a while, in the middle of which the gateway dies.
func (c *consent) live(messages int) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	process, rng := c.process, rand.New(rand.NewPCG(c.rng.Uint64(), 0))
	var deciding sync.WaitGroup
	deciding.Go(func() {
		for ctx.Err() == nil {
			c.decide(ctx, process, rng, false)
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(rng.Int64N(int64(30 * time.Millisecond)))):
			}
		}
	})
	for range messages {
		c.pause(time.Duration(c.rng.Int64N(int64(120 * time.Millisecond))))
		c.want()
		c.say(1001+c.rng.Int64N(3), "")
	}
	span := time.Duration(c.rng.Int64N(int64(400 * time.Millisecond)))
	if c.rng.IntN(2) == 0 {
		c.desk.await(2*span, c.rng)
	} else {
		c.pause(span)
	}
	c.die()
	cancel()
	deciding.Wait()
}

// run kills so often, and then lets everything that waits be decided and end.
func (c *consent) run(kills, messages int) {
	c.t.Helper()
	c.say(owner, "") // so that the owner can be asked
	for range kills {
		c.live(messages)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), readyWithin)
	defer cancel()
	require.NoError(c.t, c.process.WaitReady(ctx))
	c.awaitConsent()
}

// awaitConsent gives the owner's word on all that waits, until nothing does any more.
func (c *consent) awaitConsent() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), answerWithin)
	defer cancel()
	require.NoError(c.t, c.chat.waitConfirmed(ctx))
	for {
		c.decide(ctx, c.process, c.rng, true)
		waiting, err := c.process.Approvals(ctx, "pending")
		require.NoError(c.t, err)
		if len(waiting) == 0 && c.working() == 0 && c.underWay() == 0 && len(c.unanswered()) == 0 {
			return
		}
		require.NoError(c.t, ctx.Err(), "not in time: waiting %d, working %d, on the way %d, unanswered %v", len(waiting), c.working(), c.underWay(), c.unanswered())
		c.pause(askEvery)
	}
}

// unanswered are those of whom nothing is known yet: neither are they answered, nor is what would answer them held or denied.
func (c *consent) unanswered() []string {
	c.t.Helper()
	left := chaos.Judge(c.said, c.sent()).Unanswered
	denied := strings.Join(c.rows("blocked"), "\n")
	for _, w := range c.asked {
		if c.times(w) == 0 && (w.kind != "held" || !strings.Contains(denied, w.word)) {
			left = append(left, w.word)
		}
	}
	return left
}

// times is how often a person is shown the answer to what they want.
func (c *consent) times(w wants) (n int) {
	for _, text := range c.chat.shown(w.person) {
		if strings.Contains(text, w.word) {
			n++
		}
	}
	return n
}

// judgeConsent fails the test where a promise was broken.
func (c *consent) judgeConsent() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), answerWithin)
	defer cancel()
	approvals, err := c.process.Approvals(ctx, "all")
	require.NoError(c.t, err)
	memories, err := c.process.Memories(ctx)
	require.NoError(c.t, err)
	c.judgeWords(ctx, approvals)
	unknown := c.rows("unknown")
	tally := map[string]int{}
	for _, w := range c.asked {
		tally[w.kind]++
		switch w.kind {
		case "call":
			tally[c.judgeCall(ctx, w, of(approvals, w.word))]++
		case "held":
			tally[c.judgeHeld(w, of(approvals, w.word), unknown)]++
		case "memory":
			same := slices.Collect(func(yield func(child.Memory) bool) {
				for _, m := range memories {
					if m.Key == w.word && !yield(m) {
						return
					}
				}
			})
			require.Equal(c.t, []child.Memory{{Key: w.word, Content: w.word}}, same, "what was remembered for %d", w.person)
		}
	}
	c.t.Logf("%d lives, %v, %d words confirmed, %d sends unknown", c.lives, tally, len(c.taken), len(unknown))
	out, err := c.process.Command(ctx, "audit", "verify").CombinedOutput()
	require.NoError(c.t, err, "sluice audit verify: %s", out)
}

// of are the approvals about somebody's word.
func of(approvals []child.Approval, word string) (found []child.Approval) {
	for _, p := range approvals {
		if strings.Contains(string(p.Args), word) {
			found = append(found, p)
		}
	}
	return found
}

// judgeWords compares the owner's words with what happened to them, and with the audit trail, which has one entry for each.
func (c *consent) judgeWords(ctx context.Context, approvals []child.Approval) {
	c.t.Helper()
	entries := map[string]int{}
	for _, action := range []string{"approval.allowed", "approval.denied"} {
		found, err := c.process.Audited(ctx, action)
		require.NoError(c.t, err)
		for _, e := range found {
			entries[e.Action+" "+e.Object]++
		}
	}
	decided := map[string]string{"allowed": "approval.allowed", "used": "approval.allowed", "denied": "approval.denied"}
	for _, p := range approvals {
		action := decided[p.Status]
		require.NotEmpty(c.t, action, "%s is %s in the end", p.ID, p.Status)
		require.Equal(c.t, 1, entries[action+" "+p.ID], "entries of the audit trail: %s %s", action, p.ID)
		if yes, ok := c.taken[p.ID]; ok {
			require.Equal(c.t, yes, action == "approval.allowed", "%s: the gateway has confirmed another word", p.ID)
		}
	}
	require.Len(c.t, entries, len(approvals), "each decision is about something: %v", entries)
	for id := range c.taken {
		require.True(c.t, slices.ContainsFunc(approvals, func(p child.Approval) bool { return p.ID == id }), "%s was decided and is gone", id)
	}
}

// judgeCall looks at what happened to a call, and says it in a word.
func (c *consent) judgeCall(ctx context.Context, w wants, about []child.Approval) string {
	c.t.Helper()
	require.Len(c.t, about, 1, "somebody is asked once about the call of %d", w.person)
	p, done := about[0], c.desk.times(w.word)
	said, err := c.process.History(ctx, directKey(c.platform, w.person))
	require.NoError(c.t, err)
	var told string
	for _, m := range said {
		for _, p := range m.Parts {
			if m.Role == "toolResult" {
				told += p.Text
			}
		}
	}
	switch {
	case p.Status == "denied":
		require.Zero(c.t, done, "the call of %d was denied, and ran", w.person)
		require.Contains(c.t, told, "denied it", "what the model of %d was told", w.person)
		return "call denied"
	case strings.Contains(told, "interrupted"):
		require.LessOrEqual(c.t, done, 1, "the call of %d", w.person)
		return "call interrupted"
	}
	require.Equal(c.t, "used", p.Status)
	require.Equal(c.t, 1, done, "how often the call of %d ran", w.person)
	require.Contains(c.t, told, "done: "+w.word)
	return "call ran"
}

// judgeHeld looks at what happened to a message that a rule held, and says it in a word.
func (c *consent) judgeHeld(w wants, about []child.Approval, unknown []string) string {
	c.t.Helper()
	require.Len(c.t, about, 1, "somebody is asked once about the answer to %d", w.person)
	shown := c.times(w)
	if about[0].Status == "denied" {
		require.Zero(c.t, shown, "the answer to %d was denied, and is shown", w.person)
		return "answer denied"
	}
	excused := 0
	for _, text := range unknown {
		if strings.Contains(text, w.word) {
			excused++
		}
	}
	require.GreaterOrEqual(c.t, shown, 1, "the answer to %d was allowed, and is not shown", w.person)
	require.LessOrEqual(c.t, shown, 1+excused, "the answer to %d is shown too often", w.person)
	return "answer shown"
}

// principal is how the configuration names a person on a platform.
func principal(platform string, person int64) string {
	switch name, _, _ := strings.Cut(platform, " "); name {
	case "slack":
		return "slack:" + slacktest.Person(int(person))
	case "discord":
		return "discord:" + fmt.Sprint(person)
	}
	return "telegram:" + fmt.Sprint(person)
}

// directKey is the key of a person's direct chat.
func directKey(platform string, person int64) string {
	channel, id, _ := strings.Cut(principal(platform, person), ":")
	return "agent:main:" + channel + ":direct:" + id
}

// settleConsent judges once more after another life: what was denied must not come with time.
func (c *consent) settleConsent() {
	c.t.Helper()
	c.terminate()
	c.startReady()
	c.pause(quiet)
	c.awaitConsent()
	c.judgeConsent()
}

// Gateways die while calls wait for an owner's word and messages are held: no call runs twice, none that was allowed is lost but
// reported as interrupted, nothing denied ever runs or leaves, what is remembered is there, and the audit trail is whole.
func TestConsentThroughDeath(t *testing.T) {
	t.Parallel()
	names := []string{"telegram"}
	kills, messages := 8, 3
	if *long {
		names, kills, messages = []string{"telegram", "slack socket", "discord"}, 40, 4
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			w := newWorld(t, consentOptions(name, d, 70))
			w.startReady()
			c := newConsent(w, name, d)
			c.run(kills, messages)
			c.judgeConsent()
			c.settleConsent()
		})
	}
}

// The same with two gateways on one PostgreSQL and one NATS, of which one or the other dies.
func TestConsentAcrossGateways(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := startPair(t, consentOptions("telegram", d, 71), storetest.NewServer(t))
	c := newConsent(p.world, "telegram", d)
	c.die = func() {
		if p.rng.IntN(2) == 0 {
			p.endOwner((*pair).killAndGone)
		} else {
			p.other.Kill()
			p.other = nil
		}
		p.startOther()
	}
	kills := 4
	if *long {
		kills = 20
	}
	c.run(kills, 4)
	c.judgeConsent()
}
