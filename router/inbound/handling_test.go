package inbound

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

var today = time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)

// said is a message of ann in her direct chat.
func said(text string) Admission {
	return Admission{Inbound: adapters.Inbound{
		Event: "ann/1", MessageID: "1", Text: text, Mentioned: true, Sender: sessions.Peer{ID: "ann"},
		Route: sessions.Route{Channel: "test", Account: "main", Conversation: "ann", ChatType: sessions.Direct},
	}}
}

// inGroup is a message of ann in a group.
func inGroup(text string) Admission {
	in := said(text)
	in.Route.Conversation, in.Route.ChatType = "g1", sessions.Group
	return in
}

// with is an event with a change.
func with(in Admission, change func(*Admission)) Admission {
	change(&in)
	return in
}

func TestWhereAnEventGoes(t *testing.T) {
	t.Parallel()
	reaction := func(in *Admission) { in.Text, in.Reaction = "", &adapters.Reaction{Emoji: "x", Own: true} }
	bot := func(in *Admission) { in.Sender.Bot = true }
	press := func(in *Admission) { in.Press = "dlv_1/0" }
	edited := func(in *Admission) { in.Edited = true }
	menu := func(in *Admission) { in.Route.Handle = "handle" }
	unaddressed := func(in *Admission) { in.Mentioned = false }
	for name, c := range map[string]struct {
		in    Admission
		how   place.Admit
		owner bool
		want  handling
	}{
		"a message":                         {said("hi"), place.AdmitRun, false, handleMessage},
		"a command":                         {said("/help"), place.AdmitRun, false, handleMessage},
		"the id of a person who is heard":   {said("/whoami"), place.AdmitRun, false, handleMessage},
		"talk in a group":                   {inGroup("hi"), place.AdmitHistory, false, handleHistory},
		"a press":                           {with(said(""), press), place.AdmitRun, false, handlePress},
		"a press where only commands count": {with(inGroup(""), press), place.AdmitCommand, true, handlePress},
		"a press of a stranger":             {with(said(""), press), place.AdmitNone, false, handleIgnored},
		"a press with a stranger's /whoami": {with(said("/whoami"), press), place.AdmitNone, false, handleIgnored},

		"a reaction":               {with(inGroup(""), reaction), place.AdmitHistory, false, handleReaction},
		"a stranger's reaction":    {with(said(""), reaction), place.AdmitNone, false, handleReaction},
		"a reaction under pairing": {with(said(""), reaction), place.AdmitPairing, false, handleReaction},

		"a stranger":                       {said("hi"), place.AdmitNone, false, handleIgnored},
		"a stranger's command":             {said("/status"), place.AdmitNone, false, handleIgnored},
		"a stranger under pairing":         {said("hi"), place.AdmitPairing, false, handlePairing},
		"a stranger's id":                  {said("/whoami"), place.AdmitNone, false, handleWhoami},
		"a stranger's id under pairing":    {said("/whoami"), place.AdmitPairing, false, handleWhoami},
		"a stranger's id in a group":       {inGroup("/whoami"), place.AdmitNone, false, handleIgnored},
		"a stranger's id in an edit":       {with(said("/whoami"), edited), place.AdmitNone, false, handleIgnored},
		"a bot that asks for its id":       {with(said("/whoami"), bot), place.AdmitNone, false, handleIgnored},
		"an id where only commands count":  {said("/whoami"), place.AdmitCommand, false, handleMessage},
		"an owner in an unlisted group":    {inGroup("hi"), place.AdmitCommand, true, handleUnlisted},
		"the same, of another person":      {inGroup("hi"), place.AdmitCommand, false, handleIgnored},
		"the same, not addressed":          {with(inGroup("hi"), unaddressed), place.AdmitCommand, true, handleIgnored},
		"the same, an edit":                {with(inGroup("hi"), edited), place.AdmitCommand, true, handleIgnored},
		"the same, a command":              {inGroup("/status"), place.AdmitCommand, true, handleMessage},
		"the same, from the menu":          {with(inGroup("/nonsense"), menu), place.AdmitCommand, true, handleIgnored},
		"an owner in a group that listens": {inGroup("hi"), place.AdmitHistory, true, handleHistory},
	} {
		require.Equal(t, c.want, handlingOf(c.in, c.how, c.owner), name)
	}
}

func TestWhichReactionsTheAgentHearsOf(t *testing.T) {
	t.Parallel()
	own := adapters.Reaction{Emoji: "x", Own: true}
	for name, c := range map[string]struct {
		reaction adapters.Reaction
		bot      bool
		how      place.Admit
		want     bool
	}{
		"heard":               {own, false, place.AdmitRun, true},
		"in a group":          {own, false, place.AdmitHistory, true},
		"a stranger's":        {own, false, place.AdmitNone, false},
		"under pairing":       {own, false, place.AdmitPairing, false},
		"only commands count": {own, false, place.AdmitCommand, false},
		"a bot's":             {own, true, place.AdmitRun, false},
		"to another message":  {adapters.Reaction{Emoji: "x"}, false, place.AdmitRun, false},
		"taken back":          {adapters.Reaction{Emoji: "x", Own: true, Removed: true}, false, place.AdmitRun, false},
	} {
		in := said("")
		in.Reaction, in.Sender.Bot = &c.reaction, c.bot
		require.Equal(t, c.want, keepsReaction(in, c.how), name)
	}
}

// A stranger hears their id once an hour. Accounts and channels do not share slots.
func TestAnswersToStrangersShareSlots(t *testing.T) {
	t.Parallel()
	in := said("/whoami")
	key := whoamiKey(in, today)
	require.Equal(t, key, whoamiKey(in, today.Add(whoamiEvery-time.Second)))
	require.NotEqual(t, key, whoamiKey(in, today.Add(whoamiEvery)))
	require.NotEqual(t, key, whoamiKey(with(in, func(in *Admission) { in.Route.Account = "other" }), today))
	require.NotEqual(t, key, whoamiKey(with(in, func(in *Admission) { in.Route.Channel = "other" }), today))
	keys := map[string]bool{}
	for n := range 10_000 {
		in.Sender.ID = sessions.UserID(time.Duration(n).String())
		keys[whoamiKey(in, today)] = true
	}
	require.Len(t, keys, whoamiSlots)
}

// The session of a thread reads the message at which others started it, so the channel's next run does not.
func TestTheFirstMessageOfAThread(t *testing.T) {
	t.Parallel()
	created, ended := []sessions.Record{{}}, []sessions.End{{}}
	inThread := with(inGroup("hi"), func(in *Admission) { in.Route.Thread = "7" })
	opens := with(inThread, func(in *Admission) { in.OpensThread = true })
	for name, c := range map[string]struct {
		in     Admission
		change sessions.Change
		want   bool
	}{
		"the thread's first":      {inThread, sessions.Change{Create: created}, true},
		"a later one":             {inThread, sessions.Change{}, false},
		"after a reset":           {inThread, sessions.Change{Create: created, End: ended}, false},
		"the answer opens it":     {opens, sessions.Change{Create: created}, false},
		"outside of every thread": {inGroup("hi"), sessions.Change{Create: created}, false},
	} {
		require.Equal(t, c.want, beginsInThread(c.in.Inbound, ledger.Change{Change: c.change}), name)
	}
	require.Equal(t, ledger.HistoryMessage{Lane: inGroup("").Route.Lane(), Message: "7"}, threadStart(inThread.Inbound))
}
