package sessiontest

import (
	"context"
	"errors"
	"sync"

	"sluice/sessions"
)

// ErrFault is what a call fails with that was told to.
var ErrFault = errors.New("disk is on fire")

// Faulty is a store whose calls fail when they are told to.
type Faulty struct {
	Store sessions.Store

	mu    sync.Mutex
	fail  int
	late  bool
	calls int
}

var _ sessions.Store = (*Faulty)(nil)

// FailAt makes the n-th call from now fail, of any method: before it reaches the
// store or, if late, after it, as when the answer is lost. With n = 0 none fails.
func (f *Faulty) FailAt(n int, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.late = n, late
}

// Calls counts the calls so far.
func (f *Faulty) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// meet counts a call and says whether it has to fail.
func (f *Faulty) meet() (early, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.fail--
	return f.fail == 0 && !f.late, f.fail == 0 && f.late
}

func meet[T any](f *Faulty, call func() (T, error)) (T, error) {
	var none T
	early, late := f.meet()
	if early {
		return none, ErrFault
	}
	v, err := call()
	if late {
		return none, ErrFault
	}
	return v, err
}

// CommitSession implements [sessions.Store].
func (f *Faulty) CommitSession(ctx context.Context, change sessions.Change) error {
	_, err := meet(f, func() (struct{}, error) { return struct{}{}, f.Store.CommitSession(ctx, change) })
	return err
}

// Session implements [sessions.Store].
func (f *Faulty) Session(ctx context.Context, id sessions.ID) (sessions.Record, error) {
	return meet(f, func() (sessions.Record, error) { return f.Store.Session(ctx, id) })
}

// Thread implements [sessions.Store].
func (f *Faulty) Thread(ctx context.Context, record sessions.Record) ([]sessions.Message, error) {
	return meet(f, func() ([]sessions.Message, error) { return f.Store.Thread(ctx, record) })
}

// Message implements [sessions.Store].
func (f *Faulty) Message(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.Message, error) {
	return meet(f, func() (sessions.Message, error) { return f.Store.Message(ctx, session, id) })
}

// Children implements [sessions.Store].
func (f *Faulty) Children(ctx context.Context, session sessions.ID, parent sessions.MessageID) ([]sessions.Message, error) {
	return meet(f, func() ([]sessions.Message, error) { return f.Store.Children(ctx, session, parent) })
}

// NewestLeaf implements [sessions.Store].
func (f *Faulty) NewestLeaf(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.MessageID, error) {
	return meet(f, func() (sessions.MessageID, error) { return f.Store.NewestLeaf(ctx, session, id) })
}

// Summary implements [sessions.Store].
func (f *Faulty) Summary(ctx context.Context, session sessions.ID, head sessions.MessageID) (sessions.MessageID, error) {
	return meet(f, func() (sessions.MessageID, error) { return f.Store.Summary(ctx, session, head) })
}
