package outbound

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// What the gate is told about a delivery: one case for each fact.
func TestEgress(t *testing.T) {
	t.Parallel()
	direct := sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Direct, Conversation: "c"}
	group := sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Group, Conversation: "g"}
	record := sessions.Record{ID: "sess_1", Key: "agent:main:test:group:g", Agent: "main", Route: group}
	by := func(id sessions.UserID, owner bool) sessions.Run {
		return sessions.Run{ID: "run_1", Leader: "run_0", Route: group, Input: sessions.Input{Sender: sessions.Peer{ID: id}, Owner: owner}}
	}
	type want struct {
		id       string
		text     string
		pieces   []string
		oldest   sessions.ConversationID
		peer     sessions.UserID
		override sessions.SendPolicy
		user     string
		owner    bool
		unheard  bool
	}
	for name, c := range map[string]struct {
		store  fakeStore
		d      ledger.Delivery
		record sessions.Record
		want   want
	}{
		"an answer has the id of the run that leads": {
			fakeStore{batch: []sessions.Run{by("ann", true)}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindReply, Route: group, Text: "hi", Run: "run_1"},
			record,
			want{id: "run_0", text: "hi", pieces: []string{"hi"}, user: "test:ann", owner: true},
		},
		"a notice in a run has its own id": {
			fakeStore{batch: []sessions.Run{by("ann", true)}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindNotice, Route: group, Run: "run_1"},
			record,
			want{id: "dlv_1", pieces: []string{""}, user: "test:ann", owner: true},
		},
		"several who spoke are nobody, and no owner": {
			fakeStore{batch: []sessions.Run{by("ann", true), by("bob", false)}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindReply, Route: group, Run: "run_1"},
			record,
			want{id: "run_0", pieces: []string{""}},
		},
		"a run that is gone": {
			fakeStore{},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindReply, Route: group, Run: "run_1"},
			record,
			want{id: "dlv_1", pieces: []string{""}},
		},
		"buttons and names of files are said too": {
			fakeStore{peer: "-", files: map[sessions.MediaID]ledger.Media{"m": {Name: "plan.pdf"}}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindNotice, Route: group, Text: "hi", Buttons: []adapters.Button{{Label: "Yes", Value: "y"}}, Files: []sessions.MediaID{"m"}},
			sessions.Record{},
			want{id: "dlv_1", text: "hi\nYes\ny\nplan.pdf", pieces: []string{"hi", "Yes", "y", "plan.pdf"}},
		},
		"the conversation had another id first": {
			fakeStore{peer: "-", oldest: "g0"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindNotice, Route: group},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, oldest: "g0"},
		},
		"whose direct chat it is": {
			fakeStore{peer: "ann"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindNotice, Route: direct},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, peer: "ann"},
		},
		"a chat that has the id of its person": {
			fakeStore{peer: "c"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindNotice, Route: direct},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}},
		},
		"an answer is not asked whom it reaches": {
			fakeStore{peer: "ann", batch: []sessions.Run{by("bob", false)}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindReply, Route: direct, Run: "run_1"},
			sessions.Record{},
			want{id: "run_0", pieces: []string{""}, user: "test:bob"},
		},
		"a message to a group where nobody was heard": {
			fakeStore{peer: "-"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: group},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, unheard: true},
		},
		"a message to a group that has a session": {
			fakeStore{peer: "-", records: map[sessions.Key]sessions.Record{record.Key: record}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: group},
			record,
			want{id: "dlv_1", pieces: []string{""}},
		},
		"a message to a group where somebody was heard": {
			fakeStore{},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: group},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}},
		},
		"a message to a person who is a stranger": {
			fakeStore{peer: "bob"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: direct},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, peer: "bob", unheard: true},
		},
		"a message to a person who is paired": {
			fakeStore{peer: "bob", paired: true},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: direct},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, peer: "bob"},
		},
		"a message to a person who is listed": {
			fakeStore{peer: "ann"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: direct},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, peer: "ann"},
		},
		"a message to somebody who was heard, where everybody is": {
			fakeStore{peer: "bob"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: sessions.Route{Channel: "open", ChatType: sessions.Direct, Conversation: "c"}},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, peer: "bob"},
		},
		"a message to somebody who was not heard there": {
			fakeStore{peer: "-"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: sessions.Route{Channel: "open", ChatType: sessions.Direct, Conversation: "c"}},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, unheard: true},
		},
		"a message to an owner": {
			fakeStore{peer: "owner"},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: direct},
			sessions.Record{},
			want{id: "dlv_1", pieces: []string{""}, peer: "owner"},
		},
		"sending is off where the message goes": {
			fakeStore{records: map[sessions.Key]sessions.Record{record.Key: {ID: "sess_1", Key: record.Key, SendPolicy: sessions.SendDeny}}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Route: group},
			sessions.Record{Key: "agent:main:test:group:other", SendPolicy: sessions.SendAllow},
			want{id: "dlv_1", pieces: []string{""}, override: sessions.SendDeny, unheard: false},
		},
		"sending is off for the session that answers": {
			fakeStore{batch: []sessions.Run{by("ann", true)}},
			ledger.Delivery{ID: "dlv_1", Kind: ledger.KindReply, Route: group, Run: "run_1"},
			sessions.Record{Key: record.Key, SendPolicy: sessions.SendDeny},
			want{id: "run_0", pieces: []string{""}, override: sessions.SendDeny, user: "test:ann", owner: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.d.Label = flow.NewLabel(flow.Internal, flow.Untrusted)
			e, err := composer(&c.store).Egress(t.Context(), c.d, c.record)
			require.NoError(t, err)
			if c.want.oldest == "" {
				c.want.oldest = c.d.Route.Conversation
			}
			require.Equal(t, c.want, want{
				id: e.ID, text: e.Text, pieces: e.Parts, oldest: e.Oldest, peer: e.Route.Peer, override: e.Override, user: e.Session.User, owner: e.Session.Owner, unheard: e.UnknownPlace,
			})
			require.Equal(t, noon, e.Now)
			require.Equal(t, c.d.Label, e.Label)
			require.Equal(t, string(c.d.Kind), e.Kind)
			require.Equal(t, c.record.Key, e.Key)
			require.Equal(t, c.record.Agent, e.Agent)
			require.False(t, e.Effects)
		})
	}
}

// What can't be read is an error: the gate is never asked about a part of the facts.
func TestEgressOfABrokenStore(t *testing.T) {
	t.Parallel()
	d := ledger.Delivery{ID: "dlv_1", Kind: ledger.KindMessage, Run: "run_1", Route: sessions.Route{Channel: "test", ChatType: sessions.Group, Conversation: "g"}, Files: []sessions.MediaID{"m"}}
	thread := sessions.Record{ID: "sess_1", Key: "agent:main:test:group:g:thread:t"}
	for _, method := range []string{"SessionByKey", "MediaInfo", "CanonicalConversation", "Batch", "PeerOf"} {
		_, err := composer(&fakeStore{broken: method}).Egress(t.Context(), d, thread)
		require.ErrorIs(t, err, errDisk, method)
		_, err = composer(&fakeStore{broken: method}).Decide(t.Context(), d, thread)
		require.ErrorIs(t, err, errDisk, method)
	}
}

// An answer that only its asker is to see lives no longer than the platform takes it.
func TestLifeOf(t *testing.T) {
	t.Parallel()
	private := sessions.Route{Handle: "h"}
	require.Equal(t, 24*time.Hour, LifeOf(&place.Settings{}, sessions.Route{}))
	require.Equal(t, time.Hour, LifeOf(&place.Settings{DeliveryLife: time.Hour}, sessions.Route{}))
	require.Equal(t, HandleLife, LifeOf(&place.Settings{DeliveryLife: time.Hour}, private))
	require.Equal(t, time.Minute, LifeOf(&place.Settings{DeliveryLife: time.Minute}, private))
}

// A delivery waits in its conversation's lane from now on, and a notice is public.
func TestDelivery(t *testing.T) {
	t.Parallel()
	route := sessions.Route{Channel: "test", ChatType: sessions.Group, Conversation: "g"}
	d := composer(&fakeStore{}).Delivery(ledger.KindReply, route, "hi", flow.NewLabel(flow.Internal, flow.Trusted))
	require.Equal(t, ledger.Delivery{
		ID: d.ID, Lane: route.Lane(), Partition: route.Lane().Partition(4), Kind: ledger.KindReply, Route: route, Text: "hi", Label: flow.NewLabel(flow.Internal, flow.Trusted),
		Status: ledger.DeliveryQueued, Created: noon, NextTry: noon, Expires: noon.Add(24 * time.Hour),
	}, d)
	n := composer(&fakeStore{}).Notice(route, "hi")
	require.NotEqual(t, d.ID, n.ID)
	require.Equal(t, ledger.KindNotice, n.Kind)
	require.Equal(t, flow.Bottom(), n.Label)
}

var _ Gate = (*policy.Gate)(nil)
