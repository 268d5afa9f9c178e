package telegram_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

func TestAChangedReactionIsOneThatWentAndOneThatCame(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.PostRaw(func(int64) string {
		return `{"update_id":1001,"message_reaction":{"chat":{"id":-1007,"type":"supergroup","title":"Team"},"message_id":5,"date":1700000000,
			"actor_chat":{"id":-1007,"type":"supergroup","title":"Team"},
			"old_reaction":[{"type":"emoji","emoji":"👍"},{"type":"emoji","emoji":"🔥"}],
			"new_reaction":[{"type":"emoji","emoji":"🔥"},{"type":"custom_emoji","custom_emoji_id":"77"},{"type":"paid"}]}}`
	})
	s.run(t)
	var got []string
	for _, in := range s.inbox.wait(t, 3) {
		require.Equal(t, sessions.PlatformMessageID("5"), in.MessageID)
		require.Equal(t, sessions.UserID("-1007"), in.Sender.ID, "who reacts in the name of the group")
		got = append(got, fmt.Sprint(in.Event, " ", in.Reaction.Emoji, " ", in.Reaction.Removed))
	}
	require.Equal(t, []string{
		"-1007/5/reaction/1001/0 👍 true", "-1007/5/reaction/1001/1 custom_emoji:77 false", "-1007/5/reaction/1001/2 paid false",
	}, got)
}

func TestReactionsAreAskedFor(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.run(t)
	calls, err := s.srv.WaitCalls(t.Context(), "getUpdates", 1)
	require.NoError(t, err)
	require.JSONEq(t, `["message","edited_message","channel_post","edited_channel_post","callback_query","message_reaction"]`,
		field(t, calls[0].Params, "allowed_updates"))
}

func TestAnEmojiThatTelegramDoesNotOfferIsUnsupported(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	receipt, err := s.adapter.Send(t.Context(), out(direct("1001"), "hi"))
	require.NoError(t, err)
	err = s.adapter.React(t.Context(), direct("1001"), receipt.MessageID, adapters.Reaction{Emoji: "🦩"})
	require.Equal(t, adapters.Unsupported, adapters.AsFailure(err).Kind)
	err = s.adapter.React(t.Context(), direct("1001"), "999", adapters.Reaction{Emoji: "👍"})
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
}

func TestOwnMessagesAreForgottenOldestFirst(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	chat := telegramtest.Private(1001)
	s.srv.Join(chat)
	for range 1001 {
		_, err := s.adapter.Send(t.Context(), out(direct("1001"), "hi"))
		require.NoError(t, err)
	}
	s.run(t)
	s.srv.Say(chat, ada, "hello")
	s.inbox.wait(t, 1)
	for _, id := range []int64{1, 2, 1001} {
		s.srv.React(chat, id, ada, nil, []string{"👍"})
	}
	got := s.inbox.wait(t, 4)[1:]
	require.Equal(t, []bool{false, true, true}, []bool{got[0].Reaction.Own, got[1].Reaction.Own, got[2].Reaction.Own})
}

func TestDeletingWhatMayNotBeDeletedIsPermanent(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	s.srv.Inject(telegramtest.APIError(400, "Bad Request: message can't be deleted for everyone").On("deleteMessage"))
	err := s.adapter.Delete(t.Context(), direct("1001"), "1")
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.Equal(t, adapters.Permanent, adapters.AsFailure(s.adapter.Delete(t.Context(), direct("1001"), "x")).Kind)
}

func TestAReactionToTheBotKnowsItsTopic(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	chat := telegramtest.Chat{ID: -1008, Type: "supergroup", Forum: true}
	s.srv.Join(chat, 7)
	receipt, err := s.adapter.Send(t.Context(), out(sessions.Route{ChatType: sessions.Group, Conversation: "-1008", Thread: "7"}, "hi"))
	require.NoError(t, err)
	s.run(t)
	s.srv.Say(chat, ada, "hello")
	s.inbox.wait(t, 1)
	s.srv.React(chat, number(receipt.MessageID), ada, nil, []string{"👍"})
	in := s.inbox.wait(t, 2)[1]
	require.True(t, in.Reaction.Own)
	require.Equal(t, sessions.ThreadID("7"), in.Route.Thread)
}
