package storetest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func testToolCalls(t *testing.T, b *bundle) {
	secretive, open := newSession("agent:main:secret"), newSession("agent:main:open")
	secretive.Taint = flow.NewLabel(flow.Confidential, flow.Trusted)
	b.create(secretive)
	b.create(open)
	say := func(to sessions.Record, minute int, label flow.Label, parts ...sessions.Part) {
		m := newMessage("", "")
		m.Role, m.Parts, m.Label, m.Created, m.Run = sessions.RoleAssistant, parts, label, at(minute), "run_1"
		b.commit(ledger.Change{Change: sessions.Change{Messages: []sessions.StoredMessage{{Session: to.ID, Message: m}}}})
	}
	call := func(id, tool string, label flow.Label) sessions.Part {
		return sessions.Part{Type: sessions.PartToolCall, CallID: id, Tool: tool, Args: json.RawMessage(`{"a":"` + id + `"}`), Label: label}
	}
	public := flow.Bottom()
	say(open, 1, public, call("c1", "read", public), call("c2", "write", public))
	say(secretive, 2, public, call("c3", "read", public))
	say(open, 3, secret, call("c4", "exec", secret))
	say(open, 4, public, sessions.TextPart(`"type":"toolCall"`, public))

	ids := func(most flow.Level, rows int) (all []string, more bool) {
		calls, more, err := b.ToolCalls(b.ctx, most, rows)
		require.NoError(t, err)
		for _, c := range calls {
			all = append(all, c.ID)
		}
		return all, more
	}
	all, more := ids(flow.Restricted, 100)
	require.Equal(t, []string{"c4", "c3", "c1", "c2"}, all, "the newest message first")
	require.False(t, more)
	all, more = ids(flow.Public, 100)
	require.Equal(t, []string{"c1", "c2"}, all, "neither a label nor a session above the level")
	require.False(t, more)
	all, more = ids(flow.Restricted, 2)
	require.Equal(t, []string{"c4"}, all)
	require.True(t, more)
	say(open, 5, public, sessions.TextPart("nothing", public))
	for range 3 {
		say(secretive, 6, public, call("c5", "read", public))
	}
	all, more = ids(flow.Public, 3)
	require.Equal(t, []string{"c1", "c2"}, all, "what is above the level does not count")
	require.False(t, more)
	all, more = ids(flow.Public, 2)
	require.Empty(t, all)
	require.True(t, more)
	calls, _, err := b.ToolCalls(b.ctx, flow.Public, 100)
	require.NoError(t, err)
	require.Equal(t, ledger.ToolCall{Session: open.ID, Run: "run_1", ID: "c1", Tool: "read", Args: json.RawMessage(`{"a":"c1"}`), Label: public, Made: at(1)}, calls[0])
}

func testDeliveriesSince(t *testing.T, b *bundle) {
	secretive := newSession("agent:main:secret")
	secretive.Taint = flow.NewLabel(flow.Confidential, flow.Trusted)
	b.create(secretive)
	queue := func(minute int, session sessions.ID, status ledger.DeliveryStatus) {
		d := newDelivery("lane")
		d.Created, d.Session, d.Status, d.Label = at(minute), session, status, flow.Bottom()
		b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	}
	queue(1, "", ledger.DeliverySent)
	queue(40, "", ledger.DeliveryFailed)
	queue(61, "", ledger.DeliverySent)
	queue(62, secretive.ID, ledger.DeliverySent)
	counted := func(most flow.Level, since, limit int) []ledger.DeliveryCount {
		hours, err := b.DeliveriesSince(b.ctx, most, at(since), time.Hour, limit)
		require.NoError(t, err)
		slices.SortFunc(hours, func(x, y ledger.DeliveryCount) int { return x.First.Compare(y.First) })
		return hours
	}
	require.Equal(t, []ledger.DeliveryCount{{All: 2, Sent: 1, First: at(1)}, {All: 2, Sent: 2, First: at(61)}}, counted(flow.Restricted, 0, 10))
	require.Equal(t, []ledger.DeliveryCount{{All: 1, First: at(40)}, {All: 1, Sent: 1, First: at(61)}}, counted(flow.Public, 30, 10), "the caller may not know of the last one")
	require.Equal(t, []ledger.DeliveryCount{{All: 1, Sent: 1, First: at(61)}}, counted(flow.Public, 0, 1), "the newest")
	require.Empty(t, counted(flow.Restricted, 100, 10))
}
