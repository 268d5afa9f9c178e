package outbound

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// A reload while a request is worked changes nothing for that request: it never sees one part of each configuration.
func TestARequestSeesOneConfiguration(t *testing.T) {
	t.Parallel()
	compose := composer(&fakeStore{peer: "owner"})
	before, reads := compose.Settings(), 0
	compose.Settings = func() *place.Settings {
		if reads++; reads > 1 {
			return &place.Settings{} // the next configuration has no channels
		}
		return before
	}
	var asked policy.Egress
	compose.Gate = fakeGate{level: flow.Internal, decide: func(e policy.Egress) policy.Decision {
		asked = e
		return policy.Decision{Action: policy.Allow}
	}}
	sender := &Sender{
		Composer: compose,
		Routes:   &Routes{Adapter: func(string, string) (adapters.Adapter, bool) { return bare{}, true }},
	}
	d, err := sender.CheckPolicy(t.Context(), Check{Channel: "test", To: ToOwner, Kind: ledger.KindMessage, Text: "hello"})
	require.NoError(t, err)
	require.True(t, d.Passes())
	require.Equal(t, 1, reads)
	require.Equal(t, sessions.ConversationID("owner"), asked.Route.Conversation)
	require.False(t, asked.UnknownPlace, "the owner is one by the first configuration")
}
