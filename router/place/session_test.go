package place

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Which agent hears what: the first binding that matches.
func TestBindings(t *testing.T) {
	t.Parallel()
	group := func(space, id string) sessions.Route {
		return sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Group, Space: space, Conversation: sessions.ConversationID(id)}
	}
	s := &Settings{Agent: "main", Bindings: []Binding{
		{Channel: "other", Agent: "other"},
		{Account: "second", Agent: "second"},
		{Peer: "ann", Agent: "anns"},
		{Space: "guild", Group: "special", Agent: "special"},
		{Group: "ann", Agent: "group"},
		{Space: "guild", Agent: "guild"},
	}}
	direct := direct("ann").Route
	direct.Conversation = "ann"
	other, second := direct, direct
	other.Channel, second.Account = "other", "second"
	for name, c := range map[string]struct {
		route sessions.Route
		peer  sessions.UserID
		want  []string
	}{
		"a channel":                         {other, "ann", []string{"other"}},
		"an account":                        {second, "ann", []string{"second"}},
		"a person":                          {direct, "ann", []string{"anns"}},
		"another person":                    {direct, "bob", []string{"main"}},
		"a person is not one in a group":    {group("team", "g"), "ann", []string{"main"}},
		"a group is not a direct chat":      {group("team", "ann"), "bob", []string{"group"}},
		"a group of a space":                {group("guild", "special"), "ann", []string{"special"}},
		"another of the space":              {group("guild", "g"), "ann", []string{"guild"}},
		"the group, in which space is open": {group("", "special"), "ann", []string{"special", "guild", "main"}},
		"a group, in which space is open":   {group("", "ann"), "bob", []string{"group"}},
	} {
		require.Equal(t, c.want, s.agentsFor(c.route, c.peer), name)
	}
}

// A program that names a group without its space means the session that there is.
func TestSessionAt(t *testing.T) {
	t.Parallel()
	s := newSettings(ChannelSettings{})
	s.Bindings = []Binding{{Space: "guild", Agent: "bound"}}
	route := inGroup("new", "", "ann", true).Route
	old := route
	old.Conversation = "old"
	bound, other, main := s.Keyer.Key("bound", old, ""), s.Keyer.Key("other", old, ""), s.Keyer.Key("main", old, "")
	inSpace := route
	inSpace.Space = "guild"
	older := map[sessions.ConversationID]sessions.ConversationID{"new": "old", "chat": "elsewhere"}
	for name, c := range map[string]struct {
		route   sessions.Route
		agent   string
		records []sessions.Record
		want    sessions.Record
	}{
		"neither is there":     {route, "", nil, sessions.Record{Key: main, Agent: "main"}},
		"the bound one":        {route, "", []sessions.Record{{ID: "1", Key: bound}, {ID: "2", Key: main}}, sessions.Record{ID: "1", Key: bound}},
		"the other":            {route, "", []sessions.Record{{ID: "2", Key: main}}, sessions.Record{ID: "2", Key: main}},
		"in its space":         {inSpace, "", []sessions.Record{{ID: "2", Key: main}}, sessions.Record{Key: bound, Agent: "bound"}},
		"of an agent":          {route, "other", []sessions.Record{{ID: "1", Key: bound}, {ID: "3", Key: other}}, sessions.Record{ID: "3", Key: other}},
		"a new one's":          {route, "other", []sessions.Record{{ID: "1", Key: bound}}, sessions.Record{Key: other, Agent: "other"}},
		"a direct chat's":      {direct("ann").Route, "", nil, sessions.Record{Key: "agent:main:direct:ann", Agent: "main"}},
		"nowhere in a channel": {sessions.Route{Channel: "test", ChatType: sessions.Direct}, "", nil, sessions.Record{Key: "agent:main:direct:ann", Agent: "main"}},
	} {
		got, err := newPlaces(&fakeStore{records: c.records, older: older}, s).SessionAt(t.Context(), s, c.agent, c.route, "ann")
		require.NoError(t, err)
		require.Equal(t, c.want, got, name)
	}
}

// Direct chats, and routes without a conversation, are not looked up.
func TestOldestID(t *testing.T) {
	t.Parallel()
	store := &fakeStore{older: map[sessions.ConversationID]sessions.ConversationID{"new": "old", "": "old"}}
	places := newPlaces(store, nil)
	for _, c := range []struct {
		kind sessions.ChatType
		id   sessions.ConversationID
		want sessions.ConversationID
	}{{sessions.Group, "new", "old"}, {sessions.Channel, "new", "old"}, {sessions.Direct, "new", "new"}, {sessions.Group, "", ""}} {
		got, err := places.OldestID(t.Context(), sessions.Route{ChatType: c.kind, Conversation: c.id})
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	store.broken = "CanonicalConversation"
	_, err := places.OldestID(t.Context(), sessions.Route{ChatType: sessions.Group, Conversation: "new"})
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "resolve conversation: ")
}

// An event belongs to the session that it names, to the one of its place, or to a new one.
func TestSessionFor(t *testing.T) {
	t.Parallel()
	s := newSettings(ChannelSettings{})
	s.Clearance = flow.Confidential
	in := direct("ann")
	in.Route.Title = "Ann"
	in.Route.ReplyTo = "m1"
	store := &fakeStore{}
	places := newPlaces(store, s)
	for owner, clearance := range map[bool]flow.Level{true: flow.Confidential, false: flow.Public} {
		record, fresh, err := places.SessionFor(t.Context(), s, in, owner)
		require.NoError(t, err)
		require.True(t, fresh)
		require.Equal(t, clearance, record.Clearance)
		want := sessions.Record{
			ID: record.ID, Key: "agent:main:direct:ann", Agent: "main", Partition: sessions.SessionLane(record.ID).Partition(4), Taint: flow.Bottom(), Clearance: clearance,
			Route: in.Route.Place(), Title: flow.NewText("Ann", flow.NewLabel(flow.Public, flow.Trusted)), Persistent: true, Created: today, LastActivity: today,
		}
		if owner {
			want.FileAccess = sessions.WholeWorkspace()
		}
		require.Equal(t, want, record)
	}
	store.records = []sessions.Record{{ID: "1", Key: "agent:main:direct:ann"}, {ID: "2", Key: "agent:main:http:x"}, {ID: "3", Ended: today}}
	for id, want := range map[sessions.ID]sessions.ID{"": "1", "2": "2"} {
		record, fresh, err := places.SessionFor(t.Context(), s, changed(in, func(in *Arrival) { in.Session = id }), true)
		require.NoError(t, err)
		require.False(t, fresh)
		require.Equal(t, want, record.ID)
	}
	for _, id := range []sessions.ID{"3", "4"} {
		_, _, err := places.SessionFor(t.Context(), s, changed(in, func(in *Arrival) { in.Session = id }), true)
		require.ErrorIs(t, err, sessions.ErrNotFound, "it has ended, or was never there")
	}
	for _, broken := range []string{"Session", "SessionByKey"} {
		store.broken = broken
		named := changed(in, func(in *Arrival) {
			if broken == "Session" {
				in.Session = "3"
			}
		})
		_, fresh, err := places.SessionFor(t.Context(), s, named, true)
		require.ErrorIs(t, err, errBroken)
		require.False(t, fresh)
	}
}

// A thread may send what its conversation may, unless it has a setting of its own; of two places each may forbid it.
func TestInheritedSend(t *testing.T) {
	t.Parallel()
	const group, thread sessions.Key = "agent:main:test:group:g", "agent:main:test:group:g:thread:t"
	for name, c := range map[string]struct {
		record sessions.Record
		above  []sessions.Record
		want   sessions.SendPolicy
	}{
		"its own":               {sessions.Record{Key: thread, SendPolicy: sessions.SendAllow}, []sessions.Record{{Key: group, SendPolicy: sessions.SendDeny}}, sessions.SendAllow},
		"that of the group":     {sessions.Record{Key: thread}, []sessions.Record{{Key: group, SendPolicy: sessions.SendDeny}}, sessions.SendDeny},
		"a group never spoken":  {sessions.Record{Key: thread}, nil, sessions.SendInherit},
		"of a group":            {sessions.Record{Key: group}, []sessions.Record{{Key: group, SendPolicy: sessions.SendDeny}}, sessions.SendInherit},
		"its own, in the group": {sessions.Record{Key: group, SendPolicy: sessions.SendDeny}, nil, sessions.SendDeny},
	} {
		got, err := InheritedSend(t.Context(), &fakeStore{records: c.above}, c.record)
		require.NoError(t, err)
		require.Equal(t, c.want, got, name)
	}
	_, err := InheritedSend(t.Context(), &fakeStore{broken: "SessionByKey"}, sessions.Record{Key: thread})
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "read session of the conversation: ")

	const inherit, allow, deny = sessions.SendInherit, sessions.SendAllow, sessions.SendDeny
	for _, c := range [][3]sessions.SendPolicy{{deny, allow, deny}, {deny, inherit, deny}, {allow, deny, deny}, {allow, inherit, allow}, {inherit, allow, allow}, {inherit, deny, deny}, {inherit, inherit, inherit}} {
		require.Equal(t, c[2], JoinedSend(c[0], c[1]), c)
	}
}

// What begins a new session by itself: time that has passed, while nothing waits.
func TestSessionOf(t *testing.T) {
	t.Parallel()
	daily, idle := ResetPolicy{Mode: ResetDaily, AtHour: 4}, ResetPolicy{Mode: ResetIdle, Idle: time.Hour}
	both := ResetPolicy{Mode: ResetDaily, AtHour: 4, Idle: time.Hour}
	for name, c := range map[string]struct {
		policy ResetPolicy
		age    time.Duration
		heard  time.Duration // ago; 0: never
		change func(*Arrival)
		waits  bool
		broken string
		why    string // empty: it goes on
	}{
		"no policy":               {age: 1000 * time.Hour},
		"none":                    {policy: ResetPolicy{Mode: ResetNone, Idle: time.Second}, age: 1000 * time.Hour},
		"of today":                {policy: daily, age: 8 * time.Hour},
		"of yesterday":            {policy: daily, age: 8*time.Hour + 1, why: "it had expired"},
		"old, but work waits":     {policy: daily, age: 9 * time.Hour, waits: true},
		"nobody spoke since":      {policy: idle, age: time.Hour, why: "it had expired"},
		"it is young":             {policy: idle, age: time.Hour - 1, heard: 2 * time.Hour},
		"somebody spoke":          {policy: idle, age: 9 * time.Hour, heard: time.Hour - 1},
		"somebody spoke long ago": {policy: idle, age: 9 * time.Hour, heard: time.Hour, why: "it had expired"},
		"both, idle":              {policy: both, age: 3 * time.Hour, heard: time.Hour, why: "it had expired"},
		"both, a new day":         {policy: both, age: 9 * time.Hour, heard: time.Minute, why: "it had expired"},
		"an edit":                 {policy: daily, age: 9 * time.Hour, change: func(in *Arrival) { in.Edited = true }},
		"an order":                {policy: daily, age: 9 * time.Hour, change: func(in *Arrival) { in.Order = &sessions.Order{} }},
		"over the API":            {policy: daily, age: 9 * time.Hour, change: func(in *Arrival) { in.Session = "1" }},
		"asked for":               {age: time.Minute, waits: true, change: func(in *Arrival) { in.New = true }, why: "asked for"},
		"asked for over the API":  {age: time.Minute, change: func(in *Arrival) { in.New, in.Session = true, "1" }, why: "asked for"},
		"queue not read":          {policy: daily, age: 9 * time.Hour, broken: "WaitingRuns", why: "read queue: "},
		"time not read":           {policy: idle, age: 9 * time.Hour, broken: "LastHeard", why: "read when a person last wrote: "},
		"session not read":        {policy: idle, broken: "SessionByKey", why: "read session: "},
	} {
		s := newSettings(ChannelSettings{})
		s.Reset.Default = c.policy
		in := direct("ann")
		if c.change != nil {
			c.change(&in)
		}
		store := &fakeStore{records: []sessions.Record{{ID: "1", Key: "agent:main:direct:ann", Agent: "main", Clearance: flow.Public, Taint: flow.Bottom(), Created: today.Add(-c.age)}}, broken: c.broken}
		if c.waits {
			store.waiting = map[sessions.ID][]sessions.Run{"1": {{ID: "r"}}}
		}
		if c.heard > 0 {
			store.heard = map[sessions.ID]time.Time{"1": today.Add(-c.heard)}
		}
		record, change, err := newPlaces(store, s).SessionOf(t.Context(), s, in, false)
		if c.broken != "" {
			require.ErrorIs(t, err, errBroken, name)
			require.ErrorContains(t, err, c.why)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.why == "", record.ID == "1", name)
		if c.why == "" {
			require.Empty(t, change, name)
			continue
		}
		require.Equal(t, []sessions.Record{record}, change.Create, name)
		require.Equal(t, []sessions.End{{ID: "1", At: today}}, change.End, name)
		detail, ok := change.Audit[0].Detail.(map[string]any)
		require.True(t, ok)
		require.Equal(t, c.why, detail["reason"])
		require.Equal(t, sessions.ID("1"), detail["before"])
		require.Equal(t, record.ID, change.Audit[0].Session)
	}
	s := newSettings(ChannelSettings{})
	record, change, err := newPlaces(&fakeStore{}, s).SessionOf(t.Context(), s, direct("ann"), false)
	require.NoError(t, err)
	require.Equal(t, []sessions.Record{record}, change.Create, "the first message makes the session")
	require.Empty(t, change.End)
}

// What a rule keeps goes on, and the trail says that it was to end.
func TestRenewKeeps(t *testing.T) {
	t.Parallel()
	s := newSettings(ChannelSettings{})
	s.Clearance = flow.Confidential
	places := newPlaces(&fakeStore{}, s)
	old := sessions.Record{ID: "1", Key: "agent:main:direct:ann", Agent: "main", Clearance: flow.Internal, Taint: flow.Bottom()}
	_, fresh, kept := places.Renew(direct("ann"), true, old, "asked for")
	require.Empty(t, kept)
	require.Equal(t, flow.Confidential, fresh.Clearance, "an owner has begun it")
	_, fresh, _ = places.Renew(changed(direct("ann"), func(in *Arrival) { in.Session = "1" }), true, old, "asked for")
	require.Equal(t, flow.Internal, fresh.Clearance, "over the API nobody begins one")

	asked := ""
	places.Judge = func(_ sessions.Record, who string, owner bool) policy.Decision {
		asked = who
		require.Equal(t, who == "operator", owner)
		return policy.Decision{Action: policy.Block, Reason: "it is evidence"}
	}
	change, record, kept := places.Renew(direct("ann"), false, old, "asked for")
	require.Equal(t, "test:ann", asked)
	require.Equal(t, "a rule keeps the session: it is evidence", kept)
	require.Equal(t, old, record)
	require.Empty(t, change.Create)
	require.Empty(t, change.End)
	require.Len(t, change.Audit, 1)
	require.Equal(t, "session.reset.block", change.Audit[0].Action)
	require.Equal(t, "test:ann", change.Audit[0].Actor)
	require.Equal(t, string(old.Key), change.Audit[0].Object)

	entry, kept := places.OperatorMayEnd(old, "token:ci")
	require.Equal(t, "operator", asked)
	require.NotEmpty(t, kept)
	require.Equal(t, "token:ci", entry.Actor)
	require.Equal(t, old.ID, entry.Session)
}

// A new session is in the partition of its conversation, so that one replica works on it and sends its replies.
func TestSessionIsWithItsConversation(t *testing.T) {
	t.Parallel()
	places := newPlaces(&fakeStore{}, newSettings(ChannelSettings{}))
	partitions := map[int]bool{}
	for range 50 {
		for _, who := range []sessions.UserID{"ann", "bob", "cid", "dan", "eve"} {
			route := direct(who).Route
			record := places.NewRecord(sessions.Key("agent:main:direct:"+string(who)), "main", route)
			require.Equal(t, route.Lane().Partition(places.Partitions), record.Partition)
			require.Equal(t, places.PartitionOf(record.ID), record.Partition)
			partitions[places.NewRecord("agent:main:main", "main", sessions.Route{}).Partition] = true
		}
	}
	require.Len(t, partitions, places.Partitions, "without a conversation, in any")
}
