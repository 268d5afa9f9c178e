package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools/memory"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// The gateway's memories are those of a real store, where a test needs one.

func (g *gateway) Memory(ctx context.Context, id sessions.MemoryID, upTo flow.Level) (sessions.Memory, error) {
	return g.memories.Memory(ctx, id, upTo)
}

func (g *gateway) MemoryVersions(ctx context.Context, m sessions.Memory, limit int) ([]sessions.Memory, error) {
	return g.memories.MemoryVersions(ctx, m, limit)
}

func (g *gateway) MemoryHistory(ctx context.Context, q sessions.MemoryHistory) ([]sessions.Memory, error) {
	return g.memories.MemoryHistory(ctx, q)
}

func (g *gateway) Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error) {
	return g.memories.Memories(ctx, q)
}

func (g *gateway) SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error) {
	return g.memories.SearchMemories(ctx, q)
}

func (g *gateway) MemoriesByKey(ctx context.Context, q sessions.MemoryKeyed) ([]sessions.Memory, error) {
	return g.memories.MemoriesByKey(ctx, q)
}

func (g *gateway) DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error {
	return g.memories.DeleteMemory(ctx, d)
}

// remembering is a gateway with a few memories.
func remembering(t *testing.T) (http.Handler, *store.DB) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	g := newGateway()
	g.memories = db
	for _, m := range []sessions.Memory{
		{ID: "mem_1", Namespace: "main", Audience: sessions.AudienceOwner, Key: "plan", Content: "low tea", Tags: []string{"food"}, Label: flow.Bottom()},
		{ID: "mem_2", Namespace: "main", Audience: sessions.AudienceOwner, Key: "plan", Content: "high tea", Label: flow.NewLabel(flow.Confidential, flow.Untrusted)},
		{ID: "mem_3", Namespace: "main", Audience: "agent:main:telegram:group:1", Key: "plan", Content: "group tea", Label: flow.Bottom()},
		{ID: "mem_4", Namespace: "other", Audience: sessions.AudienceOwner, Key: "plan", Content: "other tea", Label: flow.Bottom()},
	} {
		m.Created, m.Updated, m.Session = clock, clock, "sess_1"
		require.NoError(t, db.SaveMemory(t.Context(), sessions.MemorySave{Memory: m, MaxEntries: 10, MaxBytes: 10_000}))
	}
	agents := roster.New(roster.Settings{Agents: []roster.Definition{{ID: "main", Default: true, Memory: roster.MemorySettings{MaxEntries: 2}}, {ID: "other"}}})
	saved := func(c *httpapi.Config) {
		c.Gateway.Memories = &memory.Tools{Store: db, Roster: agents, Now: func() time.Time { return clock }}
	}
	return newServer(t, g, saved, withTokens(auth.Credential{Name: "own", Token: "own", Level: flow.Restricted, Role: auth.RoleOwner}, auth.Credential{Name: "reader", Token: "reader", Level: flow.Internal, Role: auth.RoleViewer},
		auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleOperator},
		auth.Credential{Name: "high", Token: "high", Level: flow.Restricted, Role: auth.RoleOperator})).Handler(), db
}

type memoryAnswer struct {
	Key                                                             string
	ID, Content, Classification, Trust, Audience, Namespace, Ending string
	Deleted                                                         bool
}

type memoryShown struct {
	Memory   memoryAnswer
	Versions []memoryAnswer
}

type memoryPage struct {
	Memories []memoryAnswer
	Next     string
}

func ask(t *testing.T, h http.Handler, token, path string, into any) int {
	t.Helper()
	w := call(h, http.MethodGet, path, "", "Authorization: Bearer "+token)
	if w.Code == http.StatusOK {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), into), w.Body)
	}
	return w.Code
}

func idsOf(page memoryPage) string {
	ids := []string{}
	for _, m := range page.Memories {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

func TestMemories(t *testing.T) {
	t.Parallel()
	h, _ := remembering(t)
	for _, c := range []struct{ token, query, want string }{
		{"high", "", "mem_3 mem_2 mem_4"},
		{"low", "", "mem_3 mem_1 mem_4"},
		{"low", "?namespace=main", "mem_3 mem_1"},
		{"low", "?namespace=main&audience=owner", "mem_1"},
		{"low", "?tag=food", "mem_1"},
		{"high", "?tag=food", ""},
		{"low", "?q=tea&namespace=main", "mem_3 mem_1"},
		{"low", "?q=high", ""},
		{"high", "?q=high", "mem_2"},
		{"low", "?namespace=nobody", ""},
	} {
		var page memoryPage
		require.Equal(t, http.StatusOK, ask(t, h, c.token, "/v1/memory"+c.query, &page))
		require.Equal(t, c.want, idsOf(page), "%+v", c)
		require.Empty(t, page.Next)
	}
	var all []string
	after := ""
	for range 3 {
		var page memoryPage
		require.Equal(t, http.StatusOK, ask(t, h, "low", "/v1/memory?limit=1&after="+after, &page))
		all = append(all, idsOf(page))
		after = page.Next
	}
	require.Equal(t, []string{"mem_3", "mem_1", "mem_4"}, all)
	require.Empty(t, after)
	for _, bad := range []string{"?after=nonsense", "?q=x&tag=y", "?limit=0", "?limit=201"} {
		require.GreaterOrEqual(t, ask(t, h, "low", "/v1/memory"+bad, nil), 400, bad)
	}
}

func TestMemoryIsShownAndDeleted(t *testing.T) {
	t.Parallel()
	h, db := remembering(t)
	var m memoryShown
	require.Equal(t, http.StatusOK, ask(t, h, "high", "/v1/memory/mem_2", &m))
	require.Equal(t, []any{"high tea", "CONFIDENTIAL", "untrusted", "owner", 1}, []any{m.Memory.Content, m.Memory.Classification, m.Memory.Trust, m.Memory.Audience, len(m.Versions)})
	hidden := call(h, http.MethodGet, "/v1/memory/mem_2", "", "Authorization: Bearer low")
	absent := call(h, http.MethodGet, "/v1/memory/mem_9", "", "Authorization: Bearer low")
	require.Equal(t, http.StatusNotFound, hidden.Code)
	require.Equal(t, absent.Body.String(), hidden.Body.String())
	remove := func(token, path string) int {
		return call(h, http.MethodDelete, path, "", "Authorization: Bearer "+token).Code
	}
	require.Equal(t, http.StatusNotFound, remove("low", "/v1/memory/mem_2"))
	require.Equal(t, http.StatusNoContent, remove("high", "/v1/memory/mem_2"))
	require.Equal(t, http.StatusNotFound, remove("high", "/v1/memory/mem_2"))
	var page memoryPage
	require.Equal(t, http.StatusOK, ask(t, h, "high", "/v1/memory?namespace=main&audience=owner", &page))
	require.Empty(t, page.Memories, "the lower one does not come back")
	require.Equal(t, http.StatusOK, ask(t, h, "high", "/v1/memory/mem_2", &m))
	require.Equal(t, []any{"deleted", true, 2}, []any{m.Memory.Ending, m.Versions[0].Deleted, len(m.Versions)})
	require.Equal(t, http.StatusNoContent, remove("high", "/v1/memory/"+m.Versions[0].ID+"?uncover=true"), "the tombstone itself")
	require.Equal(t, http.StatusOK, ask(t, h, "high", "/v1/memory?namespace=main&audience=owner", &page))
	require.Equal(t, "mem_1", idsOf(page))
	entries, err := db.ListAudit(t.Context(), ledger.AuditQuery{Action: "memory.delete", MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, []any{"token:high", "mem_2", flow.Confidential}, []any{entries[1].Actor, entries[1].Object, entries[1].Label.Level()})
}

// A memory may have the key versions, although the versions of all keys are read at an address of that name.
func TestAMemoryMayHaveTheKeyVersions(t *testing.T) {
	t.Parallel()
	h, _ := remembering(t)
	w := call(h, http.MethodPost, "/v1/memory", `{"key":"versions","content":"two"}`, "Authorization: Bearer own")
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	var m, other memoryShown
	require.Equal(t, http.StatusOK, ask(t, h, "own", "/v1/memory/versions", &m))
	require.Equal(t, "versions", m.Memory.Key)
	require.Len(t, m.Versions, 1)
	require.Equal(t, http.StatusNotFound, ask(t, h, "own", "/v1/memory/versions?namespace=other", nil))
	require.Equal(t, http.StatusOK, ask(t, h, "own", "/v1/memory/versions?key=versions", &other))
	require.Empty(t, other.Memory.Key)
	require.Len(t, other.Versions, 1)
	w = call(h, http.MethodDelete, "/v1/memory/versions", "", "Authorization: Bearer own")
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Equal(t, http.StatusNotFound, ask(t, h, "own", "/v1/memory/versions", nil))
}

// What a caller saves has the caller's label and audience, whatever the request says.
func TestMemoryIsSaved(t *testing.T) {
	t.Parallel()
	h, db := remembering(t)
	save := func(token, body string) (int, memoryAnswer, string) {
		w := call(h, http.MethodPost, "/v1/memory", body, "Authorization: Bearer "+token)
		var m memoryAnswer
		if w.Code == http.StatusCreated {
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &m))
		}
		return w.Code, m, w.Body.String()
	}
	var last string // its id: it is above the level of low
	for _, c := range []struct{ token, body, level, trust, audience, namespace string }{
		{"own", `{"key":"milk","content":"two"}`, "PUBLIC", "trusted", "owner", "main"},
		{"own", `{"key":"milk","content":"two","label":"CONFIDENTIAL","agent":"other"}`, "CONFIDENTIAL", "trusted", "owner", "other"},
		{"low", `{"key":"milk","content":"two","label":"PUBLIC/trusted"}`, "INTERNAL", "untrusted", "webchat:token:low", "main"},
		{"high", `{"key":"milk","content":"two"}`, "RESTRICTED", "untrusted", "webchat:token:high", "main"},
	} {
		code, m, text := save(c.token, c.body)
		require.Equal(t, http.StatusCreated, code, text)
		require.Equal(t, []string{c.level, c.trust, c.audience, c.namespace}, []string{m.Classification, m.Trust, m.Audience, m.Namespace}, c)
		last = m.ID
	}
	entries, err := db.ListAudit(t.Context(), ledger.AuditQuery{Action: "memory.save", MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Len(t, entries, 4)
	require.Equal(t, []any{"token:high", flow.Restricted}, []any{entries[0].Actor, entries[0].Label.Level()})
	_, _, shown := save("own", `{"key":"milk","content":"two"}`)
	require.Contains(t, shown, `"tags":[]`)
	for body, want := range map[string]string{
		`{"key":"a\nb","content":"x"}`:                                  "key: want one line",
		`{"key":"a","content":" "}`:                                     "content: is required",
		`{"key":"a","content":"x","agent":"nobody"}`:                    `agent: there is no agent \"nobody\"`,
		`{"key":"a","content":"x","expires_at":"2001-01-01T00:00:00Z"}`: "expires_at: is in the past",
		`{"key":"a","content":"x","label":"RESTRICTED"}`:                "label: RESTRICTED is above INTERNAL",
	} {
		code, _, text := save("low", body)
		require.GreaterOrEqual(t, code, 400, body)
		require.Less(t, code, 500, body)
		require.Contains(t, text, want)
	}
	code, _, text := save("reader", `{"key":"a","content":"x"}`)
	require.Equal(t, http.StatusForbidden, code, text)
	code, _, text = save("low", `{"key":"`+last+`","content":"x"}`)
	require.Equal(t, http.StatusCreated, code, text)
	require.Equal(t, http.StatusOK, ask(t, h, "low", "/v1/memory/"+last, &memoryShown{}), "the id of a hidden memory is a key like another")
	require.Equal(t, http.StatusOK, ask(t, h, "high", "/v1/memory/"+last, &memoryShown{}))
	_, _, text = save("low", `{"key":"c","content":"x"}`)
	require.Contains(t, text, "content: no room left: your token may keep 2 memories")

	var m memoryShown
	require.Equal(t, http.StatusOK, ask(t, h, "low", "/v1/memory/milk", &m), "the caller's own comes first")
	require.Equal(t, "webchat:token:low", m.Memory.Audience)
	require.Equal(t, http.StatusOK, ask(t, h, "own", "/v1/memory/milk?namespace=main", &m))
	require.Equal(t, "owner", m.Memory.Audience)
	ambiguous := call(h, http.MethodGet, "/v1/memory/milk", "", "Authorization: Bearer own")
	require.Equal(t, http.StatusConflict, ambiguous.Code)
	require.Contains(t, ambiguous.Body.String(), "several memories have this key; name one by its id")
	hidden := call(h, http.MethodGet, "/v1/memory/milk?namespace=other", "", "Authorization: Bearer low")
	absent := call(h, http.MethodGet, "/v1/memory/nothing", "", "Authorization: Bearer low")
	require.Equal(t, http.StatusNotFound, hidden.Code)
	require.Equal(t, absent.Body.String(), hidden.Body.String())
}
