package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Who is heard in a direct chat, by the channel's policy.
func TestAccessDirect(t *testing.T) {
	t.Parallel()
	people := []sessions.UserID{"owner", "listed", "paired", "pending", "stranger"}
	listed := []string{"listed"}
	for name, c := range map[string]struct {
		ch   ChannelSettings
		want []Admit // for each of the people
	}{
		"open":            {ChannelSettings{DMPolicy: AccessOpen}, []Admit{AdmitRun, AdmitRun, AdmitRun, AdmitRun, AdmitRun}},
		"listed":          {ChannelSettings{DMPolicy: AccessAllowlist, AllowFrom: listed}, []Admit{AdmitRun, AdmitRun, AdmitNone, AdmitNone, AdmitNone}},
		"anyone listed":   {ChannelSettings{DMPolicy: AccessAllowlist, AllowFrom: []string{"*"}}, []Admit{AdmitRun, AdmitRun, AdmitRun, AdmitRun, AdmitRun}},
		"paired":          {ChannelSettings{DMPolicy: AccessPairing, AllowFrom: listed}, []Admit{AdmitRun, AdmitRun, AdmitRun, AdmitPairing, AdmitPairing}},
		"disabled":        {ChannelSettings{DMPolicy: AccessDisabled, AllowFrom: listed}, []Admit{AdmitRun, AdmitNone, AdmitNone, AdmitNone, AdmitNone}},
		"nothing written": {ChannelSettings{AllowFrom: listed}, []Admit{AdmitRun, AdmitNone, AdmitNone, AdmitNone, AdmitNone}},
	} {
		s := newSettings(c.ch)
		places := newPlaces(&fakeStore{pairings: map[sessions.UserID]ledger.PairingStatus{"paired": ledger.PairingApproved, "pending": ledger.PairingPending}}, s)
		for i, who := range people {
			got, err := places.Access(t.Context(), s, direct(who), who == "owner")
			require.NoError(t, err)
			require.Equal(t, c.want[i], got, "%s: %s", name, who)
		}
	}
}

// The reason of a refusal names the setting that refuses the message.
func TestWhyRefused(t *testing.T) {
	t.Parallel()
	bot := func(in Arrival) Arrival { in.Sender.Bot = true; return in }
	for name, c := range map[string]struct {
		ch   ChannelSettings
		in   Arrival
		want string
	}{
		"bots off":               {ChannelSettings{}, bot(inGroup("g", "", "ann", true)), "allowBots"},
		"a bot mentions nobody":  {ChannelSettings{AllowBots: BotsMentions}, bot(inGroup("g", "", "ann", false)), "allowBots"},
		"a bot in another group": {ChannelSettings{AllowBots: BotsMentions, GroupPolicy: AccessAllowlist}, bot(inGroup("g", "", "ann", true)), "the group is not listed"},
		"no groups":              {ChannelSettings{GroupPolicy: AccessDisabled}, inGroup("g", "", "ann", true), "groupPolicy is disabled"},
		"only owners":            {ChannelSettings{DMPolicy: AccessDisabled}, direct("ann"), "dmPolicy is disabled"},
		"not listed":             {ChannelSettings{DMPolicy: AccessAllowlist}, direct("ann"), "allowFrom"},
		"not paired":             {ChannelSettings{DMPolicy: AccessPairing}, direct("ann"), "not admitted yet"},
	} {
		require.Contains(t, newSettings(c.ch).WhyRefused(c.in.Inbound), c.want, name)
	}
	require.Contains(t, (&Settings{}).WhyRefused(direct("ann").Inbound), "no channel")
}

// A person whose access was revoked has no right, and their message is still a request, which gets no answer.
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := newSettings(ChannelSettings{DMPolicy: AccessPairing})
	places := newPlaces(&fakeStore{pairings: map[sessions.UserID]ledger.PairingStatus{"gone": ledger.PairingRevoked}}, s)
	in := direct("gone")
	right, err := places.RightOf(t.Context(), in.Route, in.Sender)
	require.NoError(t, err)
	require.Equal(t, RightNone, right)
	got, err := places.Access(t.Context(), s, in, false)
	require.NoError(t, err)
	require.Equal(t, AdmitPairing, got)
}

// A store that fails admits nobody.
func TestAccessFails(t *testing.T) {
	t.Parallel()
	key := sessions.Keyer{}.Key("main", inGroup("g", "", "ann", false).Route, "ann")
	for method, c := range map[string]struct {
		in   Arrival
		says string
	}{
		"PairingOf":                   {direct("ann"), "read pairing: "},
		"CanonicalConversation":       {inGroup("g", "", "ann", true), "resolve conversation: "},
		"SessionByKey":                {inGroup("g", "", "ann", false), "read session: "},
		"SessionByKey " + string(key): {inGroup("g", "t", "ann", false), "read session of the conversation: "},
		"WaitingRuns":                 {inGroup("g", "", "ann", false), "read queue: "},
	} {
		s := newSettings(ChannelSettings{DMPolicy: AccessPairing, GroupPolicy: AccessOpen})
		got, err := newPlaces(&fakeStore{records: []sessions.Record{{ID: "sess_1", Key: key}}, broken: method}, s).Access(t.Context(), s, c.in, false)
		require.ErrorIs(t, err, errBroken, method)
		require.ErrorContains(t, err, c.says)
		require.Equal(t, AdmitNone, got)
	}
	s := newSettings(ChannelSettings{GroupPolicy: AccessOpen, Groups: map[string]GroupSettings{"g": {}}})
	_, err := newPlaces(&fakeStore{broken: "CanonicalConversation"}, s).Access(t.Context(), s, inGroup("g", "", "ann", true), false)
	require.NoError(t, err, "what is written about a group by its present id needs no store")
}

// A bot is heard as the channel says, and never asks to be let in; nor does a press.
func TestAccessOfBots(t *testing.T) {
	t.Parallel()
	bot := func(in Arrival) Arrival { return changed(in, func(in *Arrival) { in.Sender.Bot = true }) }
	press := func(in Arrival) Arrival {
		return changed(in, func(in *Arrival) { in.Press, in.Mentioned = "p", false })
	}
	for name, c := range map[string]struct {
		bots BotPolicy
		in   Arrival
		want Admit
	}{
		"nothing written":                {"", bot(inGroup("g", "", "bot", true)), AdmitNone},
		"off":                            {BotsOff, bot(inGroup("g", "", "bot", true)), AdmitNone},
		"mentions, and mentions":         {BotsMentions, bot(inGroup("g", "", "bot", true)), AdmitRun},
		"mentions, and presses":          {BotsMentions, press(bot(inGroup("g", "", "bot", true))), AdmitRun},
		"mentions, and only talks":       {BotsMentions, bot(inGroup("g", "", "bot", false)), AdmitNone},
		"on":                             {BotsOn, bot(inGroup("g", "", "bot", false)), AdmitHistory},
		"asks to be let in":              {BotsOn, bot(direct("bot")), AdmitNone},
		"a stranger presses":             {BotsOff, press(direct("ann")), AdmitNone},
		"a stranger speaks":              {BotsOff, direct("ann"), AdmitPairing},
		"a person presses in a group":    {BotsOff, press(inGroup("g", "", "ann", false)), AdmitRun},
		"on a channel that is not there": {BotsOn, changed(direct("owner"), func(in *Arrival) { in.Route.Channel = "other" }), AdmitNone},
	} {
		s := newSettings(ChannelSettings{DMPolicy: AccessPairing, GroupPolicy: AccessOpen, AllowBots: c.bots})
		got, err := newPlaces(&fakeStore{}, s).Access(t.Context(), s, c.in, c.in.Sender.ID == "owner")
		require.NoError(t, err)
		require.Equal(t, c.want, got, name)
	}
}

// What the API says about a person's rights is what decides about their messages.
func TestRightsAreWhatAdmits(t *testing.T) {
	t.Parallel()
	groups := map[string]GroupSettings{"open": {}, "staff": {AllowFrom: []string{"ann"}, AllowRoles: []string{"mods"}}, "few": {AllowFrom: []string{"ann"}}}
	for _, dm := range []AccessPolicy{AccessPairing, AccessAllowlist, AccessOpen, AccessDisabled} {
		for _, policy := range []AccessPolicy{AccessAllowlist, AccessOpen, AccessDisabled} {
			s := newSettings(ChannelSettings{DMPolicy: dm, GroupPolicy: policy, AllowFrom: []string{"ann"}, Groups: groups})
			s.Owners = []string{direct("owner").Speaker()}
			pl := newPlaces(&fakeStore{}, s)
			for _, who := range []sessions.UserID{"owner", "ann", "bob"} {
				for _, in := range []Arrival{direct(who), inGroup("open", "", who, true), inGroup("staff", "", who, true), inGroup("few", "", who, true), inGroup("other", "", who, true)} {
					right, err := pl.RightOf(t.Context(), in.Route, in.Sender)
					require.NoError(t, err)
					admitted, err := pl.Access(t.Context(), s, in, who == "owner")
					require.NoError(t, err)
					which := []any{dm, policy, who, in.Route.Conversation, right, admitted}
					switch admitted {
					case AdmitRun:
						require.NotContains(t, []Right{RightNone, RightAsk, RightRole}, right, which)
					case AdmitPairing:
						require.Equal(t, RightAsk, right, which)
					case AdmitCommand:
						require.Equal(t, RightNone, right, which)
					case AdmitHistory, AdmitNone:
						require.Contains(t, []Right{RightNone, RightRole}, right, which)
						require.Equal(t, right == RightRole, policy != AccessDisabled && in.Route.Conversation == "staff" && who == "bob", which)
					}
				}
			}
		}
	}
	s := newSettings(ChannelSettings{DMPolicy: AccessOpen, AllowBots: BotsOff})
	right, err := newPlaces(&fakeStore{}, s).RightOf(t.Context(), direct("bot").Route, sessions.Peer{ID: "bot", Bot: true})
	require.NoError(t, err)
	require.Equal(t, RightNone, right)
}
