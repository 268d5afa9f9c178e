package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

// What is written about a group, its space, its topics and any other group.
func TestGroupPolicies(t *testing.T) {
	t.Parallel()
	in := func(space string, group sessions.ConversationID, thread sessions.ThreadID, who sessions.UserID, mentioned bool, roles ...string) Arrival {
		return changed(inGroup(group, thread, who, mentioned), func(in *Arrival) { in.Route.Space, in.Roles = space, roles })
	}
	ch := ChannelSettings{
		GroupPolicy: AccessAllowlist,
		Groups: map[string]GroupSettings{
			"open":    {AllowFrom: []string{"*"}},
			"staff":   {RequireMention: true, AllowFrom: []string{"ann"}, AllowRoles: []string{"mods"}},
			"forum":   {RequireMention: true, Topics: map[string]TopicSettings{"12": {RequireMention: false}, "": {RequireMention: false}}},
			"inherit": {RequireMention: false},
		},
		Spaces: map[string]GroupSettings{"guild": {RequireMention: true, AllowRoles: []string{"members"}}, "": {}},
	}
	for name, c := range map[string]struct {
		in   Arrival
		want Admit
	}{
		"nothing is written about it":              {in("", "other", "", "ann", true), AdmitNone},
		"an owner may command there":               {in("", "other", "", "owner", false), AdmitCommand},
		"its guild is listed":                      {in("guild", "other", "", "ann", true, "members"), AdmitRun},
		"its guild wants a role":                   {in("guild", "other", "", "ann", true), AdmitNone},
		"its guild wants a mention":                {in("guild", "other", "", "ann", false, "x", "members"), AdmitHistory},
		"another guild":                            {in("elsewhere", "other", "", "ann", true, "members"), AdmitNone},
		"an owner needs no role":                   {in("guild", "other", "", "owner", true), AdmitRun},
		"the channel comes before its guild":       {in("guild", "open", "", "ann", false), AdmitRun},
		"lists that are left out are the guild's":  {in("guild", "inherit", "", "ann", false), AdmitNone},
		"who is on them is heard as the entry has": {in("guild", "inherit", "", "ann", false, "members"), AdmitRun},
		"outside of the guild there are none":      {in("", "inherit", "", "ann", false), AdmitRun},
		"listed by id":                             {in("", "staff", "", "ann", true), AdmitRun},
		"listed by role":                           {in("", "staff", "", "bob", true, "mods"), AdmitRun},
		"who is not heard is no history either":    {in("", "staff", "", "bob", false, "members"), AdmitNone},
		"a topic of its own":                       {in("", "forum", "12", "ann", false), AdmitRun},
		"another topic":                            {in("", "forum", "13", "ann", false), AdmitHistory},
		"no topic":                                 {in("", "forum", "", "ann", false), AdmitHistory},
		"known by its oldest id":                   {in("", "forum now", "", "ann", true), AdmitRun},
	} {
		s := newSettings(ch)
		store := &fakeStore{older: map[sessions.ConversationID]sessions.ConversationID{"forum now": "forum"}}
		got, err := newPlaces(store, s).Access(t.Context(), s, c.in, c.in.Sender.ID == "owner")
		require.NoError(t, err)
		require.Equal(t, c.want, got, name)
	}
}

// What counts where no entry is about a group, or one is about all others.
func TestGroupsThatAreNotListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ch              ChannelSettings
		mentioned, talk Admit
	}{
		"open":            {ChannelSettings{GroupPolicy: AccessOpen}, AdmitRun, AdmitHistory},
		"listed":          {ChannelSettings{GroupPolicy: AccessAllowlist}, AdmitNone, AdmitNone},
		"disabled":        {ChannelSettings{GroupPolicy: AccessDisabled, Groups: map[string]GroupSettings{"g": {}}}, AdmitNone, AdmitNone},
		"any other group": {ChannelSettings{GroupPolicy: AccessAllowlist, Groups: map[string]GroupSettings{"*": {}}}, AdmitRun, AdmitRun},
		"any other's lists": {
			ChannelSettings{GroupPolicy: AccessOpen, Groups: map[string]GroupSettings{"g": {}, "*": {AllowFrom: []string{"bob"}}}},
			AdmitNone, AdmitNone,
		},
	} {
		s := newSettings(c.ch)
		places := newPlaces(&fakeStore{}, s)
		for mentioned, want := range map[bool]Admit{true: c.mentioned, false: c.talk} {
			got, err := places.Access(t.Context(), s, inGroup("g", "", "ann", mentioned), false)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s, mentioned: %v", name, mentioned)
		}
	}
}

// What a session is set to comes before the configuration; a thread has what its conversation has.
func TestActivation(t *testing.T) {
	t.Parallel()
	const inherit, mention, always = sessions.ActivationInherit, sessions.ActivationMention, sessions.ActivationAlways
	for name, c := range map[string]struct {
		requireMention       bool
		conversation, thread sessions.Activation
		thread0              bool // the thread has no session yet
		inGroup, inThread    Admit
	}{
		"as configured":            {true, inherit, inherit, false, AdmitHistory, AdmitHistory},
		"as configured, all":       {false, inherit, inherit, false, AdmitRun, AdmitRun},
		"always":                   {true, always, inherit, false, AdmitRun, AdmitRun},
		"always, for a new thread": {true, always, inherit, true, AdmitRun, AdmitRun},
		"only where mentioned":     {false, mention, inherit, false, AdmitHistory, AdmitHistory},
		"a thread of its own":      {true, always, mention, false, AdmitRun, AdmitHistory},
		"a thread that hears all":  {true, mention, always, false, AdmitHistory, AdmitRun},
	} {
		s := newSettings(ChannelSettings{GroupPolicy: AccessOpen, Groups: map[string]GroupSettings{"g": {RequireMention: c.requireMention}}})
		group, thread := inGroup("g", "", "ann", false), inGroup("g", "t", "ann", false)
		store := &fakeStore{records: []sessions.Record{{ID: "sess_g", Key: s.Keyer.Key("main", group.Route, ""), Activation: c.conversation}}}
		if !c.thread0 {
			store.records = append(store.records, sessions.Record{ID: "sess_t", Key: s.Keyer.Key("main", thread.Route, ""), Activation: c.thread})
		}
		places := newPlaces(store, s)
		for in, want := range map[*Arrival]Admit{&group: c.inGroup, &thread: c.inThread} {
			got, err := places.Access(t.Context(), s, *in, false)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s, thread %q", name, in.Route.Thread)
		}
	}
	s := newSettings(ChannelSettings{GroupPolicy: AccessOpen})
	got, err := newPlaces(&fakeStore{}, s).Access(t.Context(), s, inGroup("g", "t", "ann", false), false)
	require.NoError(t, err)
	require.Equal(t, AdmitHistory, got, "neither has a session")
}

// Talk that does not address the bot is history, unless it is a command or belongs to a message that waits.
func TestUnmentionedTalk(t *testing.T) {
	t.Parallel()
	s := newSettings(ChannelSettings{GroupPolicy: AccessOpen})
	talk := inGroup("g", "", "ann", false)
	command := func(kind CommandKind) Arrival { return changed(talk, func(in *Arrival) { in.Command = kind }) }
	event := func(in Arrival, change func(*adapters.Inbound)) Arrival {
		return changed(in, func(in *Arrival) { change(&in.Inbound) })
	}
	edit := func(in *adapters.Inbound) { in.Edited = true }
	open := sessions.Run{Status: sessions.RunQueued, Accepted: today, Route: talk.Route}
	open.Input.More, open.Input.Sender.ID = true, "ann"
	begun := open
	begun.Status = sessions.RunRunning
	for name, c := range map[string]struct {
		in      Arrival
		owner   bool
		waiting []sessions.Run
		want    Admit
	}{
		"talk":                           {in: talk, want: AdmitHistory},
		"an owner's talk":                {in: talk, owner: true, want: AdmitHistory},
		"anybody's command":              {in: command(PublicCommand), want: AdmitHistory},
		"an owner gives it":              {in: command(PublicCommand), owner: true, want: AdmitCommand},
		"an owner's command":             {in: command(OwnerCommand), owner: true, want: AdmitCommand},
		"somebody else gives it":         {in: command(OwnerCommand), want: AdmitCommand},
		"an edited command":              {in: event(command(OwnerCommand), edit), owner: true, want: AdmitHistory},
		"a part of a message that waits": {in: talk, waiting: []sessions.Run{open}, want: AdmitRun},
		"an edit is no part":             {in: event(talk, edit), waiting: []sessions.Run{open}, want: AdmitHistory},
		"nor is a deletion":              {in: event(talk, func(in *adapters.Inbound) { in.Deleted = true }), waiting: []sessions.Run{open}, want: AdmitHistory},
		"nor is a reaction":              {in: event(talk, func(in *adapters.Inbound) { in.Reaction = &adapters.Reaction{} }), waiting: []sessions.Run{open}, want: AdmitHistory},
		"the message has begun":          {in: talk, waiting: []sessions.Run{begun}, want: AdmitHistory},
	} {
		store := &fakeStore{records: []sessions.Record{{ID: "sess_1", Key: s.Keyer.Key("main", talk.Route, "")}}, waiting: map[sessions.ID][]sessions.Run{"sess_1": c.waiting}}
		got, err := newPlaces(store, s).Access(t.Context(), s, c.in, c.owner)
		require.NoError(t, err)
		require.Equal(t, c.want, got, name)
	}
}
