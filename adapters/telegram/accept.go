package telegram

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-telegram/bot/models"
	"golang.org/x/sync/errgroup"

	"sluice/adapters"
)

// acceptParallel is how many chats of a batch are processed at once, so that the store can merge their commits.
const acceptParallel = 64

// Results of an update, for the metric.
const (
	outcomeAccepted  = "accepted"
	outcomeIgnored   = "ignored"
	outcomeMalformed = "malformed"
	outcomeFailed    = "failed"
	outcomePartial   = "partial"
)

// intake converts updates to events and passes them to the acceptor. It is safe for concurrent use.
type intake struct {
	cfg     Config
	metrics *metrics
	state   *state
	api     *api
	bot     *identity
	own     *ownMessages
}

// acceptBatch passes a batch to the acceptor: the updates of a chat in order, different chats in parallel. It returns
// the lowest id that was not accepted and the reason, or 0 and nil if all were.
func (k *intake) acceptBatch(ctx context.Context, in adapters.Acceptor, updates []update, self *models.User) (int64, error) {
	if len(updates) == 1 {
		return k.acceptChat(ctx, in, updates, self)
	}
	var (
		mu     sync.Mutex
		failed int64
		why    error
		group  errgroup.Group
	)
	group.SetLimit(acceptParallel)
	for _, chat := range byChat(updates) {
		group.Go(func() error {
			id, err := k.acceptChat(ctx, in, chat, self)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && (failed == 0 || id < failed) {
				failed, why = id, err
			}
			return nil // the others continue: what is accepted now is only a cheap repeat later
		})
	}
	_ = group.Wait() // always nil, see above
	return failed, why
}

// byChat splits a batch into one slice per chat, each in the order of the batch.
func byChat(updates []update) [][]update {
	var chats [][]update
	place := make(map[int64]int, len(updates))
	for i := range updates {
		chat := updates[i].chat()
		at, known := place[chat]
		if !known {
			at = len(chats)
			place[chat] = at
			chats = append(chats, nil)
		}
		chats[at] = append(chats[at], updates[i])
	}
	return chats
}

// acceptChat processes updates one after the other and stops at the first that fails.
func (k *intake) acceptChat(ctx context.Context, in adapters.Acceptor, updates []update, self *models.User) (int64, error) {
	for i := range updates {
		if err := k.acceptOne(ctx, in, &updates[i], self); err != nil {
			return updates[i].ID, err
		}
	}
	return 0, nil
}

// acceptOne processes one update. A panic counts as its failure: on a batch's goroutine it would end the process, at
// each start again.
func (k *intake) acceptOne(ctx context.Context, in adapters.Acceptor, u *update, self *models.User) (err error) {
	defer func() {
		if p := recover(); p != nil {
			k.metrics.update(k.cfg.Account, outcomeFailed)
			err = fmt.Errorf("accept update %d: panic: %v\n%s", u.ID, p, debug.Stack())
		}
	}()
	events, err := k.events(u, self)
	switch {
	case err != nil:
		k.malformed(fmt.Appendf(nil, "update_id %d", u.ID), err)
		return nil
	case len(events) == 0:
		k.metrics.update(k.cfg.Account, outcomeIgnored)
		return nil
	}
	for _, event := range events {
		if err := in.Accept(ctx, event); err != nil {
			k.metrics.update(k.cfg.Account, outcomeFailed)
			return fmt.Errorf("accept update %d: %w", u.ID, err)
		}
	}
	k.metrics.update(k.cfg.Account, outcomeAccepted)
	if u.CallbackQuery != nil {
		k.answerPress(ctx, u.CallbackQuery.ID)
	}
	return nil
}
