package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

type params = map[string]any

func TestMemoryTools(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	got := b.remember(t, "memory_save", params{"key": "user-name", "content": "Eve", "tags": []string{"personal", "preference"}})
	require.Equal(t, []any{true, "user-name", "PUBLIC"}, []any{got.Saved, got.Key, got.Classification})
	got = b.remember(t, "memory_get", params{"key": "user-name"})
	require.Equal(t, []any{true, "Eve", "PUBLIC", []string{"personal", "preference"}, ""}, []any{got.Found, got.Content, got.Classification, got.Tags, got.Audience})
	require.NotEmpty(t, got.UpdatedAt)
	require.Empty(t, got.ExpiresAt)
	require.JSONEq(t, `{"found":false,"key":"nobody"}`, b.call(t, "memory_get", params{"key": "nobody"}).Text)

	b.remember(t, "memory_save", params{"key": "deadline", "content": "The release is due on Friday", "expires_at": time.Now().Add(time.Hour).Format(time.RFC3339)})
	got = b.remember(t, "memory_search", params{"query": "what's the user-name?"})
	require.Equal(t, []string{"user-name"}, keysOf(got.Results))
	require.Equal(t, "what's the user-name?", got.Query)
	got = b.remember(t, "memory_search", params{"query": "releases", "max_results": 1})
	require.Equal(t, []string{"deadline"}, keysOf(got.Results))
	require.NotEmpty(t, got.Results[0].ExpiresAt)
	require.JSONEq(t, `{"results":[],"query":"☂"}`, b.call(t, "memory_search", params{"query": "☂"}).Text)

	require.Equal(t, []string{"deadline", "user-name"}, keysOf(b.remember(t, "memory_list", params{}).Memories))
	require.Equal(t, []string{"user-name"}, keysOf(b.remember(t, "memory_list", params{"tag": "personal"}).Memories))
	page := b.remember(t, "memory_list", params{"limit": 1})
	require.Equal(t, []string{"deadline"}, keysOf(page.Memories))
	last := b.remember(t, "memory_list", params{"limit": 1, "after": page.Next})
	require.Equal(t, []string{"user-name"}, keysOf(last.Memories))
	require.Empty(t, last.Next)

	require.True(t, b.remember(t, "memory_delete", params{"key": "user-name"}).Deleted)
	absent := b.call(t, "memory_delete", params{"key": "user-name"})
	require.True(t, absent.Error)
	require.Equal(t, `key: there is no memory "user-name" that this conversation can delete`, absent.Text)
	require.Empty(t, b.remember(t, "memory_list", params{"tag": "personal"}).Memories)
}

func TestMemoryArgumentsAreBounded(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	long := strings.Repeat("x", 257)
	for name, c := range map[string]struct {
		tool string
		args params
		says string
	}{
		"key too long":    {"memory_save", params{"key": long, "content": "x"}, "key: is 257 bytes long, the maximum is 256"},
		"key of lines":    {"memory_save", params{"key": "a\nb", "content": "x"}, "key: want one line"},
		"blank key":       {"memory_get", params{"key": " "}, "key: is required"},
		"blank content":   {"memory_save", params{"key": "k", "content": "\n"}, "content: is required"},
		"content":         {"memory_save", params{"key": "k", "content": strings.Repeat("x", 64<<10+1)}, "content: is 65537 bytes long"},
		"tags":            {"memory_save", params{"key": "k", "content": "x", "tags": strings.Split(strings.Repeat("t,", 33), ",")}, "tags: want at most 32"},
		"tag":             {"memory_save", params{"key": "k", "content": "x", "tags": []string{"a", long}}, "tags[1]: is 257 bytes long, the maximum is 64"},
		"empty tag":       {"memory_save", params{"key": "k", "content": "x", "tags": []string{""}}, "tags[0]: is required"},
		"no time":         {"memory_save", params{"key": "k", "content": "x", "expires_at": "tomorrow"}, "expires_at: "},
		"time that is by": {"memory_save", params{"key": "k", "content": "x", "expires_at": "1999-01-01T00:00:00Z"}, "expires_at: 1999-01-01T00:00:00Z is in the past"},
		"level":           {"memory_save", params{"key": "k", "content": "x", "classification": "PUBLIC"}, "classification: unknown parameter"},
		"namespace":       {"memory_get", params{"key": "k", "namespace": "other"}, "namespace: unknown parameter"},
		"results":         {"memory_search", params{"query": "x", "max_results": 51}, "max_results: 51, want 1 to 50"},
		"limit":           {"memory_list", params{"limit": 0}, "limit: 0 is less than 1"},
		"cursor":          {"memory_list", params{"after": "nonsense"}, "after: want the value of next"},
		"query":           {"memory_search", params{"query": " "}, "query: is required"},
	} {
		result := b.call(t, c.tool, c.args)
		require.True(t, result.Error, name)
		require.Contains(t, result.Text, c.says, name)
	}
}

// A long content is cut where many are shown, and whole where one is.
func TestLongMemories(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	content := strings.Repeat("tea ü ", 1000)
	b.remember(t, "memory_save", params{"key": "long", "content": content})
	require.Equal(t, content, b.remember(t, "memory_get", params{"key": "long"}).Content)
	found, listed := b.remember(t, "memory_search", params{"query": "tea"}).Results[0], b.remember(t, "memory_list", params{}).Memories[0]
	require.True(t, found.Truncated && listed.Truncated)
	require.LessOrEqual(t, len(found.Content), 4000)
	require.LessOrEqual(t, len(listed.Content), 500)
	require.NotContains(t, found.Content+listed.Content, "\uFFFD")
}

// The level of a memory is the session's own when it saves, whatever it was when the session was opened.
func TestMemoryHasTheLiveLevel(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	levels := flow.Levels()
	for i, level := range levels {
		b.at(t, "agent:main:main", level, true)
		got := b.remember(t, "memory_save", params{"key": "plan", "content": level.String()})
		require.Equal(t, level.String(), got.Classification)
		for j, reader := range levels {
			b.at(t, "agent:main:main", reader, true)
			part := b.call(t, "memory_get", params{"key": "plan"})
			require.True(t, flow.CanFlow(part.Label.Level(), reader))
			require.Contains(t, part.Text, `"content":"`+levels[min(i, j)].String()+`"`)
			for _, tool := range []string{"memory_list", "memory_search"} {
				got := b.remember(t, tool, map[string]params{"memory_list": {}, "memory_search": {"query": "plan"}}[tool])
				rows := append(got.Memories, got.Results...) //nolint:gocritic // one of them is empty
				require.Len(t, rows, 1)
				require.Equal(t, levels[min(i, j)].String(), rows[0].Content)
			}
		}
	}
	b.at(t, "agent:main:main", flow.Public, true)
	b.session.Append(sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("secret", flow.NewLabel(flow.Confidential, flow.Untrusted))}})
	part := b.call(t, "memory_save", params{"key": "later", "content": "x"})
	require.Contains(t, part.Text, "CONFIDENTIAL", "it has risen since it was opened")
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), b.call(t, "memory_get", params{"key": "later"}).Label)
}

// What is at another level is, for a deletion, as a key that never was, byte for byte.
func TestMemoryIsDeletedAtItsOwnLevel(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.at(t, "agent:main:main", flow.Internal, true)
	b.remember(t, "memory_save", params{"key": "plan", "content": "x"})
	for _, level := range []flow.Level{flow.Public, flow.Confidential} {
		b.at(t, "agent:main:main", level, true)
		there, never := b.call(t, "memory_delete", params{"key": "plan"}), b.call(t, "memory_delete", params{"key": "flan"})
		require.True(t, there.Error)
		require.Equal(t, never.Text, strings.Replace(there.Text, "plan", "flan", 1))
	}
	b.at(t, "agent:main:main", flow.Confidential, true)
	b.remember(t, "memory_save", params{"key": "plan", "content": "y"})
	require.True(t, b.remember(t, "memory_delete", params{"key": "plan"}).Deleted)
	require.False(t, b.remember(t, "memory_get", params{"key": "plan"}).Found, "the lower one does not come back")
	require.True(t, b.remember(t, "memory_delete", params{"key": "plan", "uncover": true}).Deleted)
	require.Equal(t, "x", b.remember(t, "memory_get", params{"key": "plan"}).Content)
}

// Another's bounds have no part in whether something fits.
func TestMemoryBounds(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.configure(func(s *roster.Settings) { s.Agents[0].Memory = roster.MemorySettings{MaxEntries: 1, MaxBytes: 100} })
	b.at(t, "agent:main:main", flow.Internal, true)
	b.remember(t, "memory_save", params{"key": "a", "content": "x"})
	full := b.call(t, "memory_save", params{"key": "b", "content": "x"})
	require.True(t, full.Error)
	require.Contains(t, full.Text, "content: no room left: this conversation may keep 1 memories and 100 bytes")
	require.Equal(t, full.Text, b.call(t, "memory_save", params{"key": "a", "content": strings.Repeat("x", 101)}).Text)
	b.at(t, "agent:main:main", flow.Public, true)
	b.remember(t, "memory_save", params{"key": "b", "content": "x"})
	b.at(t, "agent:main:telegram:group:-1", flow.Internal, true)
	b.remember(t, "memory_save", params{"key": "b", "content": "x"})
}

func TestMemoryNamespaces(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.configure(func(*roster.Settings) {})
	b.remember(t, "memory_save", params{"key": "k", "content": "main's"})
	b.at(t, "agent:other:main", flow.Restricted, true)
	require.False(t, b.remember(t, "memory_get", params{"key": "k"}).Found)
	b.configure(func(s *roster.Settings) { s.Agents[1].Memory.Namespace = "main" })
	b.at(t, "agent:other:main", flow.Restricted, true)
	require.Equal(t, "main's", b.remember(t, "memory_get", params{"key": "k"}).Content)
}

// A fault of the store tells a model nothing of it.
func TestMemoryFaults(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.store.memories = brokenMemories{b.store.memories}
	for tool, a := range map[string]params{
		"memory_save": {"key": "k", "content": "x"}, "memory_get": {"key": "k"}, "memory_delete": {"key": "k"},
	} {
		result := b.call(t, tool, a)
		require.True(t, result.Error)
		require.Equal(t, "the tool failed with an internal error; try again later", result.Text)
	}
}

// brokenMemories is a store whose database fails, and that shows what it must not.
type brokenMemories struct{ memories }

var errDisk = errors.New("disk failed at /var/lib/secret")

func (brokenMemories) SaveMemory(context.Context, sessions.MemorySave) error     { return errDisk }
func (brokenMemories) DeleteMemory(context.Context, sessions.MemoryDelete) error { return errDisk }

func (brokenMemories) MemoriesByKey(_ context.Context, q sessions.MemoryKeyed) ([]sessions.Memory, error) {
	return []sessions.Memory{{Key: q.Key, Audience: q.Audience, Content: "secret", Label: flow.Top()}}, nil
}

// What the owner says in private is read by no wording anywhere else, and the owner reads it everywhere in private.
func TestMemoryAudiences(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.configure(func(s *roster.Settings) {
		s.Owners = []string{"webchat:local", "telegram:1001"}
		s.Keyer.Scope = sessions.ScopePerChannelPeer
	})
	direct := func(channel, conversation string) sessions.Route {
		return sessions.Route{Channel: channel, Account: "default", ChatType: sessions.Direct, Conversation: sessions.ConversationID(conversation)}
	}
	group := sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: "-1"}
	for _, c := range []struct {
		name  string
		key   sessions.Key
		route sessions.Route
		owner bool
		want  sessions.Audience // empty: the owners'
	}{
		{name: "the owner in the main session", key: "agent:main:main", route: direct("webchat", "local"), owner: true},
		{name: "the owner's direct chat", key: "agent:main:telegram:direct:1001", route: direct("telegram", "1001"), owner: true},
		{name: "the owner's direct chat, of an account", key: "agent:main:telegram:work:direct:1001", route: direct("telegram", "1001"), owner: true},
		{name: "the owner's direct chat, by the page", key: "agent:main:direct:1001", route: direct("webchat", "local"), owner: true},
		{name: "a program's session", key: "agent:main:http:7", route: direct("webchat", "local"), owner: true},
		{name: "somebody in the main session", key: "agent:main:main", route: direct("telegram", "77"), want: "agent:main:telegram:default:direct:77"},
		{name: "somebody's direct chat", key: "agent:main:telegram:direct:77", route: direct("telegram", "77"), want: "agent:main:telegram:direct:77"},
		{name: "the owner in somebody's direct chat, by the page", key: "agent:main:telegram:direct:77", route: direct("webchat", "local"), owner: true, want: "agent:main:telegram:direct:77"},
		{name: "the owner's id on another channel", key: "agent:main:slack:direct:1001", route: direct("slack", "1001"), owner: true, want: "agent:main:slack:direct:1001"},
		{name: "the owner in a group", key: "agent:main:telegram:group:-1", route: group, owner: true, want: "agent:main:telegram:group:-1"},
		{name: "the owner in a group, by the page", key: "agent:main:telegram:group:-1", route: direct("webchat", "local"), owner: true, want: "agent:main:telegram:group:-1"},
		{name: "a topic of the group", key: "agent:main:telegram:group:-1:topic:7", route: group, want: "agent:main:telegram:group:-1"},
		{name: "a thread of a channel", key: "agent:main:slack:channel:C1:thread:1.2", route: group, want: "agent:main:slack:channel:C1"},
		{name: "a group that is called like a direct chat", key: "agent:main:telegram:group:direct:1001", route: direct("telegram", "1001"), owner: true, want: "agent:main:telegram:group:direct:1001"},
		{name: "a job", key: "cron:nightly", want: "cron:nightly"},
		{name: "another agent's request to the main session", key: "agent:main:main", want: "agent:main:main"},
		{name: "the main session that groups share", key: "agent:main:main", route: group, owner: true, want: "agent:main:main"},
	} {
		b.at(t, c.key, flow.Public, c.owner)
		b.run.Route = c.route
		name := strings.ReplaceAll(c.name, " ", "-")
		b.remember(t, "memory_save", params{"key": name, "content": "x"})
		scope := sessions.MemoryScope{Namespace: "main", MaxLevel: flow.Public, Now: time.Now()}
		saved, err := b.store.MemoriesByKey(t.Context(), sessions.MemoryKeyed{MemoryScope: scope, Key: name, Limit: 1})
		require.NoError(t, err)
		want := c.want
		if want == "" {
			want = sessions.AudienceOwner
		}
		require.Equal(t, want, saved[0].Audience, c.name)
		for _, row := range b.remember(t, "memory_list", params{}).Memories {
			audience := row.Audience
			if audience == "" {
				audience = string(want)
			}
			require.True(t, want == sessions.AudienceOwner || audience == string(want), "%s reads %s of %s", c.name, row.Key, audience)
		}
	}
	b.at(t, "agent:main:main", flow.Public, true)
	b.run.Route = direct("webchat", "local")
	require.Len(t, b.remember(t, "memory_list", params{}).Memories, 17, "owners read what every conversation has told")
	got := b.remember(t, "memory_search", params{"query": "topic"})
	require.Equal(t, "agent:main:telegram:group:-1", got.Results[0].Audience)
	require.True(t, b.call(t, "memory_delete", params{"key": "a-topic-of-the-group"}).Error, "and delete their own")
}

// A caller that speaks for a whole session has the audience of the whole session.
func TestMemoryOfOneSessionForEverybody(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.configure(func(s *roster.Settings) { s.Keyer.Global = true })
	b.at(t, "agent:main:main", flow.Public, true)
	b.remember(t, "memory_save", params{"key": "k", "content": "x"})
	b.at(t, "agent:main:main", flow.Public, false)
	require.True(t, b.remember(t, "memory_get", params{"key": "k"}).Found)
}

// What others save under a key does not take the place of what one's own conversation has saved.
func TestMemoryOfOthersCoversNothing(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.remember(t, "memory_save", params{"key": "bank", "content": "mine"})
	b.at(t, "agent:main:telegram:group:-1", flow.Public, false)
	b.run.Route.ChatType = sessions.Group
	b.remember(t, "memory_save", params{"key": "bank", "content": "theirs"})
	b.remember(t, "memory_save", params{"key": "other", "content": "theirs"})
	b.at(t, "agent:main:main", flow.Restricted, true)
	b.run.Route.ChatType = sessions.Direct
	require.Equal(t, "mine", b.remember(t, "memory_get", params{"key": "bank"}).Content)
	got := b.remember(t, "memory_get", params{"key": "other"})
	require.Equal(t, []any{"theirs", "agent:main:telegram:group:-1"}, []any{got.Content, got.Audience})
	require.Equal(t, []string{"bank", "bank", "other"}, keysOf(b.remember(t, "memory_list", params{}).Memories))
	for i := range 3 { // pages go on behind the same key of another audience
		cursor := ""
		var keys []string
		for range 3 {
			page := b.remember(t, "memory_list", params{"limit": i + 1, "after": cursor})
			keys = append(keys, keysOf(page.Memories)...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		require.Equal(t, []string{"bank", "bank", "other"}, keys, fmt.Sprint(i+1))
	}
}

func TestSharedMemory(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.configure(func(s *roster.Settings) { s.Agents[0].Memory.Shared = true })
	b.at(t, "agent:main:main", flow.Public, true)
	b.remember(t, "memory_save", params{"key": "k", "content": "x"})
	b.at(t, "agent:main:telegram:group:-1", flow.Public, false)
	b.run.Route.ChatType = sessions.Group
	require.True(t, b.remember(t, "memory_get", params{"key": "k"}).Found)
	require.True(t, b.call(t, "memory_delete", params{"key": "k"}).Error)
}

// A sub-agent has the audience of the run that started it, as long as that audience speaks to it.
func TestMemoryOfSubAgents(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.remember(t, "memory_save", params{"key": "private", "content": "x"})
	child := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:c", Agent: "main", Taint: flow.Bottom(), SpawnedBy: b.session.Record().ID})
	b.exchange(announce.Spawn, b.session.Record(), child, func(x *ledger.Exchange) { x.Audience = sessions.AudienceOwner })
	task := b.store.listed[0]
	reads := func(exchange string, owner bool) bool {
		record, err := b.store.Session(t.Context(), child.ID)
		require.NoError(t, err)
		b.as(t, record, owner)
		b.run.Exchange, b.run.Kind, b.run.Route = exchange, sessions.KindMessage, sessions.Route{}
		return b.remember(t, "memory_get", params{"key": "private"}).Found
	}
	require.True(t, reads(task.ID, false), "its task")
	require.True(t, reads("", true), "the owner speaks to it")
	require.False(t, reads("", false), "somebody else does")
	for audience, want := range map[sessions.Audience]bool{sessions.AudienceOwner: true, "agent:main:telegram:group:-1": false, "": false} {
		b.store.exchange = ledger.Exchange{}
		b.store.exchange.Audience = audience
		require.Equal(t, want, reads("xch_other", false), "a request of %q", audience)
	}
	b.store.listed[0].Audience = "agent:main:telegram:group:-1"
	require.False(t, reads(task.ID, false), "it works for a group")
	b.remember(t, "memory_save", params{"key": "result", "content": "x"})
	b.at(t, "agent:main:telegram:group:-1", flow.Public, false)
	require.True(t, b.remember(t, "memory_get", params{"key": "result"}).Found)
}

// The audience of a run goes with the request that it makes.
func TestASpawnHasItsCallersAudience(t *testing.T) {
	t.Parallel()
	b := remembering(t)
	b.tool(t, "sessions_spawn", `{"task":"look"}`)
	b.run.Input.Owner = false
	b.tool(t, "sessions_spawn", `{"task":"look"}`)
	require.Equal(t, sessions.AudienceOwner, b.asked[0].Caller.Audience)
	require.Equal(t, sessions.Audience("agent:main:telegram:default:direct:42"), b.asked[1].Caller.Audience)
}
