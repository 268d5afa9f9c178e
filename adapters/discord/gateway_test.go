package discord_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

func TestMessageInAnswerOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	id := s.srv.Say(discordtest.DirectID(ada), ada, "hello")

	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, discordtest.DirectID(ada)+"/"+id, in.Event)
	require.Equal(t, "hello", in.Text)
	require.Equal(t, sessions.Direct, in.Route.ChatType)
	require.True(t, in.Mentioned)
	require.Equal(t, sessions.Peer{ID: "1001", Name: "Person 1001", Username: "person1001"}, in.Sender)

	receipt, err := s.adapter.Send(t.Context(), out(in.Route, "You said **hello**"))
	require.NoError(t, err)
	shown := s.srv.Shown(discordtest.DirectID(ada))
	require.Len(t, shown, 1)
	require.Equal(t, "You said **hello**", shown[0].Content)
	require.Equal(t, shown[0].ID, string(receipt.MessageID))
	require.Equal(t, adapters.Connected, s.adapter.State().Status)
	require.Equal(t, "sluice", s.adapter.State().Self.Username)
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{Heartbeat: 50 * time.Millisecond}, nil)
	s.run(t)
	require.NoError(t, s.srv.WaitHeartbeats(t.Context(), 4))
	require.Len(t, s.srv.Identifies(), 1, "one connection lives through them")
}

func TestHeartbeatOutOfTurn(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{Heartbeat: time.Hour}, nil)
	s.run(t)
	s.srv.AskHeartbeat()
	require.NoError(t, s.srv.WaitHeartbeats(t.Context(), 1))
}

// The connection ends in each of these ways; the session goes on, at the address that Discord gave for it.
func TestResumes(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*discordtest.Server){
		"cut":             (*discordtest.Server).DropConnections,
		"asked to":        (*discordtest.Server).Reconnect,
		"heartbeats deaf": (*discordtest.Server).Deaden,
		"all deaf":        (*discordtest.Server).Deafen,
		"unknown error":   func(s *discordtest.Server) { s.CloseGateway(4000) },
		"decode error":    func(s *discordtest.Server) { s.CloseGateway(4002) },
		"rate limited":    func(s *discordtest.Server) { s.CloseGateway(4008) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{Heartbeat: 100 * time.Millisecond}, nil)
			s.run(t)
			end(s.srv)
			s.srv.Say(discordtest.DirectID(ada), ada, "meanwhile")
			require.NoError(t, s.srv.WaitResumes(t.Context(), 1))
			require.Equal(t, []string{"meanwhile"}, texts(s.inbox.wait(t, 1)))
			require.Len(t, s.srv.Identifies(), 1)
		})
	}
}

// The session is over in each of these ways; what was said in the meantime is fetched.
func TestIdentifiesAgain(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*discordtest.Server){
		"invalid session": (*discordtest.Server).ForgetSessions,
		"session timeout": func(s *discordtest.Server) { s.CloseGateway(4009) },
		"wrong sequence":  func(s *discordtest.Server) { s.CloseGateway(4007) },
		"normal end":      func(s *discordtest.Server) { s.CloseGateway(1000) },
		"cut":             func(s *discordtest.Server) { s.ForgetSessions(); s.DropConnections() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{}, nil)
			s.run(t)
			s.srv.Say(discordtest.DirectID(ada), ada, "before")
			s.inbox.wait(t, 1)
			end(s.srv)
			s.srv.Say(discordtest.DirectID(ada), ada, "meanwhile")
			require.NoError(t, s.srv.WaitIdentifies(t.Context(), 2))
			s.srv.Say(discordtest.DirectID(ada), ada, "after")
			require.Equal(t, []string{"before", "meanwhile", "after"}, texts(s.inbox.wait(t, 3)))
		})
	}
}

func TestInvalidSessionIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { discord.WaitInvalid(c, 100*time.Millisecond) })
	s.run(t)
	began := time.Now()
	s.srv.ForgetSessions()
	require.NoError(t, s.srv.WaitIdentifies(t.Context(), 2))
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestFatalCloses(t *testing.T) {
	t.Parallel()
	for code, say := range map[int]string{
		4004: "Reset Token", 4010: "set shards to 0", 4011: "set shards to 0", 4012: "update the program",
		4013: "update the program", 4014: "Message Content Intent",
	} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{}, nil)
			s.srv.RefuseIdentify(code)
			s.start(t)
			f := adapters.AsFailure(<-s.runErr)
			require.Equal(t, adapters.Auth, f.Kind)
			require.ErrorContains(t, f, say)
			require.Equal(t, adapters.Failed, s.adapter.State().Status)
			require.Contains(t, s.adapter.State().Detail, say)
			require.Len(t, s.srv.Identifies(), 1, "it is not tried again")
		})
	}
}

func TestFatalCloseWhileRunning(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Revoke()
	require.Equal(t, adapters.Auth, adapters.AsFailure(<-s.runErr).Kind)
	require.Len(t, s.srv.Identifies(), 1)
}

func TestContentIntentMissing(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{NoContent: true}, nil)
	s.start(t)
	require.ErrorContains(t, <-s.runErr, "Message Content Intent")
	require.Contains(t, s.adapter.State().Detail, "Message Content Intent")
	_, err := s.adapter.Probe(t.Context())
	require.ErrorContains(t, err, "Message Content Intent", "doctor asks so")
}

func TestContentHidden(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{HideContent: true}, nil)
	s.run(t)
	s.srv.Say(discordtest.General, ada, "hello everybody")
	s.srv.Say(discordtest.General, ada, mention+" can you read this?")
	require.Equal(t, []string{"can you read this?"}, texts(s.inbox.wait(t, 1)))
	require.Equal(t, adapters.Connected, s.adapter.State().Status)
	require.Contains(t, s.adapter.State().Detail, "Message Content Intent")
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Extra: map[string]any{"content": "now it is on"}})
	s.inbox.wait(t, 2)
	require.Empty(t, s.adapter.State().Detail)
}

// A server that accepts and says nothing must not hold up the end of Run.
func TestNoHello(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.Mute(true)
	stop := s.start(t)
	require.NoError(t, s.srv.WaitConnections(t.Context(), 1))
	began := time.Now()
	stop()
	require.NoError(t, <-s.runErr)
	require.Less(t, time.Since(began), 2*time.Second)
}

func TestNoHelloIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { discord.WaitHello(c, 50*time.Millisecond) })
	s.srv.Mute(true)
	s.start(t)
	require.NoError(t, s.srv.WaitConnections(t.Context(), 1))
	s.srv.Mute(false)
	require.NoError(t, s.srv.WaitConnected(t.Context(), 1))
}

func TestShards(t *testing.T) {
	t.Parallel()
	for name, shards := range map[string]int{"recommended": 0, "configured": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{Shards: 2}, func(c *discord.Config) { c.Shards = shards })
			s.start(t)
			require.NoError(t, s.srv.WaitConnected(t.Context(), 2))
			require.Equal(t, [][2]int{{0, 2}, {1, 2}}, s.srv.Shards())
			s.srv.Say(discordtest.DirectID(ada), ada, "by the first")
			s.srv.Say(discordtest.General, ada, "by the second")
			require.ElementsMatch(t, []string{"by the first", "by the second"}, texts(s.inbox.wait(t, 2)))
		})
	}
}

func TestIdentifiesAreSpacedWithinABucket(t *testing.T) {
	t.Parallel()
	const pause = 150 * time.Millisecond
	for concurrency, least := range map[int]time.Duration{1: 3 * pause, 2: pause, 4: 0} {
		t.Run(strconv.Itoa(concurrency), func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{Shards: 4, MaxConcurrency: concurrency}, func(c *discord.Config) { discord.WaitIdentify(c, pause) })
			s.start(t)
			require.NoError(t, s.srv.WaitConnected(t.Context(), 4))
			at := s.srv.Identifies()
			require.GreaterOrEqual(t, at[3].Sub(at[0]), least-pause/2, "as far as the server's clock tells")
		})
	}
}

func TestShardsShareNoBackfill(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{Shards: 2}, nil)
	stop := s.start(t)
	require.NoError(t, s.srv.WaitConnected(t.Context(), 2))
	s.srv.Say(discordtest.General, ada, "one")
	s.inbox.wait(t, 1)
	stop()
	s.srv.ForgetSessions()
	s.srv.Say(discordtest.General, ada, "two")
	s.restart(t)
	s.start(t)
	require.Equal(t, []string{"one", "two"}, texts(s.inbox.wait(t, 2)))
	require.NoError(t, s.srv.WaitConnected(t.Context(), 2))
	s.srv.Say(discordtest.DirectID(ada), ada, "after all that the first shard does when it connects")
	s.inbox.wait(t, 3)
	s.srv.Say(discordtest.General, ada, "after all that waits in the channel's lane")
	s.inbox.wait(t, 4)
	require.Len(t, s.srv.Calls("/channels/"+discordtest.General+"/messages"), 1, "fetched by the one shard that has the guild")
}

func TestRunEndsWhenCursorsFail(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.cursors.fail = errRefused
	s.start(t)
	err := <-s.runErr
	require.ErrorIs(t, err, errRefused)
	require.Equal(t, adapters.Transient, adapters.AsFailure(err).Kind, "the supervisor tries again")
}

func TestStopsWithoutCursors(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.Cursors = nil })
	stop := s.run(t)
	began := time.Now()
	stop()
	require.Less(t, time.Since(began), time.Second, "the library sleeps that long")
	require.NoError(t, s.srv.WaitSessions(t.Context(), 0), "nobody will resume: the bot goes offline at once")
}
