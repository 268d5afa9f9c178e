package router_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/approvals"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

func pairing(b *bundle) {
	b.settings.Channels["test"] = place.ChannelSettings{DMPolicy: place.AccessPairing}
}

// code is the only one that waits.
func (b *bundle) code() string {
	b.t.Helper()
	pending, err := b.store.ListPairings(b.t.Context(), "", "", ledger.PairingPending)
	require.NoError(b.t, err)
	require.Len(b.t, pending, 1)
	return pending[0].Code
}

// last is what a conversation has seen last.
func (b *bundle) last(to string) string {
	b.t.Helper()
	synctest.Wait()
	texts := b.chat.texts(to)
	require.NotEmpty(b.t, texts)
	return texts[len(texts)-1]
}

// audited counts the entries of an action.
func (b *bundle) audited(action string) int {
	b.t.Helper()
	entries, err := b.store.ListAudit(context.Background(), ledger.AuditQuery{Action: action, MaxLevel: flow.Restricted, Limit: 200})
	require.NoError(b.t, err)
	return len(entries)
}

func TestPairing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, pairing)
		b.hear(in("ann", "1", "let me in"))
		b.hear(in("ann", "2", "please"))
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 1, "the code is told once")
		code := b.code()
		require.Contains(t, b.last("ann"), code)
		asked := b.chat.texts("owner")
		require.Len(t, asked, 1)
		for _, part := range []string{"`ann` (`test:ann`)", "`/pair approve " + code + "`", "`/pair deny " + code + "`"} {
			require.Contains(t, asked[0], part)
		}

		b.hear(in("owner", "3", "/pair approve wrong"))
		require.Contains(t, b.last("owner"), "No pending pairing")
		b.hear(in("owner", "4", "/pair approve "+strings.ToLower(code)))
		require.Contains(t, b.last("owner"), "`ann` (`test:ann`) may talk to me now")
		b.hear(in("ann", "5", "thanks"))
		require.Equal(t, "echo: thanks", b.last("ann"))

		require.NoError(t, b.Pairings.RevokePairing(t.Context(), "test", "default", "ann", "operator"))
		require.Equal(t, ledger.OutcomePairing, b.hear(in("ann", "6", "hello?")).Outcome)
		for i, who := range []string{"b", "c", "d", "e"} {
			b.hear(in(who, fmt.Sprint(i), "me too"))
		}
		synctest.Wait()
		require.Empty(t, b.chat.texts("e"), "at most three wait")

		time.Sleep(2 * time.Hour)
		b.hear(in("b", "9", "again"))
		b.last("b")
		require.Len(t, b.chat.texts("b"), 2, "an expired code is replaced")
	})
}

// buttons is a chat that can show them, in direct chats that have ids of their own.
type buttons struct{ *chat }

func (buttons) MaxButtons() int { return 5 }

func (buttons) Find(_ context.Context, name string) (sessions.Route, error) {
	return sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Direct, Conversation: sessions.ConversationID("chat-" + name)}, nil
}

func (buttons) Members(context.Context, sessions.Route, int) ([]sessions.Peer, error) {
	return nil, nil
}

func TestOwnerSettlesAPairingByButtons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, pairing, func(b *bundle) { b.adapter = buttons{b.chat} })
		stranger := in("eve", "1", "hi")
		stranger.Sender.Name = "[free](http://evil) `x`\n@all"
		b.hear(stranger)
		code := b.code()
		require.NotContains(t, b.last("chat-owner"), "/pair", "the buttons say it")
		require.Contains(t, b.last("chat-owner"), "`[free](http://evil) 'x' @all`", "a name is no markup")
		sent := b.deliveries(ledger.DeliverySent)
		require.Equal(t, []ledger.Control{{Label: "Approve", Command: "pair", Args: "approve " + code}, {Label: "Deny", Command: "pair", Args: "deny " + code}},
			sent[len(sent)-1].Controls)

		b.hear(b.press(sent[len(sent)-1], 1, "owner"))
		require.Contains(t, b.last("chat-owner"), "may not talk to me")
		b.hear(in("eve", "3", "well?"))
		synctest.Wait()
		require.Len(t, b.chat.texts("eve"), 1, "a denied person is told nothing")
		time.Sleep(25 * time.Hour)
		b.hear(in("eve", "4", "and today?"))
		require.Contains(t, b.last("eve"), b.code(), "people err: it can be asked again")
	})
}

func TestWrongCodesLockPairing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, pairing)
		b.hear(in("ann", "1", "let me in"))
		code := b.code()
		for i := range 10 {
			if i == 5 {
				b.restart() // what was counted stays counted
			}
			_, err := b.Pairings.DenyPairing(t.Context(), "WRONG", "operator")
			require.ErrorIs(t, err, approvals.ErrPairingCode)
			time.Sleep(time.Minute)
		}
		_, err := b.Pairings.ApprovePairing(t.Context(), code, "operator")
		require.ErrorIs(t, err, approvals.ErrPairingLocked)
		b.hear(in("owner", "2", "/pair approve "+code))
		require.Contains(t, b.last("owner"), "10 wrong codes within an hour")
		require.Equal(t, 10, b.audited("pairing.wrong"))
		require.Equal(t, 1, b.audited("pairing.locked"))

		time.Sleep(51 * time.Minute)
		b.hear(in("ann", "3", "now?"))
		_, err = b.Pairings.ApprovePairing(t.Context(), b.code(), "operator")
		require.NoError(t, err)
	})
}

// Two first messages of one stranger, taken at once by two gateways.
func TestStrangersFirstMessagesMakeOneCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, pairing)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_, err := b.Intake.Admit(t.Context(), inbound.Admission{Inbound: in("ann", fmt.Sprint(i), "hi")})
				require.NoError(t, err)
			})
		}
		wg.Wait()
		b.await(2)
		require.Len(t, b.chat.texts("ann"), 1)
		require.Contains(t, b.chat.texts("ann")[0], b.code())
	})
}

// A press and a bot's word ask for nothing.
func TestOnlyWordsOfAPersonAskToBeLetIn(t *testing.T) {
	t.Parallel()
	b := newBundle(t, pairing, func(b *bundle) {
		ch := b.settings.Channels["test"]
		ch.AllowBots = place.BotsOn
		b.settings.Channels["test"] = ch
	})
	press, bot := in("ann", "1", ""), in("bot", "2", "hi")
	press.Press, bot.Sender.Bot = "dlv_1/0", true
	require.Equal(t, ledger.OutcomeIgnored, b.hear(press).Outcome)
	require.Equal(t, ledger.OutcomeIgnored, b.hear(bot).Outcome)
}

// A platform that doesn't say where its owners are is asked no longer than an event may take.
func TestPairingWaitsForNoSlowDirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, pairing, func(b *bundle) {
			b.adapter = slowDirectory{buttons{b.chat}}
			b.settings.Owners = []string{"test:owner", "test:second", "elsewhere:third"}
		})
		started := time.Now()
		b.hear(in("ann", "1", "let me in"))
		require.LessOrEqual(t, time.Since(started), 2*time.Second)
		b.last("ann")
		require.Len(t, b.chat.texts(""), 3, "both owners are told all the same")
	})
}

type slowDirectory struct{ buttons }

func (slowDirectory) Find(ctx context.Context, _ string) (sessions.Route, error) {
	<-ctx.Done()
	return sessions.Route{}, ctx.Err()
}
