package outbound

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/place"
	"sluice/sessions"
)

// bare is an adapter without abilities.
type bare struct{ adapters.Adapter }

// typed knows by an id what kind of conversation it is.
type typed struct{ bare }

func (typed) ConversationType(id sessions.ConversationID) sessions.ChatType {
	if id == "-1" {
		return sessions.Group
	}
	return ""
}

// book is a directory with the names that it has.
type book struct {
	bare
	names map[string]sessions.Route
	err   error
}

func (b book) Find(_ context.Context, name string) (sessions.Route, error) {
	if b.err != nil {
		return sessions.Route{}, b.err
	}
	if route, ok := b.names[name]; ok {
		return route, nil
	}
	return sessions.Route{}, &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("not found")}
}

func (book) Members(context.Context, sessions.Route, int) ([]sessions.Peer, error) { return nil, nil }

// known is a store with one session.
type known struct{ record sessions.Record }

func (k known) Session(_ context.Context, id sessions.ID) (sessions.Record, error) {
	if id != k.record.ID {
		return sessions.Record{}, sessions.ErrNotFound
	}
	return k.record, nil
}

// Where a message goes that answers nothing: by an id, by the word "owner" or "last", or by a name that the platform knows.
func TestRoutes(t *testing.T) {
	t.Parallel()
	s := &place.Settings{Owners: []string{"test:7"}, Channels: map[string]place.ChannelSettings{"test": {}, "quiet": {}}}
	directory := book{names: map[string]sessions.Route{
		"#ops": {Conversation: "C1", ChatType: sessions.Channel, Handle: "h", ReplyTo: "1"}, "7": {Conversation: "D7", ChatType: sessions.Direct}, "x": {Conversation: "X", Thread: "9"},
	}}
	heard := sessions.Record{ID: "sess_1", Route: sessions.Route{Channel: "test", Account: "second", ChatType: sessions.Group, Conversation: "g"}}
	at := func(kind sessions.ChatType, conversation sessions.ConversationID) sessions.Route {
		return sessions.Route{Channel: "test", Account: "default", ChatType: kind, Conversation: conversation}
	}
	inThread := at(sessions.Channel, "C1")
	inThread.Thread = "7"
	whole := at(sessions.Direct, "X")
	whole.Thread = "9"
	for name, c := range map[string]struct {
		adapter adapters.Adapter // nil: none
		p       Proactive
		want    sessions.Route
		err     string
	}{
		"an id is a direct chat":             {bare{}, Proactive{Channel: "test", To: "5"}, at(sessions.Direct, "5"), ""},
		"an id of a kind":                    {bare{}, Proactive{Channel: "test", To: "5", ChatType: sessions.Group}, at(sessions.Group, "5"), ""},
		"an id that shows its kind":          {typed{}, Proactive{Channel: "test", To: "-1"}, at(sessions.Group, "-1"), ""},
		"an id that shows none":              {typed{}, Proactive{Channel: "test", To: "5"}, at(sessions.Direct, "5"), ""},
		"an id that is looked up":            {directory, Proactive{Channel: "test", To: "x"}, whole, ""},
		"the owner has the id of the chat":   {bare{}, Proactive{Channel: "test", To: ToOwner}, at(sessions.Direct, "7"), ""},
		"the owner is looked up":             {directory, Proactive{Channel: "test", To: ToOwner}, at(sessions.Direct, "D7"), ""},
		"no owner on the channel":            {bare{}, Proactive{Channel: "quiet", To: ToOwner}, sessions.Route{}, "to: no owner on channel"},
		"a name":                             {directory, Proactive{Channel: "test", To: "#ops", Thread: "7"}, inThread, ""},
		"a name that is unknown":             {directory, Proactive{Channel: "test", To: "@bob"}, sessions.Route{}, `is called "@bob"`},
		"a directory that fails":             {book{err: errDisk}, Proactive{Channel: "test", To: "@bob"}, sessions.Route{}, "could not be looked up"},
		"a name without a directory":         {bare{}, Proactive{Channel: "test", To: "#ops"}, sessions.Route{}, "can't look up names"},
		"nobody":                             {bare{}, Proactive{Channel: "test"}, sessions.Route{}, "to: is empty"},
		"no such channel":                    {bare{}, Proactive{Channel: "tset", To: "5"}, sessions.Route{}, `no channel "tset"`},
		"no such account":                    {nil, Proactive{Channel: "test", To: "5"}, sessions.Route{}, "account: no account"},
		"where a session was last spoken to": {nil, Proactive{To: ToLast, Session: "sess_1"}, heard.Route, ""},
		"last without a session":             {nil, Proactive{To: ToLast}, sessions.Route{}, `to: "last"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Routes{
				Store: known{heard}, Adapter: func(string, string) (adapters.Adapter, bool) { return c.adapter, c.adapter != nil },
				Failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "f"}, []string{"channel", "kind"}),
			}
			got, err := r.Find(t.Context(), s, c.p)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
