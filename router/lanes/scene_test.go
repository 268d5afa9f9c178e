package lanes

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	testPartitions = 4
	testGrace      = 10 * time.Second
)

// fakeStore answers as its fields say. Tests set them while nothing works.
type fakeStore struct {
	epoch                                              int64
	waiting                                            map[int][]sessions.Lane
	aborts                                             map[int][]sessions.ID
	cause                                              map[sessions.RunID]sessions.AbortCause
	takeErr, waitingErr, abortsErr, causeErr, storeErr error
	committed                                          []ledger.Change
	replicas                                           []string
}

func (s *fakeStore) Commit(_ context.Context, change ledger.Change) error {
	if s.storeErr == nil {
		s.committed = append(s.committed, change)
	}
	return s.storeErr
}

func (s *fakeStore) PartitionEpoch(context.Context, int) (int64, error) { return s.epoch, s.takeErr }

func (s *fakeStore) TakePartition(_ context.Context, _ int, owner string, _ int64) (int64, error) {
	s.epoch++
	s.replicas = append(s.replicas, owner)
	return s.epoch, s.takeErr
}

func (s *fakeStore) WaitingLanes(_ context.Context, partition int) ([]sessions.Lane, error) {
	return s.waiting[partition], s.waitingErr
}

func (s *fakeStore) AbortRequested(_ context.Context, id sessions.RunID) (sessions.AbortCause, error) {
	return s.cause[id], s.causeErr
}

func (s *fakeStore) AbortsRequested(_ context.Context, partition int) ([]sessions.ID, error) {
	return s.aborts[partition], s.abortsErr
}

// wake is one that was sent to another replica.
type wake struct {
	partition int
	lane      sessions.Lane
}

// scene is a replica's lanes with a store and a bus that are not there. It notes what happens.
type scene struct {
	*Lanes
	store *fakeStore
	turn  func(lane *Lane) (Rest, error) // what lanes do; nil: nothing

	mu       sync.Mutex
	log      strings.Builder
	turns    []sessions.Lane
	released []int
	wakes    []wake
	fenced   []int // partitions that it was told about
}

// bus notes the wakes for other replicas.
type bus struct{ *scene }

func (b bus) Wake(partition int, lane sessions.Lane) {
	b.wakes = append(b.wakes, wake{partition, lane})
}

func (b bus) Fenced(partition int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fenced = append(b.fenced, partition)
}

// Write is the log.
func (s *scene) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

// worked waits until nothing goes on, and names the lanes that had a turn since it was last asked.
func (s *scene) worked() []sessions.Lane {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	turns := s.turns
	s.turns = nil
	return turns
}

// sent are the wakes for other replicas since it was last asked.
func (s *scene) sent() []wake {
	wakes := s.wakes
	s.wakes = nil
	return wakes
}

// logged is what was logged since it was last asked.
func (s *scene) logged() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.log.Reset()
	return s.log.String()
}

func (s *scene) owned() int { return int(testutil.ToFloat64(s.Owned)) }

// worker makes the worker of each lane.
func (s *scene) worker(lane *Lane) Turn {
	return func() (Rest, error) {
		s.mu.Lock()
		s.turns = append(s.turns, lane.Name)
		s.mu.Unlock()
		if s.turn == nil {
			return Rest{}, nil
		}
		return s.turn(lane)
	}
}

func (s *scene) noteReleased(partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = append(s.released, partition)
}

// inScene runs a test in a bubble of its own, where time passes at once.
func inScene(t *testing.T, test func(t *testing.T, s *scene)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{store: &fakeStore{waiting: map[int][]sessions.Lane{}, aborts: map[int][]sessions.ID{}, cause: map[sessions.RunID]sessions.AbortCause{}}}
		s.Lanes = New(Config{
			Store: s.store, Bus: bus{s}, Worker: s.worker, Released: s.noteReleased,
			Partitions: testPartitions, Replica: "replica", Grace: testGrace,
			Log: slog.New(slog.NewTextHandler(s, nil)), Owned: prometheus.NewGauge(prometheus.GaugeOpts{Name: "owned"}),
		})
		defer s.ReleaseAll(context.Background())
		test(t, s)
	})
}
