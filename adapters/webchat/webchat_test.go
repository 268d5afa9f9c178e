package webchat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	"sluice/adapters/webchat"
	"sluice/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnlyNoticesNeedAnEvent(t *testing.T) {
	t.Parallel()
	var events []sessions.Event
	a := webchat.New(func(e sessions.Event) { events = append(events, e) }, time.Now)
	for _, out := range []adapters.Outbound{
		{DeliveryID: "dlv_1", Session: "sess_1", Text: "an answer", Reply: true},
		{DeliveryID: "dlv_2", Text: "to nobody in particular"},
		{DeliveryID: "dlv_3", Session: "sess_1", Text: "a notice"},
	} {
		receipt, err := a.Send(t.Context(), out)
		require.NoError(t, err)
		require.Equal(t, out.DeliveryID, string(receipt.MessageID))
	}
	require.Len(t, events, 1)
	require.Equal(t, "a notice", events[0].Text)
	require.Equal(t, "dlv_3", events[0].Delivery)
	require.Equal(t, sessions.EventNotice, events[0].Type)
}
