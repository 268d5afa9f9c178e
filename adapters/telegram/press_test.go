package telegram_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram/telegramtest"
)

func buttons(labels ...string) []adapters.Button {
	all := make([]adapters.Button, len(labels))
	for i, l := range labels {
		all[i] = adapters.Button{Label: l, Press: "/choose " + l[:1]}
	}
	return all
}

func TestShortButtonsStandSideBySide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels []string
		want   string
	}{
		"short": {[]string{"Yes", "No", "Later", "Never"}, `{"inline_keyboard":[[{"text":"Yes","callback_data":"/choose Y"},{"text":"No","callback_data":"/choose N"},{"text":"Later","callback_data":"/choose L"}],[{"text":"Never","callback_data":"/choose N"}]]}`},
		"one is long": {
			[]string{"Yes", "No, and do not ask me again"},
			`{"inline_keyboard":[[{"text":"Yes","callback_data":"/choose Y"}],[{"text":"No, and do not ask me again","callback_data":"/choose N"}]]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, nil)
			s.srv.Join(telegramtest.Private(1001))
			o := out(direct("1001"), "Well?")
			o.Buttons = buttons(c.labels...)
			_, err := s.adapter.Send(t.Context(), o)
			require.NoError(t, err)
			sent := s.srv.Calls("sendMessage")[0].Params
			require.JSONEq(t, c.want, field(t, sent, "reply_markup"))
		})
	}
}

func TestButtonsOfARichMessage(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	o := out(direct("1001"), "| a | b |\n|---|---|\n| 1 | 2 |")
	o.Buttons = buttons("Yes")
	_, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, s.srv.Calls("sendRichMessage"), 1)
	require.Equal(t, []telegramtest.Button{{Label: "Yes", Data: "/choose Y"}}, s.srv.Sent(1001)[0].Buttons)
}

func TestAnEditWithoutButtonsTakesThemAway(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	o := out(direct("1001"), "May I?")
	o.Buttons = buttons("Yes", "No")
	receipt, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, s.adapter.Edit(t.Context(), receipt.MessageID, o), "the same again")
	require.Len(t, s.srv.Sent(1001)[0].Buttons, 2)
	require.NoError(t, s.adapter.Edit(t.Context(), receipt.MessageID, out(direct("1001"), "May I?")))
	require.Empty(t, s.srv.Sent(1001)[0].Buttons)
}

func TestTooLongAValueIsRefused(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	o := out(direct("1001"), "May I?")
	o.Buttons = []adapters.Button{{Label: "Yes", Press: string(make([]byte, 65))}}
	_, err := s.adapter.Send(t.Context(), o)
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
}

func TestAPressIsAnsweredOnceItIsAccepted(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	o := out(direct("1001"), "May I?")
	o.Buttons = buttons("Yes")
	receipt, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	unanswered := make(chan int, 2)
	refusals := 0
	s.inbox.refuse = func(in adapters.Inbound) error {
		if in.Press == "" {
			return nil
		}
		unanswered <- s.srv.Unanswered()
		if refusals++; refusals == 1 {
			return errRefused
		}
		return nil
	}
	s.run(t)
	s.srv.Say(telegramtest.Private(1001), ada, "first") // so that the kinds of update are known to be asked for
	s.inbox.wait(t, 1)
	require.True(t, s.srv.Press(telegramtest.Private(1001), number(receipt.MessageID), ada, "Yes"))
	in := s.inbox.wait(t, 2)[1]
	require.Equal(t, "cb/4382000", in.Event)
	require.Equal(t, receipt.MessageID, in.Route.ReplyTo)
	require.Equal(t, 1, <-unanswered, "not before it was tried")
	require.Equal(t, 1, <-unanswered, "nor after it was refused")
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	require.Zero(t, s.srv.Unanswered())
}

func TestAPressTelegramWantsNoAnswerToIsAcceptedAllTheSame(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.PostRaw(func(int64) string {
		return `{"update_id":1001,"callback_query":{"id":"old","from":{"id":1001,"first_name":"Ada"},"data":"x","message":{"message_id":3,"date":0,"chat":{"id":1001,"type":"private"}}}}`
	})
	s.run(t)
	require.Equal(t, "cb/old", s.inbox.wait(t, 1)[0].Event)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	require.Len(t, s.srv.Calls("answerCallbackQuery"), 1)
}
