package router_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// talker says things in the places of one platform, each message with an id of its own.
type talker struct {
	*bundle
	channel string
	said    int
}

// say gives the number of texts that a conversation shows after a message, and the last of them.
func (s *talker) say(place sessions.Route, who, text string) (shown int, last string) {
	return s.hears(s.message(place, who, text))
}

func (s *talker) message(place sessions.Route, who, text string) adapters.Inbound {
	s.said++
	m := at(s.channel, place, fmt.Sprint(s.said), who, text)
	m.Route.Thread = place.Thread
	return m
}

func (s *talker) hears(m adapters.Inbound) (shown int, last string) {
	s.bundle.hear(m)
	synctest.Wait()
	texts := s.chat.texts(string(m.Route.Conversation))
	if len(texts) == 0 {
		return 0, ""
	}
	return len(texts), texts[len(texts)-1]
}

// threaded runs a test on each platform, with a group and two threads in it.
func threaded(t *testing.T, test func(s *talker, group, thread, other sessions.Route)) {
	t.Helper()
	for channel, group := range platforms() {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &talker{bundle: newBundle(t, onPlatform(t, channel)), channel: channel}
				thread, other := group, group
				thread.Thread, other.Thread = "7", "8"
				test(s, group, thread, other)
			})
		})
	}
}

// parts is what the parts of a conversation are called on a platform.
func parts(channel string) string {
	if channel == "telegram" {
		return "topic"
	}
	return "thread"
}

func TestSendOffIsInheritedByThreads(t *testing.T) {
	t.Parallel()
	threaded(t, func(s *talker, group, thread, _ sessions.Route) {
		shown, answer := s.say(group, "owner", "/send off")
		require.Equal(s.t, 1, shown)
		require.Contains(s.t, answer, "and its "+parts(s.channel)+"s")
		shown, _ = s.say(thread, "ann", "are you there?")
		require.Equal(s.t, 1, shown, "silent in a thread")
		shown, _ = s.say(group, "ann", "are you there?")
		require.Equal(s.t, 1, shown)
		d, err := s.Sender.CheckPolicy(s.t.Context(), outbound.Check{Channel: s.channel, ChatType: group.ChatType, To: string(group.Conversation), Thread: "7"})
		require.NoError(s.t, err)
		require.Equal(s.t, policy.Block, d.Action)
		require.Equal(s.t, []string{"override"}, matched(d))

		shown, answer = s.say(group, "owner", "/send on")
		require.Equal(s.t, 2, shown)
		require.Contains(s.t, answer, "and its "+parts(s.channel)+"s")
		shown, _ = s.say(thread, "ann", "and now?")
		require.Equal(s.t, 3, shown)
	})
}

func TestSendOffInAThreadIsForThatThread(t *testing.T) {
	t.Parallel()
	threaded(t, func(s *talker, group, thread, other sessions.Route) {
		shown, answer := s.say(thread, "owner", "/send off")
		require.Equal(s.t, 1, shown)
		require.Contains(s.t, answer, "this "+parts(s.channel))
		shown, _ = s.say(thread, "ann", "are you there?")
		require.Equal(s.t, 1, shown)
		shown, _ = s.say(other, "ann", "are you there?")
		require.Equal(s.t, 2, shown, "not in another thread")
		shown, _ = s.say(group, "ann", "are you there?")
		require.Equal(s.t, 3, shown, "nor in the channel")
	})
}

// The latest word for a place counts for all of it: a thread's own word is for what comes after it.
func TestTheLatestWordOfAPlaceCounts(t *testing.T) {
	t.Parallel()
	threaded(t, func(s *talker, group, thread, other sessions.Route) {
		s.say(group, "owner", "/send off")
		shown, _ := s.say(thread, "owner", "/send on")
		require.Equal(s.t, 2, shown)
		shown, _ = s.say(thread, "ann", "are you there?")
		require.Equal(s.t, 3, shown, "the thread has a word of its own")
		shown, _ = s.say(other, "ann", "are you there?")
		require.Equal(s.t, 3, shown)

		shown, answer := s.say(group, "owner", "/send off")
		require.Equal(s.t, 4, shown)
		require.Contains(s.t, answer, "1 "+parts(s.channel)+" that had a setting of its own")
		shown, _ = s.say(thread, "ann", "are you there?")
		require.Equal(s.t, 4, shown, "silenced with the rest")
		s.say(thread, "owner", "/send on")
		shown, _ = s.say(thread, "owner", "/send inherit")
		require.Equal(s.t, 6, shown)
		shown, _ = s.say(thread, "ann", "are you there?")
		require.Equal(s.t, 6, shown, "it follows its channel again")
	})
}

// With replyInThread an answer opens a thread below the question; the question itself stands in the channel.
func TestSendOffThatOpensAThreadIsForTheChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &talker{bundle: newBundle(t, onPlatform(t, "slack")), channel: "slack"}
		group := platforms()["slack"]
		opening := func(who, text string) adapters.Inbound {
			m := s.message(group, who, text)
			m.Route.Thread, m.OpensThread = sessions.ThreadID(m.MessageID), true
			return m
		}
		shown, answer := s.hears(opening("owner", "/send off"))
		require.Equal(t, 1, shown)
		require.Contains(t, answer, "and its threads")
		shown, _ = s.hears(opening("ann", "are you there?"))
		require.Equal(t, 1, shown)
		shown, _ = s.say(group, "ann", "are you there?")
		require.Equal(t, 1, shown)
		shown, _ = s.hears(opening("owner", "/send on"))
		require.Equal(t, 2, shown)
		shown, _ = s.hears(opening("ann", "and now?"))
		require.Equal(t, 3, shown)
	})
}

// What another session wants to say in a silenced place stays unsaid, in the place and below it.
func TestOtherSessionsDoNotSpeakInASilencedPlace(t *testing.T) {
	t.Parallel()
	threaded(t, func(s *talker, group, thread, _ sessions.Route) {
		direct := in("owner", "d1", "hello")
		direct.Route.Channel = s.channel
		elsewhere := s.hear(direct)
		s.say(thread, "ann", "hello")
		shown, _ := s.say(group, "owner", "/send off")
		for _, place := range []sessions.Route{group, thread} {
			sent, err := s.Sender.Send(s.t.Context(), outbound.Proactive{
				Channel: s.channel, To: string(place.Conversation), ChatType: place.ChatType, Thread: string(place.Thread),
				Session: elsewhere.Session, Text: "by the way", Agent: "coder",
			})
			require.NoError(s.t, err)
			require.Equal(s.t, policy.Block, sent.Decision.Action, "%v", sent.Decision.Reason)
			d, err := s.Sender.CheckPolicy(s.t.Context(), outbound.Check{
				Channel: s.channel, ChatType: place.ChatType, To: string(place.Conversation), Thread: string(place.Thread),
				Session: string(elsewhere.Session), Kind: ledger.KindMessage,
			})
			require.NoError(s.t, err)
			require.Equal(s.t, []string{"override"}, matched(d))
		}
		synctest.Wait()
		require.Len(s.t, s.chat.texts(string(group.Conversation)), shown)
	})
}
