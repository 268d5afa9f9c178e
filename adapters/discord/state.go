package discord

import (
	"fmt"
	"sync"

	"sluice/adapters"
)

// state is the state of the account, which is that of its worst shard. It is safe for concurrent use.
type state struct {
	*adapters.Tracker

	mu     sync.Mutex
	shards []shardState // empty while not running
	hint   string       // a problem while all shards are connected
}

// shardState is the state of one shard.
type shardState struct {
	status adapters.Status
	detail string
}

func newState(cfg Config) *state {
	return &state{Tracker: adapters.NewTracker(channelName, cfg.Account, cfg.Now)}
}

// Set sets the status of the whole account while no shard runs.
func (s *state) Set(status adapters.Status, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = nil
	s.Tracker.Set(status, detail)
}

// Fail shows a failure of the whole account, which is retried or needs a person.
func (s *state) Fail(f *adapters.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = nil
	s.Tracker.Fail(f)
}

// refused shows that the token was rejected. The gateway learns of it soon; until then, a report of a shard replaces
// this state.
func (s *state) refused(f *adapters.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Tracker.Set(adapters.Failed, f.Err.Error())
}

// start sets the number of shards.
func (s *state) start(shards int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = make([]shardState, shards)
	for i := range s.shards {
		s.shards[i].status = adapters.Connecting
	}
}

// shard sets the state of one shard. The account is connected when all shards are.
func (s *state) shard(id int, status adapters.Status, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id >= len(s.shards) {
		return // the run has ended in the meantime
	}
	s.shards[id] = shardState{status, detail}
	s.sum()
}

func (s *state) sum() {
	status, detail := adapters.Connected, s.hint
	for id, shard := range s.shards {
		if shard.status == adapters.Connected {
			continue
		}
		if status == adapters.Connected || shard.status == adapters.Retrying {
			status, detail = shard.status, shard.detail
		}
		if len(s.shards) > 1 && detail == shard.detail && detail != "" {
			detail = fmt.Sprintf("shard %d of %d: %s", id, len(s.shards), detail)
		}
	}
	s.Tracker.Set(status, detail)
}

// advise shows a problem while all shards are connected; empty: no problem.
func (s *state) advise(hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hint == hint {
		return
	}
	s.hint = hint
	if len(s.shards) > 0 {
		s.sum()
	}
}
