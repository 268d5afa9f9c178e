package router_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// offer sends a message with one button, as an agent or a program does, and gives its delivery.
func (b *bundle) offer(to, value string, labels ...flow.Label) ledger.Delivery {
	b.t.Helper()
	p := outbound.Proactive{Channel: "test", To: to, ChatType: sessions.Group, Text: "well?", Buttons: []adapters.Button{{Label: "Yes please", Value: value}}}
	if len(labels) > 0 {
		p.Label = labels[0]
	}
	d, err := b.Sender.Send(context.Background(), p)
	require.NoError(b.t, err)
	synctest.Wait()
	return b.delivery(d.ID)
}

func (b *bundle) delivery(id ledger.DeliveryID) ledger.Delivery {
	b.t.Helper()
	d, err := b.store.Delivery(context.Background(), id)
	require.NoError(b.t, err)
	return d
}

// press is the press of a delivery's button by somebody, where it shows.
func (b *bundle) press(d ledger.Delivery, n int, who string) adapters.Inbound {
	b.t.Helper()
	b.commands++
	m := in(who, "", "")
	shown := d.Receipts[len(d.Receipts)-1].MessageID
	m.Event = "press/" + string(rune('a'+b.commands))
	m.Route.ChatType, m.Route.Conversation, m.Route.ReplyTo = d.Route.ChatType, d.Route.Conversation, shown
	m.MessageID, m.Press = shown, d.ShownButtons()[n].Press
	return m
}

// A guest has the agent send a button that looks harmless. Who presses it has said its value, and given no command.
func TestAnAgentsButtonGivesNoCommand(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"/send off", "/pair approve AB", "/help", "/new hello", " /SEND off"} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &rich{chat: newChat(), buttons: 5}
				b := newBundle(t, func(b *bundle) { b.chat, b.adapter = r.chat, r })
				d := b.offer("g1", value)
				require.NotContains(t, r.sent[0].Buttons[0].Press, "/s", "a platform gets the name of a button and not what it says")
				got := b.hear(b.press(d, 0, "owner"))
				require.Equal(t, ledger.OutcomeRun, got.Outcome)
				require.Equal(t, "echo: owner: "+value, b.ended(got.Run).Reply)
				record, err := b.store.Session(t.Context(), got.Session)
				require.NoError(t, err)
				require.Equal(t, sessions.SendInherit, record.SendPolicy)
				require.Zero(t, b.audited("pairing.wrong"))
			})
		})
	}
}

// What a button says has the label of who made it, and an owner's press makes it no owner's word.
func TestAPressHasTheLabelOfItsButton(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		trusted, strangers := b.offer("g1", "go on"), b.offer("g1", "go on", flow.NewLabel(flow.Public, flow.Untrusted))
		for d, want := range map[ledger.DeliveryID]flow.Trust{trusted.ID: flow.Trusted, strangers.ID: flow.Untrusted} {
			run, err := b.store.Run(t.Context(), b.hear(b.press(b.delivery(d), 0, "owner")).Run)
			require.NoError(t, err)
			require.Equal(t, want, run.Label.Trust())
			require.Equal(t, want == flow.Trusted, run.Input.Owner)
			synctest.Wait()
		}
		secret := b.offer("g2", "go on", flow.NewLabel(flow.Confidential, flow.Trusted))
		run, err := b.store.Run(t.Context(), b.hear(b.press(secret, 0, "ann")).Run)
		require.NoError(t, err)
		require.Equal(t, flow.Confidential, run.Label.Level())
	})
}

// An app can hand back the name of any button, or anything else: only what was shown at that very message counts.
func TestAForgedPressSaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		d := b.offer("g1", "go on")
		for name, forge := range map[string]func(m *adapters.Inbound){
			"a command":            func(m *adapters.Inbound) { m.Press = "/send off" },
			"an older button":      func(m *adapters.Inbound) { m.Press = "/approve apr_1 allow" },
			"no such delivery":     func(m *adapters.Inbound) { m.Press = string(ledger.NewDeliveryID()) + "/0" },
			"no such button":       func(m *adapters.Inbound) { m.Press = string(d.ID) + "/1" },
			"no number":            func(m *adapters.Inbound) { m.Press = string(d.ID) + "/-1" },
			"another message":      func(m *adapters.Inbound) { m.MessageID = "999" },
			"another conversation": func(m *adapters.Inbound) { m.Route.Conversation = "g2" },
			"another account":      func(m *adapters.Inbound) { m.Route.Account = "second" },
		} {
			m := b.press(d, 0, "owner")
			forge(&m)
			got := b.hear(m)
			require.Equal(t, ledger.OutcomeIgnored, got.Outcome, name)
			require.Contains(t, got.Notice, "That button no longer works", name)
			synctest.Wait()
		}
	})
}

// A press of a button in a group that is no longer listed does not address the bot: an owner is not told how to list it.
func TestAPressInAnUnlistedGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rich{chat: newChat(), buttons: 5}
		b := newBundle(t, func(b *bundle) { b.chat, b.adapter = r.chat, r })
		d := b.offer("g1", "yes please")
		unlisted := *b.settings
		unlisted.Channels = map[string]place.ChannelSettings{"test": {GroupPolicy: place.AccessAllowlist}}
		b.Configure(&unlisted)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(b.press(d, 0, "owner")).Outcome)
		synctest.Wait()
		require.Empty(t, b.chat.texts("owner"))
	})
}
