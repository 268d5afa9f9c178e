package router

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// nobodyBelow is a store whose conversations have no threads with a setting of their own.
type nobodyBelow struct{ ledger.Sessions }

func (nobodyBelow) SendersBelow(context.Context, sessions.Key, int) ([]sessions.Record, error) {
	return nil, nil
}

// namingAgent is an agent with one model.
type namingAgent struct{}

func (namingAgent) ModelName(string) string { return "test/model" }

// carrying is a gate of one level.
type carrying struct {
	outbound.Gate
	level flow.Level
}

func (g carrying) SinkLevel(sessions.Route) flow.Level { return g.level }

// settingsRouter is as much of a router as commands need that change a session's settings.
func settingsRouter() *Router {
	r := &Router{store: &ledger.Store{Sessions: nobodyBelow{}}, models: namingAgent{}, gate: carrying{level: flow.Public}, now: time.Now, partitions: 4}
	r.places = &place.Places{SinkLevel: r.gate.SinkLevel}
	r.settings.Store(&place.Settings{Keyer: sessions.Keyer{Scope: sessions.ScopePerPeer}, Queue: queue.Settings{Mode: sessions.QueueCollect}})
	return r
}

// Each word of a command that changes a setting: what it sets, and what it answers. Any other word changes nothing.
func TestWordsOfSettings(t *testing.T) {
	t.Parallel()
	r := settingsRouter()
	group := sessions.Route{Channel: "test", ChatType: sessions.Group, Conversation: "g"}
	thread, direct := group, sessions.Route{Channel: "test", ChatType: sessions.Direct, Conversation: "c"}
	thread.Thread = "t"
	for _, c := range []struct {
		command func(*Router, context.Context, commandCall) (ledger.Change, string, error)
		route   sessions.Route
		args    string
		want    sessions.Record // its settings
		answer  string
	}{
		{(*Router).commandSend, group, "on", sessions.Record{SendPolicy: sessions.SendAllow}, "Sending is on in this channel"},
		{(*Router).commandSend, group, "ALLOW", sessions.Record{SendPolicy: sessions.SendAllow}, "Sending is on"},
		{(*Router).commandSend, thread, "off", sessions.Record{SendPolicy: sessions.SendDeny}, "Sending is off in this thread"},
		{(*Router).commandSend, direct, "deny", sessions.Record{SendPolicy: sessions.SendDeny}, "Sending is off in this chat"},
		{(*Router).commandSend, group, "inherit", sessions.Record{}, "follows the configuration again."},
		{(*Router).commandSend, thread, "reset", sessions.Record{}, "follows the channel again."},
		{(*Router).commandSend, group, "maybe", sessions.Record{}, "Usage: `/send on`"},
		{(*Router).commandActivation, group, "mention", sessions.Record{Activation: sessions.ActivationMention}, "only where I am mentioned"},
		{(*Router).commandActivation, group, "Always", sessions.Record{Activation: sessions.ActivationAlways}, "I answer everything here now"},
		{(*Router).commandActivation, group, "default", sessions.Record{}, "follows the configuration again."},
		{(*Router).commandActivation, group, "", sessions.Record{}, "Usage: `/activation mention`"},
		{(*Router).commandActivation, direct, "always", sessions.Record{}, "is for groups"},
		{(*Router).commandQueue, direct, "steer", sessions.Record{QueueMode: sessions.QueueSteer}, "between two steps"},
		{(*Router).commandQueue, direct, "FOLLOWUP", sessions.Record{QueueMode: sessions.QueueFollowup}, "one message after the other"},
		{(*Router).commandQueue, direct, "collect", sessions.Record{QueueMode: sessions.QueueCollect}, "all of it at once"},
		{(*Router).commandQueue, direct, "interrupt", sessions.Record{QueueMode: sessions.QueueInterrupt}, "ends that work"},
		{(*Router).commandQueue, direct, "reset", sessions.Record{}, "follows the configuration again"},
		{(*Router).commandQueue, direct, "fast", sessions.Record{}, "Usage: `/queue steer`"},
		{(*Router).commandQueue, direct, "", sessions.Record{}, "Queue mode: `collect` (as configured). What you say while I work, I answer afterwards, all of it at once."},
		{(*Router).commandModel, direct, "test/other", sessions.Record{Model: flow.NewText("test/other", flow.Bottom())}, "From your next message on `test/other` answers."},
		{(*Router).commandModel, direct, "default", sessions.Record{}, "The agent's model answers again: `test/model`."},
		{(*Router).commandModel, direct, "", sessions.Record{}, "Model: `test/model` (the agent's)."},
	} {
		key := sessions.Key("agent:main:group:g")
		if c.route.Thread != "" {
			key = sessions.Keyer{Scope: sessions.ScopePerPeer}.Key("main", c.route, "")
		}
		for _, fresh := range []bool{false, true} {
			in := Admission{}
			in.Route, in.Sender.ID = c.route, "owner"
			call := commandCall{in: in, owner: true, args: c.args, fresh: fresh, session: sessions.Record{ID: "sess_1", Key: key, Agent: "main"}, quotes: policy.NewQuotation(flow.Public)}
			change, answer, err := c.command(r, t.Context(), call)
			require.NoError(t, err)
			require.Contains(t, answer, c.answer, c.args)
			got, changed := call.session, len(change.Audit) > 0
			if fresh && changed {
				require.Empty(t, change.Patch)
				got = change.Create[0]
			} else if changed {
				require.Empty(t, change.Create)
				require.Equal(t, sessions.ID("sess_1"), change.Patch[0].ID)
				change.Patch[0].Apply(&got)
			}
			require.Equal(t, c.want.SendPolicy, got.SendPolicy, c.args)
			require.Equal(t, c.want.Activation, got.Activation, c.args)
			require.Equal(t, c.want.QueueMode, got.QueueMode, c.args)
			require.Equal(t, c.want.Model.Raw(), got.Model.Raw(), c.args)
			if changed {
				require.Equal(t, "test:owner", change.Audit[0].Actor)
				require.Equal(t, string(key), change.Audit[0].Object)
			}
		}
	}
}
