package discord_test

import (
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

// The library's own events come each on a goroutine of its own, nearly all out of place.
func TestOrderOfManyEvents(t *testing.T) {
	t.Parallel()
	const n = 250 // more than a lane holds
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	var want []string
	for i := range n {
		want = append(want, strconv.Itoa(i))
		s.srv.Say(discordtest.DirectID(ada), ada, strconv.Itoa(i))
	}
	require.Equal(t, want, texts(s.inbox.wait(t, n)))
}

// A full lane stops the reading; nothing is lost, also when the connection breaks in the meantime.
func TestFullLaneHoldsUpTheConnection(t *testing.T) {
	t.Parallel()
	const n = 3 * 64
	s := newSetup(t, discordtest.Options{Heartbeat: 100 * time.Millisecond}, nil)
	held := make(chan struct{})
	var once sync.Once
	began := make(chan struct{})
	s.inbox.refuse = func(adapters.Inbound) error {
		once.Do(func() { close(began) })
		<-held
		return nil
	}
	s.run(t)
	var want []string
	for i := range n {
		want = append(want, strconv.Itoa(i))
		s.srv.Say(discordtest.DirectID(ada), ada, strconv.Itoa(i))
	}
	<-began
	require.NoError(t, s.srv.WaitHeartbeats(t.Context(), 5), "a held-up connection is not taken for a deaf one")
	require.Len(t, s.srv.Identifies(), 1)
	s.srv.DropConnections()
	close(held)
	require.Equal(t, want, texts(s.inbox.wait(t, n)))
}

// What the acceptor refuses is given again, and what comes after it in the channel waits.
func TestRefusedIsGivenAgain(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	refusals := 3
	s.inbox.refuse = func(in adapters.Inbound) error {
		if in.Text == "one" && refusals > 0 {
			refusals--
			return errRefused
		}
		return nil
	}
	s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "one")
	s.srv.Say(discordtest.DirectID(ada), ada, "two")
	require.Equal(t, []string{"one", "two"}, texts(s.inbox.wait(t, 2)))
}

// A panic of the acceptor is its failure, not the process' end.
func TestPanicIsARefusal(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	var once sync.Once
	s.inbox.refuse = func(adapters.Inbound) error {
		once.Do(func() { panic("store is upside down") })
		return nil
	}
	s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "hello")
	require.Equal(t, []string{"hello"}, texts(s.inbox.wait(t, 1)))
}

func TestCursorMovesAfterAccept(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	asked, store := make(chan struct{}, 1), make(chan struct{})
	s.inbox.refuse = func(adapters.Inbound) error {
		asked <- struct{}{}
		<-store
		return nil
	}
	s.run(t)
	id := s.srv.Say(discordtest.DirectID(ada), ada, "hello")
	<-asked
	early, _ := s.cursors.get(discordtest.DirectID(ada))
	close(store)
	n, err := strconv.ParseUint(id, 10, 64)
	require.NoError(t, err)
	require.Equal(t, strconv.FormatUint(n-1, 10), early, "the channel is known, the message is still to be fetched")
	require.NoError(t, s.cursors.wait(t.Context(), discordtest.DirectID(ada), func(v string) bool { return v == id }))
}

// A process that ends before it could store what came leaves it to the next: by the
// session, which holds it for direct chats that were never heard of too.
func TestNextProcessResumes(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	asked := make(chan struct{}, 1)
	s.inbox.refuse = func(adapters.Inbound) error {
		select {
		case asked <- struct{}{}:
		default: // one is enough
		}
		return errRefused
	}
	stop := s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "before the end")
	<-asked
	stop()
	s.inbox.refuse = nil
	s.srv.Say(discordtest.DirectID(ada), ada, "while it was down")
	s.srv.Say(discordtest.DirectID(ada+1), ada+1, "from a stranger")
	s.restart(t)
	s.run(t)
	require.ElementsMatch(t, []string{"before the end", "while it was down", "from a stranger"}, texts(s.inbox.wait(t, 3)))
	require.Len(t, s.srv.Identifies(), 1)
}

// Where the session is over too, what was said is fetched, once and in order.
func TestNextProcessFetches(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	stop := s.run(t)
	s.srv.GiveRoles(ada, discordtest.MemberRole)
	for _, channelID := range []string{discordtest.DirectID(ada), discordtest.General, discordtest.ThreadID} {
		s.srv.Say(channelID, ada, "heard")
	}
	s.inbox.wait(t, 3)
	stop()
	s.srv.ForgetSessions()
	for _, text := range []string{"one", "two", "three"} {
		s.srv.Say(discordtest.ThreadID, ada, text)
	}
	s.restart(t)
	stop = s.run(t)
	s.srv.Say(discordtest.ThreadID, ada, "four")
	got := s.inbox.wait(t, 7)[3:]
	require.Equal(t, []string{"one", "two", "three", "four"}, texts(got))
	for _, in := range got {
		require.Equal(t, discordtest.GuildID, in.Route.Space)
		require.EqualValues(t, discordtest.General, in.Route.Conversation)
		require.EqualValues(t, discordtest.ThreadID, in.Route.Thread)
		require.Equal(t, []string{discordtest.MemberRole}, in.Roles, "as live events have them")
	}
	stop()
	before := s.inbox.calls
	s.srv.ForgetSessions()
	s.restart(t)
	s.run(t)
	require.NoError(t, s.srv.WaitCalls(t.Context(), "GET /channels/"+discordtest.ThreadID+"/messages", 2))
	s.srv.Say(discordtest.ThreadID, ada, "five")
	s.inbox.wait(t, 8)
	require.Equal(t, before+1, s.inbox.calls, "fetched once")
}

// A process that ends before it has fetched everything leaves the rest to the next one.
func TestNextProcessGoesOnFetching(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	stop := s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "heard")
	s.inbox.wait(t, 1)
	stop()
	s.srv.ForgetSessions()
	s.srv.Say(discordtest.DirectID(ada), ada, "while it was down")
	asked := make(chan struct{}, 1)
	s.inbox.refuse = func(adapters.Inbound) error {
		select {
		case asked <- struct{}{}:
		default: // one is enough
		}
		return errRefused
	}
	s.restart(t)
	stop = s.start(t)
	<-asked
	stop()
	s.inbox.refuse = nil
	s.restart(t)
	s.run(t)
	require.Equal(t, []string{"heard", "while it was down"}, texts(s.inbox.wait(t, 2)))
}

func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	stop := s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "heard")
	s.inbox.wait(t, 1)
	stop()
	s.srv.ForgetSessions()
	for i := range 1005 {
		s.srv.Say(discordtest.DirectID(ada), ada, strconv.Itoa(i))
	}
	s.restart(t)
	s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "live")
	got := texts(s.inbox.wait(t, 1002))
	require.Len(t, got, 1002)
	require.Equal(t, "999", got[1000], "in order, over several calls")
	require.Equal(t, "live", got[1001])
}

func TestWithoutCursorsNothingIsFetched(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.Cursors = nil })
	stop := s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "heard")
	s.inbox.wait(t, 1)
	stop()
	require.NoError(t, s.srv.WaitSessions(t.Context(), 0))
	s.srv.Say(discordtest.DirectID(ada), ada, "missed")
	s.restart(t)
	s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "live")
	require.Equal(t, []string{"heard", "live"}, texts(s.inbox.wait(t, 2)))
}

func TestOldMessagesAreNotFetched(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	stop := s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "heard")
	s.inbox.wait(t, 1)
	stop()
	s.srv.ForgetSessions()
	s.srv.Say(discordtest.DirectID(ada), ada, "yesterday's")
	s.cfg.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	s.restart(t)
	s.run(t)
	s.srv.Say(discordtest.DirectID(ada), ada, "live")
	require.Equal(t, []string{"heard", "live"}, texts(s.inbox.wait(t, 2)))
}

// A guild's channel is known to be one of it when it is fetched, also if only its guild's event told of it.
func TestFetchedInAGuild(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Say(discordtest.General, ada, "before")
	s.inbox.wait(t, 1)
	s.srv.ForgetSessions()
	s.srv.DropConnections()
	s.srv.Say(discordtest.General, ada, "meanwhile")
	in := s.inbox.wait(t, 2)[1]
	require.Equal(t, sessions.Group, in.Route.ChatType)
	require.Equal(t, discordtest.GuildID, in.Route.Space)
	require.False(t, in.Mentioned)
}

// A channel and its threads are one conversation: its events are given one after the other.
func TestThreadsOfAChannelTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	var mu sync.Mutex
	inside, most := 0, 0
	s.inbox.before = func(adapters.Inbound) {
		mu.Lock()
		inside++
		most = max(most, inside)
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		inside--
		mu.Unlock()
	}
	s.run(t)
	for range 30 {
		s.srv.Say(discordtest.General, ada, "in the channel")
		s.srv.Say(discordtest.ThreadID, ada, "in the thread")
	}
	s.inbox.wait(t, 60)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, most)
}
