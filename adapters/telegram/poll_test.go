package telegram_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
)

func TestMessageInAnswerOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Say(telegramtest.Private(1001), ada, "hello")
	s.run(t)

	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, "1001/1", in.Event)
	require.Equal(t, "hello", in.Text)
	require.Equal(t, "Ada", in.Sender.Name)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))

	receipt, err := s.adapter.Send(t.Context(), out(in.Route, "**hi** there"))
	require.NoError(t, err)
	require.Equal(t, "2", string(receipt.MessageID))
	require.Len(t, s.srv.Sent(1001), 1)
}
