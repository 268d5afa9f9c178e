package discord

import (
	"fmt"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// state is what is known of the account: the worst of its shards. Safe for concurrent use.
type state struct {
	now func() time.Time

	mu     sync.Mutex
	s      adapters.State
	shards []shardState // empty while not running
	hint   string       // what is wrong although all is connected
}

// shardState is how one connection is doing.
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

// set is for the account as a whole: no shard runs.
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

// fail shows a failure: one that needs a person, or one that is retried.
func (s *state) fail(f *adapters.Failure) {
	status := adapters.Retrying
	if f.Kind == adapters.Auth {
		status = adapters.Failed
	}
	s.set(status, f.Err.Error())
}

// refused shows that the token is not taken any more. The gateway hears of it
// soon; until it does, a shard that reports takes the last word.
func (s *state) refused(f *adapters.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(adapters.Failed, f.Err.Error())
}

// start says how many shards there are.
func (s *state) start(shards int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = make([]shardState, shards)
	for i := range s.shards {
		s.shards[i].status = adapters.Connecting
	}
}

// shard says how one of them is doing. The account is connected when all are.
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

// advise shows what is wrong while all shards are connected; empty for nothing.
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

// event notes that one came.
func (s *state) event() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.LastEvent = s.now()
}

// heard notes a sign of life of Discord's gateway: an event, or the answer to a heartbeat.
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
