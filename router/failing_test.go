package router_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
)

// failing is a database that fails where a test says so, and works again at the next call.
type failing struct {
	*store.DB
	mu         sync.Mutex
	placed     map[string]bool // the places that have met a failure; nil: no place does
	after      bool            // a commit that fails is stored all the same
	broken     string          // key of a group of alerts that can't be read
	alertsRead atomic.Int64    // rows that lists of alerts had
	posted     func()          // called once, when the posts to a target were counted
}

// withFailing is a bundle whose database can fail.
func withFailing(b *bundle) { b.failing = &failing{} }

// callsLeft is the key of a context: how many calls are left until the one that fails.
type callsLeft struct{}

// breaks is the failure of a call, if it is to fail.
func (f *failing) breaks(ctx context.Context) error {
	if left, ok := ctx.Value(callsLeft{}).(*atomic.Int32); ok && left.Add(-1) == 0 {
		return errAway
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.placed == nil {
		return nil
	}
	place := callerOfStore()
	if f.placed[place] {
		return nil
	}
	f.placed[place] = true
	return errAway
}

// commit stores a change, or fails before that or after it.
func (f *failing) commit(ctx context.Context, apply func() error) error {
	err := f.breaks(ctx)
	if err == nil {
		return apply()
	}
	if f.after {
		_ = apply() // nobody hears of it
	}
	return err
}

// everyPlace has each place of the program that calls the database fail at its next call.
func (f *failing) everyPlace() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.placed = map[string]bool{}
}

// module is the path that the names of all functions of the program begin with.
var module = strings.TrimSuffix(reflect.TypeFor[ledger.Event]().PkgPath(), "router/ledger")

// callerOfStore names the place that calls the store: the two innermost lines of the program that are not the store's.
func callerOfStore() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var place []string
	for len(place) < 2 {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, module) && !strings.Contains(frame.Function, "_test.") && !strings.Contains(frame.Function, "decidingCommitter") {
			place = append(place, fmt.Sprintf("%s:%d", frame.Function, frame.Line))
		}
		if !more {
			break
		}
	}
	return strings.Join(place, " < ")
}

// insisting makes a request again and again: first its first call of the database fails, then its second, and so on until all
// work. Each failure has to reach the caller.
func insisting[T any](b *bundle, request func(context.Context) (T, error)) T {
	b.t.Helper()
	for n := int32(1); ; n++ {
		left := &atomic.Int32{}
		left.Store(n)
		got, err := request(context.WithValue(context.Background(), callsLeft{}, left))
		if left.Load() > 0 {
			require.NoError(b.t, err)
			require.Greater(b.t, n, int32(1), "the request does not call the database")
			return got
		}
		require.ErrorIs(b.t, err, errAway, "call %d fails and the caller does not hear of it", n)
	}
}

func unless[T any](err error, call func() (T, error)) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return call()
}

func (f *failing) Commit(ctx context.Context, change ledger.Change) error {
	return f.commit(ctx, func() error { return f.DB.Commit(ctx, change) })
}

func (f *failing) Event(ctx context.Context, key string) (ledger.Event, error) {
	return unless(f.breaks(ctx), func() (ledger.Event, error) { return f.DB.Event(ctx, key) })
}

func (f *failing) SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error) {
	return unless(f.breaks(ctx), func() (sessions.Record, error) { return f.DB.SessionByKey(ctx, key) })
}

func (f *failing) SendersBelow(ctx context.Context, conversation sessions.Key, limit int) ([]sessions.Record, error) {
	return unless(f.breaks(ctx), func() ([]sessions.Record, error) { return f.DB.SendersBelow(ctx, conversation, limit) })
}

func (f *failing) WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error) {
	return unless(f.breaks(ctx), func() ([]sessions.Run, error) { return f.DB.WaitingRuns(ctx, id, limit) })
}

func (f *failing) LastHeard(ctx context.Context, id sessions.ID) (time.Time, error) {
	return unless(f.breaks(ctx), func() (time.Time, error) { return f.DB.LastHeard(ctx, id) })
}

func (f *failing) AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error) {
	return unless(f.breaks(ctx), func() (sessions.AbortCause, error) { return f.DB.AbortRequested(ctx, id) })
}

func (f *failing) AbortsRequested(ctx context.Context, partition int) ([]sessions.ID, error) {
	return unless(f.breaks(ctx), func() ([]sessions.ID, error) { return f.DB.AbortsRequested(ctx, partition) })
}

func (f *failing) Run(ctx context.Context, id sessions.RunID) (sessions.Run, error) {
	return unless(f.breaks(ctx), func() (sessions.Run, error) { return f.DB.Run(ctx, id) })
}

func (f *failing) Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error) {
	return unless(f.breaks(ctx), func() ([]sessions.Run, error) { return f.DB.Batch(ctx, id) })
}

func (f *failing) LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() ([]ledger.Delivery, error) { return f.DB.LaneDeliveries(ctx, lane, limit) })
}

func (f *failing) HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() ([]ledger.Delivery, error) { return f.DB.HeldDeliveries(ctx, now, limit) })
}

func (f *failing) DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() ([]ledger.Delivery, error) { return f.DB.DecidedQuestions(ctx, now, limit) })
}

func (f *failing) RunDelivery(ctx context.Context, run sessions.RunID) (ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() (ledger.Delivery, error) { return f.DB.RunDelivery(ctx, run) })
}

func (f *failing) WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() (ledger.Delivery, error) { return f.DB.WithheldAnswer(ctx, session, run) })
}

func (f *failing) Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() (ledger.Delivery, error) { return f.DB.Delivery(ctx, id) })
}

func (f *failing) DeliveryByIdempotency(ctx context.Context, key string) (ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() (ledger.Delivery, error) { return f.DB.DeliveryByIdempotency(ctx, key) })
}

func (f *failing) History(ctx context.Context, lane sessions.Lane) ([]sessions.HistoryLine, error) {
	return unless(f.breaks(ctx), func() ([]sessions.HistoryLine, error) { return f.DB.History(ctx, lane) })
}

func (f *failing) PeerOf(ctx context.Context, channel, account string, conversation sessions.ConversationID) (sessions.UserID, error) {
	return unless(f.breaks(ctx), func() (sessions.UserID, error) { return f.DB.PeerOf(ctx, channel, account, conversation) })
}

func (f *failing) Revision(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Revision, error) {
	return unless(f.breaks(ctx), func() (ledger.Revision, error) { return f.DB.Revision(ctx, lane, message) })
}

func (f *failing) BotTurns(ctx context.Context, place sessions.Lane) (ledger.BotTurns, error) {
	return unless(f.breaks(ctx), func() (ledger.BotTurns, error) { return f.DB.BotTurns(ctx, place) })
}

func (f *failing) CountAudit(ctx context.Context, action string, since time.Time, limit int) (int, error) {
	return unless(f.breaks(ctx), func() (int, error) { return f.DB.CountAudit(ctx, action, since, limit) })
}

func (f *failing) Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Delivery, error) {
	return unless(f.breaks(ctx), func() (ledger.Delivery, error) { return f.DB.Posted(ctx, lane, message) })
}

func (f *failing) PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error) {
	return unless(f.breaks(ctx), func() (ledger.Pairing, error) { return f.DB.PairingOf(ctx, channel, account, user) })
}

func (f *failing) ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error) {
	return unless(f.breaks(ctx), func() ([]ledger.Pairing, error) { return f.DB.ListPairings(ctx, channel, account, status) })
}

func (f *failing) CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error) {
	return unless(f.breaks(ctx), func() (sessions.ConversationID, error) { return f.DB.CanonicalConversation(ctx, channel, account, id) })
}

func (f *failing) ExchangeByKey(ctx context.Context, key string) (ledger.Exchange, error) {
	return unless(f.breaks(ctx), func() (ledger.Exchange, error) { return f.DB.ExchangeByKey(ctx, key) })
}

func (f *failing) Exchange(ctx context.Context, id string) (ledger.Exchange, error) {
	return unless(f.breaks(ctx), func() (ledger.Exchange, error) { return f.DB.Exchange(ctx, id) })
}

func (f *failing) ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error) {
	return unless(f.breaks(ctx), func() ([]ledger.Exchange, error) { return f.DB.ListExchanges(ctx, q) })
}

func (f *failing) Chain(ctx context.Context, id string) (ledger.ChainUse, error) {
	return unless(f.breaks(ctx), func() (ledger.ChainUse, error) { return f.DB.Chain(ctx, id) })
}

func (f *failing) MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error) {
	return unless(f.breaks(ctx), func() (ledger.Media, error) { return f.DB.MediaInfo(ctx, id) })
}

func (f *failing) Media(ctx context.Context, id sessions.MediaID) (ledger.Media, error) {
	return unless(f.breaks(ctx), func() (ledger.Media, error) { return f.DB.Media(ctx, id) })
}

func (f *failing) MediaHeld(ctx context.Context, id sessions.ID, each int64) (int64, error) {
	return unless(f.breaks(ctx), func() (int64, error) { return f.DB.MediaHeld(ctx, id, each) })
}

func (f *failing) SweepMemories(ctx context.Context, now, before time.Time, limit int) (int, error) {
	return unless(f.breaks(ctx), func() (int, error) { return f.DB.SweepMemories(ctx, now, before, limit) })
}

func (f *failing) Prune(ctx context.Context, p ledger.Prune) (ledger.Pruned, error) {
	return unless(f.breaks(ctx), func() (ledger.Pruned, error) { return f.DB.Prune(ctx, p) })
}

func (f *failing) Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error) {
	return unless(f.breaks(ctx), func() (ledger.Approval, error) { return f.DB.Approval(ctx, id) })
}

func (f *failing) PartitionEpoch(ctx context.Context, partition int) (int64, error) {
	return unless(f.breaks(ctx), func() (int64, error) { return f.DB.PartitionEpoch(ctx, partition) })
}

func (f *failing) TakePartition(ctx context.Context, partition int, owner string, epoch int64) (int64, error) {
	return unless(f.breaks(ctx), func() (int64, error) { return f.DB.TakePartition(ctx, partition, owner, epoch) })
}

func (f *failing) ExpiredSessions(ctx context.Context, e ledger.Expiry, limit int) ([]sessions.ID, error) {
	return unless(f.breaks(ctx), func() ([]sessions.ID, error) { return f.DB.ExpiredSessions(ctx, e, limit) })
}

func (f *failing) WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error) {
	return unless(f.breaks(ctx), func() ([]sessions.Lane, error) { return f.DB.WaitingLanes(ctx, partition) })
}

func (f *failing) Session(ctx context.Context, id sessions.ID) (sessions.Record, error) {
	return unless(f.breaks(ctx), func() (sessions.Record, error) { return f.DB.Session(ctx, id) })
}

func (f *failing) CommitSession(ctx context.Context, change sessions.Change) error {
	return f.commit(ctx, func() error { return f.DB.CommitSession(ctx, change) })
}

func (f *failing) Thread(ctx context.Context, record sessions.Record) ([]sessions.Message, error) {
	return unless(f.breaks(ctx), func() ([]sessions.Message, error) { return f.DB.Thread(ctx, record) })
}

func (f *failing) Message(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.Message, error) {
	return unless(f.breaks(ctx), func() (sessions.Message, error) { return f.DB.Message(ctx, session, id) })
}

func (f *failing) Children(ctx context.Context, session sessions.ID, parent sessions.MessageID) ([]sessions.Message, error) {
	return unless(f.breaks(ctx), func() ([]sessions.Message, error) { return f.DB.Children(ctx, session, parent) })
}

func (f *failing) NewestLeaf(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.MessageID, error) {
	return unless(f.breaks(ctx), func() (sessions.MessageID, error) { return f.DB.NewestLeaf(ctx, session, id) })
}

func (f *failing) GroupAlerts(ctx context.Context, group string, limit int) ([]alert.Alert, error) {
	if err := f.breaks(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	broken := f.broken
	f.mu.Unlock()
	if group == broken {
		return nil, errors.New("a row can't be read")
	}
	return f.DB.GroupAlerts(ctx, group, limit)
}

// breakGroup makes a group of alerts unreadable; "" mends it.
func (f *failing) breakGroup(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = key
}

// CountNotes lets a test act between the count of what a target was told and the next message.
func (f *failing) CountNotes(ctx context.Context, target string, since time.Time, limit int) (int, int64, error) {
	if err := f.breaks(ctx); err != nil {
		return 0, 0, err
	}
	n, revision, err := f.DB.CountNotes(ctx, target, since, limit)
	f.mu.Lock()
	act := f.posted
	f.posted = nil
	f.mu.Unlock()
	if act != nil {
		act()
	}
	return n, revision, err
}

// ListAlerts counts the rows.
func (f *failing) ListAlerts(ctx context.Context, q alert.Query) ([]alert.Alert, error) {
	if err := f.breaks(ctx); err != nil {
		return nil, err
	}
	all, err := f.DB.ListAlerts(ctx, q)
	f.alertsRead.Add(int64(len(all)))
	return all, err
}
