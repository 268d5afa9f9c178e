package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/transcript"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/postgres"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
	"sluice/store/storetest"
)

// stores are an empty store of each kind.
func stores(t *testing.T) map[string]*store.DB {
	t.Helper()
	lite, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	big, err := postgres.Open(t.Context(), postgres.Config{URL: storetest.Postgres(t)})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, lite.Close())
		require.NoError(t, big.Close())
	})
	return map[string]*store.DB{"sqlite": lite, "postgres": big}
}

func options(agents ...string) transcript.Options {
	return transcript.Options{
		HasAgent:  func(agent string) bool { return strings.Contains(" "+strings.Join(agents, " ")+" ", " "+agent+" ") },
		Partition: func(id sessions.ID) int { return sessions.SessionLane(id).Partition(16) },
	}
}

var began = time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)

// fill stores sessions of two agents, one of them with many messages on two branches, and an archived one.
func fill(t *testing.T, db *store.DB) {
	t.Helper()
	secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
	for n, agent := range []string{"main", "ops", "main"} {
		id := sessions.NewID()
		r := sessions.Record{
			ID: id, Key: sessions.Key(fmt.Sprintf("agent:%s:telegram:group:-%d", agent, n)), Agent: agent, Partition: sessions.SessionLane(id).Partition(16),
			Taint: secret, Clearance: flow.Restricted, Title: flow.NewText("Ferry <&>", secret), Model: flow.NewText("p/m", flow.Bottom()), MaxTokens: 7, Voice: true,
			Route:   sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: "-1"},
			Created: began, LastActivity: began.Add(time.Duration(n) * time.Hour), Metadata: json.RawMessage(`{"a":1}`),
		}
		change := ledger.Change{Change: sessions.Change{Create: []sessions.Record{r}}}
		parent, branch := sessions.MessageID(""), sessions.MessageID("")
		for i := range 1201 {
			m := sessions.Message{
				ID: sessions.NewMessageID(), Parent: parent, Role: sessions.RoleUser, Label: secret, Created: began.Add(time.Duration(i) * time.Second), Sender: sessions.Peer{ID: "7", Name: "Ann"},
				Parts: []sessions.Part{sessions.TextPart(fmt.Sprintf("line\n%d \u2028 ü", i), secret)}, Usage: sessions.Usage{InputTokens: i},
			}
			if i == 600 {
				branch = parent
			}
			if i == 1100 {
				m.Parent = branch // another branch
			}
			parent = m.ID
			change.Messages = append(change.Messages, sessions.StoredMessage{Session: id, Message: m})
		}
		require.NoError(t, db.Commit(t.Context(), change))
		stored, err := db.Session(t.Context(), id)
		require.NoError(t, err)
		stored.Head, stored.Usage = parent, sessions.Usage{InputTokens: 5}
		end := ledger.Change{Change: sessions.Change{Save: []sessions.Record{stored}}}
		if n == 2 {
			end.End = []sessions.End{{ID: id, At: began.Add(2 * time.Hour), Archive: true}}
		}
		require.NoError(t, db.Commit(t.Context(), end))
	}
}

func export(t *testing.T, db *store.DB) string {
	t.Helper()
	var out bytes.Buffer
	n, err := transcript.Export(t.Context(), db, &out, "v1", began, "", flow.Restricted)
	require.NoError(t, err)
	require.Equal(t, transcript.Counts{Sessions: 3, Messages: 3603}, n)
	return out.String()
}

// same compares files line by line.
func same(t *testing.T, want, got, how string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i, line := range strings.Split(want, "\n") {
		require.Less(t, i, len(lines), how)
		require.Equal(t, line, lines[i], "%s: line %d", how, i+1)
	}
}

// What is exported and imported, into either kind of store, is exported again as it was. A second import changes nothing.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	from := stores(t)
	for name, db := range from {
		fill(t, db)
		file := export(t, db)
		for into, target := range stores(t) {
			n, err := transcript.Import(t.Context(), strings.NewReader(file), target, options("main", "ops"))
			require.NoError(t, err, "%s into %s", name, into)
			require.Equal(t, transcript.Counts{Sessions: 3, Messages: 3603}, n)
			same(t, file, export(t, target), name+" into "+into)
			n, err = transcript.Import(t.Context(), strings.NewReader(file), target, options("main", "ops"))
			require.NoError(t, err)
			require.Zero(t, n)
			same(t, file, export(t, target), name+" into "+into)
		}
	}
}

// An import that was broken off at any line continues.
func TestAnImportContinues(t *testing.T) {
	t.Parallel()
	all := stores(t)
	fill(t, all["sqlite"])
	file := export(t, all["sqlite"])
	lines := strings.SplitAfter(file, "\n")
	for _, after := range []int{1, 2, 700, 1202, 1203, 1300, 2500, 3606} {
		_, err := transcript.Import(t.Context(), strings.NewReader(strings.Join(lines[:after], "")), all["postgres"], options("main", "ops"))
		var bad *transcript.LineError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, after+1, bad.Line)
		require.ErrorContains(t, err, "cut off")
	}
	_, err := transcript.Import(t.Context(), strings.NewReader(file), all["postgres"], options("main", "ops"))
	require.NoError(t, err)
	same(t, file, export(t, all["postgres"]), "continued")
}

func TestAgentsAreRenamedOrRefused(t *testing.T) {
	t.Parallel()
	all := stores(t)
	fill(t, all["sqlite"])
	file := export(t, all["sqlite"])
	o := options("main", "work")
	_, err := transcript.Import(t.Context(), strings.NewReader(file), all["postgres"], o)
	require.ErrorContains(t, err, `there is no agent "ops": add it to the configuration, or give its sessions to another agent with --agent ops=NAME`)
	o.Rename = map[string]string{"ops": "work"}
	_, err = transcript.Import(t.Context(), strings.NewReader(file), all["postgres"], o)
	require.NoError(t, err)
	r, err := all["postgres"].SessionByKey(t.Context(), "agent:work:telegram:group:-1")
	require.NoError(t, err)
	require.Equal(t, "work", r.Agent)
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), r.Taint)
}

// What does not fit is refused with its line.
func TestWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	all := stores(t)
	fill(t, all["sqlite"])
	lines := strings.SplitAfter(export(t, all["sqlite"]), "\n")
	at := func(line int, text string) string {
		changed := append([]string{}, lines...)
		changed[line-1] = text + "\n"
		return strings.Join(changed, "")
	}
	without := func(line int) string {
		return strings.Join(append(append([]string{}, lines[:line-1]...), lines[line:]...), "")
	}
	for _, c := range []struct {
		file string
		line int
		want string
	}{
		{"", 1, "cut off"},
		{"hello\n", 1, "can't be read"},
		{lines[1], 1, "not the beginning of an export"},
		{at(1, `{"sluice":{"format":9,"version":"v9","created":"2027-01-15T12:00:00Z"}}`), 1, "format 9"},
		{at(2, `{"session":{"id":"x"}}`), 2, "id"},
		{at(2, strings.Replace(strings.TrimSpace(lines[1]), `"taint":"CONFIDENTIAL/untrusted"`, `"taint":"SECRET/untrusted"`, 1)), 2, "can't be read"},
		{at(2, strings.Replace(strings.TrimSpace(lines[1]), `"taint":"CONFIDENTIAL/untrusted",`, ``, 1)), 2, "no valid label"},
		{at(2, strings.Replace(strings.TrimSpace(lines[1]), `"key":`, `"kee":`, 1)), 2, "unknown field"},
		{without(2), 2, "no session before it"},
		{at(4, strings.Replace(strings.TrimSpace(lines[3]), `"label":"CONFIDENTIAL/untrusted"`, `"label":""`, 1)), 4, "label"},
		{without(4), 4, "which is not in the session"},
		{at(5, `{}`), 5, "neither a session nor a message"},
		{without(3607), 3607, "is missing"},
		{at(3608, `{"end":{"sessions":3,"messages":3604}}`), 3608, "lines are missing"},
		{strings.Join(lines, "") + "\n{nonsense", 3610, "goes on after the end"},
		{strings.Join(append(lines, lines...), ""), 3609, "import each export from a file of its own"},
	} {
		_, err := transcript.Import(t.Context(), strings.NewReader(c.file), all["postgres"], options("main", "ops"))
		var bad *transcript.LineError
		require.ErrorAs(t, err, &bad, c.want)
		require.Equal(t, c.line, bad.Line, c.want)
		require.ErrorContains(t, err, c.want)
	}
	var s struct{ Session map[string]any }
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &s))
	s.Session["id"] = string(sessions.NewID())
	text, err := json.Marshal(s)
	require.NoError(t, err)
	other := strings.Replace(string(text), `"Session"`, `"session"`, 1)
	_, err = transcript.Import(t.Context(), strings.NewReader(at(2, other)), all["sqlite"], options("main", "ops"))
	require.ErrorContains(t, err, "line 2: the key")
	require.ErrorContains(t, err, "belongs to another session")
}

// A session has learnt what its messages say, whatever the file says of it, and also if it was here before.
func TestLabelsOnlyRise(t *testing.T) {
	t.Parallel()
	all := stores(t)
	fill(t, all["sqlite"])
	lines := strings.SplitAfter(export(t, all["sqlite"]), "\n")
	secret, low := flow.NewLabel(flow.Confidential, flow.Untrusted), flow.Bottom()
	lower := func(line string) string { return strings.ReplaceAll(line, secret.String(), low.String()) }
	var head struct{ Session struct{ ID sessions.ID } }
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &head))
	taint := func() flow.Label {
		r, err := all["postgres"].Session(t.Context(), head.Session.ID)
		require.NoError(t, err)
		return r.Taint
	}
	read := func(lines []string) {
		_, err := transcript.Import(t.Context(), strings.NewReader(strings.Join(lines, "")), all["postgres"], options("main", "ops"))
		require.ErrorContains(t, err, "cut off")
	}
	begun := append([]string{}, lines[:700]...)
	for i := range begun {
		begun[i] = lower(begun[i])
	}
	read(begun)
	require.Equal(t, low, taint())
	read(lines[:1203])
	require.Equal(t, secret, taint(), "it was here before")

	lines[1203] = lower(lines[1203])
	read(lines[:2500])
	require.NoError(t, json.Unmarshal([]byte(lines[1203]), &head))
	require.Equal(t, secret, taint(), "it is new")
}

// An export up to a level has no text above it, and a session of one agent can't take a key of another one.
func TestTextsAboveTheLevel(t *testing.T) {
	t.Parallel()
	for _, db := range stores(t) {
		id := sessions.NewID()
		require.NoError(t, db.Commit(t.Context(), ledger.Change{Change: sessions.Change{Create: []sessions.Record{{
			ID: id, Key: "agent:main:main", Agent: "main", Partition: sessions.SessionLane(id).Partition(16), Taint: flow.Bottom(), Clearance: flow.Restricted,
			Title: flow.NewText("Ferry", flow.NewLabel(flow.Confidential, flow.Trusted)), Created: began, LastActivity: began,
		}}}}))
		var out bytes.Buffer
		_, err := transcript.Export(t.Context(), db, &out, "v1", began, "", flow.Internal)
		require.NoError(t, err)
		require.Contains(t, out.String(), "agent:main:main")
		require.NotContains(t, out.String(), "Ferry")
		_, err = transcript.Import(t.Context(), strings.NewReader(strings.Replace(out.String(), "agent:main:main", "agent:ops:main", 1)), db, options("main", "ops"))
		require.ErrorContains(t, err, "is one of agent ops")
	}
}
