package bus

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	memberSubject = "sluice.members"
	memberTTL     = 5 * time.Second // a replica that was silent for this long is gone
	lostMax       = 100             // remembered lost replicas
	aboutHeader   = "Sluice-About"  // what a heartbeat says of its replica, as JSON
	aboutMax      = 16 << 10        // bytes of it that are read
	farewell      = "-"             // prefix for the name of a replica that leaves
)

// Replicas knows the replicas, and which of them owns a partition. It is safe for concurrent use.
type Replicas struct {
	self string
	now  func() time.Time

	mu      sync.Mutex
	seen    map[string]time.Time         // when each replica was last heard
	came    map[string]time.Time         // when the replicas in seen came that have not replaced a lost one
	lost    []string                     // replicas that fell silent without saying farewell and were not replaced, at most lostMax
	about   map[string]map[string]string // what this replica and those in seen say of themselves; one of an older version says nothing
	changed chan struct{}                // closed and replaced when the replicas change, or when this one leaves
	leaving bool
}

func newReplicas(self string, now func() time.Time) *Replicas {
	return &Replicas{self: self, now: now, seen: map[string]time.Time{}, came: map[string]time.Time{}, about: map[string]map[string]string{}, changed: make(chan struct{})}
}

// mine reports whether this replica owns a partition: the one with the highest hash does (rendezvous hashing), so
// that a change of replicas moves few partitions.
func (r *Replicas) mine(p int) (mine bool, changed <-chan struct{}, leaving bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	best, bestHash := "", uint64(0)
	for _, name := range slices.Sorted(maps.Keys(r.seen)) {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%s/%d", name, p) // never fails
		if sum := mix(h.Sum64()); best == "" || sum > bestHash {
			best, bestHash = name, sum
		}
	}
	return best == r.self, r.changed, r.leaving
}

// mix spreads the hashes of names that end alike, which FNV leaves close together (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// heard records a heartbeat or farewell of a replica, and reports whether the replica was not known before.
func (r *Replicas) heard(message string) (unknown bool) {
	name, leaves := strings.CutPrefix(message, farewell)
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.seen)
	switch {
	case !leaves:
		_, known := r.seen[name]
		if unknown = !known; unknown && !r.replace(name) {
			r.came[name] = r.now()
		}
		r.seen[name] = r.now()
	case name != r.self:
		r.drop(name)
	}
	r.notify(before)
	return unknown
}

// drop removes what is known of a replica. The caller holds mu.
func (r *Replicas) drop(name string) {
	delete(r.seen, name)
	delete(r.came, name)
	delete(r.about, name)
}

// described records what a replica's heartbeat says of it.
func (r *Replicas) described(name string, about map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.seen[name]; known && name != r.self {
		r.about[name] = about
	}
}

// Describe sets what this replica's heartbeats say of it: short texts under names of the caller's choice.
func (r *Replicas) Describe(about map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.about[r.self] = about
}

func (r *Replicas) own() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.about[r.self]
}

// Unlike returns what other replicas say otherwise of themselves than this one, and which replicas. What only one of two says is
// no difference: the other may be older.
func (r *Replicas) Unlike() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	own, differ := r.about[r.self], map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.about)) {
		for key, theirs := range r.about[name] {
			if ours, said := own[key]; said && theirs != ours {
				differ[key] = append(differ[key], name)
			}
		}
	}
	return differ
}

// forget drops replicas that were silent for too long.
func (r *Replicas) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.seen)
	for name, seen := range r.seen {
		if name != r.self && r.now().Sub(seen) > memberTTL {
			r.drop(name)
			if !r.replaced(seen) && len(r.lost) < lostMax {
				r.lost = append(r.lost, name)
			}
		}
	}
	r.notify(before)
}

// replaced reports whether a replica came after another one was last heard, and so replaces it: it was started again before its
// silence was noticed. The caller holds mu.
func (r *Replicas) replaced(heard time.Time) bool {
	for name, came := range r.came {
		if came.After(heard) {
			delete(r.came, name)
			return true
		}
	}
	return false
}

// replace removes the lost replica that a new replica replaces: itself, else one of the same machine, else the first one. It
// returns false if no replica was lost. The caller holds mu.
func (r *Replicas) replace(name string) bool {
	if len(r.lost) == 0 {
		return false
	}
	i := max(slices.IndexFunc(r.lost, func(lost string) bool { return machineOf(lost) == machineOf(name) }), 0)
	if same := slices.Index(r.lost, name); same >= 0 {
		i = same
	}
	r.lost = slices.Delete(r.lost, i, i+1)
	return true
}

// machineOf returns a replica's name without the part that identifies the process.
func machineOf(replica string) string {
	if i := strings.LastIndexByte(replica, '-'); i > 0 {
		return replica[:i]
	}
	return replica
}

// Lost returns the replicas that fell silent without saying farewell, until others replace them.
func (r *Replicas) Lost() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lost)
}

// notify wakes all waiting goroutines if the number of replicas has changed. The caller holds mu.
func (r *Replicas) notify(before int) {
	if len(r.seen) != before {
		r.wake()
	}
}

func (r *Replicas) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// leave makes this replica give up its partitions, and reports whether this is the first call.
func (r *Replicas) leave() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.leaving
	r.leaving = true
	r.wake()
	return first
}

func (r *Replicas) left() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaving
}

// greet sends this replica's heartbeat until it leaves.
func (b *Bus) greet() {
	if b.Replicas.left() {
		return
	}
	m := nats.NewMsg(memberSubject)
	m.Data = []byte(b.cfg.Replica)
	if about := b.Replicas.own(); about != nil {
		text, _ := json.Marshal(about) // never fails
		m.Header.Set(aboutHeader, string(text))
	}
	if err := b.conn.PublishMsg(m); err != nil {
		b.cfg.Log.Debug("heartbeat not sent", "err", err)
	}
}

// aboutOf reads what a heartbeat says of its replica; nil if it says nothing that can be read, or more than aboutMax.
func aboutOf(m *nats.Msg) (about map[string]string) {
	text := m.Header.Get(aboutHeader)
	if len(text) > aboutMax || json.Unmarshal([]byte(text), &about) != nil {
		return nil
	}
	return about
}
