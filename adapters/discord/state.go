package discord

import (
	"fmt"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// state is the state of the account, which is that of its worst shard. It is safe for concurrent use.
type state struct {
	now func() time.Time

	mu     sync.Mutex
	s      adapters.State
	shards []shardState // empty while not running
	hint   string       // a problem while all shards are connected
}

// shardState is the state of one shard.
type shardState struct {
	status adapters.Status
	detail string
}

func newState(cfg Config) *state {
	return &state{now: cfg.Now, s: adapters.State{
		Channel: channelName, Account: cfg.Account, Status: adapters.Stopped, Since: cfg.Now(),
	}}
}

func (s *state) read() adapters.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s
}

// set sets the status of the whole account while no shard runs.
func (s *state) set(status adapters.Status, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = nil
	s.setLocked(status, detail)
}

func (s *state) setLocked(status adapters.Status, detail string) {
	if s.s.Status != status {
		s.s.Since = s.now()
	}
	s.s.Status, s.s.Detail = status, detail
}

// fail shows a failure, which is retried or needs a person.
func (s *state) fail(f *adapters.Failure) {
	status := adapters.Retrying
	if f.Kind == adapters.Auth {
		status = adapters.Failed
	}
	s.set(status, f.Err.Error())
}

// refused shows that the token was rejected. The gateway learns of it soon; until then, a report of a shard replaces
// this state.
func (s *state) refused(f *adapters.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(adapters.Failed, f.Err.Error())
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
	s.setLocked(status, detail)
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

// event records that an event arrived.
func (s *state) event() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.LastEvent = s.now()
}

// heard notes a sign of life of Discord's gateway: an event or the response to a heartbeat.
func (s *state) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.LastHeard = s.now()
}

func (s *state) identify(self sessions.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Self = self
}
