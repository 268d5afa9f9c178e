package bus

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	memberSubject = "sluice.members"
	memberTTL     = 5 * time.Second // a replica that was not heard of for so long is gone
	farewell      = "-"             // before the name of a replica that leaves
)

// mine reports whether a partition falls to this replica: the member with the
// highest hash has it (rendezvous hashing), so that a change of members moves few.
func (b *Bus) mine(p int) (mine bool, changed <-chan struct{}, leaving bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	best, bestHash := "", uint64(0)
	for _, member := range slices.Sorted(maps.Keys(b.members)) {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%s/%d", member, p) // never fails
		if sum := mix(h.Sum64()); best == "" || sum > bestHash {
			best, bestHash = member, sum
		}
	}
	return best == b.cfg.Replica, b.changed, b.leaving
}

// mix spreads what FNV leaves close together for names that end alike (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// heard notes that a replica is there, or leaves.
func (b *Bus) heard(name string) {
	gone, leaves := strings.CutPrefix(name, farewell)
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.members)
	switch {
	case !leaves:
		b.members[name] = b.cfg.Now()
	case gone != b.cfg.Replica:
		delete(b.members, gone)
	}
	if len(b.members) != before {
		b.membersChanged()
	}
}

// membersChanged tells all who wait; the caller holds the lock.
func (b *Bus) membersChanged() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Bus) greet() {
	b.mu.Lock()
	leaving := b.leaving
	b.mu.Unlock()
	if leaving {
		return
	}
	if err := b.conn.Publish(memberSubject, []byte(b.cfg.Replica)); err != nil {
		b.cfg.Log.Debug("heartbeat not sent", "err", err)
	}
}

// forget drops replicas that were not heard of for long.
func (b *Bus) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.members)
	for name, seen := range b.members {
		if name != b.cfg.Replica && b.cfg.Now().Sub(seen) > memberTTL {
			delete(b.members, name)
		}
	}
	if len(b.members) != before {
		b.membersChanged()
	}
}
