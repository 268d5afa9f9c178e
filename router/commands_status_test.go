package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// carrying makes the gate a real one, whose platform carries a level.
func (b *bundle) carrying(level flow.Level) {
	gate := policy.NewGate(map[string]policy.Sink{"test": {Level: level}}, nil, nil)
	b.gate.mu.Lock()
	defer b.gate.mu.Unlock()
	b.gate.sinks = gate.SinkLevel
	b.gate.forbid = func(e policy.Egress) *policy.Decision {
		d := gate.Decide(e)
		return &d
	}
}

// learn makes a session know what is of a level.
func (b *bundle) learn(id sessions.ID, label flow.Label) {
	b.t.Helper()
	record, err := b.store.Session(b.t.Context(), id)
	require.NoError(b.t, err)
	record.Taint = label
	require.NoError(b.t, b.store.CommitSession(b.t.Context(), sessions.Change{Save: []sessions.Record{record}}))
}

// An owner reads in private what the session has learnt and what that means for its answers.
func TestStatusTellsTheOwnerOfLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.carrying(flow.Internal)
		heard := b.hear(in("owner", "1", "hello"))
		b.await(1)
		text := b.hear(in("owner", "2", "/status")).Notice
		require.Contains(t, text, "\n- learned: INTERNAL, trusted\n- may learn: up to RESTRICTED\n- may be sent here: up to INTERNAL")
		require.NotContains(t, text, "held back")
		b.learn(heard.Session, flow.NewLabel(flow.Restricted, flow.Untrusted))
		b.hear(in("owner", "3", "/status"))
		b.await(2)
		text = b.chat.texts("owner")[2]
		require.Contains(t, text, "learned: RESTRICTED, untrusted (it contains other people's words")
		require.Contains(t, text, "My replies are withheld here: the text is RESTRICTED, but test conversation chat-owner may receive at most INTERNAL; "+
			"raise channels.test.classification, or start a new session with /new.")
	})
}

// What others read of a session does not depend on what it has learnt.
func TestStatusTellsOthersNothingOfLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.carrying(flow.Internal)
		guest := b.hear(in("ann", "1", "hello"))
		group := b.hear(inGroup("g1", "owner", "1", "hello", true))
		b.await(2)
		synctest.Wait()
		status := func(n string) []string {
			return []string{
				b.hear(in("ann", n, "/status")).Notice, b.hear(inGroup("g1", "owner", n, "/status", true)).Notice,
				b.hear(inGroup("g1", "ann", n+"a", "/status", true)).Notice,
			}
		}
		before := status("2")
		b.learn(guest.Session, flow.Top())
		b.learn(group.Session, flow.Top())
		require.Equal(t, before, status("3"))
		require.Contains(t, before[1], "- levels: not shown where others can read them; `sluice sessions show agent:main:test:group:g1` shows them")
		require.NotContains(t, before[0]+before[2], "level")
	})
}

// What a conversation may learn follows the configuration with /new, as that of one that begins then; over the API a session stays bound.
func TestNewMayLearnWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.carrying(flow.Public)
		clearance := func(id sessions.ID) flow.Level {
			record, err := b.store.Session(t.Context(), id)
			require.NoError(t, err)
			return record.Clearance
		}
		first := b.hear(inGroup("g1", "ann", "1", "hello", true)).Session
		b.await(1)
		require.Equal(t, flow.Public, clearance(first), "a guest's")
		b.carrying(flow.Internal)
		reset, err := b.ResetSession(t.Context(), first, "operator")
		require.NoError(t, err)
		require.Equal(t, flow.Public, reset.Clearance)
		next := func(who, id, text string) sessions.ID {
			b.hear(inGroup("g1", who, id, text, true))
			return b.hear(inGroup("g1", "ann", id+"b", "hello", true)).Session
		}
		require.Equal(t, flow.Internal, clearance(next("ann", "2", "/new")))
		require.Equal(t, flow.Restricted, clearance(next("owner", "3", "/new")))
		require.Equal(t, flow.Restricted, clearance(next("ann", "4", "/reset and go on")), "a guest takes nothing away")
	})
}
