package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// decode reads a record as the gateway sends it.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	got, err := Decode[T](Answer{Body: []byte(text)})
	require.NoError(t, err)
	return got
}

func TestSession(t *testing.T) {
	t.Parallel()
	s := decode[Session](t, `{"id":"sess_1","taint":"INTERNAL","status":"ready","created_at":1777222996.5}`)
	require.Equal(t, "ready", s.State())
	require.True(t, s.CreatedAt.Time().Equal(time.Date(2026, 4, 26, 17, 3, 16, 500_000_000, time.UTC)))
	require.True(t, s.LastActivity.Time().IsZero())
	require.Equal(t, "INTERNAL", Unquoted(s.Taint))
	require.Equal(t, `{"a":1}`, Unquoted(json.RawMessage(`{"a":1}`)))
	require.Empty(t, Unquoted(nil))
	s.Busy = true
	require.Equal(t, "busy", s.State())
}

func TestMessageWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ message, speaker, words string }{
		"a person":        {`{"role":"user","sender":{"name":"Ann","id":"1"},"parts":[{"type":"text","text":"hi"}]}`, "Ann", "hi"},
		"only an id":      {`{"role":"user","sender":{"id":"1"},"parts":[{"type":"text","text":"hi"}]}`, "1", "hi"},
		"an empty sender": {`{"role":"user","sender":{},"parts":[{"type":"text","text":"hi"}]}`, "user", "hi"},
		"a group":         {`{"role":"user","sender":{"name":"Ann"},"parts":[{"type":"text","text":"Ann: hi"}]}`, "Ann", "hi"},
		"tools": {
			`{"role":"assistant","parts":[{"type":"thinking","text":"hm"},{"type":"toolCall","tool":"exec","args":{"a":1}},{"type":"toolResult","tool":"exec","text":"long"},{"type":"text","text":"done"}]}`,
			"assistant", "[exec {\"a\":1}]\n[exec: LONG]\ndone",
		},
		"plain":  {`{"role":"system","text":"a summary"}`, "system", "a summary"},
		"silent": {`{"role":"assistant","parts":[{"type":"thinking","text":"hm"}]}`, "assistant", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := decode[Message](t, test.message)
			require.Equal(t, test.speaker, m.Speaker())
			require.Equal(t, test.words, m.Words(strings.ToUpper))
		})
	}
}

func TestWithheldNamesTheCommandThatShowsMore(t *testing.T) {
	t.Parallel()
	require.Equal(t, "no", (&Withheld{Message: "no"}).Line())
	require.Equal(t, "no [sluice deliveries show d]", (&Withheld{Message: "no", Delivery: "d"}).Line())
	require.Equal(t, "no [sluice approvals show a]", (&Withheld{Message: "no", Delivery: "d", Approval: "a"}).Line())
}

func TestExchangeState(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]Exchange{
		"done":       {Outcome: "done", Phase: "replying", Turn: 2},
		"replying 2": {Phase: "replying", Turn: 2},
		"replying":   {Phase: "replying"},
		"announcing": {Phase: "announcing", Turn: 2},
	} {
		require.Equal(t, want, x.State())
	}
	require.Equal(t, "key", Party{Session: "id", Key: "key"}.String())
	require.Equal(t, "id", Party{Session: "id"}.String())
}

func TestRoute(t *testing.T) {
	t.Parallel()
	require.Empty(t, Route{}.String())
	require.Equal(t, "telegram/default 1001", Route{Channel: "telegram", Account: "default", Conversation: "1001"}.String())
	require.Equal(t, "slack/a C1#17.2", Route{Channel: "slack", Account: "a", Conversation: "C1", Thread: "17.2"}.String())
}

// What the gate decides about a queued delivery is what will happen to it.
func TestExpectedStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ status, action, want string }{
		{"queued", "allow", "queued"}, {"queued", "block", "blocked"}, {"queued", "hold", "held"}, {"sent", "block", "sent"},
	} {
		require.Equal(t, test.want, Delivery{Status: test.status, Decision: &Decision{Action: test.action}}.Expected(), test)
	}
	require.Equal(t, "queued", Delivery{Status: "queued"}.Expected())
}

func TestApprovalOfACall(t *testing.T) {
	t.Parallel()
	p := decode[Approval](t, `{"id":"apr_1","tool":"exec","args":{"command":"ls"}}`)
	require.Equal(t, string(p.Args), p.Summary())
	require.Equal(t, []string{"{", `  "command": "ls"`, "}"}, strings.Split(p.Content(), "\n"))
	require.Equal(t, HeldMessage{}, p.Message())
	require.Empty(t, p.Message().Place())
	require.Equal(t, "not JSON", Approval{Tool: "exec", Args: json.RawMessage("not JSON")}.Content())
}

func TestApprovalOfAMessage(t *testing.T) {
	t.Parallel()
	p := decode[Approval](t, `{"id":"apr_2","args":{"channel":"telegram","account":"default","to":"1001","thread":"7","kind":"reply","text":"the plan\nis"}}`)
	require.Equal(t, "telegram 1001: the plan\nis", p.Summary())
	require.Equal(t, "the plan\nis", p.Content())
	require.Equal(t, "telegram/default 1001#7", p.Message().Place())
	require.Equal(t, HeldMessage{}, Approval{Args: json.RawMessage("[]")}.Message())
}

func TestDeciders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lists [][]string
		want  string
	}{
		{nil, "the owners"},
		{[][]string{{}}, "the owners"},
		{[][]string{{"telegram:1", "slack:U1"}}, "telegram:1, slack:U1"},
		{[][]string{{"telegram:1"}, {"telegram:1"}}, "telegram:1"},
		{[][]string{{"telegram:1"}, {}}, "anyone who is in each of these groups: telegram:1; the owners"},
	} {
		require.Equal(t, test.want, Approval{Approvers: test.lists}.Deciders())
	}
}

func TestWaitingAndDeciding(t *testing.T) {
	t.Parallel()
	c, asked := serve(t, answer(`{"approvals":[{"id":"apr_1"},{"id":"apr_2"}]}`))
	waiting, err := c.Waiting(t.Context())
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	require.Equal(t, "/v1/approvals?limit=200&status=pending", (*asked)[0].Path+"?"+(*asked)[0].Query)

	_, err = c.Call(t.Context(), DecisionRequest("apr_1", "deny", "not today"))
	require.NoError(t, err)
	_, err = c.Call(t.Context(), DecisionRequest("apr_1", "allow", ""))
	require.NoError(t, err)
	require.Equal(t, `POST /v1/approvals/apr_1/deny {"reason":"not today"}`, (*asked)[1].Method+" "+(*asked)[1].Path+" "+(*asked)[1].Body)
	require.Equal(t, `POST /v1/approvals/apr_1/allow `, (*asked)[2].Method+" "+(*asked)[2].Path+" "+(*asked)[2].Body)
}

func TestMemoryState(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Memory{
		"current": {}, "replaced": {Ending: "replaced"}, "tombstone": {Deleted: true}, "tombstone, replaced": {Deleted: true, Ending: "replaced"},
	} {
		require.Equal(t, want, m.State())
	}
}

func TestNamesOfPeopleAndAccounts(t *testing.T) {
	t.Parallel()
	require.Equal(t, "telegram:7 Bob", decode[Pairing](t, `{"channel":"telegram","user":{"id":"7","name":"Bob","username":"bob"}}`).Person())
	require.Equal(t, "telegram:7 bob", decode[Pairing](t, `{"channel":"telegram","user":{"id":"7","username":"bob"}}`).Person())
	require.Equal(t, "@a_bot", decode[Account](t, `{"self":{"name":"A","username":"a_bot"}}`).Profile())
	require.Equal(t, "A", decode[Account](t, `{"self":{"name":"A"}}`).Profile())
}
