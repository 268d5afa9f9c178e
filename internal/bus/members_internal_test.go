package bus

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

const partitions = 64

// mineAll are the partitions that fall to a replica which hears some others.
func mineAll(self string, heard ...string) map[int]bool {
	r := newReplicas(self, time.Now)
	for _, message := range heard {
		r.heard(message)
	}
	all := map[int]bool{}
	for p := range partitions {
		if mine, _, _ := r.mine(p); mine {
			all[p] = true
		}
	}
	return all
}

// Replicas that hear the same messages share the partitions out without a rest, and a farewell moves only those of the one that left.
func TestPartitionsFallToOneReplicaEach(t *testing.T) {
	t.Parallel()
	owners := map[int]string{}
	for _, name := range []string{"a", "b", "c"} {
		mine := mineAll(name, "c", "a", "b")
		require.Greater(t, len(mine), partitions/6, "the shares are about even")
		for p := range mine {
			require.Empty(t, owners[p], "partition %d has one owner", p)
			owners[p] = name
		}
	}
	require.Len(t, owners, partitions)
	for _, name := range []string{"a", "b"} {
		for p := range mineAll(name, "a", "b", "c", farewell+"c") {
			require.Contains(t, []string{name, "c"}, owners[p])
		}
	}
	require.Len(t, mineAll("a", "a", farewell+"a"), partitions, "a replica leaves by its own word alone")
}

// A replica that was not heard of for memberTTL is gone, this one never; each change wakes those who wait.
func TestSilentReplicasAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	r := newReplicas("a", func() time.Time { return now })
	r.heard("a")
	_, changed, _ := r.mine(0)
	r.heard("b")
	require.True(t, closed(changed), "a new replica")
	_, changed, _ = r.mine(0)
	now = now.Add(memberTTL)
	r.forget()
	require.False(t, closed(changed))
	now = now.Add(time.Nanosecond)
	r.forget()
	require.True(t, closed(changed), "a silent replica")
	mine, changed, leaving := r.mine(0)
	require.True(t, mine)
	require.False(t, leaving)
	require.True(t, r.leave())
	require.True(t, closed(changed), "this replica leaves")
	require.False(t, r.leave())
	_, _, leaving = r.mine(0)
	require.True(t, leaving)
}

// A replica that falls silent is lost until it, one of its machine or another one comes. One that says farewell is not lost.
func TestLostReplicas(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	r := newReplicas("a-1", func() time.Time { return now })
	silence := func() {
		now = now.Add(memberTTL + 1)
		r.forget()
	}
	for _, name := range []string{"a-1", "b-1", "c-1", "d-1"} {
		r.heard(name)
	}
	r.heard(farewell + "d-1")
	require.Empty(t, r.Lost())
	silence()
	require.ElementsMatch(t, []string{"b-1", "c-1"}, r.Lost())
	r.heard("c-2")
	require.Equal(t, []string{"b-1"}, r.Lost(), "it was started again")
	r.heard("e-1")
	require.Empty(t, r.Lost(), "another one has replaced it")
	silence()
	r.heard("e-1")
	require.Equal(t, []string{"c-2"}, r.Lost(), "it was only slow")
	for i := range 3 * lostMax {
		r.heard("x-" + strconv.Itoa(i))
	}
	silence()
	require.LessOrEqual(t, len(r.Lost()), lostMax)
}

// A replica that was killed and is back before its silence was noticed is not lost.
func TestKilledReplicaThatIsBackSoonIsNotLost(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	r := newReplicas("a-1", func() time.Time { return now })
	r.heard("a-1")
	r.heard("b-1")
	now = now.Add(memberTTL / 2)
	r.heard("b-2") // started again
	now = now.Add(memberTTL/2 + 1)
	r.forget()
	require.Empty(t, r.Lost())
	r.heard("b-2")
	now = now.Add(memberTTL + 1)
	r.forget()
	require.Equal(t, []string{"b-2"}, r.Lost(), "nobody has come for this one")
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A heartbeat of a stranger can't fill the memory with what it says of itself.
func TestWhatAHeartbeatSaysIsBounded(t *testing.T) {
	t.Parallel()
	said := func(text string) map[string]string {
		m := nats.NewMsg(memberSubject)
		m.Header.Set(aboutHeader, text)
		return aboutOf(m)
	}
	require.Equal(t, map[string]string{"database": "x"}, said(`{"database":"x"}`))
	require.Nil(t, said(`{"database":"`+strings.Repeat("x", aboutMax)+`"}`))
	require.Nil(t, said(`{`))
	require.Nil(t, said(``))
}

// What replicas say otherwise of themselves is known while they are there. One that says nothing differs in nothing.
func TestReplicasThatDiffer(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	r := newReplicas("a", func() time.Time { return now })
	r.heard("a")
	r.Describe(map[string]string{"database": "one", "config/agents": "1", "new": "x"})
	for name, about := range map[string]map[string]string{
		"b": {"database": "two", "config/agents": "1"}, "c": {"database": "two", "config/agents": "2"}, "older": nil, "same": {"database": "one", "other": "y"},
	} {
		r.heard(name)
		r.described(name, about)
	}
	r.described("a", map[string]string{"database": "two"}) // its own heartbeat comes back late
	r.described("stranger", map[string]string{"database": "three"})
	require.Equal(t, map[string][]string{"database": {"b", "c"}, "config/agents": {"c"}}, r.Unlike())
	r.heard(farewell + "b")
	require.Equal(t, []string{"c"}, r.Unlike()["database"])
	now = now.Add(memberTTL + 1)
	r.forget()
	require.Empty(t, r.Unlike())
}
