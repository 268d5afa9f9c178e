package storetest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

func testHistory(t *testing.T, b *bundle) {
	line := func(i int) sessions.HistoryLine {
		l := sessions.HistoryLine{Sender: sessions.Peer{ID: "5", Name: "Eve"}, Text: strconv.Itoa(i), At: at(i), Label: secret}
		if i%2 == 1 {
			l.Quotations = []sessions.Quotation{{Kind: sessions.QuoteForward, From: sessions.Peer{Name: "Mallory"}, Text: "x", Files: []string{"a"}}}
		}
		return l
	}
	for i := range 6 {
		b.commit(ledger.Change{AppendHistory: []ledger.HistoryAppend{
			{Lane: "c|x", Line: line(i), Keep: 4}, {Lane: "c|y", Line: line(i), Keep: 9},
		}})
	}
	texts := func(lane sessions.Lane) (texts []string) {
		lines, err := b.History(b.ctx, lane)
		require.NoError(t, err)
		for _, l := range lines {
			texts = append(texts, l.Text)
		}
		return texts
	}
	require.Equal(t, []string{"2", "3", "4", "5"}, texts("c|x"))
	lines, err := b.History(b.ctx, "c|x")
	require.NoError(t, err)
	require.Equal(t, line(2), lines[0])

	b.commit(ledger.Change{TrimHistory: []ledger.HistoryTrim{{Lane: "c|x", Through: at(4)}}})
	require.Equal(t, []string{"5"}, texts("c|x"))
	require.Len(t, texts("c|y"), 6)
}

func testPairings(t *testing.T, b *bundle) {
	p := ledger.Pairing{
		Channel: "telegram", Account: "default", User: sessions.Peer{ID: "5", Name: "Eve"}, Conversation: "5", Code: "ABC",
		Status: ledger.PairingPending, Created: start, Expires: at(60),
	}
	later := p
	later.User.ID, later.Created = "6", at(1)
	elsewhere := p
	elsewhere.Channel, elsewhere.Created = "slack", at(2)
	b.commit(ledger.Change{Pairings: []ledger.Pairing{p, later, elsewhere}})
	other := p
	other.Account, other.Created = "second", at(3)
	b.commit(ledger.Change{Pairings: []ledger.Pairing{other}})

	got, err := b.PairingOf(b.ctx, "telegram", "default", "5")
	require.NoError(t, err)
	require.Equal(t, p, got)
	list := func(channel, account string) []ledger.Pairing {
		rows, err := b.ListPairings(b.ctx, channel, account, ledger.PairingPending)
		require.NoError(t, err)
		return rows
	}
	require.Equal(t, []ledger.Pairing{later, p}, list("telegram", "default"))
	require.Equal(t, []ledger.Pairing{other}, list("telegram", "second"))
	require.Equal(t, []ledger.Pairing{other, elsewhere, later, p}, list("", ""))

	p.Status, p.Code = ledger.PairingApproved, ""
	b.commit(ledger.Change{Pairings: []ledger.Pairing{p}})
	got, err = b.PairingOf(b.ctx, "telegram", "default", "5")
	require.NoError(t, err)
	require.Equal(t, p, got)
	require.Equal(t, []ledger.Pairing{other, later}, list("telegram", ""))
	_, err = b.PairingOf(b.ctx, "telegram", "other", "5")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testAliases(t *testing.T, b *bundle) {
	alias := func(from, to sessions.ConversationID) ledger.Alias {
		return ledger.Alias{Channel: "telegram", Account: "default", From: from, To: to}
	}
	for range 2 {
		got, err := b.CanonicalConversation(b.ctx, "telegram", "default", "c")
		require.NoError(t, err)
		require.Equal(t, sessions.ConversationID("c"), got, "no conversation has another id yet")
	}
	b.commit(ledger.Change{Aliases: []ledger.Alias{alias("a", "b"), alias("b", "c")}})
	b.commit(ledger.Change{Aliases: []ledger.Alias{alias("a", "b")}}) // a repeat
	for id, want := range map[sessions.ConversationID]sessions.ConversationID{"c": "a", "b": "a", "a": "a", "z": "z"} {
		got, err := b.CanonicalConversation(b.ctx, "telegram", "default", id)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := b.CanonicalConversation(b.ctx, "telegram", "other", "c")
	require.NoError(t, err)
	require.Equal(t, sessions.ConversationID("c"), got)
}

func testPartitions(t *testing.T, b *bundle) {
	for i, owner := range []string{"a", "b", "b", "a"} {
		require.EqualValues(t, i+1, b.take(1, owner))
	}
	for _, late := range []int64{0, 3, 5} { // read before another owner took the partition, or wrong
		_, err := b.TakePartition(b.ctx, 1, "late", late)
		require.ErrorIs(t, err, sessions.ErrConflict)
	}
	epoch, err := b.PartitionEpoch(b.ctx, 1)
	require.NoError(t, err)
	require.EqualValues(t, 4, epoch)
	epoch, err = b.PartitionEpoch(b.ctx, 2)
	require.NoError(t, err)
	require.Zero(t, epoch)
	require.EqualValues(t, 1, b.take(2, "a"))
}

// testPartitionRace takes a partition many times at once under one name, with the same epoch from before: one of them gets it, with
// and without a row.
func testPartitionRace(t *testing.T, b *bundle) {
	const takers = 12
	for before := range int64(3) {
		ends := make(chan error, takers)
		for range takers {
			go func() {
				epoch, err := b.TakePartition(b.ctx, 5, "same", before)
				if err == nil && epoch != before+1 {
					err = fmt.Errorf("got epoch %d", epoch)
				}
				ends <- err
			}()
		}
		taken := 0
		for range takers {
			if err := <-ends; err == nil {
				taken++
			} else {
				require.ErrorIs(t, err, sessions.ErrConflict)
			}
		}
		require.Equal(t, 1, taken)
	}
}
