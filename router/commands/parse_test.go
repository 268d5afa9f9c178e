package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// A command is all that its sender wrote, just now.
func TestWhatGivesACommand(t *testing.T) {
	t.Parallel()
	forward := []sessions.Quotation{{Kind: sessions.QuoteForward, Text: "/help"}}
	for name, c := range map[string]struct {
		in   adapters.Inbound
		want place.CommandKind
	}{
		"anybody's":    {adapters.Inbound{Text: "/help"}, place.PublicCommand},
		"an owner's":   {adapters.Inbound{Text: "/send off"}, place.OwnerCommand},
		"talk":         {adapters.Inbound{Text: "help me"}, place.NoCommand},
		"an edit":      {adapters.Inbound{Text: "/help", Edited: true}, place.NoCommand},
		"a button":     {adapters.Inbound{Text: "/help", Press: "p"}, place.NoCommand},
		"read in part": {adapters.Inbound{Text: "/help", Unread: "a poll"}, place.NoCommand},
		"a forward":    {adapters.Inbound{Text: "/help", Quotations: forward}, place.NoCommand},
	} {
		require.Equal(t, c.want, KindOf(c.in), name)
		require.Equal(t, c.want != place.NoCommand, Given(c.in), name)
	}
}

// Guests are not shown the commands that only owners may give.
func TestHelpText(t *testing.T) {
	t.Parallel()
	require.Contains(t, helpText(true), "- `/pair` – ")
	require.NotContains(t, helpText(false), "/pair")
	require.Contains(t, helpText(false), "- `/retry` – answer the last message again\n")
}

func TestWhatFollowsFromADecision(t *testing.T) {
	t.Parallel()
	call, message := ledger.Approval{Tool: "exec"}, ledger.Approval{Delivery: "dlv_1"}
	require.Equal(t, "Allowed: I will run `exec`.", decided(call, true, "exec"))
	require.Equal(t, "Denied: I will not run it.", decided(call, false, ""))
	require.Equal(t, "Allowed: I will send it.", decided(message, true, ""))
	require.Equal(t, "Denied: I will not send it.", decided(message, false, ""))
}
