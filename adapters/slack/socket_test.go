package slack_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

func TestDirectMessageIsAcceptedThenConfirmedThenAnswered(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	s.run(t)
	ts := s.srv.Say(1, "hello &amp; good &lt;day&gt;")
	got := s.inbox.wait(t, 1)[0]
	require.Equal(t, slacktest.DirectID(1)+"/"+ts, got.Event)
	require.Equal(t, "hello & good <day>", got.Text)
	require.True(t, got.Mentioned)
	require.Equal(t, sessions.Peer{ID: sessions.UserID(slacktest.Person(1)), Name: "Person 1", Username: "person.1"}, got.Sender)
	place := direct(1)
	place.Title = "Person 1"
	require.Equal(t, place, got.Route.Place())
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))

	receipt, err := s.adapter.Send(t.Context(), out(got.Route, "**yes** & no"))
	require.NoError(t, err)
	shown, err := s.srv.WaitShown(t.Context(), slacktest.DirectID(1), 1)
	require.NoError(t, err)
	require.Equal(t, "*yes* &amp; no", shown[0].Text)
	require.Equal(t, "dlv_1", shown[0].Delivery)
	require.Equal(t, string(receipt.MessageID), shown[0].TS)
}

const opens = "apps.connections.open"

// held runs an adapter whose acceptor holds what says "hold" until release.
func held(t *testing.T, opts slacktest.Options, change func(*slack.Config)) (s *setup, release func()) {
	t.Helper()
	s = newSetup(t, opts, change)
	hold := make(chan struct{})
	s.inbox.refuse = func(in adapters.Inbound) error {
		if in.Text == "hold" {
			<-hold
		}
		return nil
	}
	s.run(t)
	require.NoError(t, s.srv.WaitSockets(t.Context(), 2))
	var once atomic.Bool
	release = func() {
		if once.CompareAndSwap(false, true) {
			close(hold)
		}
	}
	t.Cleanup(release)
	return s, release
}

// The library's client lets its connections die when nobody takes its events, and opens no other.
func TestAStalledAcceptorCostsNoConnection(t *testing.T) {
	t.Parallel()
	s, release := held(t, slacktest.Options{PingEvery: 100 * time.Millisecond, Redeliver: time.Minute}, func(c *slack.Config) {
		c.PingTimeout = time.Second
	})
	s.inbox.hold()
	for range 300 {
		s.srv.Say(1, "more than the 50 that the library's client holds")
	}
	require.NoError(t, s.srv.WaitPings(t.Context(), 40), "answered all the while, longer than silence is allowed")
	require.Equal(t, 2, s.srv.Calls(opens))
	require.Equal(t, 300, s.srv.Pending())
	s.inbox.letGo()
	release()
	s.inbox.wait(t, 300)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	require.Equal(t, 2, s.srv.Calls(opens))
}

// The adapter does not reconnect because a server sends no pings, as long as it answers those of the adapter.
func TestAQuietServerIsNotADeafOne(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{PingEvery: time.Hour}, func(c *slack.Config) { c.PingTimeout = time.Second })
	s.run(t)
	require.NoError(t, s.srv.WaitSockets(t.Context(), 2))
	require.NoError(t, s.srv.WaitPongs(t.Context(), 10), "longer than silence is allowed")
	require.Equal(t, 2, s.srv.Calls(opens))
}

// Messages arrive once while Slack replaces all connections, and at least one connection is always open.
func TestDisconnectLeavesNoGap(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		s := newSetup(t, slacktest.Options{Redeliver: time.Minute}, nil) // a gap would last until the end of the test
		s.run(t)
		require.NoError(t, s.srv.WaitSockets(t.Context(), 2))
		s.srv.Disconnect(reason)
		for range 50 {
			s.srv.Say(1, "in between")
		}
		s.inbox.wait(t, 50)
		require.NoError(t, s.srv.WaitConfirmed(t.Context()))
		require.NoError(t, s.srv.WaitCalls(t.Context(), opens, 4), "each link has opened another")
		require.Positive(t, s.srv.FewestSockets(), "sockets at the worst moment")
		require.Equal(t, adapters.Connected, s.adapter.State().Status)
	}
}

// An envelope is confirmed on the connection that brought it; one that is gone makes Slack give it again.
func TestAConnectionThatEndsBeforeTheConfirmation(t *testing.T) {
	t.Parallel()
	s, release := held(t, slacktest.Options{Redeliver: 50 * time.Millisecond}, nil)
	ts := s.srv.Say(1, "hold")
	require.NoError(t, s.srv.WaitGiven(t.Context(), 1))
	s.srv.Drop()
	require.NoError(t, s.srv.WaitSockets(t.Context(), 2))
	release()
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	for _, in := range s.inbox.wait(t, 1) {
		require.Equal(t, slacktest.DirectID(1)+"/"+ts, in.Event, "a repeat, for the acceptor to know")
	}
}

func TestTooManyPendingEventsAreLeftToSlack(t *testing.T) {
	t.Parallel()
	s, release := held(t, slacktest.Options{Redeliver: 3 * time.Second}, nil)
	s.srv.Say(1, "hold")
	for range slack.MaxPending {
		s.srv.Say(1, "x")
	}
	s.waitMetric(t, "sluice_slack_events_total", "dropped")
	release()
	require.NoError(t, s.srv.WaitConfirmed(t.Context()), "what was left came again")
}

// A silent end of the network is found by the pings that nobody answers.
func TestACallEndsWithItsTime(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, func(c *slack.Config) { c.CallTimeout = 2 * time.Second }) // enough to reach the server
	s.srv.Join(slacktest.DirectID(1), slacktest.Direct, "")
	s.srv.Inject(slacktest.Hang())
	_, err := s.adapter.Send(context.Background(), out(direct(1), "hello"))
	f := adapters.AsFailure(err)
	require.Equal(t, adapters.Transient, f.Kind)
	require.False(t, f.Certain, "it may have been taken")
}

// The tokens stand in no error, whatever goes wrong.
func TestTokensStayOutOfErrors(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	s.srv.Join(slacktest.DirectID(1), slacktest.Direct, "")
	for _, fault := range []*slacktest.Fault{slacktest.DropBefore(), slacktest.Status(502, slacktest.BotToken), slacktest.Code("invalid_auth"), slacktest.RateLimit(1)} {
		s.srv.Inject(fault)
		_, err := s.adapter.Send(t.Context(), out(direct(1), "hello"))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "xoxb-")
		require.NotContains(t, s.adapter.State().Detail, "xoxb-")
	}
}

func TestRunEndsWithAWrongAppToken(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, func(c *slack.Config) { c.AppToken = "xapp-of-another" })
	s.run(t)
	require.Equal(t, adapters.Auth, adapters.AsFailure(<-s.runErr).Kind)
	require.Equal(t, adapters.Failed, s.adapter.State().Status)
}

// A token that a call finds invalid is asked about at once; if it holds after all, nothing ends.
func TestACallThatIsRefusedMakesRunAskForItself(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	s.srv.Join(slacktest.DirectID(1), slacktest.Direct, "")
	s.run(t)
	require.NoError(t, s.srv.WaitSockets(t.Context(), 2))
	s.srv.Inject(slacktest.Code("not_allowed_token_type"))
	_, err := s.adapter.Send(t.Context(), out(direct(1), "hello"))
	require.Equal(t, adapters.Auth, adapters.AsFailure(err).Kind)
	require.NoError(t, s.srv.WaitCalls(t.Context(), "auth.test", 2))
	require.Empty(t, s.runErr)

	s.srv.Inject(slacktest.Code("token_revoked"))
	s.srv.Inject(slacktest.Code("token_revoked").On("auth.test"))
	_, err = s.adapter.Send(t.Context(), out(direct(1), "hello"))
	require.Equal(t, adapters.Auth, adapters.AsFailure(err).Kind)
	require.Equal(t, adapters.Auth, adapters.AsFailure(<-s.runErr).Kind)
}

// The library joins base and method as they are.
func TestTheBaseNeedsNoSlash(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, func(c *slack.Config) { c.APIBase = strings.TrimSuffix(c.APIBase, "/") })
	self, err := s.adapter.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, sessions.Peer{ID: slacktest.BotUser, Name: slacktest.BotName, Username: slacktest.BotName, Bot: true}, self)
}
