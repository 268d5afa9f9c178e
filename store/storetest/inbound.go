package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

func testUnsaid(t *testing.T, b *bundle) {
	say := func(lane sessions.Lane, id sessions.PlatformMessageID) {
		line := sessions.HistoryLine{Sender: sessions.Peer{ID: "5"}, Text: string(id), At: start, Label: secret, MessageID: id}
		b.commit(ledger.Change{AppendHistory: []ledger.HistoryAppend{{Lane: lane, Line: line, Keep: 9}}})
	}
	say("c|x", "1")
	say("c|x", "2")
	say("c|y", "1")
	b.commit(ledger.Change{EditHistory: []ledger.HistoryEdit{
		{HistoryMessage: ledger.HistoryMessage{Lane: "c|x", Message: "2"}, Text: "two"}, {HistoryMessage: ledger.HistoryMessage{Lane: "c|x", Message: "never said"}, Text: "x"},
	}})
	b.commit(ledger.Change{DeleteHistory: []ledger.HistoryMessage{{Lane: "c|x", Message: "1"}, {Lane: "c|x", Message: "never said"}}})
	lines, err := b.History(b.ctx, "c|x")
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Equal(t, sessions.PlatformMessageID("2"), lines[0].MessageID)
	require.Equal(t, "two", lines[0].Text)
	lines, err = b.History(b.ctx, "c|y")
	require.NoError(t, err)
	require.Len(t, lines, 1)
}

func testPeers(t *testing.T, b *bundle) {
	_, err := b.PeerOf(b.ctx, "slack", "default", "D1")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	peer := ledger.DirectPeer{Channel: "slack", Account: "default", Conversation: "D1", User: "U1"}
	b.commit(ledger.Change{Peers: []ledger.DirectPeer{peer}})
	b.commit(ledger.Change{Peers: []ledger.DirectPeer{peer}}) // said again
	got, err := b.PeerOf(b.ctx, "slack", "default", "D1")
	require.NoError(t, err)
	require.Equal(t, peer.User, got)
	peer.User = "U2"
	b.commit(ledger.Change{Peers: []ledger.DirectPeer{peer, {Channel: "slack", Account: "default", Conversation: "C1"}}})
	got, err = b.PeerOf(b.ctx, "slack", "default", "D1")
	require.NoError(t, err)
	require.Equal(t, peer.User, got)
	got, err = b.PeerOf(b.ctx, "slack", "default", "C1")
	require.NoError(t, err, "somebody was heard there")
	require.Empty(t, got)
	_, err = b.PeerOf(b.ctx, "slack", "other", "D1")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testRevisions(t *testing.T, b *bundle) {
	_, err := b.Revision(b.ctx, "c|x", "1")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	for _, run := range []sessions.RunID{"run_1", "run_2"} {
		want := ledger.Revision{Lane: "c|x", Message: "1", Run: run}
		b.commit(ledger.Change{Revised: &want})
		got, err := b.Revision(b.ctx, "c|x", "1")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func testBotTurns(t *testing.T, b *bundle) {
	read := func() ledger.BotTurns {
		got, err := b.BotTurns(b.ctx, "c|x")
		require.NoError(t, err)
		return got
	}
	none := ledger.BotTurns{Place: "c|x"}
	require.Equal(t, none, read())
	turns := ledger.BotTurns{Place: "c|x", Turns: []time.Time{at(1), at(2)}, Stopped: true}
	b.commit(ledger.Change{Bots: &turns})
	require.Equal(t, turns, read())
	b.commit(ledger.Change{Bots: &none})
	require.Equal(t, none, read())
}

func testPairingRequests(t *testing.T, b *bundle) {
	request := func(code string, created time.Time) ledger.Change {
		return ledger.Change{Requests: []ledger.Pairing{{
			Channel: "telegram", Account: "default", User: sessions.Peer{ID: "5"}, Conversation: "5", Code: code,
			Status: ledger.PairingPending, Created: created, Expires: created.Add(time.Hour),
		}}}
	}
	stored := func() ledger.Pairing {
		p, err := b.PairingOf(b.ctx, "telegram", "default", "5")
		require.NoError(t, err)
		return p
	}
	b.commit(request("FIRST", start))
	b.refuse(sessions.ErrConflict, request("SECOND", at(1)))
	require.Equal(t, "FIRST", stored().Code)
	b.commit(request("LATER", at(60)))
	require.Equal(t, "LATER", stored().Code)
	for _, status := range []ledger.PairingStatus{ledger.PairingApproved, ledger.PairingRevoked} {
		p := stored()
		p.Status, p.Code = status, ""
		b.commit(ledger.Change{Pairings: []ledger.Pairing{p}})
		b.refuse(sessions.ErrConflict, request("AGAIN", at(600)))
	}
}

func testCountAudit(t *testing.T, b *bundle) {
	for i := range 5 {
		b.commit(ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{At: at(i), Actor: "a", Action: "guess", Label: secret}, {At: at(i), Action: "other", Label: secret}}}})
	}
	for _, c := range []struct{ since, limit, want int }{{0, 9, 5}, {3, 9, 2}, {0, 2, 2}, {9, 9, 0}} {
		n, err := b.CountAudit(b.ctx, "guess", at(c.since), c.limit)
		require.NoError(t, err)
		require.Equal(t, c.want, n)
	}
}

func testPosted(t *testing.T, b *bundle) {
	d := newDelivery("c|x")
	d.Status, d.Parts = ledger.DeliverySent, []string{"one", "two"}
	d.Receipts = []adapters.Receipt{{MessageID: "7", At: start}, {MessageID: "8", At: start}}
	elsewhere := newDelivery("c|y")
	elsewhere.Receipts = []adapters.Receipt{{MessageID: "9", At: start}}
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d, elsewhere, newDelivery("c|x")}})
	got, err := b.Posted(b.ctx, "c|x", "8")
	require.NoError(t, err)
	require.Equal(t, d.ID, got.ID)
	_, err = b.Posted(b.ctx, "c|x", "9")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// testIdle lets many callers ask for the same idle session at once: one gets it.
func testIdle(t *testing.T, b *bundle) {
	s := b.create(newSession("agent:main:main"))
	const askers = 8
	got := make(chan error, askers)
	for range askers {
		go func() {
			got <- b.Commit(b.ctx, ledger.Change{Change: sessions.Change{Idle: []sessions.ID{s.ID}, Enqueue: []sessions.Run{newRun(s.ID)}}})
		}()
	}
	taken := 0
	for range askers {
		if err := <-got; err == nil {
			taken++
		} else {
			require.ErrorIs(t, err, sessions.ErrConflict)
		}
	}
	require.Equal(t, 1, taken)
	b.refuse(sessions.ErrNotFound, ledger.Change{Change: sessions.Change{Idle: []sessions.ID{"sess_none"}}})
}
