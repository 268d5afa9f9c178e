package place

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

// A session that begins under an old one's key has its settings, and nothing that it has learnt.
func TestWhatAResetKeeps(t *testing.T) {
	t.Parallel()
	places := Places{
		Settings: func() *Settings { return &Settings{} }, SinkLevel: func(sessions.Route) flow.Level { return flow.Public },
		Now: time.Now, Partitions: 4,
	}
	route := sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Direct, Conversation: "c"}
	old := places.NewRecord("agent:main:direct:ann", "main", route)
	old.Clearance, old.SpawnedBy = flow.Internal, "sess_parent"
	old.FileAccess = sessions.FileAccess{Read: []string{"a"}, Write: []string{"b"}}
	old.SendPolicy, old.Activation, old.QueueMode = sessions.SendDeny, sessions.ActivationAlways, sessions.QueueSteer
	old.ThinkingLevel, old.VerboseLevel = sessions.ThinkingHigh, sessions.VerboseFull
	old.Temperature, old.MaxTokens = "0.5", 100
	old.Persistent, old.TTL, old.Metadata = false, time.Hour, json.RawMessage(`{"a":1}`)
	old.Label = flow.NewText("a name", flow.Bottom())
	for name, c := range map[string]struct {
		taint     flow.Label
		label     flow.Label
		least     flow.Level
		clearance flow.Level
		metadata  bool
		named     bool
	}{
		"it has learned nothing":           {flow.Bottom(), flow.Bottom(), flow.Level{}, flow.Internal, true, true},
		"it has learned something":         {flow.NewLabel(flow.Internal, flow.Trusted), flow.Bottom(), flow.Level{}, flow.Internal, false, true},
		"a stranger has named it":          {flow.Bottom(), flow.NewLabel(flow.Public, flow.Untrusted), flow.Level{}, flow.Internal, true, false},
		"it may learn more from now on":    {flow.Bottom(), flow.Bottom(), flow.Confidential, flow.Confidential, true, true},
		"it may learn no less than it did": {flow.Bottom(), flow.Bottom(), flow.Public, flow.Internal, true, true},
	} {
		before := old
		before.Taint, before.Label = c.taint, flow.NewText("a name", c.label)
		change, fresh := places.Reset(before, c.least)
		require.Equal(t, []sessions.End{{ID: old.ID, At: fresh.Created}}, change.End, name)
		require.Equal(t, []sessions.Record{fresh}, change.Create, name)
		require.NotEqual(t, old.ID, fresh.ID)
		require.Equal(t, flow.Bottom(), fresh.Taint, name)
		require.Equal(t, c.clearance, fresh.Clearance, name)
		require.Equal(t, c.metadata, fresh.Metadata != nil, name)
		require.Equal(t, c.named, fresh.Label.Raw() != "", name)
		want := old
		want.ID, want.Partition, want.Created, want.LastActivity = fresh.ID, fresh.Partition, fresh.Created, fresh.LastActivity
		want.Clearance, want.Metadata, want.Label = fresh.Clearance, fresh.Metadata, fresh.Label
		require.Equal(t, want, fresh, name)
	}
}
