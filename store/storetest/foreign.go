package storetest

import (
	"encoding/base64"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// huge returns an incompressible id that is longer than an index allows.
func huge(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 19))
	bytes := make([]byte, 9000)
	for i := range bytes {
		bytes[i] = byte(r.Uint32())
	}
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func foreignText(r *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.Uint64(), huge),
		rapid.Just("nul \x00 and \xff broken"),
	).Draw(r, name)
}

func foreignTime(r *rapid.T, name string) time.Time {
	seconds := rapid.OneOf(rapid.Int64(), rapid.Just(start.Unix()), rapid.Just(start.UnixMilli()), rapid.Just(start.UnixMicro())).Draw(r, name)
	at := time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(r, name+" nanos"))
	zone := rapid.IntRange(-100*3600, 100*3600).Draw(r, name+" zone")
	return at.In(time.FixedZone("x", zone))
}

// Every value from a platform can be stored, even if no adapter has cleaned it: a row that can't be written would
// block its lane forever.
func testForeignValues(t *testing.T, b *bundle) {
	rapid.Check(t, func(r *rapid.T) {
		text := func(name string) string { return foreignText(r, name) }
		at := foreignTime(r, "at")
		to := sessions.Route{
			Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: sessions.ConversationID(text("conversation")),
			Thread: sessions.ThreadID(text("thread")), ReplyTo: sessions.PlatformMessageID(text("reply to")), Title: text("title"), Handle: text("handle"),
		}
		who := sessions.Peer{ID: sessions.UserID(text("user")), Name: text("name"), Username: text("username")}
		message := sessions.PlatformMessageID(text("message"))

		s := newSession("agent:main:" + text("key") + string(sessions.NewID()))
		s.Route, s.Title, s.LastActivity = to, flow.NewText(text("session title"), flow.Bottom()), at
		in := newRun(s.ID)
		in.Route, in.Input.Sender, in.Input.Text, in.Accepted = to, who, text("text"), at
		in.EventKey += text("event")
		in.Input.History = []sessions.HistoryLine{{Sender: who, Text: text("line"), At: at, Label: flow.Bottom(), MessageID: message}}
		in.Input.Attachments = []sessions.Attachment{{Name: text("file"), Ref: text("ref"), Size: rapid.Int64().Draw(r, "size")}}
		d := newDelivery(to.Lane())
		d.Route, d.Text, d.Idempotency = to, text("answer"), text("idempotency")+string(d.ID)
		b.commit(ledger.Change{
			Event:  &ledger.Event{Key: in.EventKey, Outcome: ledger.OutcomeRun, Session: s.ID, Run: in.ID, Accepted: at},
			Change: sessions.Change{Create: []sessions.Record{s}, Enqueue: []sessions.Run{in}}, Deliver: []ledger.Delivery{d},
			AppendHistory: []ledger.HistoryAppend{{Lane: to.Lane(), Line: in.Input.History[0], Keep: 3}},
			Peers:         []ledger.DirectPeer{{Channel: "telegram", Account: "default", Conversation: to.Conversation, User: who.ID}},
			Revised:       &ledger.Revision{Lane: to.Lane(), Message: message, Run: in.ID},
			Bots:          &ledger.BotTurns{Place: to.Lane(), Turns: []time.Time{at}},
			Aliases:       []ledger.Alias{{Channel: "telegram", Account: "default", From: to.Conversation, To: to.Conversation + "x"}},
			Pairings:      []ledger.Pairing{{Channel: "telegram", Account: "default", User: who, Conversation: to.Conversation, Status: ledger.PairingPending, Created: at, Expires: at}},
		})
		sent := d
		sent.Status, sent.Finished, sent.PreviewID = ledger.DeliverySent, at, message
		sent.Receipts = []adapters.Receipt{{MessageID: message, At: at, Moved: &adapters.Migration{From: to.Conversation, To: to.Conversation}}}
		b.commit(moveDelivery(ledger.DeliveryQueued, sent))

		got := b.delivery(d.ID)
		require.Equal(r, ledger.DeliverySent, got.Status)
		require.Len(r, got.Receipts, 1)
		require.Empty(r, laneOf(b, to.Lane()))
		event, err := b.Event(b.ctx, in.EventKey)
		require.NoError(r, err)
		require.Equal(r, in.ID, event.Run)
		b.refuse(sessions.ErrDuplicate, ledger.Change{Event: &ledger.Event{Key: in.EventKey, Outcome: ledger.OutcomeRun, Accepted: at}})
		found, err := b.SessionByKey(b.ctx, s.Key)
		require.NoError(r, err)
		require.Equal(r, s.ID, found.ID)
		repeated, err := b.DeliveryByIdempotency(b.ctx, d.Idempotency)
		require.NoError(r, err)
		require.Equal(r, d.ID, repeated.ID)
	})
}

func laneOf(b *bundle, lane sessions.Lane) []ledger.Delivery {
	due, err := b.LaneDeliveries(b.ctx, lane, 10)
	require.NoError(b.t, err)
	return due
}
