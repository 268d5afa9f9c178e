package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store"
)

const (
	entriesMax = 1000
	bytesMax   = 1 << 20
)

func newMemory(key, content string, level flow.Level, tags ...string) sessions.Memory {
	return sessions.Memory{
		ID: sessions.NewMemoryID(), Namespace: "main", Audience: sessions.AudienceOwner, Label: flow.NewLabel(level, flow.Trusted),
		Key: key, Content: content, Tags: tags, Session: "sess_1", Run: "run_1", Created: start, Updated: start,
	}
}

func saveOf(m sessions.Memory) sessions.MemorySave {
	return sessions.MemorySave{Memory: m, MaxEntries: entriesMax, MaxBytes: bytesMax}
}

func (b *bundle) save(m sessions.Memory) {
	b.t.Helper()
	require.NoError(b.t, b.SaveMemory(b.ctx, saveOf(m)))
}

func tombstone(key string, level flow.Level, at time.Time) sessions.MemoryDelete {
	m := newMemory(key, "", level)
	m.Created, m.Updated = at, at
	return sessions.MemoryDelete{Memory: m}
}

func scope(most flow.Level, now time.Time) sessions.MemoryScope {
	return sessions.MemoryScope{Namespace: "main", Audience: sessions.AudienceOwner, MaxLevel: most, Now: now}
}

func (b *bundle) byKey(s sessions.MemoryScope, key string) []sessions.Memory {
	b.t.Helper()
	found, err := b.MemoriesByKey(b.ctx, sessions.MemoryKeyed{MemoryScope: s, Key: key, Limit: 10})
	require.NoError(b.t, err)
	return found
}

// contents returns the contents of memories, in their order.
func contents(found []sessions.Memory) []string {
	out := []string{}
	for _, m := range found {
		out = append(out, m.Content)
	}
	return out
}

func (b *bundle) searched(s sessions.MemoryScope, text string) []string {
	b.t.Helper()
	found, err := b.SearchMemories(b.ctx, sessions.MemorySearch{MemoryScope: s, Text: text, Limit: 10})
	require.NoError(b.t, err)
	return contents(found)
}

func (b *bundle) listed(q sessions.MemoryQuery) []string {
	b.t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	found, err := b.Memories(b.ctx, q)
	require.NoError(b.t, err)
	return contents(found)
}

func testMemoryRoundTrip(t *testing.T, b *bundle) {
	m := newMemory("user-name", "wie heißt sie? Ünï \"7\"", flow.Confidential, "personal", "preference")
	m.Label, m.Expires = secret, at(60)
	b.save(m)
	require.Equal(t, []sessions.Memory{m}, b.byKey(scope(flow.Restricted, at(1)), "user-name"))
	got, err := b.Memory(b.ctx, m.ID, flow.Confidential)
	require.NoError(t, err)
	require.Equal(t, m, got)
	_, err = b.Memory(b.ctx, m.ID, flow.Internal)
	require.ErrorIs(t, err, sessions.ErrNotFound, "what is above is not there")

	require.ErrorIs(t, b.SaveMemory(b.ctx, saveOf(m)), sessions.ErrDuplicate, "saved already")
	require.Len(t, b.byKey(scope(flow.Restricted, at(1)), "user-name"), 1)
	for _, broken := range []func(*sessions.Memory){
		func(m *sessions.Memory) { m.Label = flow.Label{} },
		func(m *sessions.Memory) { m.Namespace = "" },
		func(m *sessions.Memory) { m.Audience = "" },
	} {
		m := newMemory("x", "y", flow.Public)
		broken(&m)
		require.Error(t, b.SaveMemory(b.ctx, saveOf(m)))
	}
	require.Empty(t, b.byKey(sessions.MemoryScope{Namespace: "main", Now: start}, "user-name"), "without a level nothing is seen")
	for _, none := range []sessions.MemoryScope{{Namespace: "other", MaxLevel: flow.Restricted}, {Namespace: "main", Audience: "agent:main:x", MaxLevel: flow.Restricted}} {
		none.Now = start
		require.Empty(t, b.byKey(none, "user-name"))
		require.Empty(t, b.listed(sessions.MemoryQuery{MemoryScope: none}))
		require.Empty(t, b.searched(none, "heißt"))
	}
}

// testMemoryVersions: all versions of a key are kept, replaced and deleted ones.
func testMemoryVersions(t *testing.T, b *bundle) {
	for i := range 15 {
		m := newMemory("k", fmt.Sprintf("first %d", i), flow.Internal)
		m.Created, m.Updated = at(i), at(i)
		b.save(m)
	}
	now := b.byKey(scope(flow.Internal, at(20)), "k")
	require.Equal(t, []string{"first 14"}, contents(now))
	require.Equal(t, start, now[0].Created, "as old as the first")
	versions, err := b.MemoryVersions(b.ctx, now[0], 100)
	require.NoError(t, err)
	require.Len(t, versions, 15)
	require.Equal(t, "first 0", versions[14].Content)
	require.Equal(t, []any{sessions.MemoryReplaced, at(14)}, []any{versions[1].Ending, versions[1].Ended})

	require.NoError(t, b.DeleteMemory(b.ctx, tombstone("k", flow.Internal, at(21))))
	for i := range 12 {
		m := newMemory("k", fmt.Sprintf("second %d", i), flow.Internal)
		m.Created, m.Updated = at(22+i), at(22+i)
		b.save(m)
	}
	now = b.byKey(scope(flow.Internal, at(60)), "k")
	require.Equal(t, at(22), now[0].Created, "what was deleted has no part in it")
	versions, err = b.MemoryVersions(b.ctx, now[0], 100)
	require.NoError(t, err)
	require.Len(t, versions, 28)
	require.True(t, versions[12].Deleted)
	require.Equal(t, []any{"first 14", sessions.MemoryDeleted, at(21)}, []any{versions[13].Content, versions[13].Ending, versions[13].Ended})

	b.save(newMemory("k", "above", flow.Confidential))
	b.save(newMemory("other", "another key", flow.Internal))
	var seen []string
	q := sessions.MemoryHistory{Key: "k", MaxLevel: flow.Internal, Limit: 10}
	for {
		page, err := b.MemoryHistory(b.ctx, q)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		seen, q.After = append(seen, contents(page)...), page[len(page)-1].ID
	}
	require.Len(t, seen, 28)
	require.NotContains(t, seen, "above")
	require.NotContains(t, seen, "another key")
	for _, none := range []sessions.MemoryHistory{{Key: "k", Namespace: "other"}, {Key: "k", Audience: "agent:main:x"}, {Key: "none"}} {
		none.MaxLevel, none.Limit = flow.Restricted, 10
		found, err := b.MemoryHistory(b.ctx, none)
		require.NoError(t, err)
		require.Empty(t, found)
	}
}

// testMemoriesOfTags: each tag has its own limit, and the results come in the order of the tags.
func testMemoriesOfTags(t *testing.T, b *bundle) {
	b.save(newMemory("a", "tea", flow.Public, "food", "rule"))
	b.save(newMemory("b", "rice", flow.Public, "food"))
	b.save(newMemory("c", "salt", flow.Public, "food"))
	b.save(newMemory("d", "quiet", flow.Public, "rule"))
	b.save(newMemory("e", "vault", flow.Restricted, "rule"))
	q := sessions.MemoryQuery{MemoryScope: scope(flow.Internal, at(1)), Tags: []string{"rule", "none", "food"}, Limit: 2}
	require.Equal(t, []string{"tea", "quiet", "tea", "rice"}, b.listed(q))
}

// testMemoriesOfALevel: which version of a key a reader sees is decided before the level is compared.
func testMemoriesOfALevel(t *testing.T, b *bundle) {
	b.save(newMemory("a", "low tea", flow.Public, "food"))
	b.save(newMemory("b", "covered tea", flow.Public, "food"))
	b.save(newMemory("b", "high tea", flow.Confidential, "food"))
	b.save(newMemory("c", "secret tea", flow.Restricted, "food"))
	for _, c := range []struct {
		most, level flow.Level
		want        []string
	}{
		{flow.Restricted, flow.Public, []string{"low tea"}},
		{flow.Restricted, flow.Confidential, []string{"high tea"}},
		{flow.Restricted, flow.Internal, []string{}},
		{flow.Internal, flow.Public, []string{"low tea", "covered tea"}},
		{flow.Confidential, flow.Restricted, []string{}},
	} {
		s := scope(c.most, at(1))
		s.Level = c.level
		require.Equal(t, c.want, b.listed(sessions.MemoryQuery{MemoryScope: s}), "%v", c)
		require.Equal(t, c.want, b.listed(sessions.MemoryQuery{MemoryScope: s, Tag: "food"}), "%v", c)
		require.Equal(t, c.want, b.listed(sessions.MemoryQuery{MemoryScope: s, Tags: []string{"food"}}), "%v", c)
		require.ElementsMatch(t, c.want, b.searched(s, "tea"), "%v", c)
	}
}

// testMemoryShadows: of a key, only the highest visible version counts in every query.
func testMemoryShadows(t *testing.T, b *bundle) {
	b.save(newMemory("plan", "low tea", flow.Public, "food"))
	b.save(newMemory("plan", "high coffee", flow.Confidential))
	b.save(newMemory("else", "low tea", flow.Public))
	for _, c := range []struct {
		most flow.Level
		want string
	}{{flow.Public, "low tea"}, {flow.Internal, "low tea"}, {flow.Confidential, "high coffee"}, {flow.Restricted, "high coffee"}} {
		require.Equal(t, []string{c.want}, contents(b.byKey(scope(c.most, at(1)), "plan")), c.most)
	}
	high := scope(flow.Restricted, at(1))
	require.Empty(t, b.listed(sessions.MemoryQuery{MemoryScope: high, Tag: "food"}), "the higher one lacks the tag, the lower one is not there")
	require.Equal(t, []string{"low tea"}, b.listed(sessions.MemoryQuery{MemoryScope: scope(flow.Internal, at(1)), Tag: "food"}))
	require.Equal(t, []string{"low tea", "high coffee"}, b.listed(sessions.MemoryQuery{MemoryScope: high}))
	require.Empty(t, b.listed(sessions.MemoryQuery{MemoryScope: high, Tags: []string{"food", "rule"}, Limit: 10}), "the same with several tags")
	require.Len(t, b.searched(high, "tea"), 1, "the higher one does not match, the lower one is not there")
	require.Len(t, b.searched(scope(flow.Internal, at(1)), "tea"), 2)

	for _, level := range []flow.Level{flow.Internal, flow.Restricted} { // a version at another level is treated as unknown
		require.ErrorIs(t, b.DeleteMemory(b.ctx, tombstone("plan", level, at(2))), sessions.ErrNotFound)
	}
	require.NoError(t, b.DeleteMemory(b.ctx, tombstone("plan", flow.Confidential, at(2))))
	require.ErrorIs(t, b.DeleteMemory(b.ctx, tombstone("plan", flow.Confidential, at(3))), sessions.ErrNotFound, "once")
	require.Empty(t, b.byKey(scope(flow.Confidential, at(3)), "plan"), "the lower one does not come back")
	require.Len(t, b.byKey(scope(flow.Internal, at(3)), "plan"), 1, "below nothing has changed")
	require.Len(t, b.searched(scope(flow.Restricted, at(3)), "tea"), 1)

	uncover := tombstone("plan", flow.Confidential, at(4))
	uncover.Uncover = true
	require.NoError(t, b.DeleteMemory(b.ctx, uncover))
	require.ErrorIs(t, b.DeleteMemory(b.ctx, uncover), sessions.ErrDuplicate, "done already")
	require.Equal(t, []string{"low tea"}, contents(b.byKey(scope(flow.Confidential, at(5)), "plan")))
	again := tombstone("plan", flow.Confidential, at(6))
	again.Uncover = true
	require.ErrorIs(t, b.DeleteMemory(b.ctx, again), sessions.ErrNotFound)
}

// testMemoryExpiry: an expired memory is gone, swept or not.
func testMemoryExpiry(t *testing.T, b *bundle) {
	b.save(newMemory("k", "low tea", flow.Public))
	m := newMemory("k", "high tea", flow.Internal, "food")
	m.Expires = at(10)
	b.save(m)
	look := func(now time.Time, want string) {
		t.Helper()
		s := scope(flow.Internal, now)
		require.Equal(t, []string{want}, contents(b.byKey(s, "k")))
		require.Equal(t, []string{want}, b.listed(sessions.MemoryQuery{MemoryScope: s}))
		require.Equal(t, []string{want}, b.searched(s, "tea"))
	}
	look(at(9), "high tea")
	look(at(10), "low tea")
	require.ErrorIs(t, b.DeleteMemory(b.ctx, tombstone("k", flow.Internal, at(10))), sessions.ErrNotFound)
	for _, want := range []int{1, 0} {
		n, err := b.SweepMemories(b.ctx, at(11), time.Time{}, 100)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	look(at(11), "low tea")
	versions, err := b.MemoryVersions(b.ctx, m, 10)
	require.NoError(t, err)
	require.Equal(t, []any{sessions.MemoryExpired, at(10)}, []any{versions[0].Ending, versions[0].Ended})

	n, err := b.SweepMemories(b.ctx, at(10).AddDate(1, 0, 1), at(11), 100)
	require.NoError(t, err)
	require.Equal(t, 1, n, "what is not current is kept for a year")
	_, err = b.Memory(b.ctx, m.ID, flow.Restricted)
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// testMemoryAudiences: audiences and namespaces are independent of each other.
func testMemoryAudiences(t *testing.T, b *bundle) {
	b.save(newMemory("k", "owner tea", flow.Public))
	group := newMemory("k", "group tea", flow.Confidential, "food")
	group.Audience, group.Updated = "agent:main:telegram:group:1", at(1)
	b.save(group)
	other := newMemory("k", "other tea", flow.Restricted)
	other.Namespace = "other"
	b.save(other)
	own, all := scope(flow.Restricted, at(2)), scope(flow.Restricted, at(2))
	all.Audience = ""
	require.Equal(t, []string{"owner tea"}, contents(b.byKey(own, "k")))
	require.Equal(t, []string{"owner tea"}, b.searched(own, "tea"))
	require.Equal(t, []string{"owner tea"}, b.listed(sessions.MemoryQuery{MemoryScope: own}))
	require.Equal(t, []string{"group tea", "owner tea"}, contents(b.byKey(all, "k")), "a higher level in another audience covers nothing")
	require.Equal(t, []string{"group tea", "owner tea"}, b.searched(all, "tea"), "the newest first")
	require.Equal(t, []string{"group tea", "owner tea"}, b.listed(sessions.MemoryQuery{MemoryScope: all}))
	all.Namespace = ""
	require.Len(t, b.searched(all, "tea"), 3)
	require.Equal(t, []string{"group tea", "owner tea", "other tea"}, b.listed(sessions.MemoryQuery{MemoryScope: all}))

	foreign := tombstone("k", flow.Confidential, at(3))
	require.ErrorIs(t, b.DeleteMemory(b.ctx, foreign), sessions.ErrNotFound)
}

func testMemoryQuota(t *testing.T, b *bundle) {
	save := func(m sessions.Memory) error {
		return b.SaveMemory(b.ctx, sessions.MemorySave{Memory: m, MaxEntries: 2, MaxBytes: 1000})
	}
	require.NoError(t, save(newMemory("a", "x", flow.Internal)))
	require.NoError(t, save(newMemory("b", "x", flow.Internal)))
	require.NoError(t, save(newMemory("b", "y", flow.Internal)), "no further one")
	require.ErrorIs(t, save(newMemory("c", "x", flow.Internal)), sessions.ErrMemoryFull)
	require.Empty(t, b.byKey(scope(flow.Restricted, at(1)), "c"))
	require.NoError(t, save(newMemory("c", "x", flow.Public)), "each level has its own bounds")
	group := newMemory("c", "x", flow.Internal)
	group.Audience = "agent:main:telegram:group:1"
	require.NoError(t, save(group), "each audience has its own bounds")
	require.ErrorIs(t, save(newMemory("a", strings.Repeat("x", 980), flow.Internal)), sessions.ErrMemoryFull)
	require.Equal(t, []string{"x"}, contents(b.byKey(scope(flow.Restricted, at(1)), "a")), "what did not fit has ended nothing")
	require.NoError(t, b.DeleteMemory(b.ctx, func() sessions.MemoryDelete {
		d := tombstone("a", flow.Internal, at(2))
		d.Uncover = true
		return d
	}()))
	require.NoError(t, save(newMemory("c", "x", flow.Internal)), "there is room again")
}

// testMemoryRace: concurrent saves in a new namespace leave one current version of each key.
func testMemoryRace(t *testing.T, b *bundle) {
	const savers = 16
	failed := make([]error, savers)
	var all sync.WaitGroup
	for i := range savers {
		all.Go(func() {
			m := newMemory(strconv.Itoa(i%4), "tea", flow.Internal, "food")
			if i%2 == 0 {
				m.Audience = "agent:main:telegram:group:1"
			}
			failed[i] = b.SaveMemory(b.ctx, saveOf(m))
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(failed...))
	everything := scope(flow.Internal, at(1))
	everything.Audience = ""
	require.Len(t, b.listed(sessions.MemoryQuery{MemoryScope: everything}), 4)
	require.Len(t, b.listed(sessions.MemoryQuery{MemoryScope: everything, Tag: "food"}), 4)
	require.Len(t, b.searched(everything, "tea"), 4)
}

// testRemembers: a namespace counts as used as soon as a save in it has returned, regardless of earlier and
// concurrent reads.
func testRemembers(t *testing.T, b *bundle) {
	remembers := func(namespace string) bool {
		begun, err := b.Remembers(b.ctx, namespace)
		require.NoError(t, err)
		return begun
	}
	for i := range 10 {
		namespace := strconv.Itoa(i)
		require.False(t, remembers(namespace))
		require.False(t, remembers(namespace))
		var reads sync.WaitGroup
		for range 4 {
			reads.Go(func() { _, _ = b.Remembers(b.ctx, namespace) }) // either answer is right, but it must not be kept
		}
		m := newMemory("tea", "ginger", flow.Internal)
		m.Namespace = namespace
		b.save(m)
		require.True(t, remembers(namespace))
		reads.Wait()
		require.True(t, remembers(namespace))
		deleted := tombstone("tea", flow.Internal, at(1))
		deleted.Namespace = namespace
		require.NoError(t, b.DeleteMemory(b.ctx, deleted))
		require.True(t, remembers(namespace), "there is a version of it still")
	}
	require.False(t, remembers("10"))
}

// testMemorySearch finds words by their stems, in any script. Words in keys and tags, and rare words, count more.
func testMemorySearch(t *testing.T, b *bundle) {
	for i, m := range []sessions.Memory{
		newMemory("project-deadline", "The release is due on Friday.", flow.Public, "project"),
		newMemory("notes", "Deadlines make her nervous; she prefers running.", flow.Public),
		newMemory("city", "Sie wohnt in İstanbul, früher in Zürich.", flow.Public),
		newMemory("தேநீர்", "அவருக்கு இஞ்சி தேநீர் பிடிக்கும்", flow.Public),
		newMemory("締切", "締切は金曜日です", flow.Public),
		newMemory("quote", `"NEAR" OR body:x* -not (a AND b) ^c {d}`, flow.Public),
		newMemory("mail", "write to eve.smith@example.com, not https://example.com/a-b?c=1", flow.Public),
	} {
		m.Updated = at(i)
		b.save(m)
	}
	s := scope(flow.Public, at(30))
	for text, want := range map[string][]string{
		"what's the deadline?":        {"The release is due on Friday.", "Deadlines make her nervous; she prefers running."},
		"project-deadline":            {"The release is due on Friday.", "Deadlines make her nervous; she prefers running."},
		"Does she run?":               {"Deadlines make her nervous; she prefers running."},
		"istanbul":                    {"Sie wohnt in İstanbul, früher in Zürich."},
		"ISTANBUL":                    {"Sie wohnt in İstanbul, früher in Zürich."},
		"ıstanbul zurich":             {"Sie wohnt in İstanbul, früher in Zürich."},
		"இஞ்சி":                       {"அவருக்கு இஞ்சி தேநீர் பிடிக்கும்"},
		"金曜":                          {"締切は金曜日です"},
		"near":                        {`"NEAR" OR body:x* -not (a AND b) ^c {d}`},
		"smith":                       {"write to eve.smith@example.com, not https://example.com/a-b?c=1"},
		"example.com/a-b":             {"write to eve.smith@example.com, not https://example.com/a-b?c=1"},
		"":                            {},
		"🙂 ☂ -- * \" ' ( ) : ^ {} \\": {},
		"nothing of the kind":         {},
	} {
		require.Equal(t, want, b.searched(s, text), text)
	}
	for i := range 20 {
		b.save(newMemory(fmt.Sprintf("server-%d", i), "the common server", flow.Public))
	}
	b.save(newMemory("rare", "the common kubernetes", flow.Public))
	b.save(newMemory("last", "the common server", flow.Public))
	found := b.searched(s, "common server kubernetes")
	require.Len(t, found, 10)
	require.Equal(t, "the common kubernetes", found[0], "a word that few have says more")
}

// testForeignMemory: a key, tag or content with any bytes is saved and found, or refused, and nothing else breaks.
func testForeignMemory(t *testing.T, b *bundle) {
	for i, text := range foreignTexts() {
		m := newMemory(fmt.Sprintf("%d %s", i, text), text, flow.Internal, text)
		require.NoError(t, b.SaveMemory(b.ctx, saveOf(m)), "%q", text)
	}
	s := scope(flow.Restricted, at(1))
	for _, text := range foreignTexts() {
		_, err := b.SearchMemories(b.ctx, sessions.MemorySearch{MemoryScope: s, Text: text, Limit: 10})
		require.NoError(t, err, "%q", text)
		_, err = b.Memories(b.ctx, sessions.MemoryQuery{MemoryScope: s, Tag: text, Limit: 3, After: sessions.MemoryPlace{Namespace: "main", Key: text}})
		require.NoError(t, err, "%q", text)
	}
}

// foreignTexts are texts that a query language, a parser or a database might misinterpret.
func foreignTexts() []string {
	return []string{
		"", " ", "what's the deadline?", "user-name", `"`, `""`, "'", "''", `"unclosed`, "NEAR(a b, 3)", "a NEAR b", "labels:x", "body : x", "{labels body} : x",
		"*", "x*", "^x", "-x", "+", "a AND", "OR", "NOT", "AND OR NOT", "(", ")", "((", "a:*b", ":*", "!a & b | c", "<->", "a <2> b", `\`, `a\'b`, "%", "_", "?", "$1", "\x00", "a\x00b",
		"\xff\xfe", "🙂", "👩‍👩‍👧‍👦 family", "İSTANBUL ıI", "நினைவு", "記憶と締切", "한국어", "שלום", "مرحبا", "ﷺ", "e\u0301\u0301\u0301", "\u202eabc", "\u200bzero", "１２３", "½", "ǅ", "ß", "ﬁ",
		strings.Repeat("word ", 2000), strings.Repeat("x", 10_000), strings.Repeat("ü", 5000), strings.Repeat("\u0301", 3000), "/*pg */ ? --", "'; DROP TABLE memories; --",
	}
}

// FuzzMemorySearch searches for any text in a store that has the seeds as visible and hidden memories. A database
// error fails the test.
func FuzzMemorySearch(f *testing.F, db *store.DB, save func(sessions.MemorySave) error) {
	f.Helper()
	for i, text := range foreignTexts() {
		f.Add(text)
		for _, change := range []func(*sessions.Memory){
			func(*sessions.Memory) {},
			func(m *sessions.Memory) { m.Label = secret },
			func(m *sessions.Memory) { m.Audience = "agent:main:telegram:group:1" },
			func(m *sessions.Memory) { m.Namespace = "other" },
		} {
			m := newMemory(strconv.Itoa(i), text+" tea", flow.Internal, "food")
			change(&m)
			require.NoError(f, save(saveOf(m)))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := db.SearchMemories(t.Context(), sessions.MemorySearch{MemoryScope: scope(flow.Internal, at(1)), Text: text, Limit: 3})
		require.NoError(t, err, "%q", text)
		for _, m := range found {
			require.Equal(t, []any{flow.Internal, sessions.AudienceOwner, "main"}, []any{m.Label.Level(), m.Audience, m.Namespace}, "%q", text)
		}
	})
}
